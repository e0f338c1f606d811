"""Effects in real kernels: killed around the call, forked, fenced, awaited.

Judged by the ledger that the called functions write and fsync, by ``nbresume status
--json`` and by the values that a later kernel holds.
"""

import pytest
from click.testing import CliRunner
from pauses import Crash
from real_kernel import hashes, wait_for

from nbresume.ui.cli import cli

pytestmark = pytest.mark.kernel

WHOLE = "{'rows': [1, 2, 3, 4], 'total': 10, 'answer': 20}"
SETUP = """import asyncio, os, threading
from helper import note
from nbresume import effect, idempotency_key, usage

def charge(amount):
    note("charge")
    return {"id": f"ch_{amount}", "key": idempotency_key()}
"""
WORK = """%%step work
receipt = effect("charge", charge, 6)
rows.append(4)
total = sum(rows)"""


def crash_in(folder, work=WORK, setup=SETUP):
    """Return a notebook whose middle step makes an effect."""
    crash = Crash(folder)
    cells = [*crash.cells]
    cells[1], cells[3] = setup, work
    crash.write(cells)
    return crash


def run_to(kernel, crash, last):
    """Run the cells up to and including one; return what that one said."""
    for number in range(last):
        kernel.ok(crash.cells[number], f"c{number}")
    return kernel.run(crash.cells[last], f"c{last}")


def charges(crash):
    """Return how often the outside was charged."""
    return crash.ledger().count("charge")


def check_whole(crash, *, charged):
    """Run all; assert the values, the ledger, and that another time moves nothing."""
    *said, values = crash.run_all()
    assert [s.status for s in said] == ["ok"] * 5, said[-1].text
    assert values == WHOLE
    assert charges(crash) == charged
    assert set(crash.states().values()) == {"COMMITTED"}
    before = hashes(crash.folder / ".nbresume")
    *said, values = crash.run_all()
    assert values == WHOLE
    assert all("[restored]" in s.text for s in said[2:])
    assert hashes(crash.folder / ".nbresume") == before
    assert charges(crash) == charged


# -- SIGKILL ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "charged"),
    [("before-effect_opened", 0), ("after-effect_done", 1)],
)
def test_killed_outside_of_the_call_it_runs_again(tmp_path, point, charged):
    """Nothing is open: the step goes on by itself; the outside is charged once."""
    crash = crash_in(tmp_path)
    crash.kill_at(point)

    assert crash.states()["work"] == "INTERRUPTED"
    assert charges(crash) == charged
    check_whole(crash, charged=1)


IN_THE_CALL = [("after-effect_opened", 0), ("body", 1), ("before-effect_done", 1)]


@pytest.mark.parametrize(("point", "charged"), IN_THE_CALL)
def test_killed_in_the_call_it_is_in_doubt(tmp_path, point, charged):
    """Nobody knows whether it happened: nothing repeats it until somebody decides."""
    crash = crash_in(tmp_path)
    crash.kill_at(point)

    for _ in range(2):
        assert crash.states()["work"] == "AMBIGUOUS"
        *said, _ = crash.run_all()
        assert [s.status for s in said] == ["ok", "ok", "ok", "error"]
        assert "ambiguous (in doubt)" in said[-1].error
        assert "'charge'" in said[-1].error
        assert "evidence --effect KEY" in said[-1].error
        assert charges(crash) == charged
    crash.command("resolve", "work", "retry", "--because", "looked")
    assert "the effect 'charge' is open" in crash.record("resolution")["acknowledged"]
    check_whole(crash, charged=charged + 1)


@pytest.mark.long
def test_evidence_for_the_effect_lets_the_step_go_on(tmp_path):
    """The outside is not charged again; the step has the result that was given."""
    crash = crash_in(tmp_path)
    crash.kill_at("body")
    told = crash.command(
        *("resolve", "work", "evidence", "--effect", "charge"),
        *("--result", "{'id': 'ch_6'}", "--reference", "ch_6", "--because", "seen"),
    )

    assert "effect 'charge' of step work is done (seen)" in told
    assert crash.states()["work"] == "INTERRUPTED"
    check_whole(crash, charged=1)
    trail = crash.command("history")
    assert "effect 'charge' settled as evidence (" in trail
    assert ": ch_6)" in trail


