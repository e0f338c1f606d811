"""Types that would come back wrong: refused while pickling, before anything loads.

The rule: decided by the names of the classes that a type derives from, so that no
library is imported for it. Loading is where the harm happens (a file handle that
truncates its file, a future that hangs), so nothing is ever loaded to find out.
"""

import logging
import types
import weakref
from collections.abc import Mapping
from typing import Any

from nbresume.capture.atoms import type_name
from nbresume.errors import CaptureError

REMEDY = (
    "Mark the step that makes it with --always (%%step NAME --always), or delete the "
    "name at the end of the step."
)

_FILE = "an open file cannot be kept: its position and its handle end with the kernel"
_THREAD = "it belongs to threads of this kernel"
_PROCESS = "it belongs to a process that ends or goes on without the kernel"
_PENDING = "it waits for work that ends with the kernel"
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
    if not known and isinstance(value, logging.Logger) and value.handlers:
        return "the handlers of a logger belong to this kernel"
    return known or None


_SINKS = frozenset({_DATABASE, _SOCKET, _THREAD, _PROCESS, _SHOWN, _KERNEL, _HELD})
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
