"""A changed byte, wherever it lies, is refused before anything of it is unpickled."""

import sys

import pytest
from unit.run.fakes import KEY, Lab

from nbresume.errors import FencedError, NbresumeError
from nbresume.store.datakeys import DataKeys
from nbresume.store.sealed import SealedBackend
from nbresume.store.trust import key_id_of

CELL = (
    "%%step a\nfrom fractions import Fraction\nimport array\n"
    "x = [Fraction(1, 3)]\nbig = array.array('b', bytes(range(100)) * 20_000)"
)
RIGHT = "[Fraction(1, 3)]"
STRIDE = {"rec": 37, "pack/c.0": 29, "c.0": 200_000}
"""End of a key → one of so many bytes is changed, beside those at both ends."""
ENDS = 20


class Watch:
    """Notes which classes pickles name: a hook of the process cannot be undone."""

    def __init__(self):
        self.named = []
        sys.addaudithook(self._hook)

    def _hook(self, event, args):
        if event == "pickle.find_class" and args[0].startswith("fraction"):
            self.named.append(args)


@pytest.fixture(scope="module")
def watch():
    """Return what sees a pickle being loaded."""
    return Watch()


def sealed(memory):
    """Return an encrypted store over one in memory, opened anew."""
    data_keys = DataKeys(memory, "store-1", {key_id_of(KEY): KEY}, source="a test")
    data_keys.ensure()
    return SealedBackend(memory, data_keys, "store-1")


def places(key, data):
    """Return the places in a file at which a byte is changed."""
    step = next((n for end, n in STRIDE.items() if key.endswith(end)), 7)
    first, last = range(ENDS), range(len(data) - ENDS, len(data))
    return sorted({*first, *last, *range(0, len(data), step)})


def committed(*, is_sealed):
    """Return a lab whose step is committed, and the files of its store."""
    lab = Lab(a=CELL)
    memory = lab.backend
    if is_sealed:
        lab.backend = sealed(memory)
    lab.kernel().go()
    return lab, memory


def loaded(lab):
    """Return what a new kernel has after resuming; None if it was refused."""
    try:
        kernel = lab.kernel()
        kernel.resume()
        return repr(kernel["x"])
    except (NbresumeError, FencedError, KeyError):
        return None


@pytest.mark.parametrize("is_sealed", [False, True], ids=["clear", "encrypted"])
def test_a_changed_byte_anywhere_loads_nothing_wrong(watch, is_sealed):
    """Of each file of a store; then nothing is unpickled, or all of it is right."""
    lab, memory = committed(is_sealed=is_sealed)
    good = dict(memory.files)
    watch.named.clear()
    assert (loaded(lab), len(watch.named)) == (RIGHT, 1)
    changed, refused = 0, set()
    for key, data in good.items():
        # notes of claims and zarr's metadata decide nothing
        if key.startswith("runs/") or key.endswith("zarr.json"):
            continue
        for at in places(key, data):
            bad = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
            memory.files = {**good, key: bad}
            if is_sealed:
                lab.backend = reopened(memory)
            watch.named.clear()
            found = loaded(lab)
            changed += 1
            if found is None:
                assert watch.named == [], (key, at)
                refused.add(key)
            assert found in (None, RIGHT), (key, at)

    assert changed > 300
    kinds = {key.partition("/")[0] for key in refused}
    assert kinds == {"journal", "data.zarr", *(["keys"] if is_sealed else [])}


def reopened(memory):
    """Return the store as a reader opens it, whatever is damaged."""
    data_keys = DataKeys(memory, "store-1", {key_id_of(KEY): KEY}, source="a test")
    return SealedBackend(memory, data_keys, "store-1")


@pytest.mark.parametrize("is_sealed", [False, True], ids=["clear", "encrypted"])
def test_what_was_pickled_is_compared_before_it_is_loaded(watch, is_sealed):
    """A pickle that names another class is refused by its digest, or its tag."""
    lab, memory = committed(is_sealed=is_sealed)
    [pack] = [key for key in memory.files if key.endswith("pack/c.0")]
    plain = lab.backend.read(pack)
    other = plain.replace(b"fractions", b"fractionz")
    assert other != plain
    if is_sealed:
        del memory.files[pack]
        memory.files[pack] = other
        lab.backend = reopened(memory)
    else:
        memory.files[pack] = other

    watch.named.clear()
    assert loaded(lab) is None
    assert watch.named == []
