"""Python text ⇄ a tree, and a tree → one printed form that all Pythons agree on.

The rule: the printed form is our own, so that an upgrade of Python changes no version.
Positions, comments, parentheses, quotes and type comments are no part of it.
"""

import ast
import warnings

_IGNORED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})


def parse(text: str) -> ast.Module | None:
    """Return the tree of a text, or None when it is no plain Python."""
    with warnings.catch_warnings():
        # Python warns of "\d" when it parses; the author hears it when the cell runs
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def printed(node: ast.AST) -> str:
    """Return one ASCII text for all nodes of equal meaning, equal on all Pythons."""
    out: list[str] = []
    todo: list[ast.AST | str] = [node]
    # a loop, because a sum of a thousand terms is a thousand levels deep
    while todo:
        part = todo.pop()
        if isinstance(part, str):
            out.append(part)
        else:
            parts = _parts(part)
            parts.reverse()
            todo += parts
    return "".join(out)


def _parts(node: ast.AST) -> list[ast.AST | str]:
    # each cell is printed before it runs: a list of texts, and no call for each of them
    parts: list[ast.AST | str] = [f"{type(node).__name__}("]
    keeps_absent = isinstance(node, ast.Constant | ast.MatchSingleton)
    is_text = isinstance(node, ast.JoinedStr | ast.FormattedValue)
    for name in node._fields:
        value = getattr(node, name, None)
        if is_text:
            value = _normal(node, value)
        # Pythons differ in whether an absent field is None, empty or not there
        if name in _IGNORED or (not keeps_absent and value in (None, [])):
            continue
        parts.append(f"{name}=")
        if isinstance(value, ast.AST):
            parts.append(value)
        elif isinstance(value, list):
            parts.append("[")
            for item in value:
                parts += (item if isinstance(item, ast.AST) else _constant(item), ",")
            parts.append("]")
        else:
            parts.append(_constant(value))
        parts.append(";")
    parts.append(")")
    return parts


def _normal(node: ast.AST, value: object) -> object:
    if isinstance(node, ast.JoinedStr):
        return _merged(node)
    if isinstance(node, ast.FormattedValue) and isinstance(value, ast.JoinedStr):
        # an f-string as the value prints itself; as the format, an empty one is none
        return value if value is node.value or _merged(value) else None
    return value


def _merged(node: ast.JoinedStr) -> list[ast.expr]:
    """Return the parts of an f-string with no empty and no adjacent texts.

    Python 3.12 leaves empty texts in format specifications.
    """
    merged: list[ast.expr] = []
    for part in node.values:
        if not isinstance(part, ast.Constant):
            merged.append(part)
        elif merged and isinstance(merged[-1], ast.Constant):
            merged[-1] = ast.Constant(str(merged[-1].value) + str(part.value))
        elif part.value:
            merged.append(part)
    return merged


def _constant(value: object) -> str:
    # the type is a part of it: 8, 8.0, 8j, True and "8" are five constants
    kind = type(value).__name__
    # hex, because Python refuses to write integers of more than 4300 digits otherwise
    return f"{kind}:{value:x}" if type(value) is int else f"{kind}:{value!a}"
