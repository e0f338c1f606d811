"""What is asked of a folded run at every step, at a cost that does not grow with it.

The rule: it is derived from the histories alone, is never stored, and follows each
record that the run applies; `RunState` is the only one that tells it.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from nbresume.model.histories import StepHistory
from nbresume.model.states import Outcome


class _Facts(Struct, frozen=True):
    """What one step's history adds to each table."""

    names: frozenset[str] = frozenset()
    """Names that its commit sets, could not keep, or deletes; erased or not."""
    data: frozenset[tuple[str, str]] = frozenset()
    """(id of a data object, name whose value is made of it) by its commit."""
    process: frozenset[str] = frozenset()
    """States of the process that its commit changed."""
    files: frozenset[str] = frozenset()
    """Files and folders that it made, moved, removed or added to."""
    cell: str = ""
    """Cell that it ran in last; "" if it never began."""
    cells: frozenset[str] = frozenset()
    """That one, and the one that it was committed in."""
    idempotency_key: str = ""
    is_unsettled: bool = False
    """Its newest attempt has no commit."""


class RunIndex:
    """Tables over the steps of one run."""

    def __init__(self, steps: Mapping[str, StepHistory]) -> None:
        self._steps = steps
        self._facts: dict[str, _Facts] = {}
        self._of_name = defaultdict[str, dict[str, None]](dict)
        self._of_data = defaultdict[str, dict[tuple[str, str], None]](dict)
        self._of_process = defaultdict[str, dict[str, None]](dict)
        self._of_file = defaultdict[str, dict[str, None]](dict)
        self._of_cell = defaultdict[str, dict[str, None]](dict)
        self._of_key = defaultdict[str, dict[str, None]](dict)
        self._of_lowered = defaultdict[str, dict[str, None]](dict)
        self._unsettled: dict[str, None] = {}
        self._first: list[tuple[str, str]] | None = []
        """(step, cell) in the order of first intents; None: not as it was any more."""
        for step in steps:
            self.note(step)

    def note(self, step: str) -> None:
        """Take what a step's history says now; nothing if it is gone."""
        known = self._facts.pop(step, None)
        if known is not None:
            self._remove(step, known)
        history = self._steps.get(step)
        if history is not None:
            self._facts[step] = facts = _facts_of(history)
            self._add(step, facts)
        self._stand(step, known)

    def _stand(self, step: str, former: _Facts | None) -> None:
        """Keep the order of first intents: most steps are new, or where they were."""
        first, now = self._first, self._facts.get(step)
        if first is None:
            return
        if now is None or (former is not None and former.cell != now.cell):
            self._first = None
        elif former is None:
            last = self._steps[first[-1][0]].first_revision if first else -1
            if self._steps[step].first_revision > last:
                first.append((step, now.cell))
            else:
                self._first = None

    def _add(self, step: str, facts: _Facts) -> None:
        for name in facts.names:
            self._of_name[name][step] = None
        for data, name in facts.data:
            self._of_data[data][step, name] = None
        for state in facts.process:
            self._of_process[state][step] = None
        for file in facts.files:
            self._of_file[file][step] = None
        for cell in facts.cells:
            self._of_cell[cell][step] = None
        self._of_key[facts.idempotency_key][step] = None
        self._of_lowered[step.lower()][step] = None
        if facts.is_unsettled:
            self._unsettled[step] = None

    def _remove(self, step: str, facts: _Facts) -> None:
        for name in facts.names:
            del self._of_name[name][step]
        for data, name in facts.data:
            del self._of_data[data][step, name]
        for state in facts.process:
            del self._of_process[state][step]
        for file in facts.files:
            del self._of_file[file][step]
        for cell in facts.cells:
            del self._of_cell[cell][step]
        del self._of_key[facts.idempotency_key][step]
        del self._of_lowered[step.lower()][step]
        self._unsettled.pop(step, None)

    # -- what is asked ----------------------------------------------------------

    def committing(self, name: str) -> list[str]:
        """Return the steps whose commit sets a name, could not keep or deletes it."""
        return list(self._of_name.get(name, ()))

    def made_of(self, data: str) -> list[tuple[str, str]]:
        """Return (step, name) of committed values made of a data object."""
        return list(self._of_data.get(data, ()))

    def process_states(self) -> set[str]:
        """Return the states of the process that commits changed."""
        return {state for state, steps in self._of_process.items() if steps}

    def changing(self, state: str) -> list[str]:
        """Return the steps whose commit changed a state of the process."""
        return list(self._of_process.get(state, ()))

    def writing(self, file: str) -> list[str]:
        """Return the steps whose commit made, moved, removed or added to a file."""
        return list(self._of_file.get(file, ()))

    def written_files(self) -> list[str]:
        """Return all files and folders that commits made, moved or removed."""
        return [file for file, steps in self._of_file.items() if steps]

    def of_cell(self, cell_id: str) -> list[StepHistory]:
        """Return the steps that ran in a cell last, or were committed in it."""
        return [self._steps[step] for step in self._of_cell.get(cell_id, ())]

    def spelled(self, lowered: str) -> list[StepHistory]:
        """Return the steps of this name, whatever its case, the oldest first."""
        found = [self._steps[step] for step in self._of_lowered.get(lowered, ())]
        return sorted(found, key=lambda history: history.first_revision)

    def first_intents(self) -> list[tuple[str, str]]:
        """Return (step, cell that it ran in last), in the order of first intents.

        The list grows at its end while nothing else changes; then it is another one.
        """
        if self._first is None:
            found = sorted(self._facts, key=lambda s: self._steps[s].first_revision)
            self._first = [(step, self._facts[step].cell) for step in found]
        return self._first

    def has_key(self, idempotency_key: str) -> bool:
        """Say whether the newest attempt of a step has this idempotency key."""
        return bool(self._of_key.get(idempotency_key))

    def unsettled(self) -> Iterator[StepHistory]:
        """Yield the steps whose newest attempt has no commit, the oldest first."""
        found = [self._steps[step] for step in list(self._unsettled)]
        yield from sorted(found, key=lambda history: history.first_revision)


def _facts_of(history: StepHistory) -> _Facts:
    attempt, commit = history.attempt, history.left()
    cell = attempt.intent.cell_id if attempt else ""
    facts = _Facts(
        cell=cell,
        cells=frozenset({cell} if attempt else ()),
        idempotency_key=attempt.intent.idempotency_key if attempt else "",
        is_unsettled=attempt is not None and attempt.outcome is not Outcome.COMMITTED,
    )
    if commit is None:
        return facts
    record = commit.record
    made_of = [(one, name) for name, o in record.outputs.items() for one in o.data]
    return replace(
        facts,
        names=frozenset({*record.outputs, *record.not_kept, *record.deleted}),
        data=frozenset(made_of),
        process=frozenset(record.process),
        files=frozenset({*record.made, *record.appended}),
        cells=facts.cells | {record.cell_id},
    )
