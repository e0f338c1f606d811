"""Where the resumable loops of a cell stand, and what each item binds anew."""

import ast

import pytest

from nbresume.plan.loops import loops_of


def _loops(text: str):
    return loops_of(ast.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "for n in resumable(xs): pass",
        "for n in nbresume.resumable(xs, every=3): pass",
        "if a:\n    for n in resumable(xs): pass",
        (
            "with a:\n    try:\n        pass\n    finally:\n"
            "        for n in resumable(xs): pass"
        ),
        "try:\n    pass\nexcept E:\n    for n in resumable(xs): pass",
        "match a:\n    case 1:\n        for n in resumable(xs): pass",
        "while a:\n    for n in resumable(xs): pass",
        "for m in xs:\n    pass\nelse:\n    for n in resumable(xs): pass",
    ],
)
def test_a_loop_of_the_cell_is_found(text):
    """Also in blocks."""
    (loop,) = _loops(text)
    line, column, last, last_column = loop.span

    assert line == last
    found = text.splitlines()[line - 1].encode()[column:last_column].decode()
    assert found.startswith(("resumable(xs", "nbresume.resumable(xs"))


@pytest.mark.parametrize(
    "text",
    [
        "for n in xs: pass",
        "for n in enumerate(resumable(xs)): pass",
        "[n for n in resumable(xs)]",
        "def f():\n    for n in resumable(xs): pass",
        "class A:\n    for n in resumable(xs): pass",
        "async def f():\n    async for n in resumable(xs): pass",
        "loop = resumable(xs)\nfor n in loop: pass",
    ],
)
def test_anything_else_is_none(text):
    """What is around it would keep a state of its own."""
    assert _loops(text) == ()


@pytest.mark.parametrize(
    ("body", "fleeting"),
    [
        ("loss = f(n)\n    total += loss", {"n", "loss"}),
        ("if n:\n        a = 1\n    b = a", {"n", "b"}),
        ("a = 1\n    del a", {"n"}),
        ("if n:\n        break\n    a = n", {"n", "a"}),
        ("rows.append(n)", {"n"}),
    ],
)
def test_a_name_is_fleeting_if_each_item_binds_it_first(body, fleeting):
    """What is read before may be what an earlier item has left."""
    (loop,) = _loops(f"for n in resumable(xs):\n    {body}")

    assert loop.fleeting == fleeting


def test_loops_in_loops_are_found_from_the_outside():
    """Each with its own place."""
    text = "for a in resumable(xs):\n    for b in resumable(ys):\n        pass"

    assert [loop.span[0] for loop in _loops(text)] == [1, 2]
