"""Open pages are told what the steps of a kernel do, by the comm `nbresume`."""

import queue
import threading
import time
import uuid

import pytest
from IPython.core.interactiveshell import InteractiveShell
from real_kernel import LOAD, Kernel, save

from nbresume.settings import __version__
from nbresume.ui.ipython.pages import TARGET, Pages, Phase

# -- real kernels ----------------------------------------------------------------


class Page:
    """A page that opened the comm in a real kernel, and reads what comes by iopub."""

    def __init__(self, kernel: Kernel) -> None:
        self._client = kernel._client
        self.comm_id = uuid.uuid4().hex
        self.seen: list[dict] = []
        self.open()

    def open(self) -> None:
        """Open the comm as a page does."""
        self._say("comm_open", target_name=TARGET, data={})

    def close(self) -> None:
        """Close the comm as a page does that is left."""
        self._say("comm_close", data={})

    def _say(self, kind: str, **content) -> None:
        session, channel = self._client.session, self._client.shell_channel
        channel.send(session.msg(kind, {"comm_id": self.comm_id, **content}))

    def until(self, is_last, timeout_s: float = 30) -> list[dict]:
        """Read on until a message is the one; return what was read, that included."""
        end, read = time.monotonic() + timeout_s, []
        while time.monotonic() < end:
            try:
                message = self._client.iopub_channel.get_msg(timeout=0.2)
            except queue.Empty:
                continue
            read.append(message)
            if is_last(message):
                self.seen += read
                return read
        pytest.fail(f"it never came; read: {[m['msg_type'] for m in read]}")

    def event(self, message: dict) -> dict | None:
        """Return what a message tells this page."""
        content = message["content"]
        mine = content.get("comm_id") == self.comm_id
        return content["data"] if mine and message["msg_type"] == "comm_msg" else None

    def session(self) -> dict:
        """Return the next session event."""
        read = self.until(lambda m: (self.event(m) or {}).get("event") == "session")
        return self.event(read[-1])

    def cell(self, kernel: Kernel, code: str, cell_id: str) -> list[tuple[str, str]]:
        """Run a cell; return (what, phase or text) of what came, in order."""
        request = kernel.send(code, cell_id)
        read = self.until(
            lambda m: (
                m["parent_header"].get("msg_id") == request
                and m["content"].get("execution_state") == "idle"
            )
        )
        return [told for m in read if (told := self._told(m))]

    def _told(self, message: dict) -> tuple[str, str] | None:
        event = self.event(message)
        if event and event["event"] == "step":
            return event["step"], event["phase"]
        if message["msg_type"] == "stream":
            return "stream", message["content"]["text"]
        return None


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a notebook of two steps."""
    save(
        tmp_path / "main.ipynb", LOAD, "%%step a\nprint('in a')\nx = 1", "%%step b\n1/0"
    )
    return tmp_path


@pytest.mark.kernel
def test_running_is_told_before_the_body_runs_and_while_the_kernel_is_busy(folder):
    """The event precedes the body's first output, which precedes the commit's."""
    with Kernel(folder) as kernel:
        kernel.ok(LOAD, "c0")
        page = Page(kernel)
        assert page.session()["version"] == __version__
        request = kernel.send(
            "%%step a\nprint('in a', flush=True)\nimport os, time\n"
            "while not os.path.exists('go'):\n    time.sleep(0.05)",
            "c1",
        )
        # the body ends only when both have come
        page.until(lambda m: (page.event(m) or {}).get("phase") == "running")
        printed = page.until(lambda m: m["msg_type"] == "stream")
        assert printed[-1]["content"]["text"].startswith("in a")
        (folder / "go").touch()
        read = page.until(lambda m: (page.event(m) or {}).get("phase") == "committed")
        page.until(lambda m: m["content"].get("execution_state") == "idle")

    event = page.event(read[-1])
    assert (event["step"], event["cell_id"]) == ("a", "c1")
    assert read[-1]["parent_header"]["msg_id"] == request


@pytest.mark.kernel
def test_ran_and_restored_are_told_apart(folder):
    """Also to a page that opens later, and after a restart."""
    step = "%%step a\nprint('in a')\nx = 1"
    with Kernel(folder) as kernel:
        kernel.ok(LOAD, "c0")
        page = Page(kernel)
        page.session()
        first = page.cell(kernel, step, "c1")
        again = page.cell(kernel, step, "c1")
        failed = page.cell(kernel, "%%step b\n1/0", "c2")
        late = Page(kernel).session()
    with Kernel(folder) as kernel:
        kernel.ok(LOAD, "c0")
        page = Page(kernel)
        empty = page.session()
        restored = page.cell(kernel, step, "c1")
        held = Page(kernel).session()

    # what the body printed may be told later than its commit
    assert [t for t in first if t[0] == "a"] == [("a", "running"), ("a", "committed")]
    # a replay in the kernel that ran it changes nothing in how it holds the values
    assert ("a", "committed") in again
    assert ("a", "restored") not in again
    assert [t for t in failed if t[0] == "b"] == [("b", "running"), ("b", "failed")]
    assert late["steps"] == {"a": "ran"}
    assert empty["steps"] == {}
    assert ("a", "restored") in restored
    assert held["steps"] == {"a": "restored"}
    assert held["run_id"] == late["run_id"]


@pytest.mark.kernel
def test_an_interrupt_and_a_refusal_are_told(folder):
    """What was refused never was running."""
    with Kernel(folder) as kernel:
        kernel.ok(LOAD, "c0")
        page = Page(kernel)
        page.session()
        kernel.send("%%step a\nimport time; time.sleep(30)", "c1")
        page.until(lambda m: (page.event(m) or {}).get("phase") == "running")
        kernel.interrupt()
        page.until(lambda m: (page.event(m) or {}).get("phase") == "interrupted")
        page.until(lambda m: m["content"].get("execution_state") == "idle")
        refused = page.cell(kernel, "%%step b\n_", "c2")

    assert [t for t in refused if t[0] == "b"] == [("b", "refused")]


@pytest.mark.kernel
def test_a_page_that_went_away_costs_a_cell_nothing(folder):
    """It closed its comm, or never said that it left."""
    with Kernel(folder) as kernel:
        kernel.ok(LOAD, "c0")
        page, other = Page(kernel), Page(kernel)
        page.close()
        del other
        said = kernel.run("%%step a\nprint('in a')\nx = 1", "c1")

    assert said.status == "ok"
    assert "in a" in said.text


@pytest.mark.kernel
def test_nothing_is_imported_for_pages_that_nobody_opened(folder):
    """The kernel has the comms' module already; nbresume adds none."""
    with Kernel(folder) as kernel:
        before = kernel.evaluate("'ipywidgets' in __import__('sys').modules")
        kernel.ok(LOAD, "c0")
        kernel.ok("%%step a\nx = 1", "c1")
        after = kernel.evaluate("'ipywidgets' in __import__('sys').modules")

    assert (before, after) == ("False", "False")


