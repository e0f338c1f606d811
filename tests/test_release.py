"""What a release says of itself is true before anybody builds it."""

import ast
import json
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from newest_python import SUPPORTED

import nbresume

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kernel_ext" / "nbresume"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
STARTED = {"ipykernel"}
"""Not imported: the kernel in which steps run is another process."""
NOT_ASKED_FOR = {
    "cryptography",
    "jupyter_client",
    "jupyter_server",
    "keyring",
    "obstore",
    "papermill",
    "tornado",
    "traitlets",
}
"""Of the server or papermill, which import our part; of an extra; with nbclient."""


def imported():
    """Return the top names of all packages that the code imports."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.partition(".")[0])
    return names - set(sys.stdlib_module_names) - {"nbresume"}


def plain(requirement):
    """Return the name of a distribution as pip compares it."""
    name = re.split(r"[<>=!~\[; ]", requirement, maxsplit=1)[0]
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted():
    """Return what is installed with nbresume."""
    return {plain(line) for line in PROJECT["project"]["dependencies"]}


def test_every_dependency_is_used():
    """Nobody has to install what the code does not use."""
    known = packages_distributions()
    used = {plain(d) for name in imported() for d in known.get(name, [])}

    assert wanted() - used == STARTED


def test_every_import_is_a_dependency():
    """What the code imports is asked for, and not there by chance."""
    known = packages_distributions()
    by_chance = {
        name
        for name in imported()
        if not wanted() & {plain(d) for d in known.get(name, [])}
    }

    assert by_chance == NOT_ASKED_FOR


def test_the_version_stands_in_one_place():
    """The build reads it where the code has it, and the sidebar says the same."""
    place = ROOT / PROJECT["tool"]["hatch"]["version"]["path"]
    written = [
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*.py")
        if re.search(r"^__version__\s*=", path.read_text(), re.MULTILINE)
    ]
    page = json.loads((ROOT / "extension" / "package.json").read_text())

    assert "version" in PROJECT["project"]["dynamic"]
    assert written == [place.relative_to(ROOT).as_posix()]
    assert page["version"] == nbresume.__version__
    assert f"## {nbresume.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_supported_pythons_are_told_once():
    """Classifiers, the lower bound, and what the tools look for are the same."""
    told = "Programming Language :: Python :: "
    lines = [c.removeprefix(told) for c in PROJECT["project"]["classifiers"]]
    listed = {line for line in lines if re.fullmatch(r"3\.\d+", line)}

    assert listed == {f"3.{minor}" for _, minor in SUPPORTED}
    assert PROJECT["project"]["requires-python"] == f">=3.{min(SUPPORTED)[1]}"


def test_the_sdist_has_what_it_needs():
    """Every document and folder of the project that is not made is in it."""
    include = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    top = [path.name for path in ROOT.glob("*.md")]

    assert [name for name in include if not (ROOT / name).exists()] == []
    assert set(top) | {"LICENSE", "Makefile", "tools", "docs", "tests"} <= set(include)
    assert PROJECT["project"]["license-files"] == ["LICENSE"]
