"""Options as plain data, and generators that nobody seeded."""

import enum
import random
import sys
import types

import numpy as np
import pandas as pd
import pytest
from cycler import cycler
from numpy.random import mtrand

from nbresume.capture import process
from nbresume.capture.pickling import dump
from nbresume.capture.process_options import find_opaque, plain, revive
from nbresume.capture.rebuild import rebuild


class _Color(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        *(1, 1.5, "x", b"x", None, True, [], (), [1, (2, [3])], {"b": 1, "a": [2]}),
        "{:,.2f}".format,
    ],
)
def test_plain_values_come_back(value):
    """Lists stay lists, tuples stay tuples, a format stays a format."""
    back = revive(plain(value))

    assert (type(value), value) == (type(back), back)


def test_subclasses_become_what_they_stand_for():
    """The validators of a library make its own kinds of them again."""
    assert list(
        map(plain, (_Color.RED, np.float64(1.5), np.int64(3), np.str_("s")))
    ) == ["red", 1.5, 3, "s"]
    assert [str, float, int, str] == list(
        map(type, map(plain, (_Color.RED, np.float64(1.5), np.int64(3), np.str_("s"))))
    )


def test_what_cannot_be_said_in_plain_data_is_found():
    """However deep it stands; a change of it is seen."""
    first, second = [1, {"a": lambda: 1}], [1, {"a": lambda: 2}]
    one, other = plain(first), plain(second)

    assert one != other
    assert find_opaque(one) == "function"
    assert find_opaque(plain([1, {"a": 1}])) is None
    assert find_opaque(plain({1: 2})) == "dict"


def test_a_cycle_of_styles_comes_back():
    """Its keys come in one order, whatever the hash seed."""
    value = cycler(color=["r", (0, 0, 1)], lw=[1, 2])

    assert list(value) == list(revive(plain(value)))
    assert [key for key, _ in plain(value)[1]] == ["color", "lw"]


class _Bytes:
    def __init__(self, data):
        self.data = bytes(data)

    def numpy(self):
        return self

    def tobytes(self):
        return self.data


@pytest.fixture
def no_torch(monkeypatch):
    """Let torch be a library that nobody has imported yet."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)


def _torch(seed):
    """Make what we use of torch, since no wheel for the CPU alone may be had here."""
    torch = types.ModuleType("torch")
    torch.state = b"seed %d" % seed
    torch.uint8 = "uint8"
    torch.initial_seed = lambda: seed
    torch.get_rng_state = lambda: _Bytes(torch.state)
    torch.frombuffer = lambda data, dtype: bytes(data)

    def set_rng_state(state):
        torch.state = state

    class Generator:
        def manual_seed(self, seed):
            self.state = b"seed %d" % seed
            return self

        def get_state(self):
            return _Bytes(self.state)

    torch.set_rng_state = set_rng_state
    torch.Generator = Generator
    return torch


@pytest.mark.usefixtures("no_torch")
@pytest.mark.parametrize(
    ("seed", "draws", "expected"),
    [(2**60, False, False), (2**60, True, True), (42, False, True)],
)
def test_torch_counts_once_it_is_seeded_or_drawn_from(
    seed, draws, expected, monkeypatch
):
    """At its import torch seeds itself with a huge random number."""
    before, known = process.snapshot(), process.libraries()
    torch = _torch(seed)
    monkeypatch.setitem(sys.modules, "torch", torch)
    if draws:
        torch.state = b"later"
    made = process.changes(before, process.snapshot(), libraries_before=known)

    assert expected == ("rng:torch" in made)


@pytest.mark.usefixtures("no_torch")
def test_the_state_of_torch_waits_for_torch(monkeypatch):
    """It is set before the next cell after its import."""
    process.apply("rng:torch", b"stored")
    assert process.pending() == ["rng:torch"]

    torch = _torch(1)
    monkeypatch.setitem(sys.modules, "torch", torch)
    process.apply_pending()
    assert (torch.state, process.pending()) == (b"stored", [])


def test_pandas_warns_of_no_option_when_it_is_read():
    """Deprecated options would warn through get_option."""
    state = process.snapshot()["pandas.options"]

    assert state["display.max_rows"] == pd.get_option("display.max_rows")
    assert "plotting.backend" in state


@pytest.mark.parametrize("wrap", [lambda rng: [rng], lambda rng: {"rng": rng}])
def test_the_global_generator_of_random_is_no_copy(wrap):
    """What holds it draws from the one seeded stream after a restore."""
    value = wrap(random._inst)
    stream = dump([value], units={}, namespace={}).stream
    back = rebuild(stream, [], resolve=None, namespace={})

    kept = next(iter(back.values())) if isinstance(back, dict) else back[0]
    assert kept is random._inst


def test_the_global_generator_of_numpy_is_no_copy():
    """The same for NumPy's legacy stream, which scipy.stats holds."""
    stream = dump([[mtrand._rand]], units={}, namespace={}).stream

    back = rebuild(stream, [], resolve=None, namespace={})
    assert back[0] is mtrand._rand
