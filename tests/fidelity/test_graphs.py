"""Random graphs of built-in values survive the way into another interpreter."""

import base64
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbresume.capture.canonical import look
from nbresume.capture.pickling import dump

SERVER = """
import base64, sys
from nbresume.capture.canonical import look
from nbresume.capture.rebuild import rebuild
for line in sys.stdin:
    value = rebuild(base64.b64decode(line), [], resolve=None, namespace={})
    print(look(value, {}).digest, flush=True)
"""
atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.text(st.characters(exclude_categories=[])),
    st.binary(),
    st.just(...),
    st.just(NotImplemented),
)
hashables = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple), st.frozensets(inner, max_size=4)
    ),
    max_leaves=6,
)
values = st.recursive(
    hashables,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(hashables, inner, max_size=4),
        st.sets(hashables, max_size=4),
        st.binary(max_size=5).map(bytearray),
    ),
    max_leaves=12,
)


@st.composite
def graphs(draw):
    """Return lists and dicts that refer to each other in any way, circles too."""
    boxes = [
        draw(st.sampled_from([list, dict]))() for _ in range(draw(st.integers(1, 5)))
    ]
    for box in boxes:
        for at in range(draw(st.integers(0, 4))):
            item = draw(st.one_of(st.sampled_from(boxes), hashables))
            if isinstance(box, list):
                box.append(item)
            else:
                box[at] = item
    return boxes[0]


@pytest.fixture(scope="module")
def elsewhere():
    """Digest the value of a stream in another interpreter."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTHONHASHSEED": "77",
    }
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:

        def digest(stream):
            process.stdin.write(base64.b64encode(stream) + b"\n")
            process.stdin.flush()
            return process.stdout.readline().decode().strip()

        yield digest
        process.stdin.close()


quick = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@quick
@given(value=st.one_of(values, graphs()))
def test_a_rebuilt_value_has_the_same_digest(elsewhere, value):
    """In another process, with another hash seed."""
    seen = look(value, {})
    stream = dump([value], units={}, namespace={}).stream

    assert seen.digest is not None, seen.why
    assert elsewhere(stream) == seen.digest


def _typed(value):
    """Return a text that differs exactly for values that a notebook can tell apart."""
    kind = type(value).__name__
    if isinstance(value, list | tuple):
        return f"{kind}[{','.join(map(_typed, value))}]"
    if isinstance(value, set | frozenset):
        return f"{kind}[{','.join(sorted(map(_typed, value)))}]"
    if isinstance(value, dict):
        items = [f"{_typed(key)}:{_typed(item)}" for key, item in value.items()]
        return f"{kind}[{','.join(items)}]"
    if isinstance(value, float | complex):
        return f"{kind}({value!r})".replace("-nan", "nan")
    return f"{kind}({value!r})"


@quick
@given(one=values, two=values)
def test_digests_differ_exactly_when_values_do(one, two):
    """Types, order and signs of zero count."""
    same = look(one, {}).digest == look(two, {}).digest

    assert same == (_typed(one) == _typed(two))


@quick
@given(value=values)
def test_a_changed_list_is_seen(value):
    """Appending to a value that holds it gives another digest."""
    box = [value, [1]]
    before = look(box, {}).digest
    box[1].append(2)

    assert look(box, {}).digest != before
