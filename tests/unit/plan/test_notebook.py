"""What is taken from a notebook file, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresume.errors import RefusedError
from nbresume.plan.notebook import (
    Cell,
    definition_digest,
    parse_notebook,
    text_digest,
)


def notebook(*cells):
    """Return the bytes of a notebook."""
    return json.dumps({"cells": cells, "nbformat": 4}).encode()


def code(source, **more):
    """Return a code cell as the file has it."""
    return {"cell_type": "code", "source": source, **more}


def steps(*sources):
    """Return the cells of a notebook with these texts."""
    return parse_notebook(notebook(*map(code, sources)))


def test_code_cells_in_order():
    """Code cells come in the file's order, with id, text and step name."""
    cells = parse_notebook(
        notebook(
            code(["# load\n", "%%step load\n", "x = 1"], id="c1"),
            {"cell_type": "markdown", "source": "text"},
            code("y = x"),
            code("%%step", id=7),
        )
    )

    load = "# load\n%%step load\nx = 1"
    assert cells == [
        Cell(cell_id="c1", source=load, step="load", text_digest=text_digest(load)),
        Cell(cell_id="", source="y = x", step=None, text_digest=text_digest("y = x")),
        Cell(cell_id="", source="%%step", step="", text_digest=text_digest("%%step")),
    ]


def test_empty_notebook_has_no_cells():
    """A notebook without cells is a notebook."""
    assert parse_notebook(notebook()) == []


REFUSED = {
    b"": "it is no JSON",
    b"\xff\xfe\xff": "it is no JSON",
    b"{": "it is no JSON",
    b"[" * 100_000: "it is no JSON",
    b"[]": "it has no list of cells",
    b"{}": "it has no list of cells",
    b'{"cells": {}}': "it has no list of cells",
    b'{"cells": [1]}': "one of its cells is no object",
    notebook(code(5)): "the source of one of its cells is no text",
    notebook(code(["x", 5])): "the source of one of its cells is no text",
    b'{"worksheets": [], "nbformat": 3}': "it has worksheets: nbformat 3 or older",
}


@pytest.mark.parametrize(("data", "expected"), REFUSED.items(), ids=str)
def test_refused(data, expected):
    """What is no notebook is refused with the reason and what to do."""
    with pytest.raises(RefusedError) as caught:
        parse_notebook(data)

    assert caught.value.because.startswith(expected)
    assert caught.value.remedy


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_cells_or_refused(data):
    """No file makes the reader fail otherwise."""
    try:
        cells = parse_notebook(data)
    except RefusedError:
        return
    assert isinstance(cells, list)


def test_text_digest_leaves_out_blanks_around():
    """Blanks around a text do not count, those in it do; any JSON text has one."""
    assert text_digest("\n x = 1\n\n") == text_digest("x = 1")
    assert text_digest("x = 1") != text_digest("x  = 1")
    assert text_digest("'\ud800'") != text_digest("'\ud801'")


def test_definition_ignores_what_does_not_run():
    """Plain cells, comments and formatting are no change of the definition."""
    one = steps("%%step a\nx = (1)", "print(x)", "%%step b\n!ls")
    other = steps("# c\n%%step a --pure\n\nx=1  # one", "%%step b\n!ls\n")

    assert definition_digest(one) == definition_digest(other)


@pytest.mark.parametrize(
    "changed",
    [
        ("%%step a\nx = 2", "%%step b\n!ls"),
        ("%%step a\nx = 1", "%%step b\n!ls -l"),
        ("%%step c\nx = 1", "%%step b\n!ls"),
        ("%%step b\n!ls", "%%step a\nx = 1"),
        ("%%step a\nx = 1",),
    ],
)
def test_definition_changes_with_code_name_and_order(changed):
    """The code of a step, its name and the order of steps are the definition."""
    before = steps("%%step a\nx = 1", "%%step b\n!ls")

    assert definition_digest(steps(*changed)) != definition_digest(before)
