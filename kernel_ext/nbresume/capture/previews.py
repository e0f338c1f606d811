"""Previews of values, made when they are committed: a server never unpickles.

The rule: it looks and changes nothing. Only types whose every operation is known here
are looked into; no ``__repr__`` of a user's class runs, nothing lazy is loaded, nothing
is iterated that iterating uses up. What takes too long or too much has no preview.
"""

import base64
import io
import sys
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from time import perf_counter
from typing import Any, Final

import msgspec

from nbresume.capture.atoms import type_name
from nbresume.capture.process_names import is_secret
from nbresume.model.previews import Preview

BUDGET_S = 0.02
"""So long the previews of one step may take together; the rest has none."""
LIMIT_BYTES = 64_000
"""So large they may be together."""
MOST_NAMES = 40
ROWS, COLUMNS = 10, 8
ITEMS = 10
TEXT = 120
CELL = 60
THUMBNAIL = 128
_IMAGE_PIXELS = 4_000_000
_IMAGE_BYTES = 40_000
_DEPTH = 2
_HIDDEN = "(looks secret)"
_LARGE_INT_BITS = 2_000

_PLAIN: Final = frozenset(
    {
        *("bool", "float", "complex", "NoneType", "ellipsis", "range"),
        *("datetime.datetime", "datetime.date", "datetime.time"),
        *("datetime.timedelta", "decimal.Decimal", "fractions.Fraction", "uuid.UUID"),
        *("pathlib.PosixPath", "pathlib.PurePosixPath"),
        *("pandas.Timestamp", "pandas.Timedelta", "pandas.Period"),
        "pandas._libs.tslibs.timestamps.Timestamp",
        "pandas._libs.tslibs.timedeltas.Timedelta",
        *("pandas._libs.tslibs.nattype.NaTType", "pandas._libs.missing.NAType"),
    }
)
"""Types whose ``repr`` is short, and their own."""


def previews_of(names: Iterable[str], namespace: Mapping[str, Any]) -> bytes:
    """Return the previews of these names as JSON; empty if there is none.

    Names that look secret have none.
    """
    found: dict[str, msgspec.Raw] = {}
    until, left = perf_counter() + BUDGET_S, LIMIT_BYTES
    for name in islice(names, MOST_NAMES):
        if perf_counter() > until:
            break
        # a thread of the user may have deleted it since it was captured
        is_shown = name in namespace and not is_secret(name)
        data = _encoded(namespace[name]) if is_shown else b""
        left -= len(data)
        if left < 0:
            break
        if data:
            found[name] = msgspec.Raw(data)
    return msgspec.json.encode(found, order="sorted") if found else b""


def preview_of(value: Any) -> Preview | None:
    """Return what is shown of a value; None if its type is not known here."""
    data = _encoded(value)
    return msgspec.json.decode(data, type=Preview) if data else None


def _encoded(value: Any) -> bytes:
    """Return a preview as JSON; empty without one. A value never breaks a commit."""
    kind = type_name(value)
    maker = _image if kind.startswith("PIL.") else _MAKERS.get(kind)
    try:
        if maker is not None:
            preview = maker(value)
        else:
            is_known = _is_known(value, kind)
            preview = Preview(text=_told(value, _DEPTH)) if is_known else None
        # half a character in a text is no JSON
        return msgspec.json.encode(preview) if preview is not None else b""
    except Exception:  # noqa: BLE001 - a value that cannot be looked at is still kept
        return b""


# -- texts ------------------------------------------------------------------------


_BRACKETS: Final[Mapping[type, tuple[str, str]]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("{", "}"),
    dict: ("{", "}"),
}


def _is_known(value: Any, kind: str) -> bool:
    own = (str, bytes, int, *_BRACKETS)
    return type(value) in own or kind in _PLAIN or _is_numpy_scalar(value)


