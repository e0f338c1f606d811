"""Under strace: what is promised is on the disk before anybody is told (P1, P4).

The planted faults that need no kernel (a rename in place of a link, no digest check
on read, no nonce read-back) are in ``tests/store/test_planted_faults.py``.
"""

import pytest
from real_kernel import plant
from traced import (
    check_commit_before_reply,
    check_intent_before_body,
    check_payloads_before_record,
    red,
    trace,
)

pytestmark = pytest.mark.kernel

COMMIT_LATER = """
import threading
from nbresume.run.stepper import Stepper
finish = Stepper.finish
def later(self, error, *, finished):
    if self._running is None:
        return
    timer = threading.Timer(0.3, finish, (self, error), {"finished": finished})
    timer.start()
    if "two" not in self._running.intent.step:
        timer.join()
Stepper.finish = later
"""

NO_FOLDER_FLUSH = """
from nbresume.store import disk
flush_folder = disk.flush_folder
def forgotten(path):
    if "/journal/" not in path:
        flush_folder(path)
disk.flush_folder = forgotten
"""

RECORD_FIRST = """
from nbresume.run.journal import Journal
from nbresume.store.drafts import Draft
write, flush, append = Draft.write, Draft.flush, Journal.append
waiting = []
Draft.write = lambda self: waiting.append((write, self))
Draft.flush = lambda self: waiting.append((flush, self))
def catch_up():
    while waiting:
        late, draft = waiting.pop(0)
        late(draft)
def early(self, record, **options):
    if not record.KIND.endswith("committed"):
        catch_up()
        return append(self, record, **options)
    revision = append(self, record, **options)
    catch_up()
    return revision
Journal.append = early
"""

INTENT_LAST = """
from nbresume.run.journal import Journal
append, waiting = Journal.append, []
def late(self, record, **options):
    if record.KIND.endswith("intent"):
        waiting.append(record)
        return self.state.revision + 1
    while waiting:
        append(self, waiting.pop())
    return append(self, record, **options)
Journal.append = late
"""


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """Return the trace of a kernel as it is."""
    return trace(tmp_path_factory.mktemp("healthy"))


def test_the_commit_is_durable_before_the_reply(healthy):
    """Record linked, its folder flushed, and only then the first byte of a reply."""
    check_commit_before_reply(healthy)


def test_every_payload_is_durable_before_its_record(healthy):
    """No record names bytes that a power cut could still take."""
    check_payloads_before_record(healthy)


def test_the_intent_is_durable_before_the_body(healthy):
    """Nothing that a body does can be without an intent on the disk."""
    check_intent_before_body(healthy)


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        pytest.param(COMMIT_LATER, check_commit_before_reply, id="reply-before-commit"),
        pytest.param(
            NO_FOLDER_FLUSH, check_commit_before_reply, id="reply-before-fsync"
        ),
        pytest.param(
            RECORD_FIRST, check_payloads_before_record, id="record-before-payload"
        ),
        pytest.param(INTENT_LAST, check_intent_before_body, id="intent-after-the-body"),
    ],
)
def test_a_planted_fault_is_caught(tmp_path, fault, check, healthy):
    """Each fault in the order of durable writes turns its check red."""
    (tmp_path / "run").mkdir()
    broken = trace(tmp_path / "run", plant(tmp_path / "fault", fault))

    assert not red(check, healthy)
    assert red(check, broken)
