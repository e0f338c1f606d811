# ruff: noqa: SIM115 - open handles are the subject
"""Every kind of value that would come back wrong is refused while it is pickled."""

import asyncio
import concurrent.futures
import copyreg
import csv
import importlib
import logging
import mmap
import multiprocessing
import re
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import threading
import types
import weakref
import zipfile

import ipywidgets
import numpy as np
import pytest
import tqdm
from IPython.core.interactiveshell import InteractiveShell

from nbresume.capture.canonical import look
from nbresume.capture.denied import REMEDY
from nbresume.capture.pickling import dump
from nbresume.errors import CaptureError


class _Thing:
    pass


def _generator():
    yield


async def _coroutine():
    await asyncio.sleep(0)


async def _agenerator():
    yield


def _held(lock):
    lock.acquire()
    return lock


def _traceback():
    try:
        return 1 / 0
    except ZeroDivisionError as error:
        return error.__traceback__


THING = _Thing()
CASES = {
    "file to write": lambda tmp: (tmp / "w").open("w"),
    "file to read": lambda tmp: ((tmp / "r").write_text("x"), (tmp / "r").open())[1],
    "binary file": lambda tmp: (tmp / "b").open("wb"),
    "unbuffered file": lambda tmp: (tmp / "u").open("wb", buffering=0),
    "file with an encoding": lambda tmp: (tmp / "e").open("w", encoding="latin-1"),
    "zip archive": lambda tmp: zipfile.ZipFile(tmp / "z", "w"),
    "tar archive": lambda tmp: tarfile.open(tmp / "t", "w"),
    "temporary file": lambda tmp: tempfile.TemporaryFile(),
    "named temporary file": lambda tmp: tempfile.NamedTemporaryFile(),
    "spooled temporary file": lambda tmp: tempfile.SpooledTemporaryFile(),
    "temporary folder": lambda tmp: tempfile.TemporaryDirectory(),
    "mapped memory": lambda tmp: mmap.mmap(-1, 10),
    "held lock": lambda tmp: _held(threading.Lock()),
    "held re-entrant lock": lambda tmp: _held(threading.RLock()),
    "held condition": lambda tmp: _held(threading.Condition()),
    "thread": lambda tmp: threading.Thread(target=print),
    "timer": lambda tmp: threading.Timer(9, print),
    "thread-local": lambda tmp: threading.local(),
    "process": lambda tmp: subprocess.Popen([sys.executable, "-c", ""]),
    "multiprocessing process": lambda tmp: multiprocessing.Process(target=print),
    "multiprocessing queue": lambda tmp: multiprocessing.SimpleQueue(),
    "multiprocessing lock": lambda tmp: multiprocessing.Lock(),
    "pipe": lambda tmp: multiprocessing.Pipe()[0],
    "future": lambda tmp: concurrent.futures.Future(),
    "thread pool": lambda tmp: concurrent.futures.ThreadPoolExecutor(1),
    "event loop": lambda tmp: asyncio.new_event_loop(),
    "socket": lambda tmp: socket.socket(),
    "weak reference": lambda tmp: weakref.ref(THING),
    "weak proxy": lambda tmp: weakref.proxy(THING),
    "weak method": lambda tmp: weakref.WeakMethod(THREAD.start),
    "generator": lambda tmp: _generator(),
    "coroutine": lambda tmp: _coroutine(),
    "asynchronous generator": lambda tmp: _agenerator(),
    "frame": lambda tmp: sys._getframe(),
    "traceback": lambda tmp: _traceback(),
    "log handler": lambda tmp: logging.NullHandler(),
    "logger without a name": lambda tmp: logging.Logger("apart"),  # noqa: LOG001
    "database connection": lambda tmp: sqlite3.connect(":memory:"),
    "module made at run time": lambda tmp: types.ModuleType("made"),
    "reader of rows": lambda tmp: csv.reader([]),
    "match": lambda tmp: re.match("a", "a"),
    "view of memory": lambda tmp: memoryview(b"x"),
}
THREAD = threading.Thread()


def _close(value):
    for name in ("close", "cleanup", "wait"):
        method = getattr(value, name, None)
        if method is not None and not isinstance(value, threading.Condition):
            method()


@pytest.mark.parametrize("case", CASES)
def test_refused(case, tmp_path):
    """Deep inside another value too, with the type and what to type next."""
    value = CASES[case](tmp_path)
    holder = {"deep": [_Thing(), (value,)]}
    try:
        with pytest.raises(CaptureError) as told:
            dump([holder], units={}, namespace={})
    finally:
        if not isinstance(value, weakref.ProxyType):
            _close(value)

    assert told.value.remedy == REMEDY or "--always" in told.value.remedy
    assert told.value.because


def test_a_cursor_is_refused():
    """Also apart from its connection."""
    connection = sqlite3.connect(":memory:")
    with pytest.raises(CaptureError, match="database"):
        dump([connection.cursor()], units={}, namespace={})
    connection.close()


def test_tasks_are_refused():
    """A task waits for a loop that ends with the kernel."""

    async def main():
        task = asyncio.create_task(asyncio.sleep(0))
        with pytest.raises(CaptureError, match="waits"):
            dump([task], units={}, namespace={})
        await task

    asyncio.run(main())


def test_progress_bars_are_refused():
    """A bar belongs to the cell that shows it."""
    bar = tqdm.tqdm(total=3, file=open("/dev/null", "w"))  # noqa: PTH123
    with pytest.raises(CaptureError, match="progress"):
        dump([bar], units={}, namespace={})
    bar.close()
    bar.fp.close()


def test_widgets_are_refused():
    """Their model lives in the front end."""
    with pytest.raises(CaptureError, match="front end"):
        dump([ipywidgets.IntSlider()], units={}, namespace={})


def test_the_shell_is_refused():
    """It is a part of the running kernel."""
    kind = type("Shell", (InteractiveShell,), {"__init__": lambda self: None})
    with pytest.raises(CaptureError, match="running kernel"):
        dump([kind.__new__(kind)], units={}, namespace={})


def test_memory_maps_are_refused(tmp_path):
    """They would come back as a detached copy."""
    value = np.memmap(tmp_path / "m", "f8", "w+", shape=3)
    with pytest.raises(CaptureError, match="memory map"):
        dump([value], units={}, namespace={})


def test_an_open_file_is_not_touched(tmp_path):
    """Refusing a file leaves what was written to it."""
    path = tmp_path / "w"
    with path.open("w") as file:
        file.write("kept")
        with pytest.raises(CaptureError):
            dump([file], units={}, namespace={})

    assert path.read_text() == "kept"


def test_an_exception_is_kept_without_its_traceback():
    """It says what happened; where it happened is gone."""
    error = ValueError("told")
    error.__traceback__ = _traceback()

    assert dump([error], units={}, namespace={}).stream


def test_an_exception_is_the_same_whatever_is_imported():
    """A cluster's library has all exceptions pickle their tracebacks: not here."""
    error = ValueError("told")
    error.__traceback__ = _traceback()
    before = look(error, {}).digest, dump([error], units={}, namespace={}).stream
    importlib.import_module("distributed")
    reducer = copyreg.dispatch_table[ValueError]
    after = look(error, {}).digest, dump([error], units={}, namespace={}).stream

    assert reducer.__module__.startswith("tblib")
    assert after == before
    assert before[0] is not None
