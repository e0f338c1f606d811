"""What the server cannot answer as asked is a sentence that says what to do."""

import json
import os
import shutil

import pytest
from real_kernel import LOAD, Kernel, save

pytestmark = pytest.mark.kernel

A = "%%step a\nx = [1, 2]"
B = "%%step b\ny = sum(x)"


@pytest.fixture
def made(folder):
    """Return a folder whose notebook has a committed step; its kernel has ended."""
    save(folder / "nb.ipynb", LOAD, A, B)
    with Kernel(folder, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(A, "c1")
    return folder


def ask(server, folder, name="nb.ipynb", route="run"):
    """Ask for the run of a notebook."""
    return server.get(f"nbresume/{route}", path=f"{folder.name}/{name}")


def store_of(folder):
    """Return the path of a notebook's store."""
    return folder / ".nbresume"


def newest_record(folder):
    """Return the file of the newest record."""
    return max(store_of(folder).glob("journal/*/*.rec"))


def a_file(folder):
    """Put a file where the store should be."""
    shutil.rmtree(store_of(folder))
    store_of(folder).write_text("no store")


def half_of_store_json(folder):
    """Cut the store's own description."""
    (store_of(folder) / "store.json").write_text('{"format":')


def of_a_later_release(folder):
    """Let another release have made it."""
    (store_of(folder) / "store.json").write_text('{"format": 99, "made_by": "later"}')


def unreadable(folder):
    """Let reading fail, as a device or missing permissions do."""
    record = newest_record(folder)
    record.unlink()
    record.mkdir()


@pytest.mark.parametrize(
    ("harm", "because", "remedy"),
    [
        (a_file, "it is a file", "Choose an empty or new folder"),
        (
            half_of_store_json,
            "damaged or incomplete",
            "Put store.json back from a copy",
        ),
        (of_a_later_release, "format 99", "or a newer one"),
        (unreadable, "Is a directory", "Look at the folder"),
    ],
)
def test_a_store_that_cannot_be_read_is_told(server, made, harm, because, remedy):
    """On every route, also when somebody decides."""
    harm(made)
    answers = [ask(server, made, route=r) for r in ("run", "history", "plan")]
    decision = {"path": f"{made.name}/nb.ipynb", "step": "a", "how": "rerun"}
    answers.append(server.post("nbresume/decide", decision | {"because": "x"}))

    for answer in answers:
        assert answer.status == 409
        assert because in answer.json["because"]
        assert remedy in answer.json["remedy"]


def test_a_damaged_record_is_told_in_the_view(server, made):
    """The rest is shown."""
    record = newest_record(made)
    record.chmod(0o600)
    record.write_bytes(b"{")

    answer = ask(server, made)
    assert answer.status == 200
    assert answer.json["damaged"] == [int(record.stem)]
    assert answer.json["differs"] == []


def test_a_renamed_notebook_goes_on_with_its_run(server, made):
    """And that is told."""
    run_id = ask(server, made).json["run_id"]
    (made / "nb.ipynb").rename(made / "better.ipynb")
    old, new = ask(server, made), ask(server, made, "better.ipynb")

    assert old.status == 404
    assert "open it where it lies now" in old.json["remedy"]
    assert new.json["run_id"] == run_id
    assert new.json["headline"] == "1 of 2 steps locked; goes on at b"
    assert new.json["differs"][0] == (
        "this notebook was nb.ipynb before: its steps are taken over"
    )


def test_a_copied_notebook_starts_a_run_of_its_own(server, made):
    """Which run it is a copy of, and how to go on with that one."""
    run_id = ask(server, made).json["run_id"]
    shutil.copy(made / "nb.ipynb", made / "copy.ipynb")
    copy = ask(server, made, "copy.ipynb").json

    assert copy["run_id"] != run_id
    assert copy["headline"] == "0 of 2 steps locked; goes on at a"
    assert "copy of nb.ipynb" in copy["differs"][0]
    assert f"set NBRESUME_RUN={run_id}" in copy["differs"][0]


def test_a_deleted_notebook_is_told(server, made):
    """What was committed is not lost with it."""
    (made / "nb.ipynb").unlink()
    answer = ask(server, made)

    assert answer.status == 404
    assert "what was committed stays in its store" in answer.json["remedy"]


def test_two_notebooks_on_one_run_are_told(tmp_path, serving):
    """A setting that names the run is the same for both."""
    with serving(tmp_path, env={"NBRESUME_RUN": "together"}) as server:
        folder = server.root / "two"
        folder.mkdir()
        save(folder / "nb.ipynb", LOAD, A, B)
        save(folder / "other.ipynb", LOAD, A)
        env = {"NBRESUME_RUN": "together"}
        with Kernel(folder, "nb.ipynb", env=env) as kernel:
            kernel.ok(LOAD, "c0")
            kernel.ok(A, "c1")
            one, other = ask(server, folder), ask(server, folder, "other.ipynb")

    assert one.json["differs"] == []
    told = other.json["differs"][0]
    assert f"the other one is {folder}{os.sep}nb.ipynb" in told
    assert "set NBRESUME_RUN to another name" in told
    assert other.json["claim"]["alive"]


LATER = "import nbresume.compose.system as s; s.PRODUCT = 'nbresume 99'"


def test_a_kernel_of_another_release_is_told(server, folder):
    """The server has an environment of its own; so has the kernel."""
    save(folder / "nb.ipynb", LOAD, A)
    with Kernel(folder, "nb.ipynb") as kernel:
        kernel.ok(LATER)
        kernel.ok(LOAD, "c0")
        kernel.ok(A, "c1")
        answer = ask(server, folder).json

    assert answer["claim"]["product"] == "nbresume 99"
    assert "has nbresume 99, this is nbresume " in answer["differs"][0]
    assert "install the same release" in answer["differs"][0]
    assert answer["version"] in json.dumps(answer["differs"])
