"""`%steps` and everything behind it, in a shell."""

import errno
import json
import signal

import pytest

from nbresume.errors import (
    CaptureError,
    NbresumeError,
    NotCommitted,
    RefusedError,
    UsageError,
)
from nbresume.run.view import RunView
from nbresume.store.chain import Chain
from nbresume.store.local import LocalBackend

A = "%%step a\nx = [1, 2]"
B = "%%step b --after a\ny = sum(x)"


@pytest.fixture
def two(bare):
    """Return a shell in which two steps are committed."""
    bare.save("%load_ext nbresume", A, B)
    bare.load()
    for cell_id, code in (("c1", A), ("c2", B)):
        assert bare.run(code, cell_id).ok
    return bare


def view(shell, command="%steps --json"):
    """Return what the command prints as a RunView."""
    ran = shell.run(command, "v")
    assert ran.ok, ran.text
    return RunView.from_json(ran.text.encode())


def states(shell):
    """Return step → state as the RunView tells it."""
    return {step.name: step.state.lower() for step in view(shell).steps}


@pytest.fixture
def failed_write(monkeypatch):
    """Return what makes every write of payloads fail until it is called again."""
    methods = {name: getattr(LocalBackend, name) for name in ("write", "begin")}

    def fail(on):
        def full(self, key, data):
            raise OSError(errno.ENOSPC, "No space left on device")

        for name, method in methods.items():
            monkeypatch.setattr(LocalBackend, name, full if on else method)

    return fail


def test_the_table_shows_every_step(two):
    """`%steps` names each step, its state and where the run goes on."""
    text = two.run("%steps", "v").text

    assert "nbresume: 2 of 2 steps locked; all are committed" in text
    assert [line.split()[1] for line in text.splitlines()[2:]] == ["a", "b"]


def test_json_is_the_run_view(two):
    """`%steps --json` is what every face shows, and nothing else."""
    shown = view(two)

    assert shown.to_json().decode() == two.run("%steps --json", "v").text.strip()
    assert [step.name for step in shown.steps] == ["a", "b"]
    assert shown.claim.mine
    assert shown.order == "the saved notebook"


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "--nonsense",
        "rerun",
        "resolve",
        "resolve a",
        "resolve a perhaps --because x",
        "commit",
        "rename a",
        "plan --nonsense",
        "new please",
        "history a b",
        "rerun 'open",
        "verify --all",
        "--help",
        "resume now",
    ],
)
def test_a_bad_command_is_told(two, line):
    """A command that makes no sense is one clear error; nothing is written."""
    before = two.hashes()

    ran = two.run(f"%steps {line}", "v")

    assert isinstance(ran.error, UsageError), ran.text
    assert ran.error.because
    assert "%steps" in ran.error.remedy
    assert 'File "' not in ran.text
    assert two.hashes() == before


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("resolve a retry", RefusedError),
        ("resolve a retry --because x", RefusedError),
        ("resolve nowhere retry --because x", NotCommitted),
        ("commit a", NotCommitted),
        ("commit nowhere", NotCommitted),
        ("verify nowhere", NotCommitted),
        ("rename nowhere c", NotCommitted),
        ("rename a b", RefusedError),
        ("rename a not/legal", NbresumeError),
    ],
)
def test_a_command_that_cannot_be_done_is_refused(two, line, kind):
    """A decision about nothing is refused, and nothing is written."""
    before = two.hashes()

    ran = two.run(f"%steps {line}", "v")

    assert isinstance(ran.error, kind), ran.text
    assert ran.error.remedy
    assert two.hashes() == before


def test_the_plan_tells_what_would_happen(two):
    """`%steps plan` says for each step whether it is replayed or run, and why."""
    two.save("%load_ext nbresume", A.replace("2", "3"), B)

    text = two.run("%steps plan", "v").text

    assert "its code changed" in text
    assert [line.split()[0] for line in text.splitlines()[2:]] == ["rerun", "rerun"]


def test_explain_and_inspect_tell_of_one_step(two):
    """Why it would run, cue by cue; and what its commit stored, with previews."""
    why = two.run("%steps explain b", "v").text
    stored = two.run("%steps inspect a", "v").text

    assert "step b is replayed: nothing that it depends on has changed" in why
    assert "after a" in why
    assert "x:\n[1, 2]" in stored
    assert isinstance(two.run("%steps explain nowhere", "v").error, NotCommitted)
    assert isinstance(two.run("%steps inspect nowhere", "v").error, NotCommitted)


READING = ["", "plan", "history", "verify", "verify a", "explain a", "inspect a"]


@pytest.mark.parametrize("command", READING)
def test_looking_writes_nothing(two, command):
    """Commands that show something leave every byte as it was."""
    before = two.hashes()

    assert two.run(f"%steps {command}", "v").ok

    assert two.hashes() == before


