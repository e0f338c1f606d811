"""Cells that are steps without saying so: which ones, under which name and title.

The rule: told by a cell's id and text alone, so that every face sees the same steps,
with a kernel or without. What is cheap to run again (imports, definitions, settings,
displays) is no step; in doubt a cell is one.
"""

import ast
import re
from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from nbresume.model.digests import cue_digest
from nbresume.model.printing import parse
from nbresume.plan.header import find_header
from nbresume.plan.names import names_of
from nbresume.plan.notebook import Cell

PREFIX = "cell-"
_LONGEST = 64
_TITLE = 48

_OWN = re.compile(r"\s*%%?(?:nbresume|load_ext|reload_ext|steps?)\b")
_SWITCH = re.compile(r"\s*%nbresume\s+auto(?:\s+(on|off))?\s*(?:#.*)?")
_RESULTS = re.compile(r"_{1,3}|_\d+|_i{1,3}|_i\d+|Out|_oh|In|_ih")
_AROUND = frozenset({"time", "capture", "prun"})
"""Cell magics whose body is the notebook's own code."""
_SHOWING = frozenset(
    {"print", "display", "len", "type", "repr", "str", "round", "head", "tail", "info"}
    | {"describe", "value_counts", "Path"}
    | {"seed", "filterwarnings", "simplefilter", "set_option", "set_theme", "set_style"}
    | {"use", "basicConfig", "set_printoptions"}
)
"""Functions and methods that show something, or set an option of a library."""
_SPELLED = frozenset({"Path", "set", "frozenset", "dict", "list", "tuple"})
_LITERALS = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.UnaryOp)
_TEXTS = (*_LITERALS, ast.BinOp)
_SHOWN = (*_LITERALS, ast.Name, ast.Attribute, ast.Subscript, ast.Slice)
_MADE_UP = ("step:", "text:")
"""Beginnings of ids that were made up for cells which have none."""


def auto_name(cell_id: str) -> str:
    """Return the name of a cell's step: equal for equal ids, whatever stands in it."""
    name = PREFIX + re.sub(r"[^A-Za-z0-9_.-]", "-", cell_id)
    if name == PREFIX + cell_id.lower() and len(name) <= _LONGEST:
        return name
    # names are unique without regard to case, and ids are not
    mark = cue_digest(cell_id.encode("utf-8", "surrogatepass"))[:8]
    return f"{name[: _LONGEST - 9]}-{mark}"


def title_of(source: str) -> str:
    """Return the first words of a cell: of a comment if it begins with one."""
    for line in source.splitlines():
        text = line.strip().lstrip("#").strip()
        if text and not line.strip().startswith("%"):
            short = " ".join(text.split())
            return short if len(short) <= _TITLE else f"{short[: _TITLE - 1]}…"
    return ""


def switched(cells: Sequence[Cell]) -> bool:
    """Say whether a notebook's own text has every cell be a step."""
    is_on = False
    for cell in cells:
        if "%nbresume" in cell.source:
            for line in cell.source.splitlines():
                if found := _SWITCH.fullmatch(line):
                    is_on = found[1] != "off"
    return is_on


def with_steps(cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of a notebook with those named that are steps by themselves."""
    twins = Counter(cell.cell_id for cell in cells)
    return [
        replace(cell, step=auto_name(cell.cell_id))
        if cell.step is None
        and has_id(cell.cell_id)
        and twins[cell.cell_id] == 1
        and is_work(cell.source)
        else cell
        for cell in cells
    ]


def has_id(cell_id: str) -> bool:
    """Say whether a cell has an id of its own, not one that was made up for it."""
    return bool(cell_id) and not cell_id.startswith(_MADE_UP)


def is_work(source: str) -> bool:
    """Say whether a cell does what is worth a commit."""
    lines = source.splitlines()
    if any(_OWN.match(line) for line in lines) or find_header(source) is not None:
        return False
    first = next((n for n, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return False
    if lines[first].startswith("%%"):
        if lines[first][2:].partition(" ")[0] not in _AROUND:
            return False
        lines = lines[first + 1 :]
    code = [line for line in lines if not _is_magic(line)]
    tree = parse("\n".join(code))
    if tree is None:
        return True
    # `for _ in range(3)` reads no result: the loop makes the name
    if any(_RESULTS.fullmatch(name) for name in names_of(tree).reads):
        return False  # what an earlier cell showed is kept by no commit
    return not all(_is_cheap(statement) for statement in tree.body)


def _is_magic(line: str) -> bool:
    text = line.strip()
    return text.startswith(("%", "!", "?")) or text.endswith("?")


def _is_cheap(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.Pass():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return True
        case ast.ClassDef(body=body):
            return all(_is_cheap(inner) for inner in body)
        case ast.Assign(value=value, targets=targets):
            return all(isinstance(t, ast.Name) for t in targets) and _is_plain(value)
        case ast.AnnAssign(value=value, target=ast.Name()):
            return value is None or _is_plain(value)
        case ast.Expr(value=value):
            return _is_shown(value)
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            inner = [*body, *orelse, *final, *(s for h in handlers for s in h.body)]
            return all(_is_cheap(one) for one in inner)
        case _:
            return False


def _is_plain(value: ast.expr) -> bool:
    """Say whether an expression is a value that its text spells out."""
    match value:
        case ast.Call(func=ast.Name(id=name)) if name in _SPELLED:
            inner = _arguments(value)
        case _ if isinstance(value, _TEXTS):
            inner = _inner(value)
        case _:
            return False
    return all(_is_plain(one) for one in inner)


def _is_shown(value: ast.expr) -> bool:
    """Say whether an expression only shows what is there, or sets an option."""
    match value:
        case ast.Call(func=ast.Name(id=name)) if name in _SHOWING:
            inner = _arguments(value)
        case ast.Call(func=ast.Attribute(attr=name, value=owner)) if name in _SHOWING:
            inner = [*_arguments(value), owner]
        case ast.JoinedStr(values=parts):
            inner = [p.value for p in parts if isinstance(p, ast.FormattedValue)]
        case _ if isinstance(value, _SHOWN):
            inner = _inner(value)
        case _:
            return False
    return all(_is_shown(one) for one in inner)


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _inner(value: ast.expr) -> list[ast.expr]:
    return [n for n in ast.iter_child_nodes(value) if isinstance(n, ast.expr)]
