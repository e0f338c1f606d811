"""The resumable loops of a cell: where they stand, and what goes from item to item.

The rule: a loop is one only if ``resumable(…)`` itself stands behind the ``in`` of a
``for`` of the cell's own code. Anything around it (``enumerate``, a comprehension, a
function) would keep a state of its own that no progress holds.
"""

import ast
from collections.abc import Iterator

from msgspec import Struct

from nbresume.plan.names import names_of

RESUMABLE = "resumable"

Span = tuple[int, int, int, int]
"""Line, column, last line and last column of a call, as byte code has them too."""


class LoopText(Struct, frozen=True):
    """What one loop's text says."""

    span: Span
    """Of the call behind its ``in``."""
    fleeting: frozenset[str]
    """Names that each item binds anew before it reads them."""


def loops_of(tree: ast.Module) -> tuple[LoopText, ...]:
    """Return the resumable loops of a cell, outer ones first."""
    return tuple(
        LoopText(_span(loop.iter), _fleeting(loop))
        for loop in _loops(tree.body)
        if _is_resumable(loop.iter)
    )


def _loops(body: list[ast.stmt]) -> Iterator[ast.For]:
    for statement in body:
        if isinstance(statement, ast.For):
            yield statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for block in ("body", "orelse", "finalbody"):
            yield from _loops(getattr(statement, block, []))
        for part in (
            *getattr(statement, "handlers", ()),
            *getattr(statement, "cases", ()),
        ):
            yield from _loops(part.body)


def _is_resumable(call: ast.expr) -> bool:
    match call:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name == RESUMABLE
    return False


def _span(node: ast.expr) -> Span:
    return (
        node.lineno,
        node.col_offset,
        node.end_lineno or node.lineno,
        node.end_col_offset or node.col_offset,
    )


def _fleeting(loop: ast.For) -> frozenset[str]:
    # in a loop of its own, since there may be a break; it is entered for sure
    turn = ast.While(test=ast.Constant(value=True), body=loop.body, orelse=[])
    names = names_of(ast.Module(body=[turn], type_ignores=[]))
    target = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    return (names.stores - names.reads - names.deletes) | target
