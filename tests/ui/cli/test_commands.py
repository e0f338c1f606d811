"""The commands that look at a run or decide about it, without a kernel."""

import json
import shutil

import pytest
from real_kernel import LOAD, Kernel, hashes, kinds, save

from nbresume.run.view import RunView

pytestmark = pytest.mark.kernel

A = "%%step a\nx = [1, 2]"
B = "%%step b\ny = sum(x)"
C = "%%step c --effects\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a run: two committed steps and one in doubt."""
    folder = tmp_path_factory.mktemp("made")
    save(folder / "nb.ipynb", LOAD, A, B, C, "%%step d\nz = y")
    with Kernel(folder, "nb.ipynb") as kernel:
        for number, code in enumerate((LOAD, A, B)):
            kernel.ok(code, f"c{number}")
        kernel.send(C, "c3")
        kernel.process.wait()
    return folder


@pytest.fixture
def notebook(made, tmp_path, monkeypatch):
    """Return the notebook in a copy of that folder, at its own path."""
    # a run belongs to a path: keep the run by name, as a moved project does
    shutil.copytree(made, tmp_path / "copy")
    run_id = next((made / ".nbresume" / "journal").iterdir()).name
    monkeypatch.setenv("NBRESUME_RUN", run_id)
    return tmp_path / "copy" / "nb.ipynb"


def store(notebook):
    """Return the store's folder."""
    return notebook.parent / ".nbresume"


def states(done):
    """Return step → state of a printed RunView."""
    return {s.name: str(s.state) for s in RunView.from_json(done.out.encode()).steps}


EXPECTED = {"a": "COMMITTED", "b": "COMMITTED", "c": "AMBIGUOUS", "d": "NEW"}


def test_status_shows_every_step(nbresume, notebook):
    """`nbresume status` is the table; with `--json` it is the RunView."""
    table = nbresume("status", notebook)
    as_json = nbresume("status", notebook, "--json")

    assert (table.code, as_json.code) == (0, 0)
    assert "ambiguous (in doubt)" in table.out
    assert "stopped at c" in table.out
    assert states(as_json) == EXPECTED


def test_plan_says_what_would_happen(nbresume, notebook):
    """`nbresume plan` tells the verdict of each step; also as JSON."""
    done = nbresume("plan", notebook)
    as_json = nbresume("plan", notebook, "--json")

    verdicts = [line.split()[0].lower() for line in done.out.splitlines()[2:]]
    planned = json.loads(as_json.out)
    assert verdicts == ["replay", "replay", "refused", "refused"]
    assert [step["verdict"] for step in planned["steps"]] == verdicts
    assert planned["headline"] in done.out


def test_plan_from_scratch_is_json_too(nbresume, notebook):
    """Each step runs; what would happen twice outside is marked."""
    done = nbresume("plan", notebook, "--from-scratch", "--json")

    assert {step["verdict"] for step in json.loads(done.out)["steps"]} == {"run"}


def test_explain_says_why(nbresume, notebook):
    """`nbresume explain` gives the verdict cue by cue, and the ways out; or JSON."""
    replayed = nbresume("explain", notebook, "a")
    doubt = nbresume("explain", notebook, "c")
    as_json = json.loads(nbresume("explain", notebook, "a", "--json").out)
    unknown = nbresume("explain", notebook, "nowhere")

    assert "step a is replayed: nothing that it depends on" in replayed.out
    assert as_json["sentence"] in replayed.out
    assert f"type nbresume resolve {notebook} c retry --because TEXT" in doubt.out
    assert [cue["is_changed"] for cue in as_json["cues"]] == [False]
    assert (unknown.code, "no step of that name" in unknown.err) == (2, True)


def test_inspect_shows_what_was_stored(nbresume, notebook):
    """`nbresume inspect` lists names with previews, and loads no value; or JSON."""
    shown = nbresume("inspect", notebook, "a")
    as_json = json.loads(nbresume("inspect", notebook, "a", "--json").out)
    nothing = nbresume("inspect", notebook, "c")

    (name,) = [output["name"] for output in as_json["outputs"]]
    assert as_json["code"].startswith("%%step a")
    assert as_json["outputs"][0]["preview"]["text/plain"] in shown.out
    assert f"\n{name}:\n" in shown.out
    assert (nothing.code, "has no commit" in nothing.err) == (2, True)


def test_history_is_the_trail(nbresume, notebook):
    """`nbresume history` lists all events, or those of one step; also as JSON."""
    all_ = json.loads(nbresume("history", notebook, "--json").out)
    one = nbresume("history", notebook, "a")

    assert [event["revision"] for event in all_] == list(range(6))
    assert one.code == 0
    assert {line.split()[3] for line in one.out.splitlines()[1:]} == {"a"}


