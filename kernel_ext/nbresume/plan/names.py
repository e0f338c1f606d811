"""The global names of a cell: what it may read, set and delete.

The rule: when in doubt a name is read, and it is not surely set; a cell whose names
cannot be known is wild. Builtins are not left out: a notebook may shadow them.
"""

import ast
import keyword
import re
from collections.abc import Iterable

from msgspec import Struct

from nbresume.plan.expressions import MAX_DEPTH, depth_of
from nbresume.plan.magics import IDENTIFIER
from nbresume.plan.reading import Reading
from nbresume.plan.scopes import names_bound_by

_QUERY = re.compile(r"[\s@<>=+]")
_ADDRESS = re.compile(r"\w+://\S*")


class Names(Struct, frozen=True):
    """What a cell's code does to the names of the notebook."""

    reads: frozenset[str] = frozenset()
    """Names that it may read before it has surely assigned them."""
    stores: frozenset[str] = frozenset()
    """Names that it may assign."""
    surely_stores: frozenset[str] = frozenset()
    """Names that are assigned whenever the cell comes to its end."""
    deletes: frozenset[str] = frozenset()
    """Names that it may delete."""
    strings: frozenset[str] = frozenset()
    """Its texts, without docstrings; an f-string has {} for each expression."""
    imports: frozenset[str] = frozenset()
    """Modules that it names in imports, relative ones with their dots."""
    patches: frozenset[tuple[str, str]] = frozenset()
    """(name, path) of each ``name.path = …``: a module or a class may be patched."""
    wild: bool = False
    """It may read or change names that its code does not show."""


def names_of(tree: ast.Module) -> Names:
    """Return the names of a cell, from its tree as IPython has transformed it."""
    if depth_of(tree) > MAX_DEPTH:
        return _every_name(tree)
    reading = Reading(tree)
    uses = reading.flow.uses
    return Names(
        reads=frozenset(uses.reads - {"get_ipython"}),
        stores=frozenset(uses.stores),
        surely_stores=frozenset(reading.flow.assigned),
        deletes=frozenset(uses.deletes),
        strings=frozenset(reading.strings),
        imports=frozenset(reading.imports),
        patches=frozenset(reading.patches),
        wild=uses.wild,
    )


def names_in_strings(strings: Iterable[str]) -> set[str]:
    """Return the identifiers in texts that may be queries.

    A text is one when it is more than one bare word: it has a blank, an ``@`` or an
    operator. Paths and addresses have none.
    """
    found: set[str] = set()
    for text in map(str.strip, strings):
        if _QUERY.search(text) and not _ADDRESS.fullmatch(text):
            found.update(IDENTIFIER.findall(text))
    return {name for name in found if not keyword.iskeyword(name)}


def may_store(names: Names) -> frozenset[str]:
    """Return the names that may be bound otherwise, or gone, after the cell."""
    return names.stores | names.deletes


def absolute_imports(names: Names) -> list[str]:
    """Return the modules that a cell imports.

    A relative import has no meaning in a cell: it failed, or was caught.
    """
    return sorted(module for module in names.imports if not module.startswith("."))


def _every_name(tree: ast.Module) -> Names:
    """Return all names of a tree that is too deep for the walk, as read and set."""
    nodes = list(ast.walk(tree))
    used = {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)
    }
    bound = {name for node in nodes for name in names_bound_by(node)}
    return Names(
        reads=frozenset(used - {"get_ipython"}),
        stores=frozenset(bound),
        deletes=frozenset(bound),
        strings=frozenset(
            node.value
            for node in nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ),
        wild=True,
    )
