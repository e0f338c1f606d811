"""Edits that are made, not written: of every cell, one of each kind that fits it.

The rule: an edit is a change of the text by positions of the syntax tree, so that all
else stays as its author wrote it. Where several places fit, the names of notebook and
cell choose one, the same in each run.
"""

import ast
import hashlib
import re

from books import Book, Cell, Edit

_OTHER_OPERATOR = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.Mod: ("%", "+"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
}


def generated(book: Book, frames: dict[str, list[str]]) -> list[Edit]:
    """Return the edits of all cells.

    Parameters
    ----------
    book
        The notebook.
    frames
        Of each cell the names that it binds to a frame.
    """
    edits = []
    for cell in book.cells:
        tree = ast.parse(cell.source)
        made = {
            "constant": _constant(cell, tree),
            "operator": _operator(cell, tree),
            "added column": _column(cell, frames.get(cell.name, [])),
            "renamed name": _renamed(book, cell, tree),
            "deleted line": _deleted(book, cell, tree),
            "comment only": _commented(book, cell),
        }
        edits += [Edit(kind, cell.name, text) for kind, text in made.items() if text]
    return [edit for edit in edits if _parses(edit.text)]


def in_turn(edits: list[Edit]) -> list[Edit]:
    """Return one edit of each cell, so that all kinds come in turn."""
    chosen: list[Edit] = []
    used: dict[str, int] = {}
    for cell in dict.fromkeys(edit.target for edit in edits):
        fitting = [edit for edit in edits if edit.target == cell]
        edit = min(fitting, key=lambda edit: used.get(edit.kind, 0))
        used[edit.kind] = used.get(edit.kind, 0) + 1
        chosen.append(edit)
    return chosen


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _pick(places: list, *keys: str):
    if not places:
        return None
    digest = hashlib.sha256("/".join(keys).encode()).digest()
    return places[int.from_bytes(digest[:4], "big") % len(places)]


def _offset(source: str, line: int, column: int) -> int:
    lines = source.splitlines(keepends=True)
    before = lines[line - 1].encode()[:column].decode()
    return sum(map(len, lines[: line - 1])) + len(before)


def _span(source: str, node: ast.AST) -> tuple[int, int]:
    begin = _offset(source, node.lineno, node.col_offset)
    return begin, _offset(source, node.end_lineno, node.end_col_offset)


def _constant(cell: Cell, tree: ast.Module) -> str:
    inside = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
    }
    places = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and type(node.value) in (int, float)
        and id(node) not in inside
    ]
    node = _pick(places, cell.name, cell.source, "constant")
    if node is None:
        return ""
    begin, end = _span(cell.source, node)
    return cell.source[:begin] + repr(node.value + 1) + cell.source[end:]


def _operator(cell: Cell, tree: ast.Module) -> str:
    places = []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and type(node.op) in _OTHER_OPERATOR:
            places.append((node.left, node.op, node.right))
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER_OPERATOR:
            places.append((node.left, node.ops[0], node.comparators[0]))
    place = _pick(places, cell.name, cell.source, "operator")
    if place is None:
        return ""
    left, operator, right = place
    old, new = _OTHER_OPERATOR[type(operator)]
    begin, end = _span(cell.source, left)[1], _span(cell.source, right)[0]
    between = cell.source[begin:end].replace(old, new, 1)
    return cell.source[:begin] + between + cell.source[end:]


def _column(cell: Cell, frames: list[str]) -> str:
    name = _pick(sorted(frames), cell.name, cell.source, "column")
    return f'{cell.source}\n{name}["added"] = 1' if name else ""


def _renamed(book: Book, cell: Cell, tree: ast.Module) -> str:
    """Rename in this cell a name that it binds; one that no other cell has, if any."""
    bound = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    elsewhere = "\n".join(c.source for c in book.cells if c is not cell)
    own = [n for n in bound if not re.search(rf"\b{n}\b", elsewhere)]
    name = _pick(sorted(own or bound), cell.name, cell.source, "name")
    if name is None:
        return ""
    # not an attribute, and nothing inside of a text in quotes
    pattern = rf"(?<![\w.\"'@]){name}(?![\w\"'])"
    return re.sub(pattern, f"{name}_2", cell.source)


def _deleted(book: Book, cell: Cell, tree: ast.Module) -> str:
    bodies = [node.body for node in ast.walk(tree) if hasattr(node, "body")]
    blocks = [b for b in bodies if isinstance(b, list) and len(b) > 1]
    places = [
        node
        for block in blocks
        for node in block
        if not isinstance(node, ast.Import | ast.ImportFrom)
    ]
    node = _pick(places, book.name, cell.name, "deleted")
    if node is None:
        return ""
    lines = cell.source.splitlines()
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return "\n".join(lines[: first - 1] + lines[node.end_lineno :])


def _commented(book: Book, cell: Cell) -> str:
    lines = cell.source.splitlines()
    at = _pick([0, len(lines)], book.name, cell.name, "comment")
    return "\n".join([*lines[:at], "", "# another comment", *lines[at:]])