# -- a fake comm -----------------------------------------------------------------


class Comm:
    """A comm whose page is there, or away."""

    def __init__(self, *, away: bool = False) -> None:
        self.away = away
        self.sent: list[dict] = []
        self.closed = False
        self.left = None

    def on_close(self, callback) -> None:
        """Keep what is called when the page leaves."""
        self.left = callback

    def send(self, event) -> None:
        """Send, or fail as a socket does that was closed."""
        if self.away:
            raise OSError
        self.sent.append(event)

    def close(self) -> None:
        """Close it."""
        self.closed = True


@pytest.fixture
def pages(shell):
    """Return what tells pages in a shell in which step a ran."""
    shell.save(LOAD, "%%step a\nx = 1", "%%step b\ny = x")
    return shell.ip._nbresume.pages


def phases(comm):
    """Return the steps and phases that a page was told."""
    return [(e["step"], e["phase"]) for e in comm.sent if e["event"] == "step"]


def test_a_page_that_cannot_be_told_is_forgotten(shell, pages):
    """Others are told, and the cell's step is committed."""
    away, here = Comm(away=True), Comm()
    pages._opened(away, {})
    pages._opened(here, {})

    assert shell.run("%%step a\nx = 1", "c1").ok
    assert phases(here) == [("a", "running"), ("a", "committed")]
    assert pages._listening() == [here]


