"""What the tutorial and the how-to guides show is what happens, in real kernels."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "kernel" / "durability"))

from written_page import Block, Page, blocks_of, shows

DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDES = sorted(set((DOCS / "how-to").glob("*.md")) - {DOCS / "how-to" / "index.md"})
LOG = DOCS / "first-ten-minutes.md"
PLAYED = [DOCS / "index.md", DOCS / "tutorial.md", LOG, *GUIDES]
SITUATIONS = (
    "Install",
    "A step without `%load_ext`",
    "No rights on the store's folder",
    "Two cells of one name",
    "A NameError after a restart",
    "A second tab of the browser",
    "A crash in a step with `--effects`",
    "Uninstalling",
)


@pytest.mark.kernel
@pytest.mark.parametrize("page", PLAYED, ids=lambda page: page.stem)
def test_a_page_is_true(page, tmp_path):
    """Its cells and commands, one after the other, show what stands below them."""
    Page(tmp_path).play(page.read_text(encoding="utf-8"))


def test_the_log_has_every_situation():
    """What a new user meets is on record, whatever else was tried."""
    page = LOG.read_text(encoding="utf-8")
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)

    assert [name for name in SITUATIONS if name not in titles] == []


def test_commits_that_the_log_names_exist():
    """A mended stumble names a commit by its subject, which outlives a rebase."""
    folder = DOCS.parent
    if not (folder / ".git").exists():
        pytest.skip("the history is no part of a source distribution")
    words = ("git", "log", "--format=%s")
    told = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    page = " ".join(LOG.read_text(encoding="utf-8").split())
    named = re.findall(r"\*((?:ui|ext|run|store|notebooks): [^*]+)\*", page)
    subjects = told.stdout.splitlines()

    assert len(named) > 5
    cut = [(name, name.rstrip(" …")) for name in named]
    unknown = [
        n for n, begins in cut if not any(s.startswith(begins) for s in subjects)
    ]
    assert unknown == []


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
