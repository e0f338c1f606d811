"""What all tests share: a user's data folder of their own."""

import importlib.util
import os

import pytest
from selection import EVERY, is_drawn, mark_long


@pytest.fixture(autouse=True, scope="session")
def data_folder(tmp_path_factory):
    """Give the session a key and pins of its own, also in its kernels."""
    folder = tmp_path_factory.mktemp("jupyter-data")
    os.environ["JUPYTER_DATA_DIR"] = str(folder)
    for name in [name for name in os.environ if name.startswith("NBRESUME_")]:
        del os.environ[name]
    return folder


@pytest.fixture(autouse=True)
def no_setting_stays():
    """Take back the settings of nbresume that a test's cells have made."""
    before = _settings()
    yield
    for name in _settings().keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


def _settings() -> dict[str, str]:
    return {n: v for n, v in os.environ.items() if n.startswith("NBRESUME_")}


COUNTED = {
    "test_definition_comes_back": "definition cases",
    "test_buffer_comes_back": "buffer kinds",
}
"""Tests of one case each, on every route between two Pythons."""
OPTIONAL = ("polars", "torch", "sqlalchemy")
"""Libraries that a user may have and the project does not install."""


# before `-m` chooses
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items) -> None:
    """Leave out the long cases that are not drawn; `make every` runs them all."""
    drawn = [item for item in items if item.get_closest_marker("long")]
    mark_long(items)
    if EVERY:
        return
    left = [item for item in drawn if not is_drawn(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def pytest_terminal_summary(terminalreporter) -> None:
    """Print the sums of what the crash tests counted."""
    sums: dict[str, int] = {}
    for outcome in ("", "error"):
        for report in terminalreporter.getreports(outcome):
            for name, counts in getattr(report, "user_properties", ()):
                if name == "crash" and report.when == "teardown":
                    for what, count in counts.items():
                        sums[what] = sums.get(what, 0) + count
    if sums:
        told = ", ".join(f"{count} {what}" for what, count in sums.items())
        terminalreporter.write_line(f"crash tests: {told}")

    _tell_fidelity(terminalreporter)
    _tell_edits(terminalreporter)


def _tell_edits(terminalreporter) -> None:
    """Print what edited notebooks came to, and why more ran than had to."""
    sums: dict[str, int] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, counts in getattr(report, "user_properties", ()):
                if name == "edits" and report.when == "call":
                    for what, count in counts.items():
                        sums[what] = sums.get(what, 0) + count
    if not sums:
        return
    beyond = {w: n for w, n in sums.items() if w.startswith("beyond: ")}
    told = ", ".join(f"{n} {w}" for w, n in sums.items() if w not in beyond)
    rate = 100 * sums["beyond"] / max(sums["expected"], 1)
    terminalreporter.write_line(f"edits: {told} ({rate:.1f} % beyond the expected)")
    for what, count in beyond.items():
        terminalreporter.write_line(f"  {count} {what}")


def _tell_fidelity(terminalreporter) -> None:
    """Print how many values of the specification came back in a new process."""
    passed = [r.nodeid for r in terminalreporter.getreports("passed")]
    counts = {
        what: sum(f"{test}[" in nodeid for nodeid in passed)
        for test, what in COUNTED.items()
    }
    if any(counts.values()):
        told = ", ".join(f"{count} {what}" for what, count in counts.items())
        terminalreporter.write_line(f"came back in a new process: {told}")


def pytest_report_header() -> str:
    """Say aloud which optional libraries are missing: their cases do not run."""
    missing = [name for name in OPTIONAL if importlib.util.find_spec(name) is None]
    return f"not run here, not installed: {', '.join(missing) or 'nothing'}"