@pytest.mark.parametrize(
    "command", ["status", "plan", "history", "verify", ["runs", "."]]
)
def test_looking_writes_nothing(nbresume, notebook, command):
    """A command that shows something changes no byte of the store."""
    before = hashes(notebook.parent)

    if isinstance(command, list):
        assert nbresume("runs", store(notebook)).code == 0
    else:
        assert nbresume(command, notebook).code == 0

    assert hashes(notebook.parent) == before


@pytest.mark.parametrize("how", ["retry", "evidence", "abandon"])
def test_resolve_settles_the_doubt(nbresume, notebook, how):
    """`nbresume resolve` records who decided what and why."""
    done = nbresume("resolve", notebook, "c", how, "--because", "I looked")

    assert done.code == 0, done.said
    assert f"step c is settled: {how} (I looked)" in done.out
    assert kinds(store(notebook))[-1] == "resolution"
    assert "I looked" in nbresume("history", notebook, "c").out
    expected = {"retry": "NEW", "evidence": "COMMITTED", "abandon": "ABANDONED"}[how]
    found = states(nbresume("status", notebook, "--json"))["c"]
    assert found in (expected, "INTERRUPTED" if how == "retry" else expected)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("c", "retry"), "--because"),
        (("c", "retry", "--because", "  "), "--because"),
        (("a", "retry", "--because", "x"), "nothing in doubt"),
        (("nowhere", "retry", "--because", "x"), "no step of that name"),
    ],
)
def test_a_decision_about_nothing_is_refused(nbresume, notebook, words, sentence):
    """Without a reason, or about a step that is not in doubt: 2, nothing written."""
    before = hashes(notebook.parent)

    done = nbresume("resolve", notebook, *words)

    assert done.code == 2
    assert sentence in done.err
    assert hashes(notebook.parent) == before


def test_rerun_unlocks_a_step(nbresume, notebook):
    """`nbresume rerun` lets a committed step run again, on record."""
    done = nbresume("rerun", notebook, "a", "--because", "new data")

    assert done.code == 0
    view = RunView.from_json(nbresume("status", notebook, "--json").out.encode())
    assert view.steps[0].plan == "rerun"
    assert "new data" in nbresume("history", notebook, "a").out


def test_verify_checks_every_digest(nbresume, notebook):
    """`nbresume verify` walks everything; a flipped byte is 1 and told."""
    whole = nbresume("verify", notebook)
    pack = next(store(notebook).glob("data.zarr/*/*/pack/c.0"))
    data = bytearray(pack.read_bytes())
    data[0] ^= 1
    pack.chmod(0o600)
    pack.write_bytes(data)
    broken = nbresume("verify", notebook)

    assert whole.code == 0
    assert "every digest holds" in whole.out
    assert broken.code == 1
    assert "DAMAGED" in broken.out


def test_runs_lists_the_runs(nbresume, notebook):
    """`nbresume runs` names each run of a store with its notebook."""
    done = nbresume("runs", store(notebook))

    assert done.code == 0
    assert len(done.out.splitlines()) == 1
    assert "nb.ipynb" in done.out


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("status", "--json"),
        ("plan",),
        ("history",),
        ("verify",),
        ("resolve", "a", "retry", "--because", "x"),
        ("rerun", "a", "--because", "x"),
    ],
)
def test_a_notebook_without_a_store_is_refused(nbresume, tmp_path, words):
    """Without a store every command is 2, one sentence, and makes none."""
    save(tmp_path / "nb.ipynb", LOAD, A)

    done = nbresume(words[0], tmp_path / "nb.ipynb", *words[1:])

    assert done.code == 2
    assert "has no run" in done.err
    assert "nbresume run" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["nb.ipynb"]


def test_a_notebook_that_does_not_exist_is_refused(nbresume, tmp_path):
    """A status of a file that is not there is 2 and makes nothing."""
    assert nbresume("status", tmp_path / "no.ipynb").code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["runs", "trust"])
