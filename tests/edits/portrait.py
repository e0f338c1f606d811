"""What a value is, as text, so that two processes can compare theirs.

The rule: nothing of nbresume helps here, since it is nbresume that is judged. A
value is told by its type and its parts; an object that was met before in the same
value by its number, so that sharing and circles are part of it. A type that cannot be
told is an error, never passed over.
"""

import enum
import functools
import hashlib
import random
import re
import types
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd

HOME = "__main__"
_SKIPPED = {
    "__dict__",
    "__weakref__",
    "__module__",
    "__doc__",
    "__static_attributes__",
    "__firstlineno__",
    "__slotnames__",  # a cache of copyreg
    "__annotate_func__",
    "__annotations_cache__",
    "__abstractmethods__",
    "_abc_impl",
}
_PLAIN = int | float | complex | str | bytes | bool | types.NoneType
_NAMED = types.BuiltinFunctionType | types.MethodDescriptorType | np.ufunc


class Portrait:
    """One value, walked through."""

    def __init__(self, value: object) -> None:
        self.reached: dict[int, object] = {}
        """Objects with an identity that matters, by id; kept alive."""
        self.code: list[types.CodeType] = []
        """Code of the notebook that it reaches."""
        self._kept: list[object] = []
        text = self._tell(value)
        self.digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        self.text = text[:200]

    def _tell(self, value: object) -> str:  # noqa: C901 - one way for each kind
        if isinstance(value, _PLAIN) and type(value).__module__ == "builtins":
            return f"{type(value).__name__}:{value!r}"
        if isinstance(value, np.generic):
            return f"{value.dtype}:{value.tolist()!r}"
        if type(value) is tuple:
            return f"({', '.join(map(self._tell, value))})"
        if id(value) in self.reached:
            return f"#{list(self.reached).index(id(value))}"
        if isinstance(value, types.ModuleType):
            return f"module {value.__name__} {_own_file(value)}"
        if _is_by_name(value):
            return f"{value.__module__}.{value.__qualname__}"
        self.reached[id(value)] = value
        for kind, tell in _KINDS:
            if isinstance(value, kind):
                return f"{_kind(value)}<{tell(self, value)}>"
        return f"{_kind(value)}<{self._instance(value)}>"

    def _all(self, *parts: object) -> str:
        self._kept += parts
        return ", ".join(map(self._tell, parts))

    def _pairs(self, mapping) -> str:
        return ", ".join(f"{self._tell(k)}: {self._tell(v)}" for k, v in mapping)

    def _instance(self, value) -> str:
        home = self._tell(type(value)) if type(value).__module__ == HOME else ""
        if hasattr(value, "__dict__"):
            attributes = sorted(vars(value).items())
            rest = ""
            if isinstance(value, list | dict | set):
                rest = self._tell(value.__class__.__mro__[-2](value))
            return f"{home} {self._pairs(attributes)} {rest}"
        made = value.__reduce_ex__(4)
        if isinstance(made, str):
            return made
        return home + self._all(*made[:3])

    def _function(self, value: types.FunctionType) -> str:
        cells = [c.cell_contents for c in value.__closure__ or ()]
        return (
            f"{value.__name__} {self._code(value.__code__)} "
            f"{self._all(value.__defaults__, value.__kwdefaults__, *cells)} "
            f"{self._pairs(sorted(vars(value).items()))}"
        )

    def _code(self, code: types.CodeType) -> str:
        self.code.append(code)
        consts = [
            self._code(c) if isinstance(c, types.CodeType) else repr(c)
            for c in code.co_consts
        ]
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_flags)
        return f"{code.co_code.hex()} {consts} {names}"

    def _class(self, value: type) -> str:
        parts = [(n, v) for n, v in sorted(vars(value).items()) if n not in _SKIPPED]
        bases = self._all(*value.__bases__)
        own = [
            (n, v) for n, v in parts if not isinstance(v, types.GetSetDescriptorType)
        ]
        return f"{value.__qualname__} ({bases}) {value.__doc__} {self._pairs(own)}"

    def _array(self, value: np.ndarray) -> str:
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        # views of one memory share data although they are other objects
        self.reached[owner.__array_interface__["data"][0]] = owner
        if value.dtype == object:
            return f"{value.shape} {self._all(*value.ravel().tolist())}"
        return f"{value.dtype} {value.shape} {value.tolist()}"

    def _frame(self, value: pd.DataFrame) -> str:
        columns = [
            f"{name!r} {value.dtypes.iloc[at]} {value.iloc[:, at].tolist()}"
            for at, name in enumerate(value.columns)
        ]
        return f"{columns} {self._index(value.index)} {self._index(value.columns)}"

    def _series(self, value: pd.Series) -> str:
        rows = f"{value.name!r} {value.dtype} {value.tolist()}"
        return f"{rows} {self._index(value.index)}"

    def _index(self, value: pd.Index) -> str:
        kind = f"{type(value).__name__} {value.names} {getattr(value, 'freq', None)}"
        return f"{kind} {value.dtype} {value.tolist()}"


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_by_name(value: object) -> bool:
    """Say whether a library has it, so that its name says what it is."""
    if isinstance(value, _NAMED):
        return getattr(value, "__self__", None) is None or hasattr(value, "__module__")
    known = isinstance(value, type | types.FunctionType)
    return known and value.__module__ != HOME


