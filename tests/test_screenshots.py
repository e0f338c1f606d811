"""The pictures of the documents show the extension as its code draws it."""

import shutil

import pictures
import pytest

LARGEST = 60_000
CURVE = "curve-"
"""Begin of the pictures that `make bench-curves` draws: of numbers, not of a view."""
ANEW = "type: make screenshots, and look at docs/images"


@pytest.mark.parametrize("view", pictures.VIEWS)
def test_no_picture_is_older_than_the_code_of_its_view(view):
    """Whoever changes a view takes its pictures anew."""
    assert pictures.read_taken()[view]["digest"] == pictures.digest_of(view), ANEW


@pytest.mark.parametrize("view", pictures.VIEWS)
def test_an_older_picture_is_noticed(view, tmp_path):
    """A planted fault: one more character in any file of the view."""
    folder = tmp_path / "extension"
    shutil.copytree(pictures.ROOT / "extension" / "src", folder / "src")
    shutil.copytree(pictures.ROOT / "extension" / "style", folder / "style")
    assert pictures.digest_of(view, folder) == pictures.digest_of(view)

    seen = set()
    for name in pictures.VIEWS[view]:
        with (folder / name).open("a") as file:
            file.write(" ")
        seen.add(pictures.digest_of(view, folder))

    assert len(seen) == len(pictures.VIEWS[view])
    assert pictures.digest_of(view) not in seen


def test_every_file_that_draws_belongs_to_a_view():
    """A new view has pictures, too."""
    drawn = {name for names in pictures.VIEWS.values() for name in names}

    assert [name for name in pictures.drawing() if name not in drawn] == []


def test_every_picture_is_shown_and_small():
    """No picture is missing, left over, too large, or shown nowhere."""
    taken = pictures.read_taken()
    names = {name for view in taken.values() for name in view["pictures"]}
    files = {path.name: path for path in pictures.IMAGES.glob("*.png")}
    curves = {name: files.pop(name) for name in [*files] if name.startswith(CURVE)}
    page = (pictures.ROOT / "docs" / "reference" / "jupyterlab.md").read_text()

    assert taken.keys() == pictures.VIEWS.keys()
    assert names == files.keys()
    every = files | curves
    assert {n: s for n, f in every.items() if (s := f.stat().st_size) > LARGEST} == {}
    assert [name for name in sorted(names) if f"images/{name}" not in page] == []
    measured = (pictures.ROOT / "docs" / "performance.md").read_text()
    assert [name for name in curves if f"images/{name}" not in measured] == []
