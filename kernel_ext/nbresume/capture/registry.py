"""Values that are kept as a description: connections, engines, loggers, one's own.

The rule: `reduce` says in plain values what `rebuild` needs; both are told apart by
the class of the value, a base class counts, and a rebuilder wins over the deny list.
Rebuilders of libraries are found by the name of the class, so that none is imported.
``rebuild_…`` and `make_registered` are named in stored streams: they are part of the
stored format and are never renamed.
"""

import importlib
import logging
import sys
import warnings
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from nbresume.capture.atoms import importable, resolve_import
from nbresume.errors import CaptureError, NbresumeError

_REMEDY = (
    "Mark the step that makes it with --always (%%step NAME --always), or give "
    "nbresume.register a rebuilder of your own."
)
_SECRETS = ("password", "passwd", "pwd", "secret", "token", "key")


class Rebuilder(Struct, frozen=True):
    """How the values of one class are kept."""

    kind: str
    """The full name of the class, for people."""
    reduce: Callable[[Any], Any]
    """Value → a description that can be pickled."""
    rebuild: Callable[[Any], Any]
    """Description → value."""

    def describe(self, value: Any) -> Any:
        """Return the description of a value.

        Raises
        ------
        CaptureError
            The reducer refuses the value or fails.
        """
        try:
            return self.reduce(value)
        except NbresumeError:
            raise
        except (Exception, SystemExit) as error:
            raise CaptureError(
                f"a value of type {self.kind}",
                because="the reducer that was registered for it failed "
                f"({type(error).__name__}: {error})",
                remedy="Correct the function given to nbresume.register.",
            ) from error


class Registry:
    """Rebuilders by class."""

    def __init__(self) -> None:
        self._by_type: weakref.WeakKeyDictionary[type, Rebuilder] = (
            weakref.WeakKeyDictionary()
        )
        self._by_name: dict[str, Rebuilder] = {}
        self._found: weakref.WeakKeyDictionary[type, Rebuilder | None] = (
            weakref.WeakKeyDictionary()
        )

    def register(
        self,
        kind: type | str,
        reduce: Callable[[Any], Any],
        rebuild: Callable[[Any], Any],
    ) -> None:
        """Keep values of a class, or of the class of that full name, by description.

        Parameters
        ----------
        kind
            The class, or ``module.QualifiedName``, which imports nothing.
        reduce
            Value → a description made of plain values.
        rebuild
            Description → an equal value, in another kernel.
        """
        if isinstance(kind, str):
            self._by_name[kind] = Rebuilder(kind, reduce, rebuild)
        else:
            self._by_type[kind] = Rebuilder(_name(kind), reduce, rebuild)
        self._found.clear()

    def find(self, kind: type) -> Rebuilder | None:
        """Return the rebuilder of a class or of its nearest base that has one."""
        try:
            return self._found[kind]
        except KeyError:
            found = self._found[kind] = self._search(kind)
            return found

    def _search(self, kind: type) -> Rebuilder | None:
        for base in kind.__mro__:
            found = self._by_type.get(base) or self._by_name.get(_name(base))
            if found is not None:
                return found
        return None


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def make_registered(kind: str, rebuild: Callable[[Any], Any], description: Any) -> Any:
    """Return the value that a rebuilder makes of a description.

    Raises
    ------
    CaptureError
        The rebuilder refuses or fails.
    """
    try:
        return rebuild(description)
    except NbresumeError:
        raise
    except (Exception, SystemExit) as error:
        raise CaptureError(
            f"a value of type {kind} cannot be rebuilt",
            because="the rebuilder that was registered for it failed "
            f"({type(error).__name__}: {error})",
            remedy="Correct the function given to nbresume.register, then run the "
            "step that made the value again.",
        ) from error


# -- shipped ------------------------------------------------------------------------


def _refusal(kind: str, because: str, remedy: str = _REMEDY) -> CaptureError:
    return CaptureError(f"a value of type {kind}", because=because, remedy=remedy)


def _sqlite() -> Any:
    return importlib.import_module("sqlite3")


def reduce_sqlite(connection: Any) -> dict[str, Any]:
    """Return what opens a connection to a file again.

    Raises
    ------
    CaptureError
        It is closed, in memory, in a transaction, or set up in a way that a new
        connection would not share.
    """
    kind = _name(type(connection))
    if type(connection) is not _sqlite().Connection:
        raise _refusal(kind, "a subclass of a connection may hold anything")
    if connection.text_factory is not str:
        raise _refusal(kind, "its text_factory cannot be stored")
    path = _sqlite_path(connection, kind)
    if connection.in_transaction:
        raise _refusal(
            kind,
            "a transaction is open, and it ends with the kernel",
            "Commit it (connection.commit()) at the end of the step.",
        )
    row = connection.row_factory
    target = None if row is None else importable(row)
    if row is not None and target is None:
        raise _refusal(kind, "its row_factory is not found by import")
    described = {
        "path": path,
        "isolation_level": connection.isolation_level,
        "detect_types": _sqlite_detects(connection, kind),
        "row_factory": target,
    }
    # new in Python 3.12
    legacy = getattr(_sqlite(), "LEGACY_TRANSACTION_CONTROL", None)
    mode = getattr(connection, "autocommit", legacy)
    return described if mode == legacy else {**described, "autocommit": bool(mode)}


def _sqlite_rows(connection: Any, statement: str) -> list[Any]:
    cursor = connection.cursor()
    cursor.row_factory = None
    try:
        rows: list[Any] = cursor.execute(statement).fetchall()
    finally:
        cursor.close()
    return rows


