"""Types that would come back wrong: refused while pickling, before anything loads.

The rule: decided by the names of the classes that a type derives from, so that no
library is imported for it. Loading is where the harm happens (a file handle that
truncates its file, a future that hangs), so nothing is ever loaded to find out. A value
that its own pickling code changes is put back as it was, and refused.
"""

import copyreg
import functools
import types
import weakref
from collections.abc import Mapping
from typing import Any

from nbresume.capture.atoms import reducer_of, type_name
from nbresume.errors import CaptureError

CLOSED_FILE = "a closed file"
"""Reason that is not announced: such a handle is left over by every data cell."""
REMEDY = (
    "Mark the step that makes it with --always (%%step NAME --always), or delete the "
    "name at the end of the step."
)

_FILE = "an open file cannot be kept: its position and its handle end with the kernel"
_THREAD = "it belongs to threads of this kernel"
_PROCESS = "it belongs to a process that ends or goes on without the kernel"
_PENDING = "it waits for work that ends with the kernel"
_CLUSTER = "it stands for memory of a cluster, which ends without a word to the kernel"
_SOCKET = "a connection ends with the kernel"
_DATABASE = "a database connection ends with the kernel"
_TEMPORARY = "it is removed when the kernel ends"
_RUNNING = "Python cannot store code that is half-way through"
_SHOWN = "its model lives in the front end"
_KERNEL = "it is a part of the running kernel"

_REASONS: Mapping[str, str] = {
    "_io._IOBase": _FILE,
    "zipfile.ZipFile": _FILE,
    "tarfile.TarFile": _FILE,
    "tempfile._TemporaryFileWrapper": _FILE,
    "tempfile.SpooledTemporaryFile": _FILE,
    "mmap.mmap": "mapped memory is bound to an open file",
    "numpy.memmap": "a memory map is bound to a file and would come back detached",
    "tempfile.TemporaryDirectory": _TEMPORARY,
    "threading.Thread": _THREAD,
    "_thread._local": _THREAD,
    "_threading_local.local": _THREAD,
    "subprocess.Popen": _PROCESS,
    "multiprocessing.process.BaseProcess": _PROCESS,
    "multiprocessing.pool.Pool": _PROCESS,
    "multiprocessing.queues.Queue": _PROCESS,
    "multiprocessing.queues.SimpleQueue": _PROCESS,
    "multiprocessing.connection._ConnectionBase": _PROCESS,
    "multiprocessing.managers.BaseManager": _PROCESS,
    "multiprocessing.synchronize.SemLock": _PROCESS,
    "asyncio.subprocess.Process": _PROCESS,
    "concurrent.futures._base.Future": _PENDING,
    "concurrent.futures._base.Executor": _PENDING,
    "_asyncio.Future": _PENDING,
    "_asyncio.Task": _PENDING,
    "asyncio.futures.Future": _PENDING,
    "asyncio.events.AbstractEventLoop": _PENDING,
    "joblib.parallel.Parallel": _PENDING,
    "distributed.client.Future": _CLUSTER,
    "distributed.client.Client": _CLUSTER,
    "distributed.actor.Actor": _CLUSTER,
    "distributed.deploy.cluster.Cluster": _CLUSTER,
    "_socket.socket": _SOCKET,
    "selectors.BaseSelector": _SOCKET,
    "zmq.sugar.socket.Socket": _SOCKET,
    "zmq.sugar.context.Context": _SOCKET,
    "http.client.HTTPResponse": _SOCKET,
    "sqlite3.Connection": _DATABASE,
    "sqlite3.Cursor": _DATABASE,
    "psycopg2.extensions.connection": _DATABASE,
    "psycopg2.extensions.cursor": _DATABASE,
    "psycopg.BaseConnection": _DATABASE,
    "pymysql.connections.Connection": _DATABASE,
    "pyodbc.Connection": _DATABASE,
    "pyodbc.Cursor": _DATABASE,
    "duckdb.DuckDBPyConnection": _DATABASE,
    "duckdb.DuckDBPyRelation": _DATABASE,
    "_duckdb.DuckDBPyConnection": _DATABASE,
    "_duckdb.DuckDBPyRelation": _DATABASE,
    "sqlalchemy.engine.base.Engine": _DATABASE,
    "sqlalchemy.engine.base.Connection": _DATABASE,
    "sqlalchemy.orm.session.Session": _DATABASE,
    "pymongo.mongo_client.MongoClient": _DATABASE,
    "redis.client.Redis": _DATABASE,
    "logging.Handler": "a handler of the log belongs to this kernel",
    "tqdm.std.tqdm": "a progress bar belongs to the cell that shows it",
    "ipywidgets.widgets.widget.Widget": _SHOWN,
    "comm.base_comm.BaseComm": _SHOWN,
    "IPython.core.interactiveshell.InteractiveShell": _KERNEL,
    "ipykernel.kernelbase.Kernel": _KERNEL,
}
_ALLOWED = frozenset({"_io.StringIO", "_io.BytesIO"})
_BUILTIN: Mapping[type, str] = {
    types.GeneratorType: _RUNNING,
    types.CoroutineType: _RUNNING,
    types.AsyncGeneratorType: _RUNNING,
    types.FrameType: _RUNNING,
    types.TracebackType: _RUNNING,
    weakref.ReferenceType: "a weak reference dies when it is loaded",
    weakref.ProxyType: "a weak reference dies when it is loaded",
    weakref.CallableProxyType: "a weak reference dies when it is loaded",
}
_LOCKS = frozenset({"_thread.lock", "_thread.RLock", "threading._RLock"})
_HELD = "a held lock would stay locked for ever"

