# ruff: noqa: S102 - definitions of a notebook are made with exec
"""Code knows its text, and another Python makes it from that."""

import contextlib
import dataclasses
import functools
import inspect
import linecache
import marshal

import pytest

from nbresume.capture import sources
from nbresume.capture.canonical import look
from nbresume.capture.pickling import dump
from nbresume.capture.rebuild import rebuild
from nbresume.capture.sources import (
    MINOR,
    code_parts,
    generated_methods,
    known_text,
    make_code_of,
    name_of,
    remember,
)
from nbresume.errors import CaptureError

CELL = "kernel-4711-cell.py"
TEXT = "# a remark\ndef f(n):\n    return [lambda: n, lambda: -n], g\nk = lambda: 1\n"


@pytest.fixture
def cell():
    """Run a cell as IPython does, and return its namespace."""

    def run(text, name=CELL, mtime=None):
        linecache.cache[name] = (len(text), mtime, text.splitlines(keepends=True), name)
        namespace = {"__name__": "__main__"}
        exec(compile(text, name, "exec"), namespace)
        return namespace

    yield run
    linecache.cache.pop(CELL, None)


def _again(value, namespace):
    stream = dump([value], units={}, namespace=namespace).stream
    return rebuild(stream, [], resolve=None, namespace=namespace)


def test_a_rebuilt_function_shows_its_source(cell):
    """Also after linecache was asked to look for changes."""
    namespace = cell(TEXT)
    stream = dump([namespace["f"]], units={}, namespace=namespace).stream
    linecache.clearcache()
    f = rebuild(stream, [], resolve=None, namespace=namespace)
    linecache.checkcache()

    assert inspect.getsource(f) == "".join(TEXT.splitlines(keepends=True)[1:3])
    assert f.__code__.co_filename == name_of(TEXT)


def test_the_text_is_stored_once_and_the_name_of_the_kernel_never(cell):
    """However many functions of a cell are in a unit."""
    namespace = cell(TEXT)
    functions = [namespace["f"], namespace["k"], *namespace["f"].__code__.co_consts[1:]]
    stream = dump([functions], units={}, namespace=namespace).stream

    assert stream.count(b"# a remark") == 1
    assert b"4711" not in stream


def test_streams_and_digests_do_not_depend_on_the_kernel(cell):
    """The same cell of another process gives the same bytes."""
    other = "kernel-4712-cell.py"
    one, two = cell(TEXT), cell(TEXT, other)
    streams = [dump([ns["f"]], units={}, namespace=ns).stream for ns in (one, two)]
    again = _again(one["f"], one)
    del linecache.cache[other]

    assert streams[0] == streams[1]
    assert dump([again], units={}, namespace=one).stream == streams[0]
    assert look(one["f"], one).digest == look(again, one).digest


def test_the_digest_does_not_depend_on_the_text(cell):
    """Remarks are no part of what a function does."""
    other = "kernel-4711-other.py"
    one, two = cell(TEXT), cell("# other\n\n" + TEXT, other)
    digests = [look(ns["f"], ns).digest for ns in (one, two)]
    del linecache.cache[other]

    assert digests[0] == digests[1] == look(two["f"], two).digest


def test_the_text_of_a_real_file_is_not_taken(cell):
    """It may have changed since."""
    cell(TEXT, mtime=12.5)

    assert known_text(CELL) is None
    assert known_text("no such cell") is None


def _elsewhere(code, **changed):
    """Make code as if another Python had written it."""
    _, _, place = code_parts(code, {})
    fields = ("kind", "source", "name", "line", "number", "free", "flags")
    place = tuple(changed.get(f, v) for f, v in zip(fields, place, strict=True))
    return make_code_of("2.7", b"", place)


def test_another_python_finds_code_by_its_place(cell):
    """Functions, nested ones, and lambdas by their order."""
    namespace = cell(TEXT)
    f, k = namespace["f"].__code__, namespace["k"].__code__
    nested = [code for code in sources.codes(f) if code.co_name == "<lambda>"]

    for code in (f, k, *nested):
        made = _elsewhere(code)
        assert made.co_code == code.co_code
        assert made.co_consts == code.co_consts


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        ({"number": None}, "its text does not give"),
        ({"number": 7}, "finds no such code"),
        ({"line": 99}, "finds no such code"),
        ({"source": "def f(:"}, "finds no such code"),
        ({"free": ("z",)}, "closes over other variables"),
        ({"kind": "unknown", "number": None}, "it has no text"),
        ({"kind": "module", "source": "no_such_module"}, "finds no such code"),
    ],
)
def test_what_another_python_cannot_make_is_named(cell, changed, because):
    """With the version that wrote it, and what to do."""
    code = cell(TEXT)["f"].__code__
    with pytest.raises(CaptureError, match=because) as told:
        _elsewhere(code, **changed)

    assert told.value.refused == "f is not kept on this Python (written by 2.7)"
    assert "Python 2.7" in told.value.remedy


def test_a_text_that_does_not_give_the_code_is_for_people_only(cell):
    """A transformer of the notebook may have changed the tree."""
    cell(TEXT)
    namespace = {}
    exec(compile("\ndef f(n):\n    return n + 1", CELL, "exec"), namespace)
    minor, data, place = code_parts(namespace["f"].__code__, {})

    assert minor == MINOR
    assert place[4] is None
    assert make_code_of(minor, data, place).co_filename == name_of(TEXT)


def test_wrappers_of_a_library_are_found_in_it():
    """The other version of Python has its own code for them."""
    for made in (contextlib.contextmanager(len), functools.singledispatch(len)):
        code = made.__code__
        _, data, place = code_parts(code, {})

        assert place[0] == "module"
        assert make_code_of("2.7", b"", place) is code
        assert marshal.loads(data).co_filename == "<dynamic-code>"  # noqa: S302


def test_constants_that_no_compiler_makes_are_refused():
    """No byte code can be written with an object in it."""
    code = compile("1", "<x>", "eval").replace(co_consts=(object(),))
    with pytest.raises(CaptureError, match="constants"):
        code_parts(code, {})


def test_remembered_text_stays():
    """It has no time, so nothing looks for its file."""
    name = remember("x = 1\n")
    linecache.checkcache()

    assert linecache.getline(name, 1) == "x = 1\n"


def test_methods_that_dataclass_wrote_are_told_apart():
    """What the user wrote or patched stays what it is."""

    @dataclasses.dataclass(order=True)
    class D:
        a: int = 1

        def __repr__(self):
            return "mine"

    assert set(generated_methods(D)) >= {"__init__", "__eq__", "__lt__", "__ge__"}
    assert "__repr__" not in generated_methods(D)
    D.__eq__ = lambda self, other: True

    assert "__eq__" not in generated_methods(D)
    assert generated_methods(int) == {}


def test_a_dataclass_that_cannot_be_written_again_is_kept_as_it_is():
    """Nothing is guessed."""
    kind = type("K", (), {"__dataclass_fields__": {"a": 1}, "__module__": "__main__"})

    assert generated_methods(kind) == {}
