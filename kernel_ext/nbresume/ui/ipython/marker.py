"""The ``%%step`` line of a cell ⇄ a statement that IPython compiles and nobody runs.

The rule: pure, because an input transformer also runs where nothing is executed; lines
keep their numbers, so that a traceback shows what the author typed.
"""

import ast

from nbresume.plan.header import MAGIC, find_header


def strip_header(lines: list[str]) -> list[str]:
    """Turn a ``%%step`` line into a marker statement on the same line. Pure."""
    text = "".join(lines)
    index = find_header(text)
    if index is None:
        return lines
    _, _, options = lines[index].strip().partition("%%step")
    # a text, so that a traceback shows the line as its author typed it; with the
    # prefix u, which nobody writes any more and the AST remembers
    marked = f"u{f'{MAGIC} {options.strip()}'!r}\n"
    return [*lines[:index], marked, *_inner_magic(lines[index + 1 :])]


# by this word IPython leaves it out where it only asks whether a cell is whole: else a
# console would run the header alone, as an empty step, before its body is typed
strip_header.has_side_effects = True  # type: ignore[attr-defined] # a mark of IPython's


def _inner_magic(body: list[str]) -> list[str]:
    """Keep a cell magic below ``%%step`` a cell magic (``%%time``, ``%%bash``)."""
    first = next((i for i, line in enumerate(body) if line.strip()), None)
    if first is None or not body[first].startswith("%%"):
        return body
    name, _, line = body[first][2:].strip().partition(" ")
    text = "".join(body[first + 1 :])
    call = f"get_ipython().run_cell_magic({name!r}, {line.strip()!r}, {text!r})\n"
    return [*body[:first], call]


def options_of(tree: ast.Module) -> str | None:
    """Return the options behind ``%%step`` if the cell is a step."""
    match tree.body[:1]:
        case [ast.Expr(value=ast.Constant(value=str(text), kind="u"))]:
            return text.removeprefix(MAGIC) if text.startswith(MAGIC) else None
    return None
