"""Why a step would be replayed, run or refused: its verdict, cue by cue.

The rule: a pure function of the folded state, notebook order and the RunView; what is
known only when the step runs is told as not known, never guessed.
"""

from difflib import unified_diff
from typing import Protocol

import msgspec

from nbresume.model.folded import RunState
from nbresume.model.histories import Commit
from nbresume.model.records import Committed
from nbresume.model.states import State
from nbresume.model.values import FileState
from nbresume.plan.code_version import version_of_text
from nbresume.plan.header import body_of
from nbresume.plan.key import file_moved
from nbresume.plan.planner import Verdict
from nbresume.run.file_states import Files, Where, version_of
from nbresume.run.moved import is_edited, maker_of, reads_of
from nbresume.run.order import Order
from nbresume.run.position import Positions, Wanted
from nbresume.run.setters import Setters
from nbresume.run.view import RunView, StepView
from nbresume.run.ways import Way

RUN = "run"
"""What a step does that has never run, in place of `Verdict.RERUN`."""
_LATER = "known when the step runs"


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    pass


class PlannedStep(_Told, frozen=True, kw_only=True):
    """What running all cells would do with one step."""

    step: str
    cell_id: str
    verdict: str
    """replay, rerun, not taken or refused; run for a step that has never run."""
    duration_s: float | None
    """How long it took last time."""
    why: str
    title: str = ""
    """First words of its cell, if nobody gave it a name; else empty."""


class Plan(_Told, frozen=True, kw_only=True):
    """What running all cells would do."""

    headline: str
    differs: list[str]
    steps: list[PlannedStep]


class Cue(_Told, frozen=True, kw_only=True):
    """One thing that a commit depends on, as it was and as it is."""

    cue: str
    """``its code``, ``input x``, ``after load``."""
    then: str
    """Its version at the commit; empty if it was none."""
    now: str
    is_changed: bool | None
    """None: it is known only when the step runs."""
    text: str
    then_shown: str = ""
    """What it was, in short: a preview of the value, the size of the file."""
    now_shown: str = ""
    diff: list[str] = []
    """Of the code, line by line as `difflib` writes it."""


class Explained(_Told, frozen=True, kw_only=True):
    """Why a step would be replayed, run or refused."""

    step: str
    verdict: str
    sentence: str
    cues: list[Cue]
    """Empty if the step has no commit."""
    ways: list[Way]


def verdict_of(step: StepView) -> str:
    """Return what running all cells would do with a step, in one word."""
    if step.plan is Verdict.RERUN and step.revision < 0 and not step.attempts:
        return RUN
    return step.plan.value


class Sources(Protocol):
    """What explains better than a digest."""

    def preview(self, commit: Commit, name: str) -> str:
        """Return what a commit's value looks like; "" if nothing tells it."""

    def code(self, commit: Commit) -> str:
        """Return the text of the cell that a commit was made of; "" if it is lost."""


class NoSources:
    """Nothing but digests: a run that is not trusted."""

    def preview(self, commit: Commit, name: str) -> str:  # noqa: ARG002 - a protocol
        """Return nothing."""
        return ""

    def code(self, commit: Commit) -> str:  # noqa: ARG002 - a protocol
        """Return nothing."""
        return ""


def explain(
    step: StepView,
    view: RunView,
    state: RunState,
    order: Order,
    *,
    files: Files,
    sources: Sources,
) -> Explained:
    """Return why a step would be replayed, run or refused.

    Parameters
    ----------
    step
        The step, as the view shows it.
    view
        The whole run: what runs above moves inputs below.
    state, order
        The folded state, and the notebook's cells in order.
    files
        Compares files.
    sources
        Previews of values, and the text of cells that ran.
    """
    history = state.step(step.name)
    commit = history.commit() if history else None
    cues: list[Cue] = []
    if commit is not None and step.place >= 0:
        where = Where(state, order, step.place)
        holding = (Verdict.REPLAY, Verdict.NOT_TAKEN)
        rerun = {s.name for s in view.steps if s.plan not in holding}
        inputs = _Inputs(commit, where, rerun, sources)
        cues = [
            _code(commit, order.cells[step.place].source, sources),
            *(inputs.cue(name, then) for name, then in commit.record.inputs.items()),
            *_files(commit.record, where, files, rerun),
            *_after(commit, state, rerun),
        ]
    return Explained(
        step=step.name,
        verdict=verdict_of(step),
        sentence=_sentence(step),
        cues=cues,
        ways=step.ways,
    )


