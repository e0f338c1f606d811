"""The notebook as its file has it, also while Jupyter writes that file."""

import json
import threading
import time

import pytest

from nbresume.compose.system import SavedNotebook


def _notebook(*sources):
    cells = [
        {"cell_type": "code", "id": f"c{place}", "source": source}
        for place, source in enumerate(sources)
    ]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5})


def _steps(notebook):
    cells = notebook.cells()
    return None if cells is None else [cell.step for cell in cells]


@pytest.fixture
def path(tmp_path):
    """Return where the notebook lies."""
    return tmp_path / "flow.ipynb"


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_one_that_is_being_written_is_waited_for(path, share):
    """Jupyter writes in place: a view asked for in between must not lack its cells."""
    whole = _notebook("%%step one\nx = 1", "%%step two\ny = x")
    path.write_text(whole[: int(len(whole) * share)])
    begun = threading.Event()

    def write():
        begun.wait()
        time.sleep(0.1)
        path.write_text(whole)

    writer = threading.Thread(target=write)
    writer.start()
    begun.set()
    try:
        assert _steps(SavedNotebook(str(path), "flow")) == ["one", "two"]
    finally:
        writer.join()


def test_a_broken_one_is_waited_for_once(path, monkeypatch):
    """What stays broken is no notebook; who asks again is not held up again."""
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    ticks = iter(range(1_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks) / 10)
    path.write_text("{")
    notebook = SavedNotebook(str(path), "flow")

    assert _steps(notebook) is None
    assert slept
    slept.clear()
    assert _steps(notebook) is None
    assert slept == []

    path.write_text(_notebook("%%step one"))
    assert _steps(notebook) == ["one"]


def test_what_is_known_is_not_waited_for(path, monkeypatch):
    """A kernel goes on with the order that it knows."""
    path.write_text(_notebook("%%step one"))
    notebook = SavedNotebook(str(path), "flow")
    assert _steps(notebook) == ["one"]
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waited"))
    path.write_text("")

    assert _steps(notebook) == ["one"]


def test_one_that_is_not_saved_yet_is_not_waited_for(path, monkeypatch):
    """There is no file: the order comes from the records."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waited"))

    assert _steps(SavedNotebook(str(path), "flow")) is None
