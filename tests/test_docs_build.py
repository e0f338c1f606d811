"""The manual is built without a warning, and every link in it leads somewhere."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import manual
import pytest
import reference

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def test_the_manual_is_built_and_its_links_lead_somewhere(tmp_path):
    """Sphinx has nothing to warn about, and a browser would find every page."""
    assert importlib.util.find_spec("sphinx"), "pip install --editable '.[docs]'"

    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "manual.py", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 links that lead nowhere" in done.stdout
    listed = (tmp_path / manual.EXTERNAL).read_text().split()
    assert "https://keepachangelog.com/en/1.1.0/" in listed
    built = {path.stem for path in tmp_path.rglob("*.html")}
    assert {path.stem for path in PAGES} <= built


def write(folder, **pages):
    """Write built pages."""
    for name, body in pages.items():
        (folder / f"{name}.html").write_text(f"<html><body>{body}</body></html>")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('<a href="gone.html">x</a>', "no such file"),
        ('<a href="other.html#gone">x</a>', "no such anchor"),
        ('<a href="#gone">x</a>', "no such anchor"),
        ('<img src="gone.png">', "no such file"),
        ('<script src="https://example.org/x.js"></script>', "from elsewhere"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(tmp_path, body, reason):
    """The check of the built pages would notice."""
    write(tmp_path, page=body, other='<p id="there">x</p>')

    wrong, _ = manual.check(tmp_path)

    assert len(wrong) == 1
    assert reason in wrong[0]


def test_a_link_that_leads_somewhere_is_no_finding(tmp_path):
    """Anchors, pages and addresses outside pass; the last are listed."""
    links = '<a href="other.html#there">x</a> <a href="https://example.org">y</a>'
    write(tmp_path, page=links, other='<p id="there">x</p>')

    assert manual.check(tmp_path) == ([], ["https://example.org"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_generated_is_what_the_code_says(page):
    """A table of the reference that is behind the code is found: `make reference`."""
    text = page.read_text(encoding="utf-8")

    assert reference.fill(text) == text


@pytest.mark.parametrize(
    ("about", "part"),
    [
        ("options nbresume run", "| `-p NAME VALUE` |"),
        ("options %%step", "| `--reads PATH` |"),
        ("options %steps rerun", "| `--again KEY` |"),
        ("settings", "| `max_step_bytes` | `NBRESUME_MAX_STEP_MB` | 65536 |"),
        ("policies Undeclared", "| `evidence` | In doubt"),
        ("metrics", "| `nbresume_attempts_total` | counter |"),
        ("records", "| `nbresume.committed` | 1 |"),
    ],
)
def test_a_table_says_what_the_code_has(about, part):
    """Each kind of table is made of the code, not of what stood there."""
    page = f"<!-- generated: {about} -->\nwhat stood there\n<!-- end -->\n"

    filled = reference.fill(page)

    assert part in filled
    assert "what stood there" not in filled


def test_an_unknown_table_is_refused():
    """A misspelled comment is no empty table."""
    with pytest.raises(ValueError, match="nothing generates"):
        reference.fill("<!-- generated: setings -->\n<!-- end -->\n")


def test_every_generated_table_has_its_meanings():
    """No option, setting or number is there without a word about it."""
    made = re.compile(r"<!-- generated: .*?<!-- end -->", re.DOTALL)
    empty = [
        line
        for page in PAGES
        for part in made.findall(page.read_text(encoding="utf-8"))
        for line in part.splitlines()
        if line.startswith("|") and line.replace(" ", "").endswith("||")
    ]

    assert empty == []
