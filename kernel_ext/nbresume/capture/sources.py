"""Where code comes from: its text, its place there, and how it is made again.

The rule: byte code is loaded only by the minor version of Python that wrote it. Any
other one compiles the text of the cell that defined the code and takes the code at the
same place of it; what has no text is refused by name. `make_code_of` is named in stored
streams: it is part of the stored format and is never renamed.
"""

import ast
import copy
import dataclasses
import importlib
import inspect
import linecache
import marshal
import sys
import types
import warnings
import weakref
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from nbresume.errors import CaptureError
from nbresume.model.digests import cue_digest

MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"
UNKNOWN_FILE = "<dynamic-code>"
"""Stands for the name of a file of one kernel or one machine."""
_MARSHAL = 2
"""This format writes neither references nor what is interned, so it has one form."""
FUTURES = sum(
    getattr(importlib.import_module("__future__"), name).compiler_flag
    for name in ("annotations", "barry_as_FLUFL", "generator_stop")
)
_CELL = "cell"
MODULE = "module"
_UNKNOWN = "unknown"
_INLINED = ("<listcomp>", "<dictcomp>", "<setcomp>")
"""Scopes of Python 3.11 that later ones do not have."""
_METHODS = (
    *("__init__", "__repr__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__"),
    *("__hash__", "__setattr__", "__delattr__", "__replace__"),
)
_PARAMS = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")

Place = tuple[Any, ...]
"""(kind, text or module, qualified name, first line, which of several, free names)."""


# -- text -----------------------------------------------------------------------------


def known_text(filename: str) -> str | None:
    """Return the text that the kernel keeps of a cell; None for anything else.

    A real file may have changed since; its entry has a time, that of a cell has none.
    """
    entry = linecache.cache.get(filename)
    if entry is None or len(entry) != 4 or entry[1] is not None:  # noqa: PLR2004
        return None
    return "".join(entry[2])


def name_of(text: str) -> str:
    """Return the file name of code that was made from this text."""
    return f"<nbresume {cue_digest(text.encode('utf-8', 'surrogatepass'))}>"


def remember(text: str) -> str:
    """Let tracebacks and `inspect` find the text; return its file name."""
    name = name_of(text)
    # Without a time, `linecache.checkcache` leaves the entry alone.
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name


# -- code → stream -----------------------------------------------------------------


def code_parts(code: types.CodeType, texts: dict[str, str]) -> tuple[str, bytes, Place]:
    """Return the minor version, the byte code, and where its source is.

    `texts` holds the texts of one stream, so that each is written once.

    Raises
    ------
    CaptureError
        The code holds constants that no compiler makes.
    """
    text = text_of(code)
    if text is not None:
        text = texts.setdefault(text, text)
        name = name_of(text)
        return MINOR, _bytes(code, name), _place_in_text(code, text)
    known = code.co_filename.startswith("<")
    name = code.co_filename if known else UNKNOWN_FILE
    return MINOR, _bytes(code, name), code_place(code)


def _bytes(code: types.CodeType, name: str) -> bytes:
    try:
        return marshal.dumps(_renamed(code, name), _MARSHAL)
    except ValueError as error:
        raise CaptureError(
            f"the code of {code.co_qualname}",
            because="objects were put into its constants",
            remedy="Pass them as defaults, or mark the step with --always.",
        ) from error


def _renamed(code: types.CodeType, name: str) -> types.CodeType:
    consts = tuple(
        _renamed(const, name) if isinstance(const, types.CodeType) else const
        for const in code.co_consts
    )
    return code.replace(co_filename=name, co_consts=consts)


def text_of(code: types.CodeType) -> str | None:
    """Return the text that code was compiled from, as far as the kernel keeps it."""
    text = known_text(code.co_filename)
    return _invented(code) if text is None else text


def number_in_text(code: types.CodeType, text: str) -> int | None:
    """Return which code of its name and line in a text it is; None if it is none.

    The text may be right for people and useless for a compiler: a transformer of the
    notebook may have changed the tree.

    Raises
    ------
    CaptureError
        The code holds constants that no compiler makes.
    """
    found = _in_text(text, code.co_flags & FUTURES, *key_of_code(code))
    wanted = _bytes(code, name_of(text))
    at = [n for n, one in enumerate(found) if _bytes(one, name_of(text)) == wanted]
    return at[0] if at else None


