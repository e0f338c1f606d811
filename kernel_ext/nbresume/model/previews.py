"""Previews: what is shown of a value that nobody loads.

The rule: texts and one small image, made when the value was committed; a preview says
less than the value, and nothing is ever rebuilt from it.
"""

from html import escape

import msgspec


class Preview(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What is shown of one value; one of text, table and image."""

    text: str = ""
    columns: list[str] = []
    """Of a table: the heads, the one of the index first."""
    rows: list[list[str]] = []
    left_out: str = ""
    """What of the table is not shown: ``90 rows, 2 columns``."""
    png: str = ""
    """Base64."""


def bundle_of(preview: Preview) -> dict[str, str]:
    """Return a preview as a MIME bundle."""
    if preview.png:
        return {"image/png": preview.png}
    if preview.columns:
        return {"text/html": _html(preview), "text/plain": _plain(preview)}
    return {"text/plain": preview.text} if preview.text else {}


def _html(preview: Preview) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in preview.columns)
    rows = (
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in preview.rows
    )
    more = f"<p>{escape(preview.left_out)}</p>" if preview.left_out else ""
    table = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f"<table>{table}</table>{more}"


def _plain(preview: Preview) -> str:
    lines = [preview.columns, *preview.rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(preview.columns))]
    told = [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    ]
    return "\n".join([*told, *([preview.left_out] if preview.left_out else [])])