def test_a_page_that_leaves_is_not_told(shell, pages):
    """It said so."""
    comm = Comm()
    pages._opened(comm, {})
    comm.left({})

    assert shell.run("%%step a\nx = 1", "c1").ok
    assert phases(comm) == []


def test_a_resume_a_rename_and_a_new_run_are_told(bare, shell, pages):
    """A session event says how each committed step came into this kernel."""
    assert shell.run("%%step a\nx = 1", "c1").ok
    comm = Comm()
    pages._opened(comm, {})
    assert shell.run("%steps resume").ok
    assert shell.run("%steps rename a one").ok
    assert shell.run("%steps new").ok

    told = [(e["run_id"], e["steps"]) for e in comm.sent if e["event"] == "session"]
    assert [steps for _, steps in told] == [
        {"a": "ran"},
        {"a": "ran"},
        {"one": "ran"},
        {},
    ]
    assert told[-1][0] != told[0][0]


def test_what_a_resume_brought_back_is_restored(shell, pages):
    """It was committed by a kernel before."""
    shell.save(LOAD, "%%step a\nx = 1")
    assert shell.run("%%step a\nx = 1", "c1").ok
    shell.run("%unload_ext nbresume")
    shell.load()
    comm = Comm()
    shell.ip._nbresume.pages._opened(comm, {})
    assert shell.run("%steps resume").ok

    assert [e["steps"] for e in comm.sent] == [{}, {"a": "restored"}]


def test_what_was_taken_back_is_not_held(shell, pages):
    """An undo and a checkout move values: a page locks by what is there now."""
    shell.save(LOAD, "%%step a\nx = 1", "%%step b\ny = x", "%%step c\nz = y")
    for cell, code in (("c1", "a\nx = 1"), ("c2", "b\ny = x"), ("c3", "c\nz = y")):
        assert shell.run(f"%%step {code}", cell).ok
    comm = Comm()
    pages._opened(comm, {})
    for typed in ("undo", "checkout a", "checkout b", "resume"):
        assert shell.run(f"%steps {typed}").ok

    assert [e["steps"] for e in comm.sent if e["event"] == "session"] == [
        {"a": "ran", "b": "ran", "c": "ran"},
        {"a": "ran", "b": "ran"},
        {"a": "ran"},
        {"a": "ran", "b": "restored"},
        {"a": "ran", "b": "restored", "c": "restored"},
    ]


def test_a_commit_made_later_is_told(shell, pages, monkeypatch):
    """The body had ended; its commit failed at first."""
    comm = Comm()
    pages._opened(comm, {})
    commits = shell.ip._nbresume.session.parts.commits
    with monkeypatch.context() as patched:
        patched.setattr(commits, "commit", _full)
        assert not shell.run("%%step a\nx = 1", "c1").ok
    assert shell.run("%steps commit a").ok

    assert phases(comm) == [("a", "running"), ("a", "failed"), ("a", "committed")]


def _full(*_, **__):
    raise OSError


def test_a_shell_without_a_kernel_has_no_pages(shell, pages):
    """Nothing is registered, and nothing fails."""
    pages.listen(shell.ip)
    pages.tell("a", "c1", Phase.RUNNING)
    pages.close(InteractiveShell.instance())


def test_pages_are_told_from_any_thread(shell, pages):
    """A busy kernel opens a comm in a subshell's thread."""
    comm = Comm()
    thread = threading.Thread(target=pages._opened, args=(comm, {}))
    thread.start()
    thread.join()

    assert [e["event"] for e in comm.sent] == ["session"]


def test_unloading_closes_the_comms(shell, pages):
    """A page is not left waiting."""
    comm = Comm()
    pages._opened(comm, {})
    shell.run("%unload_ext nbresume")

    assert comm.closed
    assert isinstance(pages, Pages)
