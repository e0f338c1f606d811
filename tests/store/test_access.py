"""The log of who read what: only ever added to, in the reader's own folder."""

import multiprocessing
from datetime import UTC, datetime

import pytest

from nbresume.errors import Unavailable
from nbresume.store.access import Access, AccessLog, Act


def access(number=0, **more):
    """Return a line."""
    told = {
        "at": datetime(2026, 11, 30, tzinfo=UTC),
        "act": Act.READ,
        "who": "ada",
        "via": "kernel",
        "host": "host-1",
        "pid": number,
        "store": "/project/.nbresume",
    }
    return Access(**told | more)


def test_lines_come_back_in_their_order(tmp_path):
    """Private to the reader; a log that is not there is empty, and is not made."""
    log = AccessLog(tmp_path / "access" / "store.jsonl")
    assert log.all() == ([], 0)
    assert list(tmp_path.iterdir()) == []

    for number in range(3):
        log.add(access(number, run="r", step="a"))

    found, torn = log.all()
    assert [one.pid for one in found] == [0, 1, 2]
    assert torn == 0
    assert (tmp_path / "access" / "store.jsonl").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "access").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("share", [1, 30, 100])
def test_half_a_line_spoils_no_other(tmp_path, share):
    """A full disk or a power cut left a part of one; it is counted."""
    path = tmp_path / "store.jsonl"
    log = AccessLog(path)
    log.add(access(1))
    log.add(access(2))
    path.write_bytes(path.read_bytes()[:-share])
    log.add(access(3))

    found, torn = log.all()
    assert [one.pid for one in found] == [1, 3]
    assert torn == 1


def write(path, who):
    """Add many lines, as a process among others."""
    for number in range(200):
        AccessLog(path).add(access(number, who=who, detail="x" * 500), lasting=False)


def test_processes_that_write_at_once_lose_no_line(tmp_path):
    """Each line is whole."""
    path = tmp_path / "store.jsonl"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write, args=(path, w)) for w in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    found, torn = AccessLog(path).all()
    assert (len(found), torn) == (600, 0)
    for who in "abc":
        assert [one.pid for one in found if one.who == who] == list(range(200))


def test_what_cannot_be_recorded_is_refused(tmp_path):
    """With where and why."""
    (tmp_path / "access").write_text("a file")

    with pytest.raises(Unavailable, match="the access was not recorded in"):
        AccessLog(tmp_path / "access" / "store.jsonl").add(access())
