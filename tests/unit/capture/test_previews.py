"""A preview says what a value is, changes nothing, and never runs a user's code."""

import base64
import io
import json
import sys
import time
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from PIL import Image

from nbresume.capture import previews
from nbresume.capture.canonical import look
from nbresume.capture.previews import preview_of, previews_of


class Loud:
    """A class whose every special method is a trap."""

    def __repr__(self):
        raise RuntimeError

    __str__ = __iter__ = __len__ = __repr__


class LoudList(list):
    """A subclass of a known class is not known."""

    def __iter__(self):
        raise RuntimeError

    __len__ = __repr__ = __iter__


def text(value):
    """Return the text of a preview; "" without one."""
    found = preview_of(value)
    return found.text if found else ""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "None"),
        (True, "True"),
        (17, "17"),
        (2.5, "2.5"),
        ("abc", "'abc'"),
        (b"ab", "b'ab'"),
        ([1, [2, [3]]], "[1, [2, […]]]"),
        ((), "()"),
        ({"a": 1, "b": [2]}, "{'a': 1, 'b': [2]}"),
        (range(3), "range(0, 3)"),
        (date(2026, 11, 5), "datetime.date(2026, 11, 5)"),
        (Decimal("1.5"), "Decimal('1.5')"),
        (Path("/a"), "PosixPath('/a')"),
        (np.float64(1.5), "np.float64(1.5)"),
        ([Loud(), 1], "[<Loud>, 1]"),
        ({1: Loud()}, "{1: <Loud>}"),
        (1 << 5000, "an int of 5,001 bits"),
    ],
)
def test_a_small_value_is_told(value, told):
    """As its repr, bounded, with nothing of a user's class."""
    assert text(value) == told


@pytest.mark.parametrize("value", ["x" * 10_000, b"x" * 10_000, list(range(10_000))])
def test_a_large_value_is_cut(value):
    """However large it is."""
    assert len(text(value)) < 200
    assert "…" in text(value)


@pytest.mark.parametrize(
    "value",
    [Loud(), LoudList([1]), (n for n in range(3)), iter([1]), open, Loud, sys],
    ids=lambda v: type(v).__name__,
)
def test_what_is_not_known_has_no_preview(value):
    """No code of a user runs, nothing is iterated."""
    assert preview_of(value) is None


def test_a_generator_is_not_used_up():
    """Also inside of a container."""
    numbers = (n for n in range(3))
    told = text([numbers])

    assert told == "[<generator>]"
    assert list(numbers) == [0, 1, 2]


def test_a_recursive_container_ends():
    """It holds itself."""
    box: list = []
    box.append(box)

    assert text(box) == "[[[…]]]"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (np.arange(6.0).reshape(2, 3), "float64, 2 x 3\n0.0, 1.0, 2.0, 3.0, 4.0, 5.0"),
        (np.arange(100)[::3], "int64, 34\n0, 3, 6, 9, 12, 15, 18, 21, 24, 27, …"),
        (np.array(["a" * 100]), f"<U100, 1\n{'a' * 60}…"),
        (np.array([{1}], dtype=object), "object, 1"),
        (np.zeros((0, 3)), "float64, 0 x 3"),
    ],
)
def test_an_array_is_told_by_its_first_values(value, told):
    """With dtype and shape."""
    assert text(value) == told


HEADS = ("n", "long", "any", "api_key", "when", "more0", "more1", "more2")


def frame():
    """Return a frame with awkward columns."""
    return pd.DataFrame(
        {
            "n": range(100),
            "long": ["x" * 500] * 100,
            "any": [Loud()] * 100,
            "api_key": ["s3cret"] * 100,
            "when": pd.date_range("2026-11-05", periods=100),
            **{f"more{i}": 0.1 + 0.2 for i in range(6)},
        }
    )


def test_the_head_of_a_frame_is_a_table():
    """At most ten rows and eight columns; texts are cut, secrets hidden."""
    found = preview_of(frame())

    assert found.columns == ["", *HEADS]
    assert len(found.rows) == 10
    row = dict(zip(found.columns, found.rows[3], strict=True))
    assert (row[""], row["n"]) == ("3", "3")
    assert row["long"] == "x" * 60 + "…"
    assert row["any"] == "<Loud>"
    assert row["api_key"] == "(looks secret)"
    assert row["more0"] == "0.3"
    assert found.left_out == "90 more rows, 3 more columns"


