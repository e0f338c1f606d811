"""Which modules a piece of Python text imports, also inside its functions.

The rule: pure; names that may be modules are all returned, and whether there is such
a file is asked where the disk is known.
"""

import ast

from nbresume.model.printing import parse


def imported_by(text: str, *, module: str = "", is_package: bool = False) -> set[str]:
    """Return the dotted names that a text imports, or may import.

    Parameters
    ----------
    text
        The source of a module or a cell.
    module, is_package
        Its own dotted name, for relative imports.
    """
    tree = parse(text)
    return set() if tree is None else _of(tree, module, is_package=is_package)


def _of(tree: ast.AST, module: str, *, is_package: bool) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node.module or "", node.level, module, is_package)
            found.add(base)
            # ``from package import module``: it may be one
            found |= {f"{base}.{a.name}" for a in node.names if a.name != "*"}
    return {name.strip(".") for name in found} - {""}


def absolute(name: str, level: int, module: str, is_package: bool) -> str:  # noqa: FBT001 - private to this layer
    """Return the dotted name that a relative import of a module means."""
    if not level:
        return name
    parts = module.split(".")
    up = level - 1 if is_package else level
    kept = parts[: len(parts) - up] if up else parts
    return ".".join([*kept, *filter(None, [name])])


def with_parents(name: str) -> list[str]:
    """Return a dotted name and the packages that it lies in: each is imported too."""
    parts = name.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]