def _sqlite_path(connection: Any, kind: str) -> str:
    try:
        rows = _sqlite_rows(connection, "PRAGMA database_list")
    except _sqlite().Error as error:
        raise _refusal(kind, f"it cannot be asked for its file ({error})") from error
    files = {name: path for _, name, path in rows}
    if not files.get("main"):
        raise _refusal(kind, "its database is in memory and ends with the kernel")
    if len(files) > 1:
        raise _refusal(kind, "another or a temporary database is attached to it")
    return str(files["main"])


def _sqlite_detects(connection: Any, kind: str) -> int:
    """Return the flags of ``detect_types``, which no connection tells."""
    cursor = connection.cursor()
    cursor.execute('SELECT 1 AS "a [b]"')
    named = cursor.description[0][0] == "a"
    cursor.close()
    declared = _sqlite_declared(connection)
    if declared is None:
        raise _refusal(
            kind, "whether it converts declared types cannot be told without a row"
        )
    module = _sqlite()
    flags = module.PARSE_COLNAMES if named else 0
    return int(flags | (module.PARSE_DECLTYPES if declared else 0))


def _sqlite_declared(connection: Any) -> bool | None:
    """Tell whether declared types are converted; None if the data does not show it."""
    converters: Any = getattr(_sqlite(), "converters", {})
    columns = _sqlite_rows(
        connection,
        "SELECT m.name, c.name, c.type FROM sqlite_master AS m, "
        "pragma_table_info(m.name) AS c WHERE m.type = 'table'",
    )
    shown: list[bool | None] = [False]
    for table, column, declared in columns:
        word = declared.partition("(")[0].upper().split()[:1]
        if word and word[0] in converters:
            shown.append(_sqlite_converts(connection, table, column))
    if True in shown:
        return True
    return None if None in shown else False


def _sqlite_converts(connection: Any, table: str, column: str) -> bool | None:
    table, column = ('"' + name.replace('"', '""') + '"' for name in (table, column))
    # An expression has no declared type, so its value comes as it is.
    statement = (
        f"SELECT {column}, +{column} FROM {table} "  # noqa: S608 - quoted above
        f"WHERE {column} IS NOT NULL LIMIT 1"
    )
    with warnings.catch_warnings():
        # Python 3.12 warns of its own converters
        warnings.simplefilter("ignore")
        try:
            rows = _sqlite_rows(connection, statement)
        except Exception:  # noqa: BLE001 - a converter that fails was called
            return True
    if not rows:
        return None
    value, raw = rows[0]
    return type(value) is not type(raw) or value != raw


def rebuild_sqlite(described: dict[str, Any]) -> Any:
    """Return a new connection to the same file.

    Raises
    ------
    FileNotFoundError
        There is none: a new and empty one would be taken for it.
    CaptureError
        Another version of Python set it up in a way that this one does not know.
    """
    more = {name: described[name] for name in ("autocommit",) if name in described}
    if more and not hasattr(_sqlite(), "LEGACY_TRANSACTION_CONTROL"):
        version = ".".join(map(str, sys.version_info[:2]))
        raise _refusal(
            "sqlite3.Connection", f"Python {version} does not know its autocommit mode"
        )
    if not Path(described["path"]).is_file():
        raise FileNotFoundError(described["path"])
    connection = _sqlite().connect(
        described["path"],
        isolation_level=described["isolation_level"],
        detect_types=described["detect_types"],
        **more,
    )
    if described["row_factory"]:
        connection.row_factory = resolve_import(described["row_factory"])
    return connection


def reduce_engine(engine: Any) -> dict[str, Any]:
    """Return what makes an SQLAlchemy engine again; a password is never kept.

    Raises
    ------
    CaptureError
        Its address holds a secret, or its database is in memory.
    """
    kind, url = _name(type(engine)), engine.url
    secret = [name for name in url.query if any(s in name.lower() for s in _SECRETS)]
    if url.password is not None or secret:
        raise _refusal(
            kind,
            "its address holds a password, which is never stored",
            "Mark the step that makes it with --always, or let the driver find the "
            "password outside the notebook (a file, an environment variable).",
        )
    if url.drivername.startswith("sqlite") and url.database in (None, "", ":memory:"):
        raise _refusal(kind, "its database is in memory and ends with the kernel")
    return {"url": url.render_as_string(hide_password=True), "echo": engine.echo}


def rebuild_engine(described: dict[str, Any]) -> Any:
    """Return a new engine for the same address; it connects when it is used."""
    sqlalchemy = importlib.import_module("sqlalchemy")
    return sqlalchemy.create_engine(described["url"], echo=described["echo"])


def reduce_logger(logger: logging.Logger) -> dict[str, Any]:
    """Return name and level of a logger; its handlers are the process's own.

    Raises
    ------
    CaptureError
        No name leads to it.
    """
    if logging.getLogger(logger.name) is not logger:
        raise _refusal(_name(type(logger)), "logging does not know it by its name")
    return {"name": logger.name, "level": logger.level}


def rebuild_logger(described: dict[str, Any]) -> logging.Logger:
    """Return the logger of that name, with that level."""
    logger = logging.getLogger(described["name"])
    logger.setLevel(described["level"])
    return logger


DEFAULT = Registry()
"""The rebuilders of this process; `nbresume.register` adds to it."""
DEFAULT.register("sqlite3.Connection", reduce_sqlite, rebuild_sqlite)
DEFAULT.register("sqlalchemy.engine.base.Engine", reduce_engine, rebuild_engine)
DEFAULT.register("logging.Logger", reduce_logger, rebuild_logger)

register = DEFAULT.register
"""The public face: ``nbresume.register(type, reduce, rebuild)``."""