def test_evidence_without_a_result_says_what_is_missing(tmp_path):
    """It is done and has no value here: the step stops there and repeats nothing."""
    crash = crash_in(tmp_path)
    crash.kill_at("body")
    crash.command(
        "resolve", "work", "evidence", "--effect", "charge", "--because", "seen"
    )
    *said, _ = crash.run_all()

    assert said[-1].error.startswith("EffectNotKept")
    assert charges(crash) == 1
    assert crash.states()["work"] == "FAILED"


def test_evidence_for_the_step_commits_it(tmp_path):
    """The step counts as committed without the names that it would have set."""
    crash = crash_in(tmp_path)
    crash.kill_at("body")
    crash.command("resolve", "work", "evidence", "--because", "all done")
    with crash.kernel() as kernel:
        said = run_to(kernel, crash, 3)

    assert "by evidence of" in said.text
    assert crash.states()["work"] == "COMMITTED"
    assert crash.view().steps[1].open_effects == []
    assert charges(crash) == 1


def test_abandon_blocks_the_step(tmp_path):
    """Nothing runs until somebody says retry."""
    crash = crash_in(tmp_path)
    crash.kill_at("body")
    crash.command("resolve", "work", "abandon", "--because", "wrong customer")
    *said, _ = crash.run_all()

    assert "abandoned" in said[-1].error
    assert charges(crash) == 1


@pytest.mark.long
def test_a_recovery_that_is_killed_in_the_call_as_well(tmp_path):
    """A retry holds for one call; the next one has to be allowed anew."""
    crash = crash_in(tmp_path)
    crash.kill_at("body")
    crash.command("resolve", "work", "retry", "--because", "looked")
    crash.kill_at("body")
    *said, _ = crash.run_all()

    assert "ambiguous (in doubt)" in said[-1].error
    assert charges(crash) == 2


def test_usage_that_effects_carried_survives_the_kill(tmp_path):
    """What was reported before the last record of an effect is counted."""
    work = WORK.replace("rows.append", "usage(tokens=7)\nrows.append", 1)
    crash = crash_in(tmp_path, work.replace("receipt", "usage(tokens=5)\nreceipt", 1))
    crash.kill_at("before-committed")

    assert crash.view().usage.tokens == 5
    crash.run_all()
    assert crash.view().usage.tokens == 5 + 12


# -- one kernel ------------------------------------------------------------------


@pytest.mark.long
def test_a_corrected_line_charges_nobody_twice(tmp_path):
    """The cell failed below the effect; corrected, it replays it."""
    crash = crash_in(tmp_path, WORK + "\nnope")
    with crash.kernel() as kernel:
        failed = run_to(kernel, crash, 3)
        crash.write([*crash.cells[:3], WORK, crash.cells[4]])
        kernel.ok(crash.cells[3], "c3")
        again = kernel.evaluate("receipt['id']")

    assert failed.error.startswith("NameError")
    assert again == "'ch_6'"
    assert charges(crash) == 1
    check_whole(crash, charged=1)


def test_an_interrupt_in_the_call_is_in_doubt(tmp_path):
    """Ctrl-C says nothing about what happened outside."""
    crash = crash_in(tmp_path)
    with crash.kernel() as kernel:
        for number in range(3):
            kernel.ok(crash.cells[number], f"c{number}")
        crash.arm("body")
        request = kernel.send(crash.cells[3], "c3")
        wait_for(tmp_path / "at-body")
        kernel.interrupt()
        said = kernel.finish(request)
        crash.disarm("body")
        again = kernel.run(crash.cells[3], "c3")

    assert said.error.startswith("KeyboardInterrupt")
    assert "ambiguous (in doubt)" in again.error
    assert charges(crash) == 1


