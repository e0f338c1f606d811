"""The walk over a cell's tree, in the order in which Python evaluates it.

The rule: each kind of node that binds, branches or defers has its line below; all
others are their children in order. What is assigned where is the business of `Flow`.
"""

import ast
from collections.abc import Iterable
from functools import partial

from nbresume.plan.expressions import EXPRESSIONS, Expressions, called, last_name
from nbresume.plan.flow import Flow, nothing
from nbresume.plan.magics import words
from nbresume.plan.scopes import (
    Function,
    Kind,
    Scope,
    class_scope,
    deleted_by_functions,
    deleted_in,
    function_scope,
    names_bound_by,
    type_parameters,
)

# context managers that let errors through; behind any other ``with``, an error may
# have been swallowed before the names of the block were assigned
_LETS_ERRORS_THROUGH = words(
    "ExcelFile ExcelWriter File HDFStore Lock NamedTemporaryFile Pool "
    "ProcessPoolExecutor RLock Session TarFile TemporaryDirectory TemporaryFile "
    "ThreadPoolExecutor ZipFile begin catch_warnings chdir closing connect cursor "
    "errstate fdopen inference_mode localcontext no_grad nullcontext open open_dataset "
    "option_context rc_context redirect_stderr redirect_stdout scandir start_run tqdm "
    "urlopen"
)
# decorators that keep the function for later and do not call it
_KEEPS_FOR_LATER = words(
    "abstractmethod cache cached_property classmethod contextmanager dataclass final "
    "lru_cache overload override property setter staticmethod wraps"
)


class Reading(Expressions):
    """One walk, and what it has gathered."""

    def __init__(self, tree: ast.Module) -> None:
        super().__init__(Flow(volatile=deleted_by_functions(tree)))
        self.all(tree.body)

    # statements

    def expression(self, node: ast.Expr) -> None:
        """Leave out texts that only document."""
        if not isinstance(node.value, ast.Constant):
            self.visit(node.value)

    def assign(self, node: ast.Assign) -> None:
        """Evaluate before binding."""
        self.all((node.value, *node.targets))

    def annotated(self, node: ast.AnnAssign) -> None:
        """Bind only when there is a value."""
        self.all((node.value, node.annotation))
        if node.value is not None or not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def augmented(self, node: ast.AugAssign) -> None:
        """Read, evaluate, bind."""
        if isinstance(node.target, ast.Name):
            self.flow.load(node.target.id)
        self.all((node.value, node.target))

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        """Bind the names and note the modules."""
        if isinstance(node, ast.ImportFrom):
            self.imports.add("." * node.level + (node.module or ""))
        else:
            self.imports.update(alias.name for alias in node.names)
        for name in names_bound_by(node):
            self.flow.store(name)

    def assertion(self, node: ast.Assert) -> None:
        """Take the message as optional."""
        self.visit(node.test)
        self.flow.maybe(self.block(node.msg))

    def branch(self, node: ast.If) -> None:
        """Take one of the two."""
        self.visit(node.test)
        self.flow.either(self.block(*node.body), self.block(*node.orelse))

    def for_loop(self, node: ast.For | ast.AsyncFor) -> None:
        """Walk a loop that may take no turn."""
        self.visit(node.iter)
        self.flow.loop(
            self.block(node.target, *node.body),
            self.block(*node.orelse),
            test=nothing,
            deletes=deleted_in(node.body),
            ends=True,
        )

    def while_loop(self, node: ast.While) -> None:
        """Walk a loop whose test is evaluated at least once."""
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self.flow.loop(
            self.block(*node.body),
            self.block(*node.orelse),
            test=self.block(node.test),
            deletes=deleted_in(node.body),
            ends=not forever,
        )

    def leave(self, node: ast.Return | ast.Raise | ast.Continue) -> None:
        """Note that the code behind it does not run from here."""
        self.all(ast.iter_child_nodes(node))
        self.flow.end()

    def leave_loop(self, _node: ast.Break) -> None:
        """Note the way out of the loop."""
        self.flow.end_loop()

    def attempt(self, node: ast.Try | ast.TryStar) -> None:
        """Walk a try with its handlers and its end."""
        parts = (*node.body, *node.orelse, *node.handlers)
        self.flow.attempt(
            self.block(*node.body, *node.orelse),
            [partial(self._handler, handler) for handler in node.handlers],
            self.block(*node.finalbody),
            deletes=deleted_in(parts),
            final_deletes=deleted_in(node.finalbody),
        )

    def _handler(self, node: ast.ExceptHandler) -> None:
        self.all((node.type,))
        self.flow.handle(node.name, self.block(*node.body))

    def context(self, node: ast.With | ast.AsyncWith) -> None:
        """Take the block as run to its end only if no error can be swallowed."""
        for item in node.items:
            self.all((item.context_expr, item.optional_vars))
        body = self.block(*node.body)
        if all(called(i.context_expr) in _LETS_ERRORS_THROUGH for i in node.items):
            body()
            return
        deletes = deleted_in(node.body)
        self.flow.attempt(
            body, [nothing], nothing, deletes=deletes, final_deletes=set()
        )

    def match(self, node: ast.Match) -> None:
        """Take one case, or none unless a case matches everything."""
        self.visit(node.subject)
        cases = [self.block(c.pattern, c.guard, *c.body) for c in node.cases]
        if not any(_matches_all(case) for case in node.cases):
            cases.append(nothing)
        self.flow.either(*cases)

    def pattern(self, node: ast.MatchAs | ast.MatchStar | ast.MatchMapping) -> None:
        """Bind what a pattern captures."""
        self.all(ast.iter_child_nodes(node))
        for name in names_bound_by(node):
            self.flow.store(name)

    # definitions

    def function(self, node: Function) -> None:
        """Walk what is evaluated when the function is defined; keep its body."""
        self.all((*node.decorator_list, *node.args.defaults, *node.args.kw_defaults))
        annotations = (*_annotations(node.args), node.returns)
        self._with_type_parameters(node, annotations)
        body = self.flow.collect(function_scope(node), self.block(*node.body))
        self.flow.define(node.name, body, now=_may_run_at_once(node.decorator_list))

    def class_(self, node: ast.ClassDef) -> None:
        """Walk the class body now and keep its methods for later.

        A base class or a metaclass may call them at once.
        """
        self.all(node.decorator_list)
        self._with_type_parameters(node, (*node.bases, *node.keywords))
        methods = self.flow.collect_class(
            _type_scope(node), class_scope(node), self.block(*node.body)
        )
        now = bool(node.bases or node.keywords)
        now = now or _may_run_at_once(node.decorator_list)
        self.flow.define(node.name, methods, now=now)

    def _with_type_parameters(
        self, node: ast.AST, nodes: Iterable[ast.AST | None]
    ) -> None:
        parameters = getattr(node, "type_params", ())
        if parameters:
            self.flow.under(_type_scope(node), self.block(*parameters, *nodes))
        else:
            self.all(nodes)