_by_type: "weakref.WeakKeyDictionary[type, str]" = weakref.WeakKeyDictionary()


def reason(value: Any) -> str | None:
    """Return why a value of this kind cannot be kept, or None if nothing is known."""
    kind = type(value)
    known = _by_type.get(kind)
    if known is None:
        known = _by_type[kind] = _reason_of(kind)
    if known == _HELD:
        return _HELD if _is_held(value) else None
    return known or None


_SINKS = frozenset(
    {_CLUSTER, _DATABASE, _SOCKET, _THREAD, _PROCESS, _SHOWN, _KERNEL, _HELD}
)
"""Reasons of values that reading does not move on: connections, not cursors."""
_CURSORS = ("Cursor", "cursor", "HTTPResponse")


def moves_when_read(value: Any) -> bool:
    """Tell whether using a value may move it on without a trace (a generator, a file).

    A connection or a file that is only written to stays what it is; everything that
    is not known to stay counts as moved.
    """
    because = reason(value)
    if because is None:
        return True
    if type(value).__name__.endswith(_CURSORS):
        return True
    if because == _FILE:
        return _is_readable(value)
    return because not in _SINKS


def _is_readable(file: Any) -> bool:
    try:
        return not file.closed and bool(file.readable())
    except Exception:  # noqa: BLE001 - a half-made handle may raise anything
        return False


def refuse(value: Any) -> None:
    """Return if nothing is known against keeping the value.

    Raises
    ------
    CaptureError
        The value is of a kind that would come back wrong.
    """
    because = reason(value)
    if because is not None:
        raise CaptureError(
            f"a value of type {type_name(value)}", because=because, remedy=REMEDY
        )


def is_closed_file(value: Any) -> bool:
    """Tell whether the value is a file handle that was closed.

    Nearly every cell that reads data leaves one behind; nobody misses it.
    """
    if reason(value) != _FILE:
        return False
    try:
        closed = getattr(value, "closed", None)
        if closed is None:  # archives have no such attribute
            closed = getattr(value, "fp", value) is None
    except Exception:  # noqa: BLE001 - a half-made handle may raise anything
        return False
    return closed is True


def _reason_of(kind: type) -> str:
    names = [f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__]
    if not _ALLOWED.isdisjoint(names):
        return ""
    if not _LOCKS.isdisjoint(names):
        return _HELD
    for base, because in _BUILTIN.items():
        if issubclass(kind, base):
            return because
    return next((_REASONS[name] for name in names if name in _REASONS), "")


