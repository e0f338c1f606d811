"""What steps over large data cost: passes over memory and bytes written, counted."""

import os
import pickle
import tracemalloc

import pytest
import xxhash

from nbresume.capture import (
    canonical,
    dask_collections,
    fingerprints,
    looks,
    pickling,
)
from nbresume.model import digests
from nbresume.run.commits import Commits
from nbresume.settings import CHUNK_BYTES, MIB
from nbresume.store import chunks, disk

ITEMS = 10 * CHUNK_BYTES // 8
ARRAY_BYTES = ITEMS * 8
ROWS = MIB // 4
COLUMN_BYTES = ROWS * 8
MAKE = "import numpy as np\nmade = np.random.default_rng(1)"


class Cost:
    """Bytes that went through each of the three."""

    def __init__(self, monkeypatch) -> None:
        self.looked = self.digested = self.written = 0
        look, digest, write = (
            xxhash.xxh3_128_digest,
            digests.chunk_digest,
            os.write,
        )

        def counted_look(data, seed):
            self.looked += data.nbytes
            return look(data, seed)

        def counted_digest(data):
            self.digested += len(data)
            return digest(data)

        def counted_write(descriptor, data):
            count = write(descriptor, data)
            self.written += count
            return count

        monkeypatch.setattr(xxhash, "xxh3_128_digest", counted_look)
        monkeypatch.setattr(os, "write", counted_write)
        for module in (fingerprints, digests, chunks):
            monkeypatch.setattr(module, "chunk_digest", counted_digest)

    def of(self, shell, name, code):
        """Run a step; return what it cost, in whole megabytes."""
        self.looked = self.digested = self.written = 0
        ran = shell.run(f"%%step {name}\n{code}", name)
        assert ran.ok, ran.text
        return self.looked // MIB, self.digested // MIB, self.written // MIB


@pytest.fixture
def cost(monkeypatch):
    """Return the counters."""
    return Cost(monkeypatch)


def test_an_array(shell, cost):
    """It is digested once, written once and checked once; reading it is one pass.

    The passes over memory are those that the tables of performance speak of.
    """
    size, chunk = ARRAY_BYTES // MIB, CHUNK_BYTES // MIB
    cost.of(shell, "names", MAKE)

    # a look and the check of what was written; a digest
    made = cost.of(shell, "load", f"a = made.random({ITEMS})")
    assert made == (2 * size, size, size)
    assert cost.of(shell, "read", "s = float(a.sum())") == (size, 0, 0)
    # what one chunk holds is digested and checked
    assert cost.of(shell, "change", "a[5] = 1.0") == (size + chunk, chunk, chunk)
    assert cost.of(shell, "again", "s = float(a.sum())") == (size, 0, 0)


def test_a_frame(shell, cost):
    """An added column costs its own bytes, and one pass of xxh3 over the others."""
    column = COLUMN_BYTES / MIB
    cost.of(shell, "names", f"{MAKE}\nimport pandas as pd")
    make = f"{{f'c{{i}}': made.random({ROWS}) for i in range(8)}}"
    cost.of(shell, "load", f"df = pd.DataFrame({make})")

    looked, digested, written = cost.of(shell, "add", "df['d'] = df['c1'] * 2.5 + 1")

    assert looked == 10 * column
    assert digested <= column
    assert written == column


def test_a_part_of_a_restored_array(shell, cost):
    """After a restart, too, only what changed is written."""
    cost.of(shell, "names", MAKE)
    cost.of(shell, "load", f"a = made.random({ITEMS})")
    shell.ip.reset(new_session=False)
    assert shell.run("%unload_ext nbresume").ok
    shell.load()
    assert shell.run("%steps resume").ok

    _, _, written = cost.of(shell, "change", "a[5] = 1.0")

    assert written == CHUNK_BYTES // MIB


def test_a_large_list(shell, monkeypatch):
    """It is looked at once, and nothing is asked about each of its items."""
    looked, asked = [], []
    look, is_collection = canonical.look, dask_collections.is_collection

    def counted_look(value, *args, **options):
        looked.append(type(value))
        return look(value, *args, **options)

    def counted_question(value):
        asked.append(value)
        return is_collection(value)

    monkeypatch.setattr(canonical, "look", counted_look)
    monkeypatch.setattr(dask_collections, "is_collection", counted_question)
    assert shell.run("%%step first\nseen = {'a': [1]}", "first").ok
    looked.clear()
    # an equal object in the place of another one: who else holds it is asked
    body = "seen['a'] = [1]\nrows = [[i] for i in range(5000)]"

    assert shell.run(f"%%step load\n{body}", "load").ok
    assert looked.count(list) == 1

    looked.clear()
    assert shell.run("%%step touch\nrows[7].append(seen)", "touch").ok
    assert looked.count(list) == 1
    assert len(asked) < 100


SOUP = """
class Rec:
    def __init__(self, at):
        self.at, self.tags = at, [at]
soup = [(Rec(at), {'k': at, 's': str(at)}, [at])[at % 3] for at in range(6000)]
"""


