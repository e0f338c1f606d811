"""Real files: whose they are, what is in them, whether they moved."""

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from nbresume.compose import disk as disks
from nbresume.compose.disk import DiskFiles
from nbresume.model.values import FileState

OLD_NS = 1_700_000_000_000_000_000
ORDINARY_USER = """
import os, sys
from pathlib import Path
from nbresume.compose.disk import DiskFiles
folder = Path(sys.argv[1])
os.chdir(folder)
files = DiskFiles(folder / "main.ipynb", store=folder / "store")
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(files.state("a").why)
"""
"""Root may read everything, so a child asks as another user."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the notebook's folder, which is the working folder too."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def disk(folder):
    """Return the disk of a notebook there."""
    return DiskFiles(folder / "main.ipynb", store=folder / ".nbresume")


def settled(monkeypatch):
    """Let all times count as old: the clock stands far behind them."""
    monkeypatch.setattr(disks, "_FRESH_NS", -(10**18))


def test_names_are_relative_to_the_notebook(disk, folder):
    """So that a project may be moved; what lies elsewhere has its whole path."""
    (folder / "sub").mkdir()

    assert disk.name("a.csv") == "a.csv"
    assert disk.name("sub/../a.csv") == "a.csv"
    assert disk.name(str(folder / "sub" / "b")) == "sub/b"
    assert disk.name(str(folder)) == "."
    assert disk.name("/data/x.csv") == "/data/x.csv"


def test_a_relative_path_follows_the_working_folder(disk, folder, monkeypatch):
    """It is the kernel's; what a header declares is relative to the notebook."""
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")

    assert disk.name("a") == "sub/a"
    assert disk.name("a", declared=True) == "a"


def test_a_folder_that_is_reached_by_a_link_has_one_name(disk, folder):
    """Else a file would be two files."""
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")

    assert disk.name("link/a") == disk.name("real/a") == "real/a"


@pytest.mark.parametrize(
    "path",
    [
        *("a", "real/a", "link/a", "link/../a", "outer/real/b", "far/x", "loop/x", ""),
        *("no/such/folder/a", "link/no/a", "up/a", ".", "/", "//data/x", "~/x"),
    ],
)
def test_many_paths_have_the_names_that_each_has(disk, folder, path):
    """Whatever links stand on the way to them."""
    (folder / "real" / "sub").mkdir(parents=True)
    (folder / "link").symlink_to("real/sub")
    (folder / "outer").symlink_to(folder)
    (folder / "far").symlink_to("/data/link")
    (folder / "loop").symlink_to("loop")
    (folder / "up").symlink_to("real/..")
    name_of = disk.namer()

    for whole in (path, str(folder / path), str(folder / "link" / path)):
        assert name_of(whole) == disk.name(whole)


@pytest.mark.parametrize(
    "path",
    [
        os.__file__,
        str(Path(sys.prefix) / "lib" / "x.py"),
        str(Path(tempfile.gettempdir()) / "other" / "x"),
        "/proc/self/status",
        "/dev/null",
        "~/.cache/x",
        ".nbresume/store.json",
        "__pycache__/helpers.cpython-311.pyc",
        "main.ipynb",
        ".ipynb_checkpoints/main-checkpoint.ipynb",
    ],
)
def test_what_is_nobodys_work_has_no_name(disk, path):
    """The interpreter, packages, temporary files, caches, the store, the notebook."""
    assert disk.name(path) == ""


def test_a_notebook_below_the_temporary_folder_has_its_files(disk, folder):
    """The deepest folder decides."""
    assert str(folder).startswith(os.path.realpath(tempfile.gettempdir()))
    assert disk.name("data.csv") == "data.csv"


def test_equal_content_has_one_digest_and_other_content_another(disk, folder):
    """Whatever its times are."""
    for name, text in (("a", "1"), ("b", "1"), ("c", "2")):
        (folder / name).write_text(text)
    a, b, c = (disk.state(name).digest for name in "abc")

    assert a == b != c


def test_what_did_not_move_is_not_read(disk, folder, monkeypatch):
    """Place, size and times say enough once they are old."""
    settled(monkeypatch)
    (folder / "a").write_text("1")
    then = disk.state("a")
    fresh = DiskFiles(folder / "main.ipynb", store=folder / ".nbresume")
    monkeypatch.setattr(fresh, "_read", None)

    assert then.stamp
    assert fresh.state("a", then) is then
    assert fresh.compared("a", then, 0.0) is True


def test_a_file_that_was_just_written_is_read_again(disk, folder):
    """It may be written once more in the same tick, with the same size and times."""
    (folder / "a").write_text("1")
    then = disk.state("a")
    with (folder / "a").open("r+") as file:
        file.write("2")
    os.utime(folder / "a", ns=(OLD_NS, OLD_NS))

    assert then.stamp == ""
    assert disk.state("a", then).digest != then.digest


