"""Loading watches the kernel at once, and joins what runs steps only afterwards."""

import asyncio
import threading

from nbresume.capture.entries import Made
from nbresume.ui.ipython import idle, magics

A = "%%step a\nx = 1"


def session_of(shell):
    """Return the session of a shell in which nbresume is loaded."""
    return shell.ip._nbresume.session


def test_loading_joins_nothing_that_runs_steps(shell):
    """The first cell after it does, whatever it is, before its first statement."""
    session = session_of(shell)
    assert session.joined is None
    assert session.running is None

    seen = "get_ipython()._nbresume.session.joined is not None"
    assert shell.run(f"joined = {seen}", "plain").ok

    assert shell.ip.user_ns["joined"] is True


def test_a_run_that_is_shown_is_joined(shell):
    """What it shows asks what an earlier kernel left."""
    assert shell.run(A, "a").ok
    assert shell.run("%unload_ext nbresume", "u").ok
    shell.ip.reset()

    assert "1 of 1 steps locked" in shell.load().text
    assert session_of(shell).joined is not None


def test_what_the_loading_cell_makes_after_the_load_is_its_own(bare):
    """A name that it binds there is ambient, and the cell answers for it."""
    assert bare.run("early = [1]", "before").ok
    assert bare.run("%load_ext nbresume\nlate = [2]", "load").ok
    assert session_of(bare).joined is None

    assert bare.run("%%step a\ny = early + late", "a").ok

    early, late = (session_of(bare).live.entry(name) for name in ("early", "late"))
    assert [early.made, late.made] == [Made.AMBIENT, Made.AMBIENT]
    assert [len(early.cells), len(late.cells)] == [0, 1]


def test_a_state_that_the_loading_cell_changes_is_seen(bare):
    """The process state before the load is what is put back, and not a later one."""
    code = "%load_ext nbresume\nimport os\nos.environ['MODE_OF_MINE'] = 'fast'"
    assert bare.run(code, "load").ok
    step = "%%step a\nimport os\nwas = os.environ.pop('MODE_OF_MINE')"
    assert bare.run(step, "a").ok

    commit = session_of(bare).journal.state.commit("a")

    assert commit.record.process["env:MODE_OF_MINE"].gone
    assert "MODE_OF_MINE" not in session_of(bare).opened.process._loaded


def test_a_thread_that_a_cell_starts_is_not_the_kernels_own(bare):
    """Also if the cell that loads starts it, before anything was joined."""
    code = (
        "%load_ext nbresume\nimport threading\nend = threading.Event()\n"
        "thread = threading.Thread(target=end.wait)\nthread.start()"
    )
    assert bare.run(code, "load").ok
    thread = bare.ip.user_ns["thread"]

    assert thread not in session_of(bare).opened.threads
    assert threading.main_thread() in session_of(bare).opened.threads

    assert bare.run("end.set()\nthread.join()", "end").ok


def test_a_quiet_moment_after_the_load_joins_it(bare, monkeypatch):
    """Then the first step need not wait for it."""
    monkeypatch.setattr(idle, "FIRST_S", 0.001)

    async def main():
        bare.load()
        before = session_of(bare).joined
        for _ in range(500):
            await asyncio.sleep(0.01)
            if session_of(bare).joined is not None:
                break
        return before, session_of(bare).joined

    before, after = asyncio.run(main())

    assert before is None
    assert after is not None
    assert bare.run(A, "a").ok
    assert session_of(bare).joined is after
    assert bare.kinds() == ["claim", "intent", "committed"]


def test_a_load_between_cells_joins_it(bare):
    """No reply waits for it, and the first cell need not either."""
    magics.load_between_cells(bare.ip)

    assert session_of(bare).joined is not None
