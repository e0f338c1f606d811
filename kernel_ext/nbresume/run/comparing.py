"""In what two commits differ, and two runs: decisions, and what was kept for showing.

The rule: it rebuilds no value unless it is asked to, after the records were vouched
for, and then in a namespace of its own.
"""

import difflib
from collections.abc import Callable
from typing import Any

import msgspec

from nbresume.capture.differences import Difference, difference
from nbresume.capture.live import Live
from nbresume.errors import NbresumeError
from nbresume.model.histories import Commit, StepHistory
from nbresume.model.states import State
from nbresume.run.journal import Journal
from nbresume.run.past import past_of
from nbresume.run.ports import World
from nbresume.run.restore import Restorer
from nbresume.run.stored import Output, StoredStep, stored_by

StateOf = Callable[[StepHistory], State]


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One name, input or output, in two commits."""

    name: str
    equal: bool
    """Both have the same version."""
    old: str = ""
    """Version; empty if the commit does not have the name."""
    new: str = ""
    old_kind: str = ""
    """Class, dtype and shape, of an output that was kept."""
    new_kind: str = ""
    old_preview: str = ""
    new_preview: str = ""
    values: Difference | None = None
    """How the values differ, if they were loaded."""
    not_loaded: str = ""
    """Why they were not, though it was asked for."""


class CommitDiff(msgspec.Struct, frozen=True, kw_only=True):
    """In what two commits differ."""

    old: str
    """``NAME@COMMIT``."""
    new: str
    code: list[str]
    """Lines of a unified diff; empty if the text is the same."""
    same_code: bool
    """The code means the same: both have one code version."""
    inputs: list[Changed]
    outputs: list[Changed]


class StepPair(msgspec.Struct, frozen=True, kw_only=True):
    """One step in two runs. Of a step that one run lacks, nothing is equal."""

    step: str
    old_state: str
    new_state: str
    shared: bool
    """One commit: a fork shares it."""
    same_code: bool | None
    """None if one has no commit."""
    same_inputs: bool | None
    same_outputs: bool | None
    differing: list[str]
    """Outputs that differ."""


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, step by step."""

    old: str
    new: str
    steps: list[StepPair]


# -- two runs -------------------------------------------------------------------


def compare_runs(
    old: Journal, new: Journal, old_state: StateOf, new_state: StateOf
) -> RunComparison:
    """Return two runs step by step, in the order of first intents."""
    steps = dict.fromkeys([*_in_order(old), *_in_order(new)])
    pairs = []
    for step in steps:
        before, after = old.state.step(step), new.state.step(step)
        pairs.append(
            _pair(
                step,
                before.commit() if before else None,
                after.commit() if after else None,
                old_state=str(old_state(before)) if before else "",
                new_state=str(new_state(after)) if after else "",
            )
        )
    return RunComparison(old=old.run_id, new=new.run_id, steps=pairs)


def _in_order(journal: Journal) -> list[str]:
    histories = journal.state.steps.values()
    return [h.name for h in sorted(histories, key=lambda h: h.first_revision)]


def _pair(
    step: str,
    old: Commit | None,
    new: Commit | None,
    *,
    old_state: str,
    new_state: str,
) -> StepPair:
    a, b = old.record if old else None, new.record if new else None
    both = a is not None and b is not None
    versions = [
        {n: o.version for n, o in one.outputs.items()} | one.not_kept if one else {}
        for one in (a, b)
    ]
    differing = _differing(*versions) if both else []
    return StepPair(
        step=step,
        old_state=old_state,
        new_state=new_state,
        shared=a is not None and b is not None and a.attempt == b.attempt,
        same_code=a.code_version == b.code_version if a and b else None,
        same_inputs=a.inputs == b.inputs if a and b else None,
        same_outputs=not differing and a.deleted == b.deleted if a and b else None,
        differing=differing,
    )