def _place_in_text(code: types.CodeType, text: str) -> Place:
    number, flags = number_in_text(code, text), code.co_flags & FUTURES
    return (_CELL, text, *key_of_code(code), number, code.co_freevars, flags)


def code_place(code: types.CodeType) -> Place:
    """Return where code stands in a module that can be imported."""
    known = code.co_filename.startswith("<")
    module = None if known else _module_of(code.co_filename)
    name, free = code.co_qualname, code.co_freevars
    found = [] if module is None else _in_module(module, name)
    at = [n for n, one in enumerate(found) if one == code]
    if not at:
        return (_UNKNOWN, "", name, 0, None, free, 0)
    return (MODULE, module, name, 0, at[0], free, 0)


def _module_of(filename: str) -> str | None:
    for name, module in list(sys.modules.items()):
        # never getattr: modules may load themselves when they are asked
        known = getattr(module, "__dict__", {}).get("__file__")
        if known == filename and name != "__main__":
            return name
    return None


def _invented(code: types.CodeType) -> str | None:
    """Return the text that `collections.namedtuple` made up for ``__new__``."""
    if code.co_filename != "<string>" or code.co_varnames[:1] != ("_cls",):
        return None
    names = code.co_varnames[1:]
    listed = ", ".join(names) + ("," if len(names) == 1 else "")
    text = f"lambda _cls, {listed}: _tuple_new(_cls, ({listed}))"
    return text if _place_in_text(code, text)[4] is not None else None


# -- stream → code -----------------------------------------------------------------


def make_code_of(minor: str, data: bytes, place: Place) -> types.CodeType:
    """Return code that was stored by some minor version of Python.

    Raises
    ------
    CaptureError
        It was another version, and there is no source to make the code from.
    """
    kind, source, name, line, number, free, flags = place
    if kind == _CELL:
        remember(source)
    if minor == MINOR:
        code: types.CodeType = marshal.loads(data)  # noqa: S302 - of a trusted store
        return _known_code(code, place) if kind == MODULE else code
    if number is None:
        known = kind == _CELL
        because = "its text does not give its code" if known else "it has no text"
        raise _not_kept(name, minor, because)
    if kind == _CELL:
        found = _in_text(source, flags, name, line)
    else:
        found = _in_module(source, name)
    if number >= len(found):
        raise _not_kept(name, minor, f"Python {MINOR} finds no such code in its text")
    made = found[number]
    if made.co_freevars != tuple(free):
        raise _not_kept(name, minor, "it closes over other variables here")
    return made


def _known_code(code: types.CodeType, place: Place) -> types.CodeType:
    """Return the module's own code if it is this one: that knows its file."""
    _, module, name, _, number, _, _ = place
    found = [] if number is None else _in_module(module, name)[number : number + 1]
    wanted = _bytes(code, UNKNOWN_FILE)
    return next((one for one in found if _bytes(one, UNKNOWN_FILE) == wanted), code)


def _not_kept(what: str, minor: str, because: str) -> CaptureError:
    return CaptureError(
        f"{what} is not kept on this Python (written by {minor})",
        because=because,
        remedy=f"Run the step that made it again, or use Python {minor}.",
    )


def key_of_code(code: types.CodeType) -> tuple[str, int]:
    """Return qualified name and first line, equal on all versions of Python."""
    name = code.co_qualname
    for scope in _INLINED:
        name = name.replace(f"{scope}.<locals>.", "").replace(f"{scope}.", "")
    return name, code.co_firstlineno


def _in_text(text: str, flags: int, name: str, line: int) -> list[types.CodeType]:
    """Return the code objects of that name and line, in the order of the text."""
    found = [
        code for code in _compiled(text, flags) if key_of_code(code) == (name, line)
    ]
    return sorted(found, key=_last_position)