def _is_numpy_scalar(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and (
        isinstance(value, numpy.number | numpy.bool_ | numpy.datetime64)
        and type(value).__module__ == "numpy"
    )


def _told(value: Any, depth: int) -> str:
    """Return a value in at most about `TEXT` characters, without its own code."""
    if type(value) is str:
        return _text(value)
    if type(value) is bytes:
        cut = "…" if len(value) > CELL else ""
        return f"{value[:CELL]!r}{cut}"
    if type(value) is int:
        bits = value.bit_length()
        return f"an int of {bits:,} bits" if bits > _LARGE_INT_BITS else repr(value)
    if type(value) in _BRACKETS:
        return _container(value, depth)
    if type_name(value) in _PLAIN or _is_numpy_scalar(value):
        return _cut(repr(value), TEXT)
    return f"<{type(value).__name__}>"


def _text(value: str) -> str:
    if is_secret("", value):
        return _HIDDEN
    return repr(_cut(value, TEXT))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _container(value: Any, depth: int) -> str:
    opening, closing = _BRACKETS[type(value)]
    if depth == 0:
        return f"{opening}…{closing}" if value else f"{opening}{closing}"
    if type(value) is dict:
        items: Iterable[str] = (
            f"{_told(key, 0)}: {_item(key, item, depth)}" for key, item in value.items()
        )
    else:
        items = (_told(item, depth - 1) for item in value)
    told = ", ".join(islice(items, ITEMS))
    more = len(value) - ITEMS
    rest = f", … {more:,} more" if more > 0 else ""
    return _cut(f"{opening}{told}{rest}{closing}", 8 * TEXT)


def _item(key: Any, item: Any, depth: int) -> str:
    if type(key) is str and is_secret(key):
        return _HIDDEN
    return _told(item, depth - 1)


# -- arrays, frames, images -----------------------------------------------------------


def _array(value: Any) -> Preview:
    shape = " x ".join(map(str, value.shape)) or "one value"
    first = value.flat[:ITEMS] if value.dtype.kind in "biufcSUmM" else []
    told = ", ".join(_cut(str(item), CELL) for item in first)
    more = ", …" if value.size > ITEMS and told else ""
    return Preview(text=f"{value.dtype}, {shape}\n{told}{more}".rstrip())


def _frame(value: Any) -> Preview:
    rows, columns = value.shape
    part = value.iloc[:ROWS, :COLUMNS]
    heads = list(map(_cell, part.columns))
    made = [_column(head, part.iloc[:, i]) for i, head in enumerate(heads)]
    index = list(map(_cell, part.index))
    return _table(["", *heads], [index, *made], rows, columns)


def _series(value: Any) -> Preview:
    part = value.iloc[:ROWS]
    head = _cell(value.name) if value.name is not None else ""
    columns = [list(map(_cell, part.index)), _column(head, part)]
    return _table(["", head], columns, len(value), 1)


def _polars(value: Any) -> Preview:
    rows, columns = value.shape
    part = value[:ROWS, :COLUMNS]
    made = [_column(head, part[head]) for head in part.columns]
    return _table(list(part.columns), made, rows, columns)


def _arrow(value: Any) -> Preview:
    rows, columns = value.shape
    heads = value.column_names[:COLUMNS]
    part = value.slice(0, ROWS)
    made = [_column(head, part.column(i)) for i, head in enumerate(heads)]
    return _table(list(heads), made, rows, columns)


def _column(head: str, values: Any) -> list[str]:
    if is_secret(head):
        return [_HIDDEN] * len(values)
    to_list = getattr(values, "to_pylist", None) or values.to_list
    return list(map(_cell, to_list()))


def _cell(value: Any) -> str:
    if type(value) is str:
        return _HIDDEN if is_secret("", value) else _cut(value, CELL)
    if type(value) is float:
        return f"{value:.6g}"
    return _cut(_told(value, 1), CELL)


def _table(
    heads: list[str], columns: list[list[str]], all_rows: int, all_columns: int
) -> Preview:
    more = [
        f"{count - shown:,} more {what}"
        for count, shown, what in (
            (all_rows, ROWS, "rows"),
            (all_columns, COLUMNS, "columns"),
        )
        if count > shown
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]
    return Preview(columns=heads, rows=rows, left_out=", ".join(more))


def _image(value: Any) -> Preview | None:
    """Return a thumbnail of an image that is in memory; loading would change it."""
    width, height = value.size
    is_lazy = bool(getattr(value, "tile", ())) or getattr(value, "_im", 0) is None
    if is_lazy or value.mode not in ("L", "RGB", "RGBA"):
        return None
    if width * height > _IMAGE_PIXELS:
        return None
    scale = min(1.0, THUMBNAIL / max(width, height, 1))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small, out = value.resize(size), io.BytesIO()
    small.save(out, format="PNG")
    if out.tell() > _IMAGE_BYTES:
        return None
    return Preview(png=base64.b64encode(out.getvalue()).decode())


_MAKERS: Final[Mapping[str, Callable[[Any], Preview | None]]] = {
    "numpy.ndarray": _array,
    "pandas.core.frame.DataFrame": _frame,
    "pandas.DataFrame": _frame,
    "pandas.core.series.Series": _series,
    "pandas.Series": _series,
    "polars.dataframe.frame.DataFrame": _polars,
    "pyarrow.lib.Table": _arrow,
}
"""Class of a value → what makes its preview."""
