"""How Sphinx makes the manual (`make docs`). Nothing is fetched while it does.

The pages are plain Markdown, as they are read in a repository. When they are built,
what the code can tell is filled in (`tools/reference.py`), and the four documents at
the top of the project become pages of the manual.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from posixpath import relpath

from ipython_pygments_lexers import IPython3Lexer
from pygments.token import Keyword

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT / "kernel_ext"), str(ROOT / "tools")]

import reference  # noqa: E402 - after its path

from nbresume import __version__  # noqa: E402

project = "nbresume"
author = "The nbresume developers"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx asks for it by this name
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
root_doc = "index"

# anchors as GitHub makes them, so that a link works in both places
myst_heading_anchors = 4
# what marks one of two pictures as that of the dark theme
myst_enable_extensions = ["attrs_inline"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
nitpick_ignore_regex = [
    # only public names of ours have a page here
    (r"py:.*", r"(?!nbresume\.).*|nbresume\.(capture|compose|model|run|store)\..*"),
]

html_theme = "pydata_sphinx_theme"
html_title = f"nbresume {version}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "nbresume"},
    "navigation_with_keys": False,
    "show_toc_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}

copybutton_prompt_text = "$ "
# what a command printed is not for typing
copybutton_only_copy_prompt_lines = True
copybutton_selector = (
    "div.highlight-ipython pre, div.highlight-python pre, div.highlight-console pre"
)

TOP = {
    "README.md": "index",
    "ARCHITECTURE.md": "explanation/architecture",
    "CONTRIBUTING.md": "project/contributing",
    "CHANGELOG.md": "project/changelog",
}
"""Documents beside docs/ → the page that stands for each."""
_PICTURE = re.compile(r"!\[[^\]]*\]\((?P<place>[^)]+)-light\.png\)")
OTHERS = "<others>"
"""Stands in a list of pages for those that nobody has listed yet."""
_LINK = re.compile(r"(?<=\]\()([^)#:\s]+)(?=[)#])")


def _page(docname: str, written: str) -> str:
    """Return what Sphinx reads of a page: filled in, with links of the manual."""
    home = (DOCS / docname).parent
    text, base = written, home
    for name, stands_for in TOP.items():
        if docname == stands_for != "index":
            text, base = (ROOT / name).read_text(encoding="utf-8"), ROOT
    text = reference.fill(text).replace(OTHERS, "\n".join(_others()))
    text = _LINK.sub(lambda found: _link(found[0], base, home), text)
    return _PICTURE.sub(lambda found: _in_both_themes(found, home), text)


def _link(target: str, base: Path, home: Path) -> str:
    """Return an address as it is in the manual: of a page, or of a file to look at."""
    place = (base / target).resolve()
    if not place.is_relative_to(ROOT):
        return target
    if page := TOP.get(place.relative_to(ROOT).as_posix()):
        return relpath(DOCS / f"{page}.md", home)
    is_page = place.is_relative_to(DOCS)
    there = target if base == home else relpath(place, home)
    return f"path:{there}" if place.suffix == ".md" and not is_page else there


def _in_both_themes(found: re.Match[str], home: Path) -> str:
    """Return a picture for the light theme together with that for the dark one."""
    light, dark = found[0], found[0].replace("-light.png", "-dark.png")
    if not (home / f"{found['place']}-dark.png").exists():
        return light
    return f"{light}{{.only-light}}\n{dark}{{.only-dark}}"


def _others() -> list[str]:
    """Return the pages at the top of docs/ that no list of pages names."""
    lists = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("index.md"))
    named = set(re.findall(r"^(?:\w+ <)?(?:\.\./)?([\w-]+)>?$", lists, re.MULTILINE))
    found = {page.stem for page in DOCS.glob("*.md")} - named - {"index"}
    return [f"../{stem}" for stem in sorted(found)]


class CellLexer(IPython3Lexer):
    """Colors of a cell: below ``%%step NAME`` stands Python, not another language."""

    name = "Cell"
    aliases = ("ipython",)

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]:
        """Yield the header as one word, and the rest as IPython has it."""
        if not text.startswith("%%step"):
            yield from super().get_tokens_unprocessed(text)
            return
        head, end, body = text.partition("\n")
        yield 0, Keyword, head + end
        for at, kind, part in super().get_tokens_unprocessed(body):
            yield at + len(head + end), kind, part


def _on_source_read(_app: object, docname: str, source: list[str]) -> None:
    source[0] = _page(docname, source[0])


def setup(app: object) -> None:
    """Have every page pass by here before it is parsed."""
    app.add_lexer("ipython", CellLexer)  # type: ignore[attr-defined]
    app.connect("source-read", _on_source_read)  # type: ignore[attr-defined]