def test_many_small_objects(shell, monkeypatch):
    """Touched in place: looked at once, pickled once, and listed by id no more."""
    looked, pickled, remembered, listed = [], [], [], []
    look, dump_alike, by_id = canonical.look, pickling.dump_alike, looks._by_id

    def counted_look(value, *args, **options):
        looked.append(type(value))
        return look(value, *args, **options)

    def counted_dump(value, *args):
        pickled.append(type(value))
        stream, refs = dump_alike(value, *args)
        remembered.append(stream.count(pickle.MEMOIZE))
        return stream, refs

    def counted_list(group):
        listed.append(len(group))
        return by_id(group)

    monkeypatch.setattr(canonical, "look", counted_look)
    monkeypatch.setattr(pickling, "dump_alike", counted_dump)
    monkeypatch.setattr(looks, "_by_id", counted_list)

    def cost(name, code):
        for counts in (looked, pickled, listed):
            counts.clear()
        ran = shell.run(f"%%step {name}\n{code}", name)
        assert ran.ok, ran.text
        return looked.count(list), pickled.count(list), sum(listed)

    assert shell.run(f"%%step names\n{SOUP.rpartition('soup')[0]}", "names").ok
    assert cost("load", f"soup{SOUP.rpartition('soup')[2]}") == (1, 1, 8000)
    assert cost("touch", "soup[0].tags.append(1); soup[1]['t'] = 1") == (1, 1, 0)
    assert cost("more", "soup.append({'k': 1}); soup[2].append(2)") == (1, 1, 1)
    assert cost("read", "n = len(soup)") == (1, 0, 0)
    assert cost("data", "rows = [[at] for at in range(6000)]") == (1, 1, 6000)
    # no object is, but the class and names of attributes and keys
    assert max(remembered) < 300


def test_who_shares_small_objects_is_seen(shell):
    """Aliases that come and go between steps are so after a restart."""
    steps = {
        "load": f"{SOUP}pool = [[at] for at in range(500)]",
        "take": "one, other = soup[3], soup[4]",
        "inside": "soup[6].tags = soup[2]; pool[5] = pool[6]",
        "hold": "shelf = [Rec(at) for at in range(500)]; box = {'in': [shelf[9]]}",
        "touch": "soup[3].tags.append(7); soup[7]['t'] = 1",
        "part": "soup[4] = dict(other)",
    }
    for name, code in steps.items():
        assert shell.run(f"%%step {name}\n{code}", name).ok
    told = (
        "soup[3] is one, soup[4] is other, soup[4] == other, "
        "soup[6].tags is soup[2], pool[5] is pool[6], pool[6] is pool[7], "
        "box['in'][0] is shelf[9], "
        "one.tags, soup[7]['t'], type(one) is Rec, len(soup)"
    )
    expected = (True, False, True, True, True, False, True, [3, 7], 1, True, 6000)
    assert shell.ip.ev(f"({told})") == expected

    shell.ip.reset(new_session=False)
    assert shell.run("%unload_ext nbresume").ok
    shell.load()
    assert shell.run("%steps resume").ok
    assert shell.run(f"told = ({told})").ok
    assert shell.ip.user_ns["told"] == expected


@pytest.fixture
def peak(monkeypatch):
    """Return a function: bytes that the last commit held above what was live."""
    live = []
    changes = Commits.changes

    def begin(commits, running):
        tracemalloc.reset_peak()
        live.append(tracemalloc.get_traced_memory()[0])
        return changes(commits, running)

    monkeypatch.setattr(Commits, "changes", begin)
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1] - live[-1]
    tracemalloc.stop()


@pytest.mark.parametrize(
    "code",
    [
        f"a = made.random({ITEMS})",
        f"a = np.cumsum(made.integers(0, 8, {ITEMS}))",
        f"a = pd.DataFrame({{f'c{{i}}': made.random({ROWS}) for i in range(20)}})",
    ],
    ids=["noise", "compressed", "frame"],
)
def test_memory(shell, peak, code):
    """A commit needs a few chunks of memory, however large the value is."""
    assert shell.run(f"%%step names\n{MAKE}\nimport pandas as pd", "names").ok
    assert shell.run(f"%%step load\n{code}", "load").ok

    assert peak() < 4 * CHUNK_BYTES


def test_what_changes_while_it_is_written_is_not_committed(shell, monkeypatch):
    """As a thread of the user's may do it, between the look and the last byte."""
    write = disk.begin_new

    def raced(path, buffers, *, mode):
        if path.endswith("/c.3"):
            shell.ip.user_ns["a"][3 * CHUNK_BYTES // 8 + 7] = 1.0
        return write(path, buffers, mode=mode)

    assert shell.run(f"%%step names\n{MAKE}", "names").ok
    monkeypatch.setattr(disk, "begin_new", raced)
    ran = shell.run(f"%%step load\na = made.random({ITEMS})", "load")
    monkeypatch.undo()

    assert not ran.ok
    assert "it changed while it was being written" in ran.text
    assert shell.run(f"%%step load\na = made.random({ITEMS})", "load").ok
    assert shell.run("%%step read\ns = a[-1]", "read").ok