def _own_file(module: types.ModuleType) -> str:
    """Return what a module beside the notebook says."""
    file = getattr(module, "__file__", None)
    if not file or Path(file).parent != Path.cwd():
        return ""
    return Path(file).read_text()


def _sparse(self: Portrait, value) -> str:
    return f"{value.format} {self._tell(value.toarray())}"


_KINDS = (
    (enum.Enum, lambda self, v: f"{v.name} {self._tell(type(v))}"),
    (type, Portrait._class),
    (types.FunctionType, Portrait._function),
    (property, lambda self, v: self._all(v.fget, v.fset, v.fdel)),
    (staticmethod | classmethod, lambda self, v: self._tell(v.__func__)),
    (types.MethodType, lambda self, v: self._all(v.__func__, v.__self__)),
    (functools._lru_cache_wrapper, lambda self, v: self._tell(v.__wrapped__)),
    (functools.partial, lambda self, v: self._all(v.func, v.args, v.keywords)),
    (re.Pattern, lambda self, v: f"{v.pattern} {v.flags}"),
    (np.ndarray, Portrait._array),
    (np.dtype, lambda self, v: str(v)),
    (np.random.Generator, lambda self, v: self._tell(v.bit_generator.state)),
    (np.random.RandomState, lambda self, v: self._tell(v.get_state())),
    (random.Random, lambda self, v: self._tell(v.getstate())),
    (pd.DataFrame, Portrait._frame),
    (pd.Series, Portrait._series),
    (pd.Index, Portrait._index),
    (types.MappingProxyType, lambda self, v: self._pairs(v.items())),
    (Counter, lambda self, v: self._pairs(v.items())),
)
"""How each kind is told; the first that fits."""


def _builtin(self: Portrait, value) -> str | None:
    if isinstance(value, dict):
        return self._pairs(value.items())
    if isinstance(value, set | frozenset):
        return str(sorted(self._tell(item) for item in value))
    return self._all(*value)


_KINDS += tuple((kind, _builtin) for kind in (dict, list, set, frozenset, tuple))
try:
    from scipy.sparse import issparse, sparray, spmatrix
except ImportError:
    pass
else:
    assert issparse
    _KINDS = ((sparray | spmatrix, _sparse), *_KINDS)


def portraits(names: dict[str, object]) -> dict[str, Portrait]:
    """Return the portrait of each name."""
    return {name: Portrait(value) for name, value in sorted(names.items())}


def shared(told: dict[str, Portrait]) -> dict[str, int]:
    """Return which names share objects, and how many: "a b" to a count."""
    holders: dict[int, list[str]] = {}
    for name, portrait in told.items():
        for key in portrait.reached:
            holders.setdefault(key, []).append(name)
    return dict(Counter(" ".join(names) for names in holders.values() if names[1:]))
