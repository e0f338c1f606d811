"""Which names a function, class or comprehension keeps to itself.

The rule: a name is global unless Python's own rules bind it in a scope of the cell.
"""

import ast
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from msgspec import Struct

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Kind(Enum):
    """The scopes whose names behave differently."""

    FUNCTION = auto()
    CLASS = auto()
    """Seen by its own statements only, not by the functions in it."""
    COMPREHENSION = auto()
    """A ``:=`` in it binds in the scope around it. Type parameters are alike."""


class Scope(Struct, frozen=True):
    """One scope: the names bound in it, and those that it declares global."""

    kind: Kind
    bound: frozenset[str]
    declared: frozenset[str] = frozenset()


def function_scope(node: Function | ast.Lambda) -> Scope:
    """Return the scope of a function's body."""
    args = node.args
    names = {
        arg.arg
        for arg in (
            *args.posonlyargs,
            *args.args,
            *args.kwonlyargs,
            *filter(None, (args.vararg, args.kwarg)),
        )
    }
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    return _scope(Kind.FUNCTION, body, names | set(type_parameters(node)))


def class_scope(node: ast.ClassDef) -> Scope:
    """Return the scope of a class body."""
    return _scope(Kind.CLASS, node.body, set())


def comprehension_scope(node: Comprehension) -> Scope:
    """Return the scope of a comprehension: its loop variables."""
    targets = [generator.target for generator in node.generators]
    return _scope(Kind.COMPREHENSION, targets, set())


def type_parameters(node: ast.AST) -> list[str]:
    """Return the names of a definition's type parameters (Python 3.12 and later)."""
    return [parameter.name for parameter in getattr(node, "type_params", ())]


def deleted_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that a ``del`` or the end of an ``except`` may remove."""
    deleted = set()
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del):
                deleted.add(node.id)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                deleted.add(node.name)
    return deleted


def deleted_by_functions(tree: ast.AST) -> set[str]:
    """Return the globals that some function may delete whenever it is called."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, Function):
            names |= function_scope(node).declared & deleted_in(node.body)
    return names


def names_bound_by(node: ast.AST) -> tuple[str, ...]:
    """Return the names that this one node binds or deletes in its scope."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case (
            ast.FunctionDef(name=str(name))
            | ast.AsyncFunctionDef(name=str(name))
            | ast.ClassDef(name=str(name))
            | ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            return (name,)
        case ast.Import() | ast.ImportFrom():
            return tuple(_imported(alias) for alias in node.names if alias.name != "*")
        case _:
            return ()


def _imported(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _scope(kind: Kind, body: Iterable[ast.AST], bound: set[str]) -> Scope:
    declared: set[str] = set()
    outer: set[str] = set()
    for node in _own_nodes(body):
        bound.update(names_bound_by(node))
        if isinstance(node, ast.Global):
            declared.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer.update(node.names)
    return Scope(kind, frozenset(bound - declared - outer), frozenset(declared))


def _own_nodes(roots: Iterable[ast.AST]) -> Iterator[ast.AST]:
    todo = list(roots)
    while todo:
        node = todo.pop()
        yield node
        todo.extend(_evaluated_here(node))


def _evaluated_here(node: ast.AST) -> Iterable[ast.AST]:
    """Return the children of a node that belong to the scope it stands in."""
    if isinstance(node, Function | ast.Lambda):
        decorators = () if isinstance(node, ast.Lambda) else node.decorator_list
        return (*decorators, *node.args.defaults, *filter(None, node.args.kw_defaults))
    if isinstance(node, ast.ClassDef):
        return (*node.decorator_list, *node.bases, *node.keywords)
    if isinstance(node, ast.comprehension):
        # the target is the comprehension's own; a ":=" in it is not
        return (node.iter, *node.ifs)
    return ast.iter_child_nodes(node)