def test_a_caught_timeout_does_not_commit(tmp_path):
    """The cell finished; its reply is an error all the same, and Run All stops."""
    setup = SETUP + (
        "\ndef charge(amount):\n    note('charge')\n    raise TimeoutError"
    )
    work = """%%step work
try:
    effect("charge", charge, 6)
except TimeoutError:
    receipt = None
rows.append(4)
total = sum(rows)"""
    crash = crash_in(tmp_path, work, setup)
    *said, _ = crash.run_all()

    assert said[-1].error.startswith("AmbiguousStep")
    assert "was not committed" in said[-1].error
    assert crash.states()["work"] == "AMBIGUOUS"
    assert crash.journal()[-1] == "failed"


def test_an_exit_in_the_call_is_in_doubt(tmp_path):
    """SystemExit leaves the effect open; the kernel lives on and says so."""
    setup = SETUP + "\ndef charge(amount):\n    note('charge')\n    raise SystemExit(3)"
    crash = crash_in(tmp_path, setup=setup)
    with crash.kernel() as kernel:
        run_to(kernel, crash, 3)
        again = kernel.run(crash.cells[3], "c3")

    assert "ambiguous (in doubt)" in again.error
    assert charges(crash) == 1


def test_the_child_of_a_fork_records_nothing(tmp_path):
    """A call that forks returns twice; only the kernel's own return counts."""
    setup = SETUP + (
        "\ndef charge(amount):\n    child = os.fork()\n    if child:\n"
        "        os.waitpid(child, 0)\n        note('charge')\n    return amount"
    )
    work = """%%step work
me = os.getpid()
try:
    receipt = effect("charge", charge, 6)
except BaseException as error:
    if os.getpid() == me:
        raise
    try:
        effect("other", note, "child")
    except BaseException as other:
        with open("told.txt", "w") as file:
            print(type(error).__name__, type(other).__name__, file=file)
    os._exit(0)
rows.append(4)
total = sum(rows)"""
    crash = crash_in(tmp_path, work, setup)
    with crash.kernel() as kernel:
        said = run_to(kernel, crash, 3)
        receipt = kernel.evaluate("receipt")

    assert said.status == "ok", said.text
    assert receipt == "6"
    assert (tmp_path / "told.txt").read_text() == "FencedError EffectRefused\n"
    assert crash.ledger() == ["load", "charge"]
    assert crash.journal().count("effect_done") == 1


@pytest.mark.long
def test_effects_are_awaited_at_the_top_of_a_cell(tmp_path):
    """Top-level await and tasks call effects; threads of the cell too."""
    work = """%%step work
async def pay(amount):
    await asyncio.sleep(0)
    return charge(amount)
one = await effect("one", pay, 1)
two, three = await asyncio.gather(effect("two", pay, 2), effect("three", pay, 3))
four = await asyncio.to_thread(effect, "four", charge, 4)
found = []
thread = threading.Thread(target=lambda: found.append(effect("five", charge, 5)))
thread.start(); thread.join()
del thread
rows.append(4)
total = sum(rows)
keys = [r["key"] for r in (one, two, three, four, *found)]"""
    crash = crash_in(tmp_path, work)
    with crash.kernel() as kernel:
        said = run_to(kernel, crash, 3)
        keys = kernel.evaluate("len(set(keys))")

    assert said.status == "ok", said.text
    assert keys == "5"
    check_whole(crash, charged=5)


def test_what_outlives_its_step_calls_nothing(tmp_path):
    """A task and a thread of a step are refused in the next one, a plain cell too."""
    setup = SETUP + "\ngate, told = threading.Event(), []"
    work = """%%step work
def late():
    gate.wait(20)
    try:
        effect("thread", charge, 1)
    except Exception as error:
        told.append(str(error))
async def later():
    while not gate.is_set():
        await asyncio.sleep(0.01)
    try:
        await effect("task", charge, 1)
    except Exception as error:
        told.append(str(error))
threading.Thread(target=late).start()
asyncio.ensure_future(later())
rows.append(4)
total = sum(rows)"""
    crash = crash_in(tmp_path, work, setup)
    with crash.kernel() as kernel:
        run_to(kernel, crash, 3)
        kernel.ok(
            "%%step end\nanswer = total * 2\ngate.set()\nwhile len(told) < 2:\n"
            "    await asyncio.sleep(0.01)",
            "c4",
        )
        told = kernel.evaluate("sorted(told)")
        plain = kernel.run("effect('plain', charge, 1)", "c9")

    assert "step work has ended" in told
    assert "in a thread that the running step did not start" in told
    assert "outside of a step" in plain.error
    assert charges(crash) == 0


