"""Values kept as a description come back as new values of their class."""

import logging
import sqlite3
import types

import pytest

from nbresume.capture.canonical import look
from nbresume.capture.pickling import dump
from nbresume.capture.rebuild import rebuild
from nbresume.capture.registry import (
    DEFAULT,
    Registry,
    rebuild_engine,
    rebuild_logger,
    rebuild_sqlite,
    reduce_engine,
    reduce_logger,
    reduce_sqlite,
)
from nbresume.errors import CaptureError


class Handle:
    """Something that no pickle can hold."""

    def __init__(self, address):
        self.address = address

    def __reduce__(self):
        message = "no"
        raise TypeError(message)


class Special(Handle):
    """A subclass of it."""


@pytest.fixture
def registered():
    """Register rebuilders, for one test."""
    before = dict(DEFAULT._by_type), dict(DEFAULT._by_name)

    yield DEFAULT.register

    DEFAULT._by_type.clear()
    DEFAULT._by_type.update(before[0])
    DEFAULT._by_name = before[1]
    DEFAULT._found.clear()


@pytest.fixture
def database(tmp_path):
    """Connect to a database in a file; the connection is closed afterwards."""
    made = []

    def connect(name="a b?.db", **options):
        made.append(sqlite3.connect(tmp_path / name, **options))
        return made[-1]

    yield connect
    for connection in made:
        connection.close()


def _again(value):
    stream = dump([[value]], units={}, namespace={}).stream
    return rebuild(stream, [], resolve=None, namespace={})[0]


def test_the_exact_class_is_found_before_its_bases():
    """A subclass may be told apart, or be treated as its base."""
    registry = Registry()
    registry.register(Handle, vars, dict)
    assert registry.find(Special).kind.endswith("Handle")
    registry.register(f"{Special.__module__}.Special", vars, dict)

    assert registry.find(Special).kind.endswith("Special")
    assert registry.find(int) is None


def test_a_registered_value_comes_back(registered):
    """The description is stored, never the value."""
    registered(Handle, lambda value: value.address, Special)
    got = _again(Handle("x"))

    assert (type(got), got.address) == (Special, "x")


def test_a_registered_value_can_be_compared(registered):
    """Its description says whether it changed."""
    registered(Handle, lambda value: value.address, Handle)
    digests = [look(Handle(text), {}).digest for text in ("x", "x", "y")]

    assert digests[0] == digests[1] != digests[2]
    assert None not in digests


def test_a_rebuilder_wins_over_the_deny_list(registered):
    """A generator is refused, unless the user knows better."""
    registered(types.GeneratorType, lambda _: 0, lambda _: iter(()))

    assert list(_again(x for x in ())) == []


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit])
def test_an_error_of_the_reducer_names_the_type(registered, error):
    """And what to correct."""

    def fail(value):
        raise error

    registered(Handle, fail, Handle)
    with pytest.raises(CaptureError, match=rf"Handle: .*{error.__name__}.*register"):
        dump([Handle("x")], units={}, namespace={})

    assert look(Handle("x"), {}).digest is None


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit])
def test_an_error_of_the_rebuilder_names_the_type(registered, error):
    """It is no damage of the store."""

    def fail(description):
        raise error

    registered(Handle, vars, fail)
    with pytest.raises(CaptureError, match=rf"Handle cannot be .*{error.__name__}"):
        _again(Handle("x"))


def test_a_connection_to_a_file_is_opened_again(database):
    """With what it was opened with."""
    connection = database(
        detect_types=sqlite3.PARSE_COLNAMES | sqlite3.PARSE_DECLTYPES,
        isolation_level=None,
    )
    connection.row_factory = sqlite3.Row
    connection.execute('CREATE TABLE "t ""x" (d date, n int)')
    connection.execute("""INSERT INTO "t ""x" VALUES ('2020-01-01', 1)""")
    described = reduce_sqlite(connection)
    got = rebuild_sqlite(described)
    (row,) = got.execute('SELECT n, 1 AS "a [b]" FROM "t ""x"')
    again = reduce_sqlite(got)
    got.close()

    assert dict(row) == {"n": 1, "a": 1}
    assert again == described
    assert described["detect_types"] == 3
    assert described["isolation_level"] is None


