# ruff: noqa: S311 - a generator to look at
"""Instances: which are plain, and dates and numbers that are written as a text."""

import copy
import datetime as dt
import decimal
import functools
import random
import threading
import zoneinfo
from pathlib import Path

import numpy as np
import pytest

from nbresume.capture.canonical import look
from nbresume.capture.instances import plain, scalar_token

DAY = dt.datetime(2026, 10, 25, 2, 30)  # noqa: DTZ001 - a naive one
SCALARS = [
    *(DAY, DAY.replace(fold=1), DAY.replace(microsecond=1), DAY.replace(second=1)),
    *(DAY.date(), DAY.time(), DAY.time().replace(fold=1), dt.timedelta(0)),
    *(DAY.replace(tzinfo=dt.UTC), DAY.replace(tzinfo=zoneinfo.ZoneInfo("UTC"))),
    *(dt.timedelta(1), dt.timedelta(seconds=1), dt.timedelta(microseconds=1)),
    *map(decimal.Decimal, ("1", "1.0", "-0", "0", "1E+3", "NaN", "sNaN", "Infinity")),
    *(np.float64(1), np.float32(1), np.int64(1), np.bool_(1), np.complex128(1)),
    *(np.datetime64("2026", "Y"), np.datetime64("2026", "D"), np.timedelta64(1, "s")),
    *(np.str_("1"), np.bytes_(b"1"), np.void(b"1"), 1, 1.0, "1", str(DAY)),
]


def test_dates_and_numbers_are_told_apart():
    """By type and by every part of them; copies are equal."""
    digests = [look(value, {}).digest for value in SCALARS]
    copies = [look(copy.deepcopy(value), {}).digest for value in SCALARS]

    assert None not in digests
    assert len(set(digests)) == len(SCALARS)
    assert copies == digests


def test_subclasses_are_something_else():
    """They may carry anything."""

    class Day(dt.date):
        pass

    class Number(decimal.Decimal):
        pass

    for value in (Day(2026, 1, 1), Number(1), DAY.replace(tzinfo=dt.UTC), "1", [1]):
        assert scalar_token(value, type(value)) == b""
    assert look(Day(2026, 1, 1), {}).digest != look(dt.date(2026, 1, 1), {}).digest


def test_the_decimal_context_does_not_matter():
    """Nor how it would print."""
    value = decimal.Decimal("1E+9")
    before = look([value], {}).digest
    with decimal.localcontext() as context:
        context.capitals, context.prec = 0, 2

        assert look([value], {}).digest == before


class Plain:
    """Attributes and nothing else."""


class Slotted:
    """Slots and nothing else."""

    __slots__ = ("__b", "a")


class Both(Slotted):
    """Slots and a ``__dict__``."""


class Hidden(Slotted):
    """A slot that a property hides."""

    __slots__ = ()
    a = property(lambda _: 1)


class Called:
    """May be anything that is found by its name."""

    def __call__(self):
        """Do nothing."""


class Dicted:
    """Hides its attributes."""

    __dict__ = property(lambda _: {})


class Cached:
    """Caches."""

    x = functools.cached_property(lambda _: 1)


def test_plain_instances_hold_attributes_or_slots():
    """Both ways are told, and the names of private slots as they are."""
    plain_one, slotted = plain(Plain(), Plain), plain(Slotted(), Slotted)

    assert plain_one is not None
    assert slotted is not None
    assert (plain_one.has_dict, plain_one.names) == (True, ())
    assert (slotted.has_dict, slotted.names) == (False, ("_Slotted__b", "a"))


@pytest.mark.parametrize("kind", [Both, Hidden, Called, Dicted, Cached])
def test_what_is_more_than_attributes_is_not_plain(kind):
    """Its class says itself what it is, or reading it would run code."""
    assert plain(kind(), kind) is None


@pytest.mark.parametrize(
    "value", [1, [1], random.Random(1), Path(), ValueError(), threading.Lock(), Plain]
)
def test_what_other_modules_know_is_not_plain(value):
    """Numbers, containers, errors, locks, classes."""
    assert plain(value, type(value)) is None


def test_attributes_may_be_a_dict_of_another_kind():
    """They are not read past its code then."""

    class Odd(dict):
        def items(self):
            return [("shown", 1)]

    value = Plain()
    value.__dict__ = Odd(a=1)
    row = Plain()
    row.a = 1

    assert look([value] * 40, {}).digest != look([row] * 40, {}).digest
    assert look(value, {}).digest != look(row, {}).digest
