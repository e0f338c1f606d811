"""Opening a run costs one fold and the records after it, however long the run is."""

import msgspec
from fakes import Lab
from msgspec.structs import replace
from samples import COMMITTED, INTENT

from nbresume.compose import stores
from nbresume.model.codec import canonical
from nbresume.model.values import FoldRef

STEPS = ("load", "clean", "join", "fit", "plot")


class _Weighed:
    """A backend that weighs what is read."""

    def __init__(self, backend):
        self._backend = backend
        self.files = 0
        self.bytes = 0

    def __getattr__(self, name):
        return getattr(self._backend, name)

    def read(self, key):
        """Read a file whole."""
        data = self._backend.read(key)
        self._weigh(len(data))
        return data

    def read_into(self, key, target, *, offset=0):
        """Read a part of a file."""
        self._backend.read_into(key, target, offset=offset)
        self._weigh(len(target))

    def _weigh(self, count):
        self.files += 1
        self.bytes += count


def grow(kernel, *, revisions):
    """Append intents and commits as steps do until the chain is that long."""
    journal = kernel.journal
    kernel.parts.claims.ensure(kernel.session.order())
    while journal.state.revision + 1 < revisions:
        number = journal.state.revision
        step, attempt = STEPS[number // 2 % len(STEPS)], f"a-{number}"
        journal.append(replace(INTENT, step=step, attempt=attempt, key=attempt))
        draft = journal.objects.draft(attempt)
        fold = journal.fold
        if journal.wants_fold():
            data = canonical(msgspec.to_builtins(journal.state, str_keys=True))
            offset, length, digest = draft.add_to_pack(data)
            fold = FoldRef(
                revision=journal.state.revision,
                group=attempt,
                offset=offset,
                length=length,
                digest=digest,
            )
        draft.write()
        journal.append(
            replace(COMMITTED, step=step, attempt=attempt, key=attempt, fold=fold)
        )


def opened(lab, run_id):
    """Open the run in a new process; return what it read and its newest state."""
    weighed = _Weighed(lab.backend)
    lab.backend, backend = weighed, lab.backend
    journal = stores.open_journal(lab.store(), run_id, lab.world())
    journal.open()
    lab.backend = backend
    return weighed, journal


def dearest(lab, kernel, *, revisions):
    """Return the most files and bytes that opening reads around that length.

    How many records stand after the newest fold depends on where it fell.
    """
    files = weight = 0
    for length in range(revisions, revisions + 80, 5):
        grow(kernel, revisions=length)
        read, journal = opened(lab, kernel.run_id)
        assert journal.state == kernel.journal.state
        files, weight = max(files, read.files), max(weight, read.bytes)
    return files, weight


def test_opening_a_long_run_reads_no_more_than_opening_a_short_one():
    """A run of 10,000 revisions opens with the files and bytes of one of 100."""
    lab = Lab(**{step: f"%%step {step}" for step in STEPS})
    kernel = lab.kernel()
    files, weight = dearest(lab, kernel, revisions=100)
    files_later, weight_later = dearest(lab, kernel, revisions=10_000)

    assert kernel.journal.state.revision >= 10_000
    assert files_later <= 2 * files
    assert weight_later <= 2 * weight