def _type_scope(node: ast.AST) -> Scope:
    return Scope(Kind.COMPREHENSION, frozenset(type_parameters(node)))


def _matches_all(case: ast.match_case) -> bool:
    pattern = case.pattern
    if isinstance(pattern, ast.MatchOr):
        pattern = pattern.patterns[-1]
    is_capture = isinstance(pattern, ast.MatchAs) and pattern.pattern is None
    return case.guard is None and is_capture


def _annotations(args: ast.arguments) -> list[ast.expr | None]:
    every = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
    return [arg.annotation for arg in every if arg is not None]


def _may_run_at_once(decorators: Iterable[ast.expr]) -> bool:
    return any(last_name(_callee(d)) not in _KEEPS_FOR_LATER for d in decorators)


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


Reading.on = {
    **EXPRESSIONS,
    ast.AnnAssign: Reading.annotated,
    ast.Assert: Reading.assertion,
    ast.Assign: Reading.assign,
    ast.AsyncFor: Reading.for_loop,
    ast.AsyncFunctionDef: Reading.function,
    ast.AsyncWith: Reading.context,
    ast.AugAssign: Reading.augmented,
    ast.Break: Reading.leave_loop,
    ast.ClassDef: Reading.class_,
    ast.Continue: Reading.leave,
    ast.Expr: Reading.expression,
    ast.For: Reading.for_loop,
    ast.FunctionDef: Reading.function,
    ast.If: Reading.branch,
    ast.Import: Reading.imported,
    ast.ImportFrom: Reading.imported,
    ast.Match: Reading.match,
    ast.MatchAs: Reading.pattern,
    ast.MatchMapping: Reading.pattern,
    ast.MatchStar: Reading.pattern,
    ast.Raise: Reading.leave,
    ast.Return: Reading.leave,
    ast.Try: Reading.attempt,
    ast.TryStar: Reading.attempt,
    ast.While: Reading.while_loop,
    ast.With: Reading.context,
}
