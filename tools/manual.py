"""Build the manual with Sphinx and look at every link in what was built.

Warnings are errors, and all of them are told. Sphinx looks at links between pages;
what is read here are the pages as a browser gets them: each address inside of the
manual has to be a file that is there, and each anchor an element of it. Addresses
outside are listed and not fetched; nothing that a page loads by itself may be one.

manual.py FOLDER
"""

import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXTERNAL = "external-links.txt"


@dataclass
class Seen(HTMLParser):
    """What one page has: ids, addresses that it links to, and those that it loads."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin as a parser."""
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one element names."""
        given = {name: value for name, value in attrs if value}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "iframe", "source") and "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") != "canonical" and "href" in given:
            self.loads.append(given["href"])


def read(page: Path) -> Seen:
    """Return what a built page has."""
    seen = Seen()
    seen.feed(page.read_text(encoding="utf-8"))
    return seen


def build(folder: Path) -> int:
    """Have Sphinx write the manual; return its exit code."""
    sphinx = [sys.executable, "-m", "sphinx", "-b", "html", "-q"]
    strict = ["--fail-on-warning", "--nitpicky", "--keep-going", "-E"]
    done = subprocess.run(  # noqa: S603 - Sphinx of this Python
        [*sphinx, *strict, "-d", str(folder / ".doctrees"), str(DOCS), str(folder)],
        check=False,
    )
    return done.returncode


def check(folder: Path) -> tuple[list[str], list[str]]:
    """Return what leads nowhere, and every address outside of the manual."""
    pages = {path.resolve(): read(path) for path in _pages(folder)}
    wrong: list[str] = []
    external: set[str] = set()
    for path, seen in pages.items():
        name = path.relative_to(folder.resolve())
        for link in seen.links:
            if urlsplit(link).scheme:
                external.add(link)
            elif reason := _leads_nowhere(link, path, pages):
                wrong.append(f"{name}: {link}: {reason}")
        for link in seen.loads:
            if urlsplit(link).netloc:
                wrong.append(f"{name}: {link}: the page would be loaded from elsewhere")
            elif not urlsplit(link).scheme and _leads_nowhere(link, path, pages):
                wrong.append(f"{name}: {link}: there is no such file")
    return wrong, sorted(external)


def _pages(folder: Path) -> list[Path]:
    """Return the pages; what a theme brings in ``_static`` are parts of pages."""
    found = sorted(folder.rglob("*.html"))
    return [path for path in found if "_static" not in path.relative_to(folder).parts]


def _leads_nowhere(link: str, page: Path, pages: dict[Path, Seen]) -> str:
    """Return why a link inside of the manual cannot be followed; empty if it can."""
    parts = urlsplit(link)
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return "there is no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].ids:
        return "there is no such anchor"
    return ""


def main() -> int:
    """Build, check, and say what there is."""
    folder = Path(sys.argv[1]).resolve()
    if build(folder):
        print("the manual was not built: what stands above is wrong")
        return 1
    wrong, external = check(folder)
    (folder / EXTERNAL).write_text("\n".join(external) + "\n", encoding="utf-8")
    for line in wrong:
        print(line)
    print(
        f"{len(_pages(folder))} pages, {len(wrong)} links that lead "
        f"nowhere, {len(external)} addresses outside, not fetched: {folder / EXTERNAL}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