def test_a_folder_that_is_no_store_is_refused(nbresume, tmp_path, command):
    """`runs` and `trust` of a folder that is no store say so and write nothing."""
    (tmp_path / "mine.txt").write_text("mine")

    done = nbresume(command, tmp_path)

    assert done.code in (2, 3), done.said
    assert len(done.err.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("command", ["status", "history", "verify", "plan"])
def test_a_store_that_is_a_file_is_refused(nbresume, tmp_path, command):
    """A file where the store should be is 2, one sentence, and stays."""
    save(tmp_path / "nb.ipynb", LOAD, A)
    (tmp_path / ".nbresume").write_text("mine")

    done = nbresume(command, tmp_path / "nb.ipynb")

    assert done.code == 2
    assert "it is a file" in done.err
    assert len(done.err.splitlines()) == 1
    assert (tmp_path / ".nbresume").read_text() == "mine"


def test_a_run_on_a_store_that_is_a_file_is_refused(in_child, tmp_path):
    """`nbresume run` ends with 2 where no store can be; nothing ran."""
    save(tmp_path / "nb.ipynb", LOAD, A)
    (tmp_path / ".nbresume").write_text("mine")

    done = in_child("run", tmp_path / "nb.ipynb")

    assert done.code == 2, done.said
    assert "it is a file" in done.err
    assert (tmp_path / ".nbresume").read_text() == "mine"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [('{"format":2}', "format 2"), ("{", "damaged"), ("", "damaged")],
)
def test_a_store_of_another_format_is_refused(nbresume, notebook, text, sentence):
    """A newer or torn store.json is 2 for every command; no byte changes."""
    (store(notebook) / "store.json").write_text(text)
    before = hashes(notebook.parent)

    for words in (["status", notebook], ["verify", notebook]):
        done = nbresume(*words)
        assert done.code == 2, done.said
        assert sentence in done.err
    done = nbresume("resolve", notebook, "c", "retry", "--because", "x")
    assert done.code == 2
    assert hashes(notebook.parent) == before


# -- a store of somebody else -----------------------------------------------------


@pytest.fixture
def foreign(notebook, tmp_path, monkeypatch):
    """Return a notebook whose store was written under another key."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "other-data"))
    return notebook


def test_a_foreign_store_is_listed(nbresume, foreign):
    """Status, history, plan and runs show a foreign store and say so."""
    before = hashes(foreign.parent)

    status = nbresume("status", foreign)
    as_json = nbresume("status", foreign, "--json")
    history = nbresume("history", foreign)
    runs = nbresume("runs", store(foreign))

    assert [d.code for d in (status, as_json, history, runs)] == [0] * 4, history.err
    assert "not trusted" in status.out
    assert states(as_json) == EXPECTED
    assert len(history.out.splitlines()) == 7
    assert hashes(foreign.parent) == before


@pytest.mark.parametrize(
    "words",
    [
        ("verify",),
        ("resolve", "c", "retry", "--because", "x"),
        ("rerun", "a", "--because", "x"),
    ],
)
def test_a_foreign_store_is_not_decided_about(nbresume, foreign, words):
    """Decisions about a foreign store are refused until it is trusted."""
    before = hashes(foreign.parent)

    done = nbresume(words[0], foreign, *words[1:])

    assert done.code in (1, 2), done.said
    assert "trust" in done.said
    assert hashes(foreign.parent) == before


def test_a_foreign_store_is_loaded_only_after_trust(
    nbresume, in_child, foreign, tmp_path
):
    """A run on a foreign store is refused; after `trust` it resumes.

    Neither refusal nor trust nor resuming changes a byte that was there.
    """
    # what is marked as run by this kernel is only what stands below the doubt
    save(foreign, LOAD, A, B, ("c4", "%%step d\nz = y\nz"))
    before = hashes(store(foreign))
    refused = in_child("run", foreign, "-o", tmp_path / "out.ipynb")

    assert refused.code == 2, refused.said
    assert "nbresume trust" in refused.err
    assert hashes(store(foreign)) == before

    assert nbresume("trust", store(foreign)).code == 0
    assert hashes(store(foreign)) == before
    status = nbresume("status", foreign)
    assert "not trusted" not in status.out
    # a step in doubt stops what is below it, also when its cell is gone
    doubtful = next(n for n, s in EXPECTED.items() if s == "AMBIGUOUS")
    words = ("resolve", foreign, doubtful, "retry", "--because", "nothing was sent")
    assert nbresume(*words).code == 0
    done = in_child("run", foreign, "-o", tmp_path / "out.ipynb")

    assert done.code == 0, done.said
    after = hashes(store(foreign))
    derived = ("zarr.json",)
    changed = {
        path
        for path, digest in before.items()
        if after.get(path) != digest and not path.endswith(derived)
    }
    assert changed == set()
    shown = (tmp_path / "out.ipynb").read_text()
    assert shown.count("[restored]") == 2


def test_what_is_trusted_is_what_was_seen(nbresume, foreign):
    """Records added to a foreign store after `trust` are not trusted."""
    assert nbresume("trust", store(foreign)).code == 0
    last = max(store(foreign).glob("journal/*/*.rec"))
    added = json.loads(last.read_bytes())
    added["revision"] += 1
    (last.parent / f"{added['revision']:010d}.rec").write_text(json.dumps(added))

    done = nbresume("verify", foreign)

    assert done.code != 0
