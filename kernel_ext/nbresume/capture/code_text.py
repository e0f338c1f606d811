"""What code does, as its text says it: equal on every version of Python.

The rule: byte code differs between versions, the tree of the text does not. The text
counts only where compiling it gives exactly this code; otherwise the byte code does.
Decorators and defaults are values of their own and no part of the code.
"""

import ast
import marshal
import sys
import types
import weakref
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from nbresume.capture.atoms import tag_of
from nbresume.capture.sources import (
    FUTURES,
    MODULE,
    code_place,
    key_of_code,
    number_in_text,
    text_of,
)
from nbresume.model.digests import cue_digest
from nbresume.model.printing import parse, printed

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CODE_BITS = (
    *("argcount", "posonlyargcount", "kwonlyargcount", "flags", "code", "names"),
    *("varnames", "name", "exceptiontable", "freevars", "cellvars"),
)


_tokens: "dict[int, tuple[weakref.ref[types.CodeType], bytes]]" = {}
"""What was found out of a code object holds, also when its text is gone."""


def code_token(code: types.CodeType) -> bytes:
    """Return what code does: as its text says it, else as its byte code does."""
    # by identity: code objects that are equal may come from different texts
    key = id(code)
    if key not in _tokens:
        token = _text_token(code) or _library_token(code) or code_bits(code)
        _tokens[key] = (weakref.ref(code, lambda _: _tokens.pop(key, None)), token)
    return _tokens[key][1]


def _library_token(code: types.CodeType) -> bytes | None:
    """Return the place of code in the standard library: like what is imported."""
    if code.co_filename.startswith("<"):
        return None
    kind, module, name, _, number, free, _ = code_place(code)
    if kind != MODULE or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    return tag_of("library", module, name, number, *free)


def code_bits(code: types.CodeType) -> bytes:
    """Return what code does, without file names and line numbers."""
    bits = [_plain(getattr(code, f"co_{name}")) for name in _CODE_BITS]
    return _framed([*bits, *map(_const_bits, code.co_consts)])


def _const_bits(const: Any) -> bytes:
    if isinstance(const, types.CodeType):
        return b"c" + code_bits(const)
    if isinstance(const, tuple):
        return b"t" + _framed([_const_bits(item) for item in const])
    if isinstance(const, frozenset):
        return b"f" + _framed(sorted(_const_bits(item) for item in const))
    return _plain(const)


def _plain(value: Any) -> bytes:
    # Format 2 of marshal writes neither references nor whether a text is interned.
    return marshal.dumps(value, 2)


def _framed(pieces: list[bytes]) -> bytes:
    return b"".join([b"%d:" % len(piece) + piece for piece in pieces])


def _text_token(code: types.CodeType) -> bytes | None:
    text = text_of(code)
    number = None if text is None else number_in_text(code, text)
    if text is None or number is None:
        return None
    nodes = _functions(text).get(key_of_code(code), [])
    if number >= len(nodes):
        return None
    node = nodes[number]
    body: list[ast.stmt] = (
        [ast.Expr(node.body)] if isinstance(node, ast.Lambda) else node.body
    )
    shown = printed(ast.Module(body=body, type_ignores=[]))
    return tag_of(
        "text",
        type(node).__name__,
        # what it is bound to, and how private names read, hangs on the place
        key_of_code(code)[0],
        *code.co_freevars,
        code.co_flags & FUTURES,
        *_signature(node.args),
        cue_digest(shown.encode("ascii")),
    )


def _signature(args: ast.arguments) -> Iterator[str]:
    """Yield the names of the arguments, and of which kind they are."""
    for kind, found in (
        ("/", args.posonlyargs),
        (",", args.args),
        ("*", [args.vararg]),
        ("=", args.kwonlyargs),
        ("**", [args.kwarg]),
    ):
        yield kind
        yield from (arg.arg for arg in found if arg is not None)


@lru_cache(maxsize=32)
def _functions(text: str) -> dict[tuple[str, int], list[Function]]:
    """Return (qualified name, first line) → the functions there, in order."""
    tree = parse(text)
    found: dict[tuple[str, int], list[Function]] = {}
    todo: list[tuple[ast.AST, str]] = [] if tree is None else [(tree, "")]
    while todo:
        node, scope = todo.pop()
        if isinstance(node, _FUNCTIONS):
            name = scope + getattr(node, "name", "<lambda>")
            found.setdefault((name, _first_line(node)), []).append(node)
        todo += _inside(node, scope)
    for nodes in found.values():
        nodes.sort(key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
    return found


def _first_line(node: Function) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _inside(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield what a node holds, with the scope in which that is compiled."""
    inner = scope
    if isinstance(node, _FUNCTIONS):
        inner = f"{scope}{getattr(node, 'name', '<lambda>')}.<locals>."
    elif isinstance(node, ast.ClassDef):
        inner = f"{scope}{node.name}."
    elif isinstance(node, ast.GeneratorExp):
        inner = f"{scope}<genexpr>.<locals>."
    body = getattr(node, "body", [])
    own = body if isinstance(body, list) else [body]
    for child in ast.iter_child_nodes(node):
        is_own = isinstance(node, ast.GeneratorExp) or child in own
        yield child, inner if is_own else scope
