"""Paths in the texts of a cell: what may name a file that nobody is seen opening.

The rule: pure, and too much rather than too little: whether there is such a file is
asked where the disk is known. Some libraries (polars, pyarrow) read files without a
word to Python, so their names in the code are all there is to see.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePath
from types import CodeType, FunctionType
from typing import Any

_MOST = 4096
"""Longer texts are no path (PATH_MAX of Linux)."""
_MOST_QUERY = 100_000
"""In longer texts no path is looked for: they are data."""
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"")
_WORD = re.compile(r"[^\s'\"`;|<>(),=]*[./][^\s'\"`;|<>(),=]*")
_GLOB = re.compile(r"[*?\[]")
_ITEMS = 256
"""So many items of a list of paths are looked at."""


def paths_in(texts: Iterable[str]) -> set[str]:
    """Return what may be a path: a whole text, a quoted part, a word with . or /.

    An f-string with an expression in it (``{}``) names no file.
    """
    return {path for text in texts for path in _paths_of(text) if _may_name(path)}


def _paths_of(text: str) -> Iterator[str]:
    yield text
    if len(text) > _MOST_QUERY:
        return
    for single, double in _QUOTED.findall(text):
        yield single or double
    yield from _WORD.findall(text)


def _may_name(path: str) -> bool:
    if not 0 < len(path) < _MOST or "\0" in path or "\n" in path or "{}" in path:
        return False
    return "://" not in path and path.strip("./ ") != ""


def is_pattern(path: str) -> bool:
    """Say whether a path is a glob that looks like one: not ``*``, not ``a * b``."""
    return bool(_GLOB.search(path)) and not re.search(r"\s", path) and "." in path


def texts_of(value: Any) -> Iterator[str]:
    """Yield what a value says that may be a path: a text, a path, a list of them.

    And the texts in the code of a function: it may open what it names.
    """
    match value:
        case str() | PurePath():
            yield from _whole(value)
        case list() | tuple():
            for item in value[:_ITEMS]:
                yield from _whole(item)
        case dict():
            for item in islice(value.values(), _ITEMS):
                yield from _whole(item)
        case FunctionType():
            yield from _constants(value.__code__)
            for default in value.__defaults__ or ():
                yield from _whole(default)


def _whole(value: Any) -> Iterator[str]:
    """Yield a value that is a path as a whole: data are no queries."""
    text = str(value) if isinstance(value, PurePath) else value
    if type(text) is str and len(text) < _MOST and not is_bare(text):
        yield text


def is_bare(path: str) -> bool:
    """Say whether a path is one word without a dot or slash: most are no paths."""
    return "." not in path and "/" not in path


def _constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _constants(constant)
