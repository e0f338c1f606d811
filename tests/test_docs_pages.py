"""What the tutorial and the how-to guides show is what happens, in real kernels."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "kernel" / "durability"))

from written_page import Block, Page, blocks_of, shows

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDES = sorted(set((DOCS / "how-to").glob("*.md")) - {DOCS / "how-to" / "index.md"})
PLAYED = [DOCS / "index.md", DOCS / "tutorial.md", *GUIDES]


@pytest.mark.kernel
@pytest.mark.parametrize("page", PLAYED, ids=lambda page: page.stem)
def test_a_page_is_true(page, tmp_path):
    """Its cells and commands, one after the other, show what stands below them."""
    Page(tmp_path).play(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("step a took 2.2 s", "nbresume: step a took 0.7 s (last time 12 ms)"),
        ("pid 7 on HOST … again", "pid 812 on box began\nit is run\nagain"),
        ("made 2026-11-29 16:52:01", "made 2027-01-01 00:00:00"),
        ("4.6 MB  in  o17", "4 kB in\n   o17"),
    ],
)
def test_what_differs_from_run_to_run_is_no_difference(expected, shown):
    """Times, sizes, processes and line ends are not what a page promises."""
    assert shows(expected, shown)


@pytest.mark.parametrize(
    ("expected", "shown"),
    [
        ("15 of them", "16 of them"),
        ("a … b", "b a"),
        ("3 names are restored", ""),
    ],
)
def test_what_is_not_shown_is_found(expected, shown):
    """A page that says something else fails."""
    assert not shows(expected, shown)


def test_a_page_is_read_in_its_order():
    """Fences, also those in a list, and what comments say beside them."""
    page = "<!-- run: all -->\n\n```text\n1\n```\n\n* y\n\n  ```console\n  $ z\n  ```\n"

    assert blocks_of(page) == [
        Block("aside", "run: all"),
        Block("text", "1\n"),
        Block("console", "$ z\n"),
    ]
