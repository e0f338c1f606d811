"""Locks of nbresume in a notebook's metadata are taken out; everything else stays."""

import json

import nbformat
import pytest

LOCKED = {"editable": False, "nbresume": {"locked": True}}


def notebook(*metadata, **how):
    """Return the text of a notebook with a cell for each metadata."""
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(f"é = {i}") for i in range(len(metadata))]
    )
    for cell, own in zip(made.cells, metadata, strict=True):
        cell.metadata = own
    return nbformat.writes(made) + "\n"


def metadata(path):
    """Return the metadata of each cell."""
    return [cell["metadata"] for cell in json.loads(path.read_text())["cells"]]


def test_only_our_locks_are_removed(nbresume, tmp_path):
    """A cell that its author made read-only stays so; so does a mark without a lock."""
    path = tmp_path / "nb.ipynb"
    own = {"editable": False, "tags": ["x"]}
    more = LOCKED | {"tags": ["y"], "nbresume": {"locked": True, "later": 1}}
    path.write_text(notebook(LOCKED, own, more, {"nbresume": {"locked": False}}))
    done = nbresume("unlock-cells", path)

    assert (done.code, done.out) == (0, "2 cells unlocked\n")
    assert metadata(path) == [
        {},
        own,
        {"tags": ["y"], "nbresume": {"later": 1}},
        {"nbresume": {"locked": False}},
    ]


@pytest.mark.parametrize("indent", [1, 4, "\t", None])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_the_form_of_the_file_stays(nbresume, tmp_path, indent, is_ascii):
    """Indentation, escapes, order of keys, last line: the difference is the lock."""
    value = json.loads(notebook({"z": 1, **LOCKED, "a": "é"}, {}))
    form = {"indent": indent, "ensure_ascii": is_ascii}
    if indent is None:
        form["separators"] = None
    path = tmp_path / "nb.ipynb"
    path.write_text(json.dumps(value, **form) + "\n", encoding="utf-8")
    assert nbresume("unlock-cells", path).code == 0
    for key in ("editable", "nbresume"):
        del value["cells"][0]["metadata"][key]

    assert path.read_text(encoding="utf-8") == json.dumps(value, **form) + "\n"


def test_a_notebook_without_locks_is_not_written(nbresume, tmp_path):
    """Not one byte, not its time."""
    path = tmp_path / "nb.ipynb"
    path.write_bytes(notebook({}).replace("\n", "\r\n").encode())
    before = path.read_bytes(), path.stat().st_mtime_ns
    done = nbresume("unlock-cells", path)

    assert done.out == "0 cells unlocked\n"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_mode_and_link_stay(nbresume, tmp_path):
    """The file behind a symbolic link is replaced, not the link."""
    real, link = tmp_path / "real.ipynb", tmp_path / "link.ipynb"
    real.write_text(notebook(LOCKED))
    real.chmod(0o640)
    link.symlink_to(real)
    nbresume("unlock-cells", link)

    assert link.is_symlink()
    assert metadata(real) == [{}]
    assert real.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.ipynb", "real.ipynb"]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'{"worksheets": []}', b"\xff", None]
)
def test_what_is_no_notebook_is_refused(nbresume, tmp_path, data):
    """And left as it is."""
    path = tmp_path / "nb.ipynb"
    if data is not None:
        path.write_bytes(data)
    done = nbresume("unlock-cells", path)

    assert done.code == 2
    assert "was not unlocked" in done.err
    assert data is None or path.read_bytes() == data
