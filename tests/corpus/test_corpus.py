"""Every acceptance case and scenario in real kernels, as one test each."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

HERE = Path(__file__).parent
CASES = sorted((HERE / "cases").glob("*.yaml"))
LOSSES = HERE.parents[1] / "docs" / "losses.md"
SCENARIOS = sorted((HERE.parent / "scenarios").glob("*.yaml"))

def load_runner():
    """Return the module of the runner, which is a script."""
    spec = importlib.util.spec_from_file_location("run_case", HERE / "run_case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run_case = load_runner()


# the runner is a script that leaves the closing of small files to the interpreter
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def documented():
    """Return case → which of its alternatives holds, as docs/losses.md says it."""
    rows = re.findall(r"^\| ([a-z-]+) \| ([1-9]) \| ", LOSSES.read_text(), re.MULTILINE)
    return {case: int(which) for case, which in rows}


def problems_of(path):
    """Run a case in kernels of its own; return what was not as expected."""
    try:
        return _run(path)
    except RuntimeError as error:
        if "Kernel died before replying to kernel_info" not in str(error):
            raise
        # another process took one of the ports that were chosen for the kernel
        return _run(path)


def _run(path):
    case = yaml.safe_load(path.read_text())
    which = documented().get(path.stem)
    for step in case["scenario"]:
        expected = step.get("expect", {})
        if "either" in expected:
            step["expect"] = expected["either"][which - 1]
    runner = run_case.Runner(case, run_case.INSTALLED, ".nbresume")
    try:
        return runner.go()
    finally:
        runner.done()


@pytest.mark.parametrize(
    "path",
    CASES,
    ids=lambda path: path.stem,
)
def test_a_case_passes(path):
    """What a public report asked for holds."""
    assert problems_of(path) == []


@pytest.mark.long  # tests/kernel/position plays such scenarios in one kernel
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_passes(path):
    """Each rule of positions is there because such a case went silently wrong."""
    assert problems_of(path) == []