def _is_held(lock: Any) -> bool:
    if hasattr(lock, "locked"):
        return bool(lock.locked())
    # A re-entrant lock of Python 3.11 tells its state only in its text.
    return "owner=0" not in repr(lock) and "owner=None" not in repr(lock)


# -- values that pickling changes -----------------------------------------------------

_REDUCERS = ("__reduce__", "__reduce_ex__", "__getstate__")
_TRUSTED = frozenset({"numpy", "pandas", "pyarrow", "polars", "torch"})
"""Libraries whose large values are looked at often, and whose code only reads."""
_LARGE = 10_000
_MISSING = object()
_has_code: "weakref.WeakKeyDictionary[type, bool]" = weakref.WeakKeyDictionary()


def has_own_code(kind: type) -> bool:
    """Tell whether code written in Python says how values of a class are pickled."""
    if reducer_of(kind) is not None:
        return False
    known = _has_code.get(kind)
    if known is None:
        known = _has_code[kind] = kind.__module__.partition(".")[
            0
        ] not in _TRUSTED and any(
            isinstance(getattr(kind, name, None), types.FunctionType)
            for name in _REDUCERS
        )
    return known


def reduce_unchanged(value: Any, protocol: int) -> Any:
    """Return what a value's own code makes of it for a pickle.

    Raises
    ------
    CaptureError
        The code fails, or it changed the value, which is as it was again.
    """
    before = _attributes(value)
    inside = {
        name: _content(item) for name, item in before.items() if _is_small_box(item)
    }
    try:
        reduced = value.__reduce_ex__(protocol)
    except (CaptureError, RecursionError):
        raise
    except (Exception, SystemExit) as error:
        raise CaptureError(
            f"a value of type {type_name(value)}",
            because=f"its own pickling code failed ({type(error).__name__}: {error})",
            remedy=REMEDY,
        ) from error
    changed = _put_back(value, before, inside)
    if changed:
        raise CaptureError(
            f"a value of type {type_name(value)}",
            because=f"pickling it changes its {' and '.join(changed)}",
            remedy=f"Let __getstate__ or __reduce__ only read. {REMEDY}",
        )
    return reduced


def _attributes(value: Any) -> dict[str, Any]:
    own = getattr(value, "__dict__", None)
    found = dict(own) if type(own) is dict else {}
    names: list[str] = copyreg._slotnames(type(value))  # type: ignore[attr-defined]  # noqa: SLF001 - as pickle finds them
    for name in names:
        slot = getattr(type(value), name, None)
        if isinstance(slot, types.MemberDescriptorType):  # else a property hides it
            item = getattr(value, name, _MISSING)
            if item is not _MISSING:
                found[name] = item
    return found


def _is_small_box(item: Any) -> bool:
    return type(item) in (list, dict, set) and len(item) <= _LARGE


def _content(box: Any) -> list[Any]:
    return list(box.items()) if type(box) is dict else list(box)


def _is_same_content(box: Any, content: list[Any]) -> bool:
    if type(box) is set:
        return len(box) == len(content) and all(item in box for item in content)
    now = _content(box)
    if type(box) is dict:
        pairs = zip(now, content, strict=False)
        same = all(a[0] is b[0] and a[1] is b[1] for a, b in pairs)
    else:
        same = all(a is b for a, b in zip(now, content, strict=False))
    return same and len(now) == len(content)


def _put_back(
    value: Any, before: dict[str, Any], inside: dict[str, list[Any]]
) -> list[str]:
    """Undo what changed; return the names of the attributes concerned."""
    now = _attributes(value)
    changed = []
    for name, item in before.items():
        if now.get(name, _MISSING) is not item:
            object.__setattr__(value, name, item)
            changed.append(name)
        if name in inside and not _is_same_content(item, inside[name]):
            item.clear()
            fill = item.extend if type(item) is list else item.update
            fill(inside[name])
            changed.append(name)
    kind = type(value)
    if kind.__module__ == "__main__":  # a library may fill a cache
        for name in now.keys() - before.keys():
            if not isinstance(getattr(kind, name, None), functools.cached_property):
                object.__delattr__(value, name)
                changed.append(name)
    return sorted(set(changed))
