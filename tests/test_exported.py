"""What the package shows is what it has, and nothing else."""

import ast
import types
from pathlib import Path

import pytest

import nbresume

INIT = Path(nbresume.__file__)


@pytest.mark.parametrize("name", nbresume.__all__)
def test_every_public_name_can_be_had(name):
    """Each name of `__all__` is there on first use."""
    assert getattr(nbresume, name) is not None


def test_all_is_what_is_public():
    """`__all__`, the lazy table, `dir` and the type checker's view are the same."""
    tree = ast.parse(INIT.read_text())
    typed = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.If)
        for statement in node.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }

    public = set(nbresume.__all__)
    assert list(nbresume.__all__) == sorted(nbresume.__all__)
    assert set(nbresume._LAZY) | {"__version__"} == public
    assert typed | {"__version__"} == public
    assert set(dir(nbresume)) == public


def test_nothing_else_is_public():
    """Names beside `__all__` are private, submodules or from the standard library."""
    allowed = {"Any", "TYPE_CHECKING", "import_module"}
    others = {
        name
        for name, value in vars(nbresume).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }

    assert others - set(nbresume.__all__) <= allowed


def test_an_unknown_name_is_an_attribute_error():
    """A misspelled name is told as Python tells it."""
    with pytest.raises(AttributeError, match=r"nbresume.*'Checkpiont'"):
        nbresume.Checkpiont  # noqa: B018
