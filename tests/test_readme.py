"""What the README says beside other tools is what was measured; its picture is true."""

import re
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
MEASURED = (ROOT / "docs" / "performance.md").read_text()


def tables(text):
    """Return the tables of a page, each as row → column → cell."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        lines = [line.strip("|\n").split("|") for line in block.splitlines()]
        head, _, *rows = [[cell.strip() for cell in line] for line in lines]
        found.append({row[0]: dict(zip(head, row, strict=True)) for row in rows})
    return found


def one(text, head):
    """Return the table whose first column has this name."""
    return next(t for t in tables(text) if head in next(iter(t.values())))


def differences(readme, measured):
    """Return the cells of the comparison that what was measured does not back."""
    backing = one(measured, "true after the restore")
    wrong = []
    for row in one(readme, "backed by").values():
        found = backing.get(row["backed by"], {})
        wrong += [
            f"{row['backed by']}: {tool} is {said!r}"
            for tool, said in row.items()
            if tool not in ("after a crash", "backed by")
            and said != found.get(tool.lower())
        ]
    return wrong


def test_each_cell_of_the_comparison_was_measured():
    """The row that backs it is there and says the same."""
    assert differences(README, MEASURED) == []
    assert len(one(README, "backed by")) >= 6


@pytest.mark.parametrize(
    ("former", "planted"),
    [("| alias of two cells |", "| alias |"), ("| closure's state | yes", "| x | yes")],
)
def test_a_row_that_is_gone_is_noticed(former, planted):
    """A planted fault: the measurement is renamed."""
    assert former in MEASURED
    assert differences(README, MEASURED.replace(former, planted))


def test_a_claim_that_nothing_backs_is_noticed():
    """A planted fault: a peer is said to be worse than it is."""
    former = "share it again | yes | yes |"
    assert former in README
    planted = README.replace(former, "share it again | yes | no |")
    assert differences(planted, MEASURED) == ["alias of two cells: dill is 'no'"]


def test_what_is_said_of_the_others_is_said_there():
    """Durability and marimo, in the words of the page that measured it."""
    sentence = "Only nbresume, DBOS and LangGraph promise that what is acknowledged"
    assert sentence in MEASURED
    assert "marimo 0.25.2 did not run: its rules forbid" in MEASURED


def test_the_moving_picture_is_made_of_the_pictures_that_are_there(monkeypatch):
    """Whoever takes pictures anew makes it anew; it has all frames."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import moving_picture

    with Image.open(moving_picture.MOVING) as moving:
        assert moving.info["comment"].decode() == moving_picture.sources()
        assert moving.n_frames == len(moving_picture.FRAMES)
        assert moving.size == moving_picture.SIZE
    sys.modules.pop("moving_picture")
