"""The walk over expressions, in the order in which Python evaluates them.

The rule: each kind of node that binds, defers or may not be evaluated has its line in
`EXPRESSIONS`; all others are their children in order. What is assigned where is the
business of `Flow`; `reading` adds the statements.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import ClassVar

from nbresume.model.printing import parse
from nbresume.plan.flow import Block, Flow, Uses
from nbresume.plan.magics import (
    Magic,
    cell_magic,
    identifiers,
    line_magic,
    shell_names,
    words,
)
from nbresume.plan.scopes import (
    Comprehension,
    Kind,
    Scope,
    comprehension_scope,
    function_scope,
)

Handlers = Mapping[type[ast.AST], Callable[..., None]]

MAX_DEPTH = 120
"""Levels of a tree that the walk can recurse through inside a kernel's stack."""
_MAX_MAGIC_DEPTH = 40
_SHELL_CALLS = frozenset({"system", "getoutput", "getoutput_split"})
_NAMESPACE = words(
    "del_var drop_by_id ev ex magic push reset run_cell run_cell_async run_code "
    "user_global_ns user_ns"
)


class Expressions:
    """One walk, and what it has gathered."""

    on: ClassVar[Handlers]

    def __init__(self, flow: Flow) -> None:
        self.flow = flow
        self.strings: set[str] = set()
        self.imports: set[str] = set()
        self.patches: set[tuple[str, str]] = set()

    def visit(self, node: ast.AST) -> None:
        """Walk one node."""
        handler = self.on.get(type(node))
        if handler is None:
            self.all(ast.iter_child_nodes(node))
        else:
            handler(self, node)

    def all(self, nodes: Iterable[ast.AST | None]) -> None:
        """Walk the nodes in order, leaving out those that are not there."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def block(self, *nodes: ast.AST | None) -> Block:
        """Return the walk over these nodes, for `Flow` to take when it is due."""
        return partial(self.all, nodes)

    # names and values

    def name(self, node: ast.Name) -> None:
        """Read, bind or delete."""
        match node.ctx:
            case ast.Store():
                self.flow.store(node.id)
            case ast.Del():
                self.flow.delete(node.id)
            case _:
                self.flow.load(node.id)

    def walrus(self, node: ast.NamedExpr) -> None:
        """Bind outside the comprehensions around it."""
        self.visit(node.value)
        self.flow.store(node.target.id, through_comprehensions=True)

    def attribute(self, node: ast.Attribute) -> None:
        """Note what is set or deleted on a module, and IPython's namespace."""
        if not isinstance(node.ctx, ast.Load):
            self.patch(node.value, node.attr)
        if node.attr in _NAMESPACE and (
            node.attr.startswith("user_") or _is_get_ipython(node.value)
        ):
            self.flow.uses.wild = True
        self.visit(node.value)

    def subscript(self, node: ast.Subscript) -> None:
        """Note what is set or deleted in a table that a module or a class holds."""
        if isinstance(node.value, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            self.patch(node.value.value, f"{node.value.attr}[]")
        self.all((node.value, node.slice))

    def patch(self, owner: ast.expr, path: str) -> None:
        """Note that something below a global name is set: an attribute, an item."""
        while isinstance(owner, ast.Attribute):
            path = f"{owner.attr}.{path}"
            owner = owner.value
        if isinstance(owner, ast.Name) and self.flow.is_global(owner.id):
            self.patches.add((owner.id, path))

    def constant(self, node: ast.Constant) -> None:
        """Keep texts: they may name files, or names in a query."""
        if isinstance(node.value, str):
            self.strings.add(node.value)

    def f_string(self, node: ast.JoinedStr) -> None:
        """Keep the text as one, so that a query in pieces is still a query."""
        texts = (
            str(part.value) if isinstance(part, ast.Constant) else "{}"
            for part in node.values
        )
        self.strings.add("".join(texts))
        self.all(part for part in node.values if not isinstance(part, ast.Constant))

    # expressions of which a part may not be evaluated

    def boolean(self, node: ast.BoolOp) -> None:
        """Take the operands after the first as optional."""
        self.visit(node.values[0])
        self.flow.maybe(self.block(*node.values[1:]))

    def comparison(self, node: ast.Compare) -> None:
        """Take the operands after the second as optional."""
        self.all((node.left, node.comparators[0]))
        self.flow.maybe(self.block(*node.comparators[1:]))

    def conditional(self, node: ast.IfExp) -> None:
        """Take one of the two."""
        self.visit(node.test)
        self.flow.either(self.block(node.body), self.block(node.orelse))

    def dictionary(self, node: ast.Dict) -> None:
        """Walk pair by pair, as Python does."""
        for key, value in zip(node.keys, node.values, strict=True):
            self.all((key, value))

    def comprehension(self, node: Comprehension) -> None:
        """Walk its first source here, the rest in its own scope."""
        self.visit(node.generators[0].iter)
        run = partial(self._turns, node)
        scope = comprehension_scope(node)
        if isinstance(node, ast.GeneratorExp):
            self.flow.apply(self.flow.collect(scope, run))
        else:
            self.flow.maybe(partial(self.flow.under, scope, run))

    def _turns(self, node: Comprehension) -> None:
        first, *others = node.generators
        self.all((first.target, *first.ifs))
        for generator in others:
            self.all((generator.iter, generator.target, *generator.ifs))
        if isinstance(node, ast.DictComp):
            self.all((node.key, node.value))
        else:
            self.visit(node.elt)

    # functions without a name

    def lambda_(self, node: ast.Lambda) -> None:
        """Take a function without a name as usable at once."""
        self.all((*node.args.defaults, *node.args.kw_defaults))
        scope = function_scope(node)
        self.flow.apply(self.flow.collect(scope, self.block(node.body)))

    # calls, IPython's above all

    def call(self, node: ast.Call) -> None:
        """Look into magics and shell lines; walk every other call."""
        texts = [_text(argument) for argument in node.args]
        match node.func, texts:
            case ast.Attribute(attr="run_line_magic"), [str(name), str(line)]:
                self.magic(line_magic(name, line))
            case (
                ast.Attribute(attr="run_cell_magic"),
                [str(name), str(line), str(body)],
            ):
                self.magic(cell_magic(name, line, body))
            case ast.Attribute(attr="run_line_magic" | "run_cell_magic"), _:
                self.flow.uses.wild = True
                self.all(ast.iter_child_nodes(node))
            case ast.Attribute(attr=attr, value=shell), [str(command)] if (
                attr in _SHELL_CALLS and _is_get_ipython(shell)
            ):
                self.strings.add(command)
                self.load_all(shell_names(command))
            case ast.Name(id="setattr" | "delattr"), [None, str(attribute), *_]:
                self.patch(node.args[0], attribute)
                self.all(ast.iter_child_nodes(node))
            case _:
                self.all(ast.iter_child_nodes(node))

    def magic(self, magic: Magic) -> None:
        """Count what a magic does; code that cannot be read may do anything."""
        self.load_all(magic.reads)
        self.flow.uses.wild |= magic.wild
        if magic.code is not None:
            self.run(magic.code, isolated=magic.isolated)
        for name in magic.stores:
            self.flow.store(name)

    def run(self, code: str, *, isolated: bool) -> None:
        """Walk the code that a magic runs.

        An error in it is shown and not raised, yet the names that it assigns count as
        assigned: a traceback on the page is no result that anyone takes for one.
        """
        tree = parse(code)
        if tree is None or depth_of(tree) > _MAX_MAGIC_DEPTH:
            self.flow.uses.wild = True
            self.load_all(identifiers(code))
        elif isolated:
            self.flow.apply(self._alone(tree))
        else:
            self.all(tree.body)

    def _alone(self, tree: ast.Module) -> Uses:
        scope = Scope(Kind.FUNCTION, frozenset())
        uses = self.flow.collect(scope, self.block(*tree.body))
        uses.stores.clear()
        uses.deletes.clear()
        return uses

    def load_all(self, names: Iterable[str]) -> None:
        """Count the names as read."""
        for name in names:
            self.flow.load(name)


def depth_of(tree: ast.AST) -> int:
    """Return how many levels the tree has."""
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def called(node: ast.expr) -> str:
    """Return the last name of what a call calls; "" if it is no call."""
    return last_name(node.func) if isinstance(node, ast.Call) else ""


def last_name(node: ast.expr) -> str:
    """Return the last name of ``a.b.name``; "" for other expressions."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return str(name)
        case _:
            return ""


def _is_get_ipython(node: ast.expr) -> bool:
    return called(node) == "get_ipython"


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


EXPRESSIONS: Handlers = {
    ast.Attribute: Expressions.attribute,
    ast.Subscript: Expressions.subscript,
    ast.BoolOp: Expressions.boolean,
    ast.Call: Expressions.call,
    ast.Compare: Expressions.comparison,
    ast.Constant: Expressions.constant,
    ast.Dict: Expressions.dictionary,
    ast.DictComp: Expressions.comprehension,
    ast.GeneratorExp: Expressions.comprehension,
    ast.IfExp: Expressions.conditional,
    ast.JoinedStr: Expressions.f_string,
    ast.Lambda: Expressions.lambda_,
    ast.ListComp: Expressions.comprehension,
    ast.Name: Expressions.name,
    ast.NamedExpr: Expressions.walrus,
    ast.SetComp: Expressions.comprehension,
}
