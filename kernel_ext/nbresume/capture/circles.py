"""From a graph of parts to one token, also when parts refer to each other in a circle.

The rule: a token says what a part leads to, not how it is shared nor where the walk
came in. Parts outside circles are joined from the leaves up; those in a circle are told
apart by what they lead to (partition refinement). Nothing recurses.
"""

import marshal
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import blake3
from msgspec import Struct, field

from nbresume.capture.atoms import Undecidable

RAW_BYTES = 256
"""A shorter token stands for itself, a longer one as its digest."""
_CIRCLE_WORK = 5_000_000

Ref = int | bytes
"""The number of a node, or a finished token."""


class Node(Struct):
    """A part that may be in a circle."""

    tag: bytes = b""
    kids: list[Ref] = field(default_factory=list)
    ordered: bool = True
    runs: Sequence[int] = ()
    """How often each of the first kids stands there in a row."""


class Graph(Struct):
    """Nodes by number, and their tokens as far as they are known."""

    nodes: list[Node] = field(default_factory=list)
    tokens: list[bytes | None] = field(default_factory=list)

    def add(self) -> int:
        """Return the number of a new node."""
        self.nodes.append(Node())
        return len(self.nodes) - 1

    def fill(
        self,
        at: int,
        tag: bytes,
        kids: list[Ref],
        *,
        ordered: bool = True,
        runs: Sequence[int] = (),
    ) -> None:
        """Say what a node consists of."""
        self.nodes[at] = Node(tag, kids, ordered, runs)


def short(token: bytes) -> bytes:
    """Return the token itself, or the digest of a long one."""
    if len(token) <= RAW_BYTES:
        return token
    return b"#" + blake3.blake3(token).digest()


def join(tag: bytes, tokens: Iterable[bytes]) -> bytes:
    """Return the token of something with this tag and these parts."""
    # marshal writes the length of each at C speed
    return short(b"\1" + marshal.dumps([tag, *tokens], 2))


def solve(graph: Graph, root: int) -> bytes:
    """Return the token of the root; parts in a circle are solved together."""
    graph.tokens = [None] * len(graph.nodes)
    for circle in _components(graph.nodes, root):
        if len(circle) == 1 and circle[0] not in graph.nodes[circle[0]].kids:
            node = graph.nodes[circle[0]]
            graph.tokens[circle[0]] = _node_token(node, graph.tokens)
        else:
            _refine(graph, circle)
    token = graph.tokens[root]
    return token or b""


def _node_token(node: Node, tokens: list[bytes | None]) -> bytes:
    kids = [kid if isinstance(kid, bytes) else tokens[kid] or b"" for kid in node.kids]
    if not node.ordered:
        kids.sort()
    if node.runs:
        kids = [*merged(kids, node.runs), *kids[len(node.runs) :]]
    return join(node.tag, kids)


def merged(tokens: Iterable[bytes], runs: Iterable[int]) -> Iterator[bytes]:
    """Yield tokens and how often each stands there in a row: equal ones are one run."""
    pairs = zip(tokens, runs, strict=False)
    for token, group in groupby(pairs, lambda pair: pair[0]):
        yield token
        yield b"%d" % sum(count for _, count in group)


def _refine(graph: Graph, circle: list[int]) -> None:
    """Give every node of a circle a token that says what it leads to.

    Nodes begin alike and are told apart by their kids, until a round tells no more of
    them apart. Two circles with the same set of last tokens match node by node.
    """
    links = sum(len(graph.nodes[at].kids) for at in circle)
    for at in circle:
        graph.tokens[at] = b"?"
    kinds, work = 1, 0
    while True:
        work += links + len(circle)
        if work > _CIRCLE_WORK:
            message = "too many objects that refer to each other"
            raise Undecidable(message)
        new = {at: _node_token(graph.nodes[at], graph.tokens) for at in circle}
        for at, token in new.items():
            graph.tokens[at] = token
        told = sorted(set(new.values()))
        if len(told) == kinds:
            break
        kinds = len(told)
    whole = join(b"circle", told)
    for at, token in new.items():
        graph.tokens[at] = join(b"in circle", (whole, token))


def _components(nodes: list[Node], root: int) -> Iterator[list[int]]:
    """Yield the strongly connected components, kids first (Tarjan's way)."""
    index: dict[int, int] = {root: 0}
    low = {root: 0}
    stack, on_stack = [root], {root}
    path = [(root, iter(nodes[root].kids))]
    while path:
        at, kids = path[-1]
        down = _step_down(at, kids, index, low, on_stack)
        if down is not None:
            index[down] = low[down] = len(index)
            stack.append(down)
            on_stack.add(down)
            path.append((down, iter(nodes[down].kids)))
            continue
        path.pop()
        if path:
            low[path[-1][0]] = min(low[path[-1][0]], low[at])
        if low[at] == index[at]:
            yield _popped(stack, on_stack, at)


def _popped(stack: list[int], on_stack: set[int], last: int) -> list[int]:
    circle: list[int] = []
    while not circle or circle[-1] != last:
        circle.append(stack.pop())
        on_stack.discard(circle[-1])
    return circle


def _step_down(
    at: int,
    kids: Iterable[Ref],
    index: dict[int, int],
    low: dict[int, int],
    on_stack: set[int],
) -> int | None:
    for kid in kids:
        if isinstance(kid, bytes):
            continue
        if kid not in index:
            return kid
        if kid in on_stack:
            low[at] = min(low[at], index[kid])
    return None
