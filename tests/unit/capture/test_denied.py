"""What is refused, and why it is told."""

import io
import logging
import os
import tempfile
import threading
import zipfile

import pytest

from nbresume.capture.denied import is_closed_file, reason, refuse
from nbresume.errors import CaptureError


def test_a_refusal_names_the_type_and_the_way_out():
    """The message says what to type."""
    with (
        tempfile.TemporaryFile() as file,
        pytest.raises(CaptureError, match="--always") as told,
    ):
        refuse(file)

    assert "BufferedRandom" in told.value.refused


@pytest.mark.parametrize(
    "value", [1, [], io.StringIO(), io.BytesIO(), threading.Event(), object()]
)
def test_ordinary_values_are_allowed(value):
    """Nothing is known against them."""
    assert reason(value) is None
    refuse(value)


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock])
def test_a_lock_is_refused_while_it_is_held(make):
    """An unlocked lock is as good as new."""
    lock = make()

    assert reason(lock) is None
    with lock:
        assert "lock" in reason(lock)
    assert reason(lock) is None


def test_a_handler_is_refused_and_its_logger_is_not():
    """A logger is found again by its name; handlers are the process's own."""
    logger = logging.getLogger("test_denied")
    logger.addHandler(logging.NullHandler())

    assert reason(logger) is None
    assert "handler" in reason(logger.handlers[0])


def test_subclasses_are_refused_like_their_base():
    """A class of the notebook that derives from a file is a file."""
    kind = type("Log", (io.FileIO,), {})
    with kind(os.devnull) as file:
        assert "file" in reason(file)


def test_subclasses_of_buffers_in_memory_are_allowed():
    """They hold their bytes themselves."""
    assert reason(type("Buffer", (io.BytesIO,), {})()) is None


def test_closed_files_are_told_apart(tmp_path):
    """``with open(…) as f`` leaves a closed handle, which nobody misses."""
    path = tmp_path / "f"
    with path.open("w") as text, zipfile.ZipFile(tmp_path / "z", "w") as archive:
        assert not is_closed_file(text)
        assert not is_closed_file(archive)
    with tempfile.NamedTemporaryFile() as temporary:
        assert not is_closed_file(temporary)

    assert is_closed_file(text)
    assert is_closed_file(temporary)
    assert is_closed_file(archive)
    assert not is_closed_file(io.StringIO())
    assert not is_closed_file(3)


def test_a_half_made_handle_is_not_closed():
    """Nothing is guessed about a handle that was never opened."""
    assert not is_closed_file(
        io.RawIOBase.__new__(
            type(
                "H",
                (io.RawIOBase,),
                {
                    "closed": property(lambda self: 1 / 0),
                    "close": lambda self: None,
                },
            )
        )
    )