# -- two kernels -----------------------------------------------------------------


def test_a_fenced_kernel_does_not_call(tmp_path):
    """Another kernel takes the run over while the step stands before its effect."""
    work = WORK.replace("receipt", "note('before')\nreceipt", 1)
    crash = crash_in(tmp_path, work)
    with crash.kernel() as kernel:
        for number in range(3):
            kernel.ok(crash.cells[number], f"c{number}")
        crash.arm("body")
        request = kernel.send(crash.cells[3], "c3")
        wait_for(tmp_path / "at-body")
        crash.disarm("body")
        with crash.kernel() as other:
            other.ok(crash.cells[0], "c0")
            other.ok("%steps resume --take-over")
            (tmp_path / "go").touch()
            said = kernel.finish(request)

    assert "fenced" in said.error
    assert crash.ledger() == ["load", "before"]
    assert "effect_opened" not in crash.journal()


# -- the commands ----------------------------------------------------------------


def test_a_committed_effect_is_a_duplicate_risk_of_a_new_run(tmp_path):
    """The plan from scratch says what would happen outside a second time."""
    crash = crash_in(tmp_path)
    with crash.kernel() as kernel:
        run_to(kernel, crash, 3)
        inside = kernel.ok("%steps plan --from-scratch").text
        table = kernel.ok("%steps").text

    assert "DUPLICATE RISK: 1 effect done" in inside
    assert inside.count("DUPLICATE RISK") == 1
    assert "1 effect done" in table
    assert "DUPLICATE RISK" in crash.command("plan", "--from-scratch")


def test_a_rerun_replays_and_again_calls(tmp_path):
    """The step is locked; unlocked it replays its effect, unless that is named."""
    crash = crash_in(tmp_path)
    with crash.kernel() as kernel:
        run_to(kernel, crash, 3)
        refused = kernel.run("%steps rerun work")
        edited = f"{WORK}\nmore = 1"
        crash.write([*crash.cells[:3], edited, crash.cells[4]])
        locked = kernel.run(edited, "c3")
        kernel.ok("%steps rerun work --because 'a new column'")
        kernel.ok(edited, "c3")
        replayed = charges(crash)
        kernel.ok("%steps rerun work --again charge --because 'asked for'")
        kernel.ok(edited, "c3")

    told = crash.command("rerun", "work", "--again", "all", "--because", "tried")
    assert "step work will run when its cell is run" in told
    assert crash.record("resolution")["again"] == ["all"]
    assert "--because TEXT" in refused.error
    assert locked.error.startswith("LockedStep")
    assert (replayed, charges(crash)) == (1, 2)


@pytest.mark.long
def test_a_headless_run_stops_and_goes_on(tmp_path):
    """Killed in the call it ends with 1, in doubt with 2, and settled with 0."""
    setup = SETUP + (
        "\ndef charge(amount):\n    note('charge')\n    os.kill(os.getpid(), 9)"
    )
    crash = crash_in(tmp_path, setup=setup)
    notebook = str(tmp_path / "main.ipynb")

    def run():
        return CliRunner().invoke(cli, ["run", notebook], env=crash.environment)

    killed, refused = run(), run()
    crash.command(
        *("resolve", "work", "evidence", "--effect", "charge"),
        *("--result", "{'id': 'ch_6'}", "--because", "seen"),
    )
    done = run()

    assert [ended.exit_code for ended in (killed, refused, done)] == [1, 2, 0]
    assert "step work" in killed.output
    assert f"nbresume resolve {notebook} work" in refused.output
    assert charges(crash) == 1
    assert set(crash.states().values()) == {"COMMITTED"}
