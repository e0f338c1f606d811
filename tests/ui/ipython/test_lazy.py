"""Names that wait: restored when somebody needs them, and never noticed otherwise."""

import builtins
import threading

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from nbresume.errors import NotKeptError
from nbresume.run.restore import Restorer
from nbresume.ui.ipython import magics

STEPS = (
    "%%step a\nbig = list(range(100))\nother = {'x': big}\nsum = 5",
    "%%step g\ngen = (i for i in range(3))",
)


@pytest.fixture
def loads(monkeypatch):
    """Count which names are rebuilt."""
    seen = []
    rebuilt = Restorer.rebuilt

    def count(self, name, ref, step):
        seen.append(name)
        return rebuilt(self, name, ref, step)

    monkeypatch.setattr(Restorer, "rebuilt", count)
    return seen


@pytest.fixture
def restarted(shell, loads):
    """Return a shell in which committed steps were replayed, nothing else."""
    shell.save(*((f"c{i}", text) for i, text in enumerate(STEPS)))
    for i, text in enumerate(STEPS):
        assert shell.run(text, f"c{i}").ok
    magics.unload_ipython_extension(shell.ip)
    shell.ip.history_manager.end_session()
    InteractiveShell.clear_instance()
    again = type(shell)(shell.folder)
    again.load()
    for i, text in enumerate(STEPS):
        ran = again.run(text, f"c{i}")
        assert "[restored]" in ran.text, ran.text
    yield again
    again.close()


def test_a_replay_rebuilds_nothing(restarted, loads):
    """Not before a cell reads what was restored."""
    assert loads == []
    assert restarted.run("1 + 1").ok
    assert loads == []


@pytest.mark.parametrize(
    "code",
    [
        "r = big[0]",
        "def f(): return big\nr = f()[0]",
        "r = [big for _ in 'x'][0][0]",
        "class C: r = big[0]\nr = C.r",
        "r = eval('big')[0]",
        "exec('r = big[0]')",
        "r = globals()['big'][0]",
        "r = (lambda: big)()[0]",
        "r = getattr(__import__('__main__'), 'big')[0]",
        "import __main__\nr = __main__.big[0]",
        "name = 'b' + 'ig'\nr = eval(name)[0]",
        "async def f(): return big\nr = (await f())[0]",
        "%time r = big[0]",
        "r = 1 if not hasattr(__import__('__main__'), 'big') else big[0]",
    ],
)
def test_whoever_reads_a_name_finds_it(restarted, code):
    """However the code asks for it."""
    ran = restarted.run(code)

    assert ran.ok, ran.text
    assert restarted.ip.user_ns["r"] == 0


def test_only_what_is_read_is_rebuilt(restarted, loads):
    """And what shares data with it, since it could be changed through it."""
    restarted.run("n = sum + 1")

    assert restarted.ip.user_ns["n"] == 6
    assert loads == ["sum"]


def test_names_that_share_data_are_rebuilt_together(restarted, loads):
    """They are one object after a restart, too."""
    restarted.run("big.append('new')")

    assert sorted(loads) == ["big", "other"]
    assert restarted.run("assert other['x'] is big and big[-1] == 'new'").ok


def test_a_thread_finds_it(restarted):
    """Also one that reads it after its cell has ended."""
    restarted.run(
        "import threading\nfound, go = [], threading.Event()\n"
        "def read():\n    go.wait()\n    found.append(eval('b' + 'ig')[0])\n"
        "t = threading.Thread(target=read)\nt.start()"
    )
    restarted.run("go.set(); t.join()")

    assert restarted.ip.user_ns["found"] == [0]
    assert threading.active_count() >= 1


def test_a_name_that_is_set_or_deleted_waits_no_more(restarted, loads):
    """The user's own value wins."""
    restarted.run("big = 1")
    assert restarted.run("assert big == 1").ok
    restarted.run("del sum")

    assert restarted.run("assert sum([1]) == 1").ok
    assert "big" not in loads


def test_whos_lists_everything(restarted):
    """So do dir() and globals()."""
    listed = restarted.run("%whos").text

    assert "big" in listed
    assert "other" in listed
    assert restarted.run("assert 'big' in dir()").ok


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_completion_and_inspection_know_it(restarted):
    """Before anybody has read it."""
    _, found = restarted.ip.complete("bi")
    assert "big" in found
    with provisionalcompleter():
        found = list(restarted.ip.Completer.completions("big.app", 7))
    assert "append" in [completion.text for completion in found]
    assert restarted.ip.object_inspect("other")["found"]


def test_a_front_ends_expression_finds_it(restarted):
    """User expressions run no cell."""
    answer = restarted.ip.user_expressions({"r": "big[0] + len(other)"})

    assert answer["r"]["data"]["text/plain"] == "1"


def test_a_name_that_was_not_kept_says_so(restarted):
    """Its error is a NameError, so that code which expects one goes on working."""
    ran = restarted.run("gen")

    assert isinstance(ran.error, NotKeptError)
    assert isinstance(ran.error, NameError)
    assert "step g" in ran.text
    assert "rerun g" in ran.text
    assert restarted.run("try:\n    gen\nexcept NameError:\n    r = 'no'").ok
    assert restarted.run("assert not hasattr(__import__('__main__'), 'gen')").ok


def test_the_net_is_taken_down(restarted):
    """When nothing waits any more the builtins are Python's own again."""
    restarted.run("gen = other, big, sum")

    assert restarted.ip.user_ns["__builtins__"] is builtins
    assert "__getattr__" not in restarted.ip.user_ns


def test_unloading_leaves_every_value(restarted):
    """Nothing of the net stays behind."""
    restarted.run("%unload_ext nbresume")

    assert restarted.ip.user_ns["big"] == list(range(100))
    assert restarted.ip.user_ns["__builtins__"] is builtins


def test_a_step_that_loads_a_name_has_not_written_it(restarted):
    """It is an input that static analysis missed, no output."""
    text = "%%step h\nname = 'o' + 'ther'\nr = getattr(__import__('__main__'), name)"
    restarted.save(*((f"c{i}", t) for i, t in enumerate((*STEPS, text))))
    assert restarted.run(text, "c2").ok
    session = restarted.ip._nbresume.session

    assert "other" not in session.journal.state.commit("h").record.outputs


def test_the_keys_of_the_namespace_stay_where_they_are(restarted):
    """While names wait; else every replay would look at all names one by one."""
    before = [*restarted.ip.user_ns]
    assert "__getattr__" in before
    for i, text in enumerate(STEPS):
        assert restarted.run(text, f"c{i}").ok
    after = [*restarted.ip.user_ns]

    assert after[: len(before)] == before
    assert all(name.startswith("_i") for name in after[len(before) :])