@lru_cache(maxsize=32)
def _compiled(text: str, flags: int) -> tuple[types.CodeType, ...]:
    flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    with warnings.catch_warnings():
        # Python warns of "\d" each time; the author heard it when the cell ran
        warnings.simplefilter("ignore")
        try:
            whole = compile(text, name_of(text), "exec", flags, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ()
    return tuple(codes(whole))


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield a code object and all that are nested in it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def _last_position(code: types.CodeType) -> tuple[int, int]:
    # Where code begins differs between versions; where it ends does not.
    ends = [(end or 0, column or 0) for _, end, _, column in code.co_positions()]
    return max(ends, default=(0, 0))


def _in_module(module: str, name: str) -> list[types.CodeType]:
    """Return the code objects of that qualified name in an importable module."""
    path = name.partition(".<locals>")[0].split(".")
    try:
        found: Any = importlib.import_module(module)
        for part in path:
            found = getattr(found, part)
        root = inspect.unwrap(found).__code__
    except (ImportError, AttributeError, ValueError):
        return []
    return [code for code in codes(root) if code.co_qualname == name]


# -- methods that dataclass writes ---------------------------------------------------


def generated_methods(kind: type) -> Mapping[str, Any]:
    """Return the methods of a class that `dataclasses` wrote for it, by name.

    They have no text, but the fields say all about them.
    """
    if "__dataclass_fields__" not in vars(kind):
        return {}
    made = _templates.get(kind)
    if made is None:
        try:
            made = dataclass_methods(kind, dataclass_spec(kind))
        except Exception:  # noqa: BLE001 - then they are kept like any other method
            made = {}
        _templates[kind] = made
    own = vars(kind)
    return {n: own[n] for n, method in made.items() if _is_same(own.get(n), method)}


_templates: "weakref.WeakKeyDictionary[type, Mapping[str, Any]]" = (
    weakref.WeakKeyDictionary()
)


def dataclass_spec(kind: Any) -> tuple[dict[str, Any], bool]:
    """Return the parameters of a dataclass, and whether it has ``__post_init__``."""
    params = kind.__dataclass_params__
    return (
        {name: getattr(params, name) for name in type(params).__slots__},
        hasattr(kind, "__post_init__"),
    )


def dataclass_choices(kind: Any) -> dict[str, Any]:
    """Return the parameters of a dataclass that every version of Python knows."""
    return {name: getattr(kind.__dataclass_params__, name) for name in _PARAMS}


def dataclass_methods(kind: Any, spec: tuple[dict[str, Any], bool]) -> dict[str, Any]:
    """Return what `dataclasses` writes on this Python for the fields of a class."""
    params, has_post_init = spec
    model: Any = _dataclass_model(kind, params, has_post_init=has_post_init)
    methods = {name: method for name, method in vars(model).items() if name in _METHODS}
    for method in methods.values():
        for cell in getattr(method, "__closure__", None) or ():
            if cell.cell_contents is model:
                cell.cell_contents = kind
    return {name: method for name, method in methods.items() if method is not None}


def set_dataclass(
    kind: Any, spec: tuple[dict[str, Any], bool], names: tuple[str, ...]
) -> None:
    """Give a class the methods that `dataclasses` writes, and its parameters."""
    methods = dataclass_methods(kind, spec)
    for name in names:
        if name in methods:
            setattr(kind, name, methods[name])
    if "__replace__" in methods and "__replace__" not in vars(kind):
        kind.__replace__ = methods["__replace__"]
    params = copy.copy(_dataclass_model(kind, spec[0]).__dataclass_params__)
    for name, value in spec[0].items():
        if name in type(params).__slots__:
            setattr(params, name, value)
    kind.__dataclass_params__ = params


def _dataclass_model(
    kind: Any, params: dict[str, Any], *, has_post_init: bool = False
) -> Any:
    """Return a class with all the fields of `kind`, and nothing inherited."""
    fields = [
        field
        for field in kind.__dataclass_fields__.values()
        if field._field_type is not dataclasses._FIELD_CLASSVAR  # type: ignore[attr-defined]  # noqa: SLF001 - no public name
    ]
    body: dict[str, Any] = {
        "__doc__": "so that dataclass writes none",
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__annotations__": {field.name: field.type for field in fields},
    }
    if has_post_init:
        body["__post_init__"] = None
    model = type(kind.__name__, (), body)
    for field in fields:
        # set afterwards: in the body, the default would hear of a second owner
        setattr(model, field.name, copy.copy(field))
    chosen = {name: params[name] for name in _PARAMS}
    return dataclasses.dataclass(**chosen, match_args=False)(model)


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not types.FunctionType or type(other) is not types.FunctionType:
        return False
    if one.__code__ != other.__code__ or one.__qualname__ != other.__qualname__:
        return False
    inner = getattr(one, "__wrapped__", None), getattr(other, "__wrapped__", None)
    return inner == (None, None) or _is_same(*inner)
