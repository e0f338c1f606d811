"""The key of a step, and why it differs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresume.plan.key import Cues, differences, key_of

BASE = Cues(
    code_version="c1",
    inputs={"x": "v1", "y": "v1"},
    aliases={"x": ("y",)},
    after={"load": "k1"},
)


def cues(**changes):
    """Return the base with some cues changed."""
    fields = ("code_version", "inputs", "aliases", "after")
    return Cues(**({name: getattr(BASE, name) for name in fields} | changes))


DIFFERENCES = {
    "nothing": (cues(), []),
    "code": (cues(code_version="c2"), ["its code changed"]),
    "input": (cues(inputs={"x": "v2", "y": "v1"}), ["x changed"]),
    "new input": (cues(inputs={"x": "v1", "y": "v1", "z": "o:1"}), ["z is new"]),
    "lost input": (cues(inputs={"x": "v1"}), ["y is gone"]),
    "opaque input": (cues(inputs={"x": "o:1", "y": "v1"}), ["cannot compare x"]),
    "shares no more": (
        cues(aliases={}),
        ["x and y no longer share an object (or now do)"],
    ),
    "shares with another": (
        cues(aliases={"x": ("y", "a")}),
        ["a and x no longer share an object (or now do)"],
    ),
    "shares, told from the other side": (cues(aliases={"y": ("x", "x", "y")}), []),
    "shares with nobody": (cues(aliases={"x": ("y",), "y": ()}), []),
    "after": (cues(after={"load": "k2"}), ["step load (--after) was run again"]),
    "new after": (
        cues(after={"load": "k1", "fit": "k1"}),
        ["step fit is new behind --after"],
    ),
    "lost after": (cues(after={}), ["step load is gone from --after"]),
    "all, in order": (
        Cues("c2", {"a": "v1", "y": "v2"}, {"y": ("z",)}, {"load": "k2"}),
        [
            "its code changed",
            "a is new",
            "x is gone",
            "y changed",
            "x and y no longer share an object (or now do)",
            "y and z no longer share an object (or now do)",
            "step load (--after) was run again",
        ],
    ),
}


@pytest.mark.parametrize(
    ("today", "expected"), DIFFERENCES.values(), ids=DIFFERENCES.keys()
)
def test_differences(today, expected):
    """Each cue that moved is one sentence: code, inputs, sharing, --after."""
    assert differences(BASE, today) == expected


def test_opaque_and_equal_is_no_difference():
    """A value that cannot be compared is no reason while its version stays."""
    same = Cues("c", {"db": "o:1"})

    assert differences(same, Cues("c", {"db": "o:1"})) == []


def test_key_does_not_depend_on_order():
    """The order in which cues were gathered is no part of the key."""
    one = Cues("c", {"x": "1", "y": "2"}, {"x": ("y", "z")}, {"a": "1", "b": "2"})
    other = Cues("c", {"y": "2", "x": "1"}, {"x": ("z", "y")}, {"b": "2", "a": "1"})

    assert key_of(one) == key_of(other)


def test_key_is_fixed():
    """Keys are stored: the key of the same cues must stay the same."""
    assert key_of(BASE) == "7c438914590a94fb3023cbc6"


_NAME = st.sampled_from("abc")
_VERSION = st.sampled_from(["1", "2", "o:1"])
_CUES = st.builds(
    Cues,
    code_version=_VERSION,
    inputs=st.dictionaries(_NAME, _VERSION, max_size=2),
    aliases=st.dictionaries(_NAME, st.lists(_NAME, max_size=2).map(tuple), max_size=2),
    after=st.dictionaries(_NAME, _VERSION, max_size=1),
)


@given(_CUES, _CUES)
def test_reasons_exist_exactly_when_keys_differ(committed, today):
    """A step is never stale without a reason, nor current with one."""
    equal = key_of(committed) == key_of(today)

    assert (differences(committed, today) == []) == equal
    assert (differences(today, committed) == []) == equal
    assert differences(today, today) == []