def test_a_plain_connection_is_opened_again(database):
    """Deep inside another value too, and can be compared."""
    connection = database()
    got = _again(connection)
    same = look(got, {}).digest == look(connection, {}).digest
    got.close()

    assert same
    assert got is not connection


def _in_transaction(database):
    connection = database()
    connection.execute("CREATE TABLE t (n)")
    connection.execute("INSERT INTO t VALUES (1)")
    return connection


def _closed(database):
    connection = database()
    connection.close()
    return connection


def _set(database, name, value):
    connection = database()
    setattr(connection, name, value)
    return connection


def _attached(database):
    connection = database()
    connection.execute("ATTACH ':memory:' AS other")
    return connection


def _unclear(database):
    connection = database()
    connection.execute("CREATE TABLE t (d timestamp)")
    return connection


@pytest.mark.parametrize(
    ("make", "because"),
    [
        (lambda database: sqlite3.connect(":memory:"), "in memory"),
        (_in_transaction, "transaction"),
        (_closed, "asked for its file"),
        (lambda d: _set(d, "text_factory", bytes), "text_factory"),
        (lambda d: _set(d, "row_factory", lambda c, r: r), "row_factory"),
        (_attached, "attached"),
        (_unclear, "without a row"),
        (lambda d: d(factory=type("C", (sqlite3.Connection,), {})), "subclass"),
    ],
)
def test_a_connection_that_would_come_back_wrong_is_refused(database, make, because):
    """In memory, half-way, or set up in a way that cannot be read."""
    value = make(database)
    with pytest.raises(CaptureError, match=because) as told:
        dump([[value]], units={}, namespace={})
    value.close()

    assert told.value.remedy


def test_a_missing_database_is_not_made_anew(database, tmp_path):
    """An empty one would be taken for it."""
    described = reduce_sqlite(database())
    with pytest.raises(FileNotFoundError):
        rebuild_sqlite({**described, "path": str(tmp_path / "gone")})

    assert not (tmp_path / "gone").exists()


class _Url:
    def __init__(self, text, password=None, query=(), database="d"):
        self.text, self.password, self.database = text, password, database
        self.query = dict.fromkeys(query, "x")
        self.drivername = text.partition(":")[0]

    def render_as_string(self, *, hide_password):
        return self.text


def _engine(*args, **options):
    kind = type("Engine", (), {"__module__": "sqlalchemy.engine.base"})
    engine = kind()
    engine.url, engine.echo = _Url(*args, **options), True
    return engine


def test_an_engine_is_its_address(monkeypatch):
    """The library is imported when the engine is made again, not before."""
    made = types.ModuleType("sqlalchemy")
    made.create_engine = lambda url, echo: (url, echo)
    monkeypatch.setitem(__import__("sys").modules, "sqlalchemy", made)
    engine = _engine("sqlite:///d")

    assert DEFAULT.find(type(engine)).reduce is reduce_engine
    assert rebuild_engine(reduce_engine(engine)) == ("sqlite:///d", True)


@pytest.mark.parametrize(
    ("engine", "because"),
    [
        (_engine("postgresql://u:***@h/d", password="p"), "password"),  # noqa: S106
        (_engine("postgresql://u@h/d", query=["sslpassword"]), "password"),
        (_engine("sqlite://", database=None), "in memory"),
        (_engine("sqlite://", database=":memory:"), "in memory"),
    ],
)
def test_an_engine_with_a_secret_or_in_memory_is_refused(engine, because):
    """A password never reaches the store."""
    with pytest.raises(CaptureError, match=because):
        dump([[engine]], units={}, namespace={})


def test_a_logger_is_found_by_name():
    """With its level; handlers are the process's own."""
    logger = logging.getLogger("nbresume.test.registry")
    logger.setLevel(logging.INFO)
    described = reduce_logger(logger)
    logger.setLevel(logging.DEBUG)

    assert rebuild_logger(described) is logger
    assert logger.level == logging.INFO
    assert _again(logging.getLogger()) is logging.getLogger()


def test_a_logger_that_no_name_leads_to_is_refused():
    """Another one would come back."""
    with pytest.raises(CaptureError, match="by its name"):
        dump([logging.Logger("apart")], units={}, namespace={})  # noqa: LOG001
