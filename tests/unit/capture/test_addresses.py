"""Many ids at once are what id() says of each, and no audit event each."""

import subprocess
import sys

import pytest

from nbresume.capture import addresses
from nbresume.capture.addresses import ids_of


class _Own:
    """Says itself what its hash is."""

    def __hash__(self):
        raise AssertionError

    def __eq__(self, other):
        raise AssertionError


# types and constants of Python itself need not lie at a multiple of 16
OBJECTS = [
    *([at] for at in range(100)),
    *({at: at} for at in range(100)),
    *((at, "x") for at in range(100)),
    *(_Own() for _ in range(100)),
    *(f"text {at}" for at in range(100)),
    *(None, ..., True, 1, 10**30, 1.5, (), "", "a", b"", frozenset()),
    *(int, type, object, _Own, len, print, ids_of, sys, sys.path.append),
]


@pytest.mark.parametrize("some", [[], OBJECTS[:500], OBJECTS, (None,), [int, []]])
def test_they_are_what_id_says(some):
    """Of every kind of object, wherever it lies; no code of an object runs."""
    assert [*ids_of(some)] == [*map(id, some)]


@pytest.mark.parametrize(("name", "value"), [("_MOST", 1), ("_IS_ADDRESS", False)])
def test_id_is_asked_where_the_hash_does_not_tell(monkeypatch, name, value):
    """An object at another kind of place; another Python."""
    monkeypatch.setattr(addresses, name, value)
    asked = []
    monkeypatch.setattr(
        addresses, "id", lambda one: asked.append(one) or id(one), raising=False
    )

    assert [*ids_of(OBJECTS)] == [*map(id, OBJECTS)]
    assert len(asked) == len(OBJECTS)


SCRIPT = """
import sys
from nbresume.capture.addresses import ids_of
told = []
sys.addaudithook(lambda event, _: told.append(event))
rows = [[at] for at in range(1000)]
ids = [*ids_of(rows)]
print(told.count("builtins.id"))
"""


def test_audit_hooks_are_not_told():
    """A hook that watches a step is not called a hundred thousand times."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=True,
        text=True,
    )

    assert done.stdout == "0\n"