def test_verify_prints_the_proof(two):
    """`%steps verify NAME` shows record, digest, key, writer and time."""
    text = two.run("%steps verify a", "v").text

    lines = dict(line.split(maxsplit=1) for line in text.splitlines()[1:])
    assert text.startswith("step a is committed\n")
    assert lines["record"].startswith("revision 2, sha256 ")
    assert len(lines["record"].split()[-1]) == 64
    assert lines["signed"].startswith("by key ")
    assert "every digest checked" in lines["payloads"]


def test_verify_walks_the_run(two):
    """`%steps verify` without a name checks everything."""
    assert "every digest holds" in two.run("%steps verify", "v").text


def test_history_tells_the_trail(two):
    """`%steps history` is the audit trail, for one step or all, also as JSON."""
    one = two.run("%steps history a", "v").text
    all_ = json.loads(two.run("%steps history --json", "v").text)

    assert "committed" in one
    assert "b" not in {line.split()[3] for line in one.splitlines()[1:]}
    assert [event["revision"] for event in all_] == [0, 1, 2, 3, 4]


def test_rerun_lets_a_step_run_once_more(two):
    """After `%steps rerun` the step runs when its cell is run, once."""
    assert two.run("%steps rerun a", "v").ok

    first, second = two.run(A, "c1"), two.run(A, "c1")

    assert "[restored]" not in first.text
    assert "[restored]" in second.text


def test_rename_carries_the_commits_over(two):
    """A renamed step replays under its new name."""
    two.save("%load_ext nbresume", A.replace("step a", "step first"), B)
    assert two.run("%steps rename a first", "v").ok

    ran = two.run(A.replace("step a", "step first"), "c1")

    assert "[restored] step" in ran.text


def test_resolve_settles_a_failed_step(two):
    """A step that failed may be abandoned, which stops what stands below it."""
    assert not two.run("%%step c\n1 / 0", "c3").ok
    assert two.run("%steps resolve c abandon --because 'no use'", "v").ok

    ran = two.run("%%step c\n1 / 0", "c3")

    assert isinstance(ran.error, RefusedError)
    assert "abandoned" in str(ran.error)
    assert states(two)["c"] == "abandoned"


def test_resume_tells_where_to_go_on(two):
    """`%steps resume` names what is bound and the next cell."""
    two.save("%load_ext nbresume", A, B, "%%step c\nz = y")

    text = two.run("%steps resume", "v").text

    assert "resume point: step c" in text
    assert "next cell: step c" in text


def test_new_begins_a_run(two):
    """After `%steps new` every step runs again; the former run stays as it is."""
    before = two.hashes()
    assert two.run("%steps new", "v").ok

    ran = two.run(A, "c1")

    assert "[restored]" not in ran.text
    after = two.hashes()
    changed = {path for path in before if after.get(path) != before[path]}
    assert changed <= {"data.zarr/zarr.json"}
    assert len({path.name for path in (two.store / "journal").iterdir()}) == 2


def test_new_lasts_after_a_restart(two, monkeypatch):
    """The next kernel goes on with the newest run of the notebook."""
    assert two.run("%steps new", "v").ok
    run_id = view(two).run_id
    assert two.run("%reload_ext nbresume", "l").ok

    assert view(two).run_id == run_id


# -- a commit that fails ---------------------------------------------------------


def test_a_failed_commit_is_an_error_and_can_be_made_good(two, failed_write):
    """A full disk makes the cell fail as RAN; `%steps commit` commits it later."""
    two.save("%load_ext nbresume", A, B, "%%step c\nz = y * 2")
    failed_write(True)
    ran = two.run("%%step c\nz = y * 2", "c3")

    assert isinstance(ran.error, CaptureError), ran.text
    assert ran.error.remedy.startswith("Type %steps commit c")
    assert states(two)["c"] == "ran"
    assert two.ip.user_ns["z"] == 6

    again = two.run("%steps commit c", "v")
    assert isinstance(again.error, CaptureError)
    failed_write(False)
    done = two.run("%steps commit c", "v")

    assert done.ok, done.text
    assert states(two)["c"] == "committed"
    assert "[restored]" in two.run("%%step c\nz = y * 2", "c3").text


def test_a_failed_commit_of_another_value_is_refused(two, failed_write):
    """A name that was changed since the body ended is not committed."""
    failed_write(True)
    assert not two.run("%%step c\nz = [y]", "c3").ok
    failed_write(False)
    assert two.run("z.append(1)", "c4").ok

    ran = two.run("%steps commit c", "v")

    assert isinstance(ran.error, RefusedError)
    assert "z is no longer what the step left" in str(ran.error)
    assert states(two)["c"] == "ran"