def test_a_series_and_other_tables_are_told_alike():
    """Whatever library made them."""
    series = preview_of(pd.Series([1, 2], index=["a", "b"], name="s"))
    assert (series.columns, series.rows) == (["", "s"], [["a", "1"], ["b", "2"]])

    frame = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    assert preview_of(frame).rows == [["1", "x"], ["None", "y"]]
    assert preview_of(frame.to_arrow()).rows == preview_of(frame).rows


def test_an_image_in_memory_has_a_thumbnail():
    """At most 128 pixels; the image is as it was."""
    image = Image.new("RGB", (640, 320), (200, 10, 10))
    found = Image.open(io.BytesIO(base64.b64decode(preview_of(image).png)))

    assert found.size == (128, 64)
    assert image.size == (640, 320)


def test_an_image_that_is_not_loaded_stays_so(tmp_path):
    """Loading it would change it."""
    Image.new("RGB", (10, 10)).save(tmp_path / "a.png")
    image = Image.open(tmp_path / "a.png")

    assert preview_of(image) is None
    assert image.tile
    image.load()
    assert preview_of(image).png


def test_a_huge_image_has_none():
    """It would take too long."""
    assert preview_of(Image.new("L", (3000, 3000))) is None


@pytest.mark.parametrize(
    "value",
    [
        [1, {"a": (2, 3)}],
        np.arange(10.0)[::2],
        frame().drop(columns="any"),
        pd.Series(["a", "b"], index=pd.MultiIndex.from_tuples([(1, 2), (3, 4)])),
        Image.new("RGB", (300, 300)),
    ],
    ids=["list", "view", "frame", "series", "image"],
)
def test_a_preview_changes_nothing(value):
    """The canonical walk finds the value that it found before."""
    before = look(value, {}).digest
    assert preview_of(value) is not None

    assert look(value, {}).digest == before
    assert before is not None


def test_names_and_values_that_look_secret_have_none():
    """Not the name, not the key of a dict, not an address with a password."""
    namespace = {
        "api_token": "abc",
        "config": {"password": "abc", "host": "h"},
        "address": "postgresql://me:abc@host/db",
        "fine": 1,
    }
    data = previews_of(namespace, namespace)

    assert b"abc" not in data
    assert set(json.loads(data)) == {"config", "address", "fine"}
    assert json.loads(data)["config"]["text"] == (
        "{'password': (looks secret), 'host': 'h'}"
    )


def test_a_step_has_a_budget(monkeypatch):
    """Of bytes, of names, and of time; what is beyond has no preview."""
    many = {f"n{i}": i for i in range(1000)}
    assert len(json.loads(previews_of(many, many))) == previews.MOST_NAMES

    large = {f"n{i}": frame() for i in range(40)}
    assert len(previews_of(large, large)) <= previews.LIMIT_BYTES + 2_000

    monkeypatch.setattr(previews, "BUDGET_S", -1.0)
    assert previews_of(many, many) == b""


def test_nothing_to_show_costs_nothing():
    """No payload is written for it."""
    assert previews_of({}, {}) == b""
    assert previews_of(["f"], {"f": open}) == b""


def test_many_small_values_take_little_time():
    """A tiny step stays tiny."""
    values = {f"n{i}": [i] * 5 for i in range(20)}
    best = min(_timed(values) for _ in range(5))

    assert best < previews.BUDGET_S


def _timed(values):
    began = time.perf_counter()
    previews_of(values, values)
    return time.perf_counter() - began


def test_what_cannot_be_told_breaks_nothing():
    """Half a character, and a name that a thread has deleted since."""
    half = pd.DataFrame({"a": ["\ud800"]}, dtype=object)
    namespace = {"half": half, "fine": 1}

    assert preview_of(half) is None
    assert set(json.loads(previews_of(["gone", *namespace], namespace))) == {"fine"}
