"""What all tests share: a user's data folder of their own."""

import importlib.util
import os
import sys
import zlib
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


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


DRAWN = {
    "test_28_stopped_while_another_takes_over": 6,
    "test_27_killed_while_a_person_decides": 3,
    "test_32_killed_while_the_key_is_rotated": 6,
    "test_a_device_that_fails_there": 3,
    "test_a_kernel_that_ends_around_a_call": 2,
    "test_a_kernel_that_ends_in_a_loop": 3,
    "test_a_kernel_that_ends_there": 3,
    "test_a_store_whose_reply_is_lost": 2,
    "test_an_encrypted_kernel_that_ends_there": 8,
    "test_cut_off_nothing_is_lost_and_nothing_looks_committed": 3,
    "test_edits_of_every_notebook_without_headers": 5,
    "test_every_edit_of_every_notebook": 5,
    "test_no_power_cut_loses_anything": 12,
}
"""Long test → one of so many of its cases is run, the same ones each time."""
BY_HAND = {
    "test_a_hundred_thousand_names_come_back",
    # `make test` runs the same with fewer values, and fewer kills
    "test_many_commits_come_back_at_every_step",
    "test_an_export_is_killed_everywhere",
    "test_an_import_is_killed_everywhere",
    "test_a_loop_that_is_killed_twenty_times",
    # `make demo` and `make long` run what they run
    "test_killed_pipeline_goes_on_and_ends_with_equal_results",
    "test_soak_judges_a_round",
}
"""Long tests that `make every` alone runs."""
BROWSED = 3
"""One of so many long tests in a browser."""
EVERY = bool(os.environ.get("EVERY_CASE"))


def pytest_collection_modifyitems(config, items) -> None:
    """Leave out the long cases that are not drawn; `make every` runs them all."""
    if EVERY:
        return
    left = [item for item in items if item.get_closest_marker("long")]
    left = [item for item in left if not _is_drawn(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in set(left)]


def _is_drawn(item) -> bool:
    name = item.originalname
    if name in BY_HAND:
        return False
    is_browsed = item.path.parent.name == "browser"
    among = BROWSED if is_browsed else DRAWN.get(name, 1)
    return zlib.crc32(item.name.encode()) % among == 0


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
