"""What stands in two rows of a large table is one object after a restart: any kind."""

import pytest

PREPARED = """%%step names
import array, collections, datetime, decimal, types
import numpy as np
from dataclasses import dataclass, field

@dataclass
class Rec:
    k: int
    tags: list = field(default_factory=list)

class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b

class Node:
    def __init__(self, v):
        self.v = v

class Own(list):
    pass

Pair = collections.namedtuple("Pair", "a b")
"""
KINDS = {
    "a_list": "[1]",
    "a_nest": "[[]]",
    "a_dict": "{'q': 1}",
    "a_tuple": "(1, [2])",
    "a_set": "{1, 2}",
    "a_frozenset": "frozenset({3, 4})",
    "a_bytearray": "bytearray(b'abc')",
    "a_deque": "collections.deque([1])",
    "an_ordered_dict": "collections.OrderedDict(a=1)",
    "a_defaultdict": "collections.defaultdict(list)",
    "a_decimal": "decimal.Decimal('1.5')",
    "a_datetime": "datetime.datetime(2020, 1, 1)",
    "an_array": "array.array('i', [1])",
    "an_ndarray": "np.arange(3)",
    "a_namespace": "types.SimpleNamespace(a=1)",
    "a_pair": "Pair(1, [2])",
    "an_own_list": "Own([1])",
    "an_instance": "Node(Node(3))",
    "a_record": "Rec(1)",
    "slots": "Slots([1], 2)",
    "a_class": "Rec",
}
HOLDERS = {
    "dicts": (
        "{{'i': i, 's': str(i), 'x': {held} if i in (7, 250) else None}}",
        "['x']",
    ),
    "lists": ("[i, {held} if i in (7, 250) else i]", "[1]"),
    "lists in lists": ("[i, [[{held} if i in (7, 250) else i]]]", "[1][0][0]"),
    "instances": ("Rec(i, {held} if i in (7, 250) else [i])", ".tags"),
    "slots": ("Slots(i, {held} if i in (7, 250) else [i])", ".b"),
}


@pytest.mark.parametrize(("row", "place"), HOLDERS.values(), ids=HOLDERS)
def test_it_is_one_object_again(shell, row, place):
    """Whatever it is, and whatever holds it; and no other object is of its kind."""
    made = "\n".join(
        f"held = {kind}\n{name} = [{row.format(held='held')} for i in range(400)]"
        for name, kind in KINDS.items()
    )
    told = ", ".join(
        f"({name}[7]{place} is {name}[250]{place}, type({name}[7]{place}))"
        for name in KINDS
    )
    assert shell.run(PREPARED, "names").ok
    assert shell.run(f"%%step made\n{made}\ndel held", "made").ok
    kinds = [kind.__name__ for _, kind in shell.ip.ev(f"({told})")]
    assert all(is_one for is_one, _ in shell.ip.ev(f"({told})"))

    shell.ip.reset(new_session=False)
    assert shell.run("%unload_ext nbresume").ok
    shell.load()
    assert shell.run("%steps resume").ok
    assert shell.run(f"told = ({told})").ok

    assert shell.ip.user_ns.keys() >= KINDS.keys()
    found = shell.ip.user_ns["told"]
    assert {name: is_one for name, (is_one, _) in zip(KINDS, found, strict=True)} == (
        dict.fromkeys(KINDS, True)
    )
    assert [kind.__name__ for _, kind in found] == kinds