def test_times_that_were_set_back_hide_nothing(disk, folder, monkeypatch):
    """A copy may keep the times of its origin."""
    settled(monkeypatch)
    (folder / "a").write_text("1")
    os.utime(folder / "a", ns=(OLD_NS, OLD_NS))
    then = disk.state("a")
    with (folder / "a").open("r+") as file:
        file.write("2")
    os.utime(folder / "a", ns=(OLD_NS, OLD_NS))

    assert disk.compared("a", then, 1.0) is False


def test_a_fifo_is_never_opened(disk, folder):
    """It would wait for a writer for ever."""
    os.mkfifo(folder / "pipe")
    done = threading.Event()

    def ask():
        assert disk.state("pipe") == FileState(kind="unknown", why="it is a FIFO")
        assert disk.tree("pipe").why == "it is a FIFO"
        done.set()

    threading.Thread(target=ask, daemon=True).start()
    assert done.wait(10)


def test_a_file_that_cannot_be_read_says_so():
    """It is never taken for unchanged."""
    # pytest's own folder is private, and the other user has to come to the file
    with tempfile.TemporaryDirectory(prefix="nbresume-test-") as place:
        Path(place).chmod(0o755)
        (Path(place) / "a").write_text("1")
        (Path(place) / "a").chmod(0)
        done = subprocess.run(
            [sys.executable, "-c", ORDINARY_USER, place],
            capture_output=True,
            text=True,
            check=False,
        )

    assert done.stderr == ""
    assert done.stdout.strip() == "it cannot be read (Permission denied)"


def test_a_folder_is_the_list_of_its_entries(disk, folder):
    """What begins with a dot is no work: the store, checkpoints."""
    (folder / "d").mkdir()
    (folder / "d" / "a").write_text("1")
    then = disk.state("d")
    (folder / "d" / "a").write_text("2")
    (folder / "d" / ".hidden").write_text("2")
    assert disk.state("d") == then
    (folder / "d" / "b").write_text("2")

    assert disk.state("d") != then
    assert disk.entries("d", "folder") == ["a", "b"]


def test_a_tree_is_all_files_below_a_folder_or_of_a_glob(disk, folder):
    """By their names and contents."""
    (folder / "d" / "e").mkdir(parents=True)
    (folder / "d" / "e" / "a.csv").write_text("1")
    tree, glob = disk.tree("d"), disk.tree("d/*/*.csv")
    assert (tree.kind, tree.size, glob.size) == ("tree", 1, 1)
    (folder / "d" / "e" / "a.csv").write_text("2")

    assert disk.tree("d") != tree
    assert disk.tree("d/*/*.csv") != glob


def test_one_file_and_none_can_be_declared(disk, folder):
    """``--reads a.csv`` is the file; nothing there is nothing."""
    (folder / "a.csv").write_text("1")

    assert disk.tree("a.csv") == disk.state("a.csv")
    assert disk.tree("missing.csv").kind == "absent"


def test_a_long_file_is_compared_in_slices(disk, folder, monkeypatch):
    """So that nobody waits who only looks."""
    (folder / "a").write_bytes(b"1" * (4 << 20))
    then = disk.state("a")
    os.utime(folder / "a")
    disk._known.clear()
    asked = [disk.compared("a", then, 0.0) for _ in range(10)]

    assert asked[0] is None
    assert asked.index(True) in range(2, 7)


def test_a_file_of_another_size_is_another_one_at_once(disk, folder):
    """Nothing is read to find out."""
    (folder / "a").write_text("1")
    then = disk.state("a")
    (folder / "a").write_text("22")

    assert disk.compared("a", then, 0.0) is False


def test_a_file_that_was_added_to_begins_as_it_was(disk, folder):
    """And one that was written anew does not."""
    (folder / "a").write_text("1\n")
    then = disk.state("a")
    (folder / "a").write_text("1\n2\n")
    assert disk.begins_as("a", then)
    (folder / "a").write_text("0\n2\n")
    assert not disk.begins_as("a", then)
    (folder / "a").write_text("")
    assert not disk.begins_as("a", then)


def test_files_and_the_folders_that_hold_them_are_flushed(disk, folder, monkeypatch):
    """A new name is as perishable as its content."""
    (folder / "d").mkdir()
    (folder / "d" / "a").write_text("1")
    flushed = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    disk.flush(["d/a", "gone"])

    assert len(flushed) == 3


def test_local_modules_are_found_where_imports_find_them(disk, folder, monkeypatch):
    """In the notebook's folder and the path; not among packages."""
    (folder / "pkg").mkdir()
    (folder / "pkg" / "__init__.py").write_text("")
    (folder / "space").mkdir()
    for name in ("helpers.py", "pkg/part.py", "space/part.py", "json.py"):
        (folder / name).write_text("x = 1")

    assert disk.source_of("helpers") == "helpers.py"
    assert disk.source_of("pkg") == "pkg/__init__.py"
    assert disk.source_of("pkg.part") == "pkg/part.py"
    assert disk.source_of("space.part") == "space/part.py"
    assert disk.source_of("numpy") == disk.source_of("json") == ""
    assert disk.source_of("nowhere") == ""
