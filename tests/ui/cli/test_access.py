"""`nbresume history --access`: who read, exported, imported, trusted."""

import json
import shutil

import pytest
from real_kernel import LOAD, Kernel, hashes, save

pytestmark = pytest.mark.kernel

A = "%%step a\nx = list(range(1000))"
B = "%%step b\ny = sum(x)"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a run, and a user who has read nothing of it."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "user"))
    home = tmp_path / "home"
    home.mkdir()
    save(home / "nb.ipynb", LOAD, A, B)
    with Kernel(home, "nb.ipynb") as kernel:
        for number, code in enumerate((LOAD, A, B)):
            kernel.ok(code, f"c{number}")
    monkeypatch.chdir(home)
    return home


def acts(nbresume, *words):
    """Return (act, step, via) of each line."""
    done = nbresume("history", "nb.ipynb", *words, "--access", "--json")
    assert done.code == 0, done.said
    return [(e["act"], e.get("step", ""), e["via"]) for e in json.loads(done.out)]


def restored(folder, name):
    """Let a new kernel replay everything and read a name; return what it showed."""
    with Kernel(folder, "nb.ipynb") as kernel:
        shown = [kernel.ok(c, f"c{n}").text for n, c in enumerate((LOAD, A, B))]
        shown.append(kernel.ok(f"print('read', type({name}).__name__)").text)
    return "".join(shown)


def test_each_way_to_the_values_is_on_record(nbresume, folder):
    """A kernel that reads, somebody who looks, an export; in their own folder."""
    assert acts(nbresume) == []
    before = hashes(folder / ".nbresume")

    assert "read list" in restored(folder, "x")
    nbresume("status", "nb.ipynb")
    nbresume("inspect", "nb.ipynb", "b")
    nbresume("explain", "nb.ipynb", "a")
    nbresume("export", "nb.ipynb", "run.zip")

    found = acts(nbresume)
    assert ("read", "a", "kernel") in found
    assert found[-3:] == [
        ("inspected", "b", "command"),
        ("inspected", "a", "command"),
        ("exported", "", "command"),
    ]
    assert acts(nbresume, "b")[-1] == ("inspected", "b", "command")
    assert hashes(folder / ".nbresume") == before
    shown = nbresume("history", "nb.ipynb", "--access").out
    assert "run.zip" in shown
    assert len(found) == len(set(found))


def test_import_and_trust_are_on_record(nbresume, folder, monkeypatch, tmp_path):
    """Of another user, in the folder of that one."""
    nbresume("export", "nb.ipynb", "run.zip")
    shutil.rmtree(folder / ".nbresume")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "other"))
    nbresume("import", "run.zip")
    nbresume("trust", ".nbresume")

    assert acts(nbresume) == [
        ("imported", "", "command"),
        ("trusted", "", "command"),
    ]


def test_what_cannot_be_recorded_is_not_shown(nbresume, folder):
    """Not on somebody's word; a kernel goes on, and says so once."""
    user = folder.parent / "user" / "nbresume"
    shutil.rmtree(user / "access", ignore_errors=True)
    (user / "access").write_text("no folder")

    looked = nbresume("inspect", "nb.ipynb", "a")
    sent = nbresume("export", "nb.ipynb", "run.zip")
    shown = restored(folder, "x")

    assert looked.code == sent.code == 2
    assert "the access was not recorded" in looked.err
    assert "999" not in looked.out
    assert not (folder / "run.zip").exists()
    assert "read list" in shown
    assert shown.count("what this kernel reads is not on record") == 1
    assert nbresume("status", "nb.ipynb").code == 0
