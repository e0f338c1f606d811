"""Team keys in real processes: of a variable or a keyring, in place of the key file."""

import json
import secrets
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernel" / "durability"))

from real_kernel import LOAD, hashes, save

TEAM, OTHER = secrets.token_hex(32), secrets.token_hex(32)
CELLS = [LOAD, "%%step a\nx = [1, 2]", "%%step b\ny = x + [3]\nprint(y)"]
KEYRING = """
import keyring.backend, keyring.errors

class Backend(keyring.backend.KeyringBackend):
    priority = 1

    def get_password(self, service, username):
        if username == "locked":
            raise keyring.errors.KeyringLocked("secret words")
        return {entries}.get((service, username))

    def set_password(self, service, username, password):
        raise NotImplementedError

    def delete_password(self, service, username):
        raise NotImplementedError
"""


@pytest.fixture
def notebook(tmp_path):
    """Return a saved notebook that nobody has run."""
    folder = tmp_path / "work"
    folder.mkdir()
    save(folder / "main.ipynb", *CELLS)
    return folder / "main.ipynb"


@pytest.fixture
def machine(tmp_path, in_child, notebook):
    """Return what runs a command as on a machine of its own: (name, key, words)."""

    def command(name, key, *words, **env):
        data = {"JUPYTER_DATA_DIR": str(tmp_path / name)}
        own = {"NBRESUME_KEY": key} if key else {}
        return in_child(*words, env=data | own | env, cwd=notebook.parent)

    return command


def restored(done, notebook):
    """Return how many cells were restored by a run."""
    assert done.code == 0, done.said
    return notebook.read_text().count("[restored]")


@pytest.mark.kernel
def test_who_has_the_team_key_trusts_what_the_team_wrote(machine, notebook, tmp_path):
    """On another machine with the same key a run goes on, and no key file is made."""
    assert machine("one", TEAM, "run", "main.ipynb").code == 0

    status = machine("two", TEAM, "status", "main.ipynb")
    done = machine("two", TEAM, "run", "main.ipynb")

    assert "not trusted" not in status.said
    assert restored(done, notebook) == 2
    assert not (tmp_path / "one" / "nbresume" / "key").exists()
    assert not (tmp_path / "two" / "nbresume" / "key").exists()


@pytest.mark.long
@pytest.mark.kernel
def test_another_key_lists_and_loads_nothing(machine, notebook):
    """Status, history, plan and runs are shown; running and inspecting are refused."""
    assert machine("one", TEAM, "run", "main.ipynb").code == 0
    before = hashes(notebook.parent / ".nbresume")

    for words in (["status"], ["plan"], ["history"]):
        done = machine("two", OTHER, *words, "main.ipynb")
        assert done.code == 0, done.said
        assert TEAM not in done.said
    assert machine("two", OTHER, "runs").code == 0
    refused = machine("two", OTHER, "run", "main.ipynb")
    looked = machine("two", OTHER, "inspect", "main.ipynb", "a")

    assert (refused.code, looked.code) == (2, 2)
    assert "nbresume trust" in refused.said
    assert hashes(notebook.parent / ".nbresume") == before


@pytest.mark.long
@pytest.mark.kernel
def test_a_former_key_still_verifies(machine, notebook):
    """With the new key first and the old one behind it, everything is readable."""
    assert machine("one", TEAM, "run", "main.ipynb").code == 0

    done = machine("two", f"{OTHER},{TEAM}", "run", "main.ipynb")
    shown = machine("two", f"{OTHER},{TEAM}", "key", "show")

    assert restored(done, notebook) == 2
    assert "your key, and 1 former: NBRESUME_KEY" in shown.out
    assert "(your former key)" in shown.out


def test_a_key_in_the_keyring(machine, tmp_path):
    """The variable names an entry; its text is the key."""
    entries = {("nbresume", "team"): TEAM, ("nbresume", "odd"): "12345"}
    (tmp_path / "ring.py").write_text(KEYRING.format(entries=repr(entries)))
    path = ":".join([str(tmp_path), *filter(None, sys.path)])
    env = {"PYTHON_KEYRING_BACKEND": "ring.Backend", "PYTHONPATH": path}

    found = machine("one", "keyring:team", "key", "export", **env)
    missing = machine("one", "keyring:nobody", "key", "export", **env)
    locked = machine("one", "keyring:locked", "key", "export", **env)
    odd = machine("one", "keyring:odd", "key", "export", **env)

    assert found.out == f"{TEAM}\n"
    assert [one.code for one in (missing, locked, odd)] == [2, 3, 3]
    assert "keyring set nbresume nobody" in missing.err
    assert "KeyringLocked" in locked.err
    assert "secret words" not in locked.err
    assert "12345" not in odd.err


def test_without_the_package_the_message_says_what_to_install(machine, tmp_path):
    """A keyring is an extra."""
    (tmp_path / "keyring.py").write_text("raise ImportError('not here')")
    path = ":".join([str(tmp_path), *filter(None, sys.path)])

    done = machine("one", "keyring:team", "key", "show", PYTHONPATH=path)

    assert done.code == 3
    assert "nbresume[keyring]" in done.err


@pytest.mark.parametrize(
    "text",
    ["12345", TEAM[1:], f"{TEAM},zz", "team key", ","],
    ids=["short", "cut", "second", "words", "empty"],
)
def test_what_is_no_key_is_refused_and_not_repeated(machine, text):
    """A key with a typing error is still most of a key."""
    done = machine("one", text, "key", "show")

    assert done.code == 3
    assert "64 hexadecimal digits" in done.err
    assert text == "," or text not in done.said


def test_a_fresh_key_can_be_used(machine):
    """What `new` prints is what the variable takes; two are not the same."""
    first, second = (machine("one", "", "key", "new").out.strip() for _ in range(2))

    assert first != second
    assert machine("one", first, "key", "export").out.strip() == first


def test_looking_makes_no_key(machine, tmp_path):
    """Without a key `show` says so, and `export` is refused."""
    shown = machine("one", "", "key", "show")
    printed = machine("one", "", "key", "export")

    assert "there is no key yet" in shown.out
    assert printed.code == 2
    assert not (tmp_path / "one").exists()


@pytest.mark.kernel
def test_the_team_key_is_nowhere_in_the_store(machine, notebook):
    """A step that looks at the whole environment stores no variable of ours."""
    save(notebook, LOAD, "%%step a\nimport os\nn = len(dict(os.environ))\nprint(n)")
    done = machine("one", TEAM, "run", "main.ipynb")
    raw = bytes.fromhex(TEAM)

    assert done.code == 0, done.said
    assert TEAM not in done.said
    found = [p for p in notebook.parent.rglob("*") if p.is_file()]
    for path in found:
        data = path.read_bytes()
        assert TEAM.encode() not in data, path
        assert raw not in data, path
    assert json.loads(notebook.read_text())["cells"]
