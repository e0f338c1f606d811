"""The tables of the bench leave nothing out."""

import json

import pytest
from peers.measured import rounds_of
from peers.outcome import Run
from peers.report import Results, grid, markdown

FOUND = {"setup": 0.01, "start": 1.0, "restore": 0.1, "ready": 1.2, "disk": 1e6}
PROBE = "alias of one cell"


def run(adapter, number, seconds, **other):
    """Return a run of ten tiny cells."""
    made = Run("tiny", adapter, number, digest="d", found=FOUND | {"creates": 0.002})
    made.groups, made.seconds = ["step"] * 20, [seconds] * 20
    made.written = [1000 if adapter == "nbresume" else 0] * 20
    made.probes = {PROBE: adapter != "joblib"}
    for name, value in other.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def results():
    """Give two rounds: a peer not installed, a wrong restore, a rule, wrong values."""
    runs = []
    for number in range(2):
        runs += [
            run("plain", number, 0.001),
            run("nbresume", number, 0.004),
            run("joblib", number, 0.002),
            run("dbos", number, 0.003, digest="other"),
            run("dill", number, 0.001, failed="restored values are not equal"),
            Run("tiny", "kishu", number, failed="not installed: ERROR: no match"),
            Run("tiny", "marimo", number, refused="its rules: one cell for each name"),
        ]
    limits = {("tiny", number): {"three_creates": 0.002} for number in range(2)}
    return Results({"scale": 0.1}, runs, limits, {"tiny": "20 tiny steps"})


def row(results, adapter):
    """Return the cells of an adapter's row in the table of its workload."""
    lines = markdown(results).split("## tiny", 1)[1].splitlines()
    found = next(line for line in lines if line.startswith(f"| {adapter} |"))
    return [cell.strip() for cell in found.strip("|").split("|")]


def test_a_row_has_its_ratio_within_a_round(results):
    """What a tool takes is compared with the plain kernel of the same round."""
    found = row(results, "nbresume")

    assert found[:4] == ["nbresume", "4", "4", "4 to 4"]
    assert "equal" in found


def test_a_failed_install_is_a_row(results):
    """A peer that cannot be installed says so in the table."""
    assert "**FAILED** 2 of 2: not installed: ERROR: no match" in row(results, "kishu")


def test_a_wrong_restore_is_a_failed_row(results):
    """A restore that was not equal is shown, and gives no numbers to targets."""
    (first, _) = rounds_of(results.runs, results.limits)["tiny"]

    assert "**FAILED** 2 of 2: restored values are not equal" in row(results, "dill")
    assert first.reasons["dill"] == "restored values are not equal"
    assert "dill.step" not in first.numbers


def test_other_values_than_the_plain_kernel_are_failed(results):
    """A tool that changes what cells compute has failed, though it restores it."""
    assert any(
        "differ from those of the plain" in cell for cell in row(results, "dbos")
    )


def test_a_rule_of_the_tool_is_told(results):
    """A tool whose own rules forbid the cells is in the table with them."""
    assert "not run: its rules: one cell for each name" in row(results, "marimo")


def test_a_rival_that_failed_is_no_opponent(results):
    """A target against a peer with wrong values is not measured, and says why."""
    line = next(
        line
        for line in markdown(results).splitlines()
        if line.startswith("| tiny step: ahead of dbos")
    )

    assert "not measured" in line
    assert "dbos: its values differ from those of the plain kernel" in line


def test_met_and_missed_are_counted(results):
    """The table of targets begins with how many were met and missed."""
    for one in results.runs:
        if one.adapter == "nbresume":
            one.found = one.found | {"setup": 1.0}

    text = markdown(results)

    assert (
        "| tiny step, over its plain cell | tiny | 1.5 | 1.5 to 1.5 | 2 | met |" in text
    )
    assert "| 16.5 | 16.5 to 16.5 | 1 | **MISSED** |" in text
    assert "3 met, 1 MISSED, 0 FAILED, 33 not measured" in text


def test_probes_are_shown_for_each_tool(results):
    """A meaning that one round lost is lost."""
    assert f"| {PROBE} | yes | yes | **no** | yes | yes | **no** |" in markdown(results)


def test_results_come_back_from_json(results):
    """The tables can be printed again from the file."""
    document = json.loads(json.dumps(results.plain()))

    assert markdown(results) == markdown(Results.parsed(document))


def test_a_bar_in_a_text_ends_no_cell():
    """An error message cannot break a table."""
    assert grid(["note"], [["a | b\nc"]])[-1] == "| a \\| b c |"