def _differing(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return sorted(n for n in old.keys() | new.keys() if old.get(n) != new.get(n))


# -- two commits ----------------------------------------------------------------


def find_commits(
    journal: Journal, old: tuple[str, int | None], new: tuple[str, int | None]
) -> tuple[Commit, Commit]:
    """Return two commits by step and number.

    Raises
    ------
    NotCommitted
        The run has no such commit.
    """
    past = past_of(journal)
    return past.ended_with(*old).commit, past.ended_with(*new).commit


def compare_commits(
    journal: Journal, world: World, old: Commit, new: Commit, *, values: bool
) -> CommitDiff:
    """Return in what two commits of a run differ.

    Parameters
    ----------
    values
        Load the outputs that differ and compare them.

    Raises
    ------
    Damaged
        A payload is missing or not what its digest says.
    """
    kept = stored_by(journal, old), stored_by(journal, new)
    load = _Loader(journal, world) if values else None
    return CommitDiff(
        old=_label(old),
        new=_label(new),
        code=_code(old, new, *kept),
        same_code=old.record.code_version == new.record.code_version,
        inputs=_inputs(old.record.inputs, new.record.inputs),
        outputs=_outputs(old, new, kept, load),
    )


def _label(commit: Commit) -> str:
    return f"{commit.record.step}@{commit.record.commit_number}"


def _code(old: Commit, new: Commit, was: StoredStep, now: StoredStep) -> list[str]:
    lines = difflib.unified_diff(
        was.code.splitlines(),
        now.code.splitlines(),
        _label(old),
        _label(new),
        lineterm="",
    )
    return list(lines)


def _inputs(old: dict[str, str], new: dict[str, str]) -> list[Changed]:
    return [
        Changed(
            name=name,
            equal=old.get(name) == new.get(name),
            old=old.get(name, ""),
            new=new.get(name, ""),
        )
        for name in sorted(old.keys() | new.keys())
    ]


def _outputs(
    old: Commit,
    new: Commit,
    kept: tuple[StoredStep, StoredStep],
    load: "_Loader | None",
) -> list[Changed]:
    was, now = ({one.name: one for one in stored.outputs} for stored in kept)
    before, after = old.record.outputs, new.record.outputs
    found = []
    for name in sorted(was.keys() | now.keys()):
        versions = [o[name].version if name in o else "" for o in (before, after)]
        equal = versions[0] == versions[1] != ""
        told: dict[str, Any] = {}
        if load is not None and not equal:
            told = load.compare(name, old, new)
        found.append(
            Changed(
                name=name,
                equal=equal,
                old=versions[0],
                new=versions[1],
                old_kind=_kind(was.get(name)),
                new_kind=_kind(now.get(name)),
                old_preview=_preview(was.get(name)),
                new_preview=_preview(now.get(name)),
                **told,
            )
        )
    return found


def _kind(output: Output | None) -> str:
    if output is None:
        return ""
    if output.not_kept:
        return f"not kept: {output.not_kept}"
    shape = "" if output.shape is None else f"({', '.join(map(str, output.shape))})"
    return " ".join(filter(None, [output.kind, output.dtype, shape]))


def _preview(output: Output | None) -> str:
    return output.preview.get("text/plain", "") if output else ""


class _Loader:
    """Loads values of commits into namespaces that nobody else sees."""

    def __init__(self, journal: Journal, world: World) -> None:
        self._journal = journal
        self._world = world

    def compare(self, name: str, old: Commit, new: Commit) -> dict[str, Any]:
        """Return how a name's values differ, or why they were not loaded."""
        for commit in (old, new):
            if name not in commit.record.outputs:
                return {"not_loaded": f"{_label(commit)} has no value of it"}
        try:
            values = [self._load(name, commit) for commit in (old, new)]
        except NbresumeError as error:
            return {"not_loaded": error.because or str(error)}
        return {"values": difference(*values)}

    def _load(self, name: str, commit: Commit) -> Any:
        live = Live({}, new_nonce=self._world.ids.nonce)
        Restorer(live, self._journal.objects, self._world).bind(name, commit)
        live.load(name)
        return live.namespace[name]