def _sentence(step: StepView) -> str:
    reasons = "; ".join(step.reasons)
    match step.plan:
        case Verdict.REPLAY:
            why = reasons or "nothing that it depends on has changed"
            return f"step {step.name} is replayed: {why}"
        case Verdict.NOT_TAKEN:
            return f"step {step.name} is not taken: {reasons}, and stays so"
        case Verdict.REFUSED:
            stale = step.state is State.STALE
            held = "it is committed and acts on the outside; " if stale else ""
            return f"step {step.name} is refused: {held}{reasons or step.state.value}"
    why = reasons or ("new" if step.revision < 0 else "asked for, or --always")
    return f"step {step.name} runs: {why}"


def _code(commit: Commit, source: str, sources: Sources) -> Cue:
    # a body with magics is no plain Python: its version is known when it runs
    body = body_of(source)
    now = version_of_text(body) if source else ""
    cue = _cue("its code", commit.record.code_version, now)
    if not cue.is_changed:
        return cue
    former = body_of(sources.code(commit)).splitlines()
    diff = unified_diff(former, body.splitlines(), lineterm="", n=1)
    return msgspec.structs.replace(cue, diff=list(diff)[2:] if former else [])


class _Inputs:
    """The inputs of one step, each as it was and as it stands now."""

    def __init__(
        self, commit: Commit, where: Where, rerun: set[str], sources: Sources
    ) -> None:
        self._commit = commit
        self._where = where
        self._rerun = rerun
        self._sources = sources
        self._positions = Positions(where.state, where.order)
        self._setters = Setters(where.order)

    def cue(self, name: str, version: str) -> Cue:
        """Return one input as a cue."""
        demand = self._positions.demand(name, self._where.n)
        made = demand.commit.record.step if demand.commit else ""
        kept = self._commit.ambient.get(name)
        cue = f"input {name}"
        if demand.wanted is Wanted.VALUE and made in self._rerun:
            told = _unknown(cue, version, f"step {made} runs")
        elif is_edited(self._setters, name, kept, demand, self._where.n):
            told = _unknown(cue, version, "a plain cell that sets it is edited")
        elif demand.wanted is not Wanted.VALUE:
            told = _unknown(cue, version, "a plain cell makes it")
        elif kept is not None and kept.base == demand.version:
            told = _unknown(cue, version, f"a plain cell changes {made}'s value")
        else:
            told = _cue(cue, version, demand.version, by=made)
        then = self._preview(name, version, made)
        now = self._preview(name, told.now, made) if told.is_changed else ""
        return msgspec.structs.replace(told, then_shown=then, now_shown=now)

    def _preview(self, name: str, version: str, made: str) -> str:
        """Return what a version of a name looks like, from the commit that made it."""
        history = self._where.state.step(made) if made else None
        for commit in history.commits.values() if history else ():
            output = commit.record.outputs.get(name)
            if output is not None and output.version == version:
                return self._sources.preview(commit, name)
        return ""


def _files(record: Committed, where: Where, files: Files, rerun: set[str]) -> list[Cue]:
    today = files.today(record, where, reads_of(where))
    return [
        _file(name, now, record, where, files, rerun) for name, now in today.items()
    ]


def _file(
    name: str,
    now: str,
    record: Committed,
    where: Where,
    files: Files,
    rerun: set[str],
) -> Cue:
    state = record.files.get(name)
    then = version_of(state) if state is not None else ""
    module = state.module if state is not None else ""
    cue = f"module {module} ({name})" if module else f"file {name}"
    maker = maker_of(name, where, rerun)
    if maker:
        return _unknown(cue, then, f"step {maker} runs")
    moved = then != now
    return Cue(
        cue=cue,
        then=then,
        now=now,
        is_changed=moved,
        text=file_moved(name, then or None, now) if moved else "as it was",
        then_shown=shown(state),
        now_shown=shown(files.present(name, state)) if moved else "",
    )


def shown(state: FileState | None) -> str:
    """Return a file's state for people: its size and the head of its digest."""
    if state is None:
        return ""
    if state.kind in ("absent", "unknown"):
        return state.why or "not there"
    unit = {"file": "bytes", "folder": "entries"}.get(state.kind, "files")
    return f"{state.size} {unit}, {state.digest[:8]}"


def _after(commit: Commit, state: RunState, rerun: set[str]) -> list[Cue]:
    cues = []
    for step, key in commit.record.after.items():
        other = state.commit(step)
        if step in rerun or other is None:
            cues.append(_unknown(f"after {step}", key, f"step {step} runs"))
        else:
            cues.append(_cue(f"after {step}", key, other.record.key, by=step))
    return cues


def _unknown(cue: str, then: str, because: str) -> Cue:
    return Cue(cue=cue, then=then, now="", is_changed=None, text=f"{_LATER}: {because}")


def _cue(cue: str, then: str, now: str, *, by: str = "") -> Cue:
    if not now:
        return _unknown(cue, then, "its cell has magics")
    changed = then != now
    made = f", made by step {by}" if by else ""
    text = f"changed{made}" if changed else f"as it was{made}"
    return Cue(cue=cue, then=then, now=now, is_changed=changed, text=text)
