"""RunView: the one read model that every face shows, as JSON with a schema.

The rule: a pure function of the newest folded state, notebook order and the
liveness of the claimant. It reads no payload and no namespace.
"""

from datetime import datetime
from typing import Any

import msgspec

from nbresume.model.states import State
from nbresume.model.values import Usage
from nbresume.plan.planner import Verdict
from nbresume.run.metrics import Metrics
from nbresume.run.ways import Way

SCHEMA = 1


LOCKED = (State.COMMITTED, State.STALE)


class _View(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ProgressView(_View, frozen=True, kw_only=True):
    """How far the loops of a step have come that is not committed."""

    position: int
    """Items of the outermost loop that is known that are done."""
    total: int
    """How many it has; -1 if that is not known."""
    at: datetime
    """When it was saved last."""
    text: str
    """In words, of loops in each other too: ``at item 300 of 1000``."""


class StepView(_View, frozen=True, kw_only=True):
    """One step as people see it."""

    name: str
    cell_id: str
    place: int
    """Place in notebook order; -1 if the step is not in the notebook."""
    state: State
    locked: bool
    """Committed: it is replayed, not run."""
    plan: Verdict
    reasons: list[str]
    """Why it is stale, in doubt or would run."""
    remedy: str
    """What to type next, if something has to be decided: the ways out in one line."""
    ways: list[Way]
    """The ways out, if something has to be decided."""
    evidence: list[str]
    """What a person is told before settling it: of the outside, of its effects."""
    started_at: datetime | None
    """Of the attempt whose outcome is unknown."""
    commit_number: int
    revision: int
    """Of the commit; -1 if none."""
    committed_at: datetime | None
    duration_s: float | None
    """Of the committed attempt, else of the last one."""
    payload_bytes: int
    attempts: int
    not_kept: dict[str, str]
    effects: list[str]
    """How the committed attempt is known to touch the outside."""
    has_effects: bool
    """It declared effects, has some on record, or is locked like one that did."""
    effect_count: int
    """Effects that are done, over all attempts."""
    open_effects: list[str]
    """Keys of effects that may or may not have happened."""
    outputs: list[str]
    always: bool = False
    """Its author lets it run each time: at every resume, too."""
    holds: bool = False
    """A resume may begin below it."""
    progress: ProgressView | None = None
    """How far it had come, if it is running or was cut off in a loop."""
    title: str = ""
    """First words of its cell, if nobody gave it a name; else empty."""


class ClaimView(_View, frozen=True, kw_only=True):
    """Who writes the run."""

    epoch: int
    pid: int
    host: str
    actor: str
    at: datetime
    product: str
    """The release of nbresume in that kernel."""
    alive: bool | None
    """None: it cannot be known from here."""
    mine: bool


class OriginView(_View, frozen=True, kw_only=True):
    """Of which run a run is a fork."""

    run: str
    at: str
    """The step behind which the fork begins."""
    revision: int
    """The newest record of the origin that counts for the fork."""


class RunView(_View, frozen=True, kw_only=True):
    """One run as people see it."""

    schema: int
    version: str
    """The release of nbresume that made the view."""
    run_id: str
    workflow: str
    notebook: str
    order: str
    """Where the order of the steps comes from."""
    trusted: bool
    differs: list[str]
    """In what the notebook is not that of the last claim, if that is another's."""
    headline: str
    """One sentence: where things stand."""
    resume_from: str
    """First step that does not hold; empty if all do."""
    resume_cell: str
    """Cell of that step."""
    revision: int
    steps: list[StepView]
    claim: ClaimView | None
    usage: Usage
    metrics: Metrics
    damaged: list[int]
    """Revisions that cannot be read."""
    origin: OriginView | None = None
    """The run that it is a fork of."""

    def to_json(self) -> bytes:
        """Return the view as JSON with sorted keys."""
        return msgspec.json.encode(self, order="sorted")

    @classmethod
    def from_json(cls, data: bytes) -> "RunView":
        """Return the view that `to_json` wrote."""
        return msgspec.json.decode(data, type=cls)


def schema() -> dict[str, Any]:
    """Return the JSON schema of the view; `runview.schema.json` repeats it."""
    return msgspec.json.schema(RunView)