def test_a_failed_commit_may_be_run_again(two, failed_write):
    """Running the cell again instead of committing it is just as good."""
    two.save("%load_ext nbresume", A, B, "%%step c\nz = y * 2")
    failed_write(True)
    assert not two.run("%%step c\nz = y * 2", "c3").ok
    failed_write(False)

    assert two.run("%%step c\nz = y * 2", "c3").ok
    assert states(two)["c"] == "committed"


def test_a_failed_intent_runs_nothing(two, monkeypatch):
    """When the intent cannot be written the body does not start."""

    def full(self, key, data, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(LocalBackend, "create", full)
        ran = two.run("%%step c\nz = 1", "c3")

    assert ran.error is not None
    assert "z" not in two.ip.user_ns
    assert two.run("%%step c\nz = 1", "c3").ok


def test_a_failure_that_cannot_be_recorded_is_told(two, monkeypatch):
    """When a body raised and the record of it fails, the reply is an error."""
    code = (
        "%%step c\nfrom nbresume.store.local import LocalBackend\n"
        "from nbresume.errors import Unavailable\n"
        "def full(self, key, data, **options): raise Unavailable('planted')\n"
        "LocalBackend.create, kept = full, LocalBackend.create\n"
        "1 / 0"
    )
    original = LocalBackend.create
    ran = two.run(code, "c3")
    LocalBackend.create = original

    assert ran.error is not None
    assert "planted" in ran.text
    assert two.run("%%step c\nz = 1", "c3").ok


def test_a_body_too_large_is_told(bare, monkeypatch):
    """A step over the limit is RAN and says which names are largest."""
    monkeypatch.setenv("NBRESUME_MAX_STEP_MB", "1")
    bare.load()

    ran = bare.run("%%step big\nx = bytes(range(256)) * 8192\ny = 1", "c1")

    assert isinstance(ran.error, CaptureError)
    assert "x (2 MB)" in str(ran.error)
    assert "NBRESUME_MAX_STEP_MB" in str(ran.error)


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_during_the_commit_leaves_it_whole(two, monkeypatch, when):
    """Ctrl-C while the record is written never makes a commit look like RAN."""
    append = Chain.append

    def interrupted(self, envelope, **options):
        ours = envelope.kind == "nbresume.committed"
        if ours and when == "before":
            signal.raise_signal(signal.SIGINT)
        link = append(self, envelope, **options)
        if ours and when == "after":
            signal.raise_signal(signal.SIGINT)
        return link

    with monkeypatch.context() as patch:
        patch.setattr(Chain, "append", interrupted)
        try:
            text = two.run("%%step c\nz = y * 2", "c3").text
        except KeyboardInterrupt:
            text = ""

    assert "RAN" not in text
    assert two.kinds()[-1] == "committed"
    two.save("%load_ext nbresume", A, B, "%%step c\nz = y * 2")
    assert states(two)["c"] == "committed"
    assert "[restored]" in two.run("%%step c\nz = y * 2", "c3").text
    assert two.run("%%step d\nw = z + 1", "c4").ok


def test_a_name_that_is_missed_after_a_restart_is_found(two):
    """A NameError says which step has committed it, and what to type."""
    assert two.run("%unload_ext nbresume", "u").ok
    del two.ip.user_ns["y"]
    two.load()
    missed = two.run("print(y)", "c3")

    assert isinstance(missed.error, NameError)
    assert (
        "step b has committed y, and this kernel does not have it: %steps resume"
        in missed.text
    )
    assert two.run("%steps resume", "c4").ok
    assert two.run("print(y)", "c3").text == "3\n"
    unknown = two.run("print(nowhere)", "c5")
    assert "has committed" not in unknown.text


def test_a_name_that_a_cell_above_would_make_is_found(two):
    """A NameError of a cell that is run too early says which cell has to run first."""
    imports = "%load_ext nbresume\n\nimport json as js"
    late = "%%step late\nfound = wanted + gone"
    two.save(imports, "%%step makes\nwanted = 1\nkept = gone = 2\ndel gone", late)
    two.run("pass", "c0")

    early = two.run(late, "c2")
    assert isinstance(early.error, NameError)
    assert "nbresume: step makes makes wanted: run it first" in early.text
    plain = two.run("js.dumps(1)", "elsewhere")
    assert (
        "the cell that begins with `%load_ext nbresume` makes js: run it" in plain.text
    )
    assert two.run("%%step makes\nwanted = 1\nkept = gone = 2\ndel gone", "c1").ok
    assert "gone" not in two.run("gone", "c2").text.partition("nbresume:")[2]
    upside = two.run("found", "c1")
    assert "step late, further down, makes found: run the cells from" in upside.text
