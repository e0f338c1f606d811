"""The power-cut experiment: one order, two worlds, one moment at which the power goes.

Its one rule: what is shown is what the service's ledger and the journal say.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from lab import Ended, Lab
from power import MOMENTS, VARIABLE
from service import Ledger, serving
from shop import ADDRESS

STEPS = ("reserve", "charge", "ledger", "ship", "notify")


@dataclass(frozen=True, slots=True)
class Order:
    """What the workflow is about; made from a seed, so that it is the same again."""

    cents: int
    minutes: tuple[int, ...]
    """How long each step would take in real life."""


def order_of(seed: int) -> Order:
    """Return the order that belongs to a seed."""
    draw = random.Random(seed)
    return Order(draw.randrange(2_000, 20_000), tuple(draw.sample(range(2, 60), 5)))


@dataclass(frozen=True, slots=True)
class World:
    """What came of the order in one world."""

    counts: tuple[int, ...]
    """How often the service was asked for each step."""
    cents: int
    """Money that moved."""
    lost_minutes: int
    """Work that was done again."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What stood there when the power was back, and what it took to go on."""

    locked: tuple[str, ...]
    resume_from: str
    state: str
    """Of the step in which the power went."""
    decision: str
    """What a person typed; empty if nobody had to."""
    said: str = field(compare=False)
    """What nbresume said of that step; it names times and processes."""
    events: tuple[str, ...] = field(compare=False)
    """New entries of the audit trail about that step, but for its commit."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """What happened, with checkpoints and without."""

    step: str
    moment: str
    due_cents: int
    kept: World
    """With nbresume."""
    recovery: Recovery
    rerun: World
    """All cells again, from the top."""


def with_checkpoints(order: Order) -> list[str]:
    """Return the cells of the workflow as durable steps."""
    return [
        "%load_ext nbresume",
        "import power, shop\npower.arm()",
        *(f"%%step {step}\n{step}_receipt = {asked}" for step, asked in _calls(order)),
    ]


def without_checkpoints(order: Order) -> list[str]:
    """Return the same cells without nbresume."""
    calls = ((step, asked[:-1] + ", alone=True)") for step, asked in _calls(order))
    return ["import shop", *(f"{step}_receipt = {asked}" for step, asked in calls)]


def _calls(order: Order) -> Iterable[tuple[str, str]]:
    for step in STEPS:
        amount = f", {order.cents}" if step == "charge" else ""
        yield step, f"shop.call({step!r}{amount})"


def experiment(step: int, moment: int, *, seed: int) -> Experiment:
    """Cut the power in a step (1 to 5) at a moment (0 to 3); return what came of it."""
    order, name = order_of(seed), STEPS[step - 1]
    with ThreadPoolExecutor(2) as both:
        kept = both.submit(_with, order, name, moment)
        rerun = both.submit(_without, order, name, moment)
        world, recovery = kept.result()
        return Experiment(
            step=name,
            moment=MOMENTS[moment],
            due_cents=order.cents,
            kept=world,
            recovery=recovery,
            rerun=rerun.result(),
        )


def _without(order: Order, step: str, moment: int) -> World:
    """Run all cells, lose the kernel, run all cells."""
    ledger = Ledger()
    with serving(ledger) as address, Lab(without_checkpoints(order)) as lab:
        lab.env[ADDRESS] = address
        _died(lab.run(**{VARIABLE: f"{step}:{moment}"}), step)
        _whole(lab.run())
    return _world(ledger, order)


def _with(order: Order, step: str, moment: int) -> tuple[World, Recovery]:
    """Do the same with durable steps; what is in doubt is decided by the ledger."""
    ledger = Ledger()
    with serving(ledger) as address, Lab(with_checkpoints(order)) as lab:
        lab.env[ADDRESS] = address
        _died(lab.run(**{VARIABLE: f"{step}:{moment}"}), step)
        back, before = lab.status(), lab.history()
        ended, decision = lab.run(), ""
        if ended.refused:
            decision = _decide(lab, ledger, step)
            _whole(lab.run())
        after = lab.history()[len(before) :]
    recovery = Recovery(
        locked=tuple(s["name"] for s in back["steps"] if s["locked"]),
        resume_from=back["resume_from"],
        state=next(s["state"] for s in back["steps"] if s["name"] == step),
        decision=decision,
        said=ended.refused or _told(ended, step),
        events=tuple(
            f"{event['text']}: {event['why']}"
            for event in after
            if event["step"] == step and "committed" not in event["text"]
        ),
    )
    return _world(ledger, order), recovery


def _told(ended: Ended, step: str) -> str:
    """Return what nbresume printed about a step that was not refused."""
    lines = "\n".join(ended.said).splitlines()
    return next((line for line in lines if f"step {step}" in line), "")


def _decide(lab: Lab, ledger: Ledger, step: str) -> str:
    """Look outside, as a person would, and type what was seen."""
    receipt = ledger.receipt_of(step)
    if receipt:
        words = ["evidence", "--because", "the ledger has it", "--kind", "receipt"]
        words += ["--reference", receipt, "--value", f"{step}_receipt={receipt!r}"]
    else:
        words = ["retry", "--because", "the ledger has nothing"]
    lab.tell("resolve", step, *words)
    return f"nbresume resolve … {step} {' '.join(words[:3])}"


def _world(ledger: Ledger, order: Order) -> World:
    counts = ledger.counts(STEPS)
    again = zip(counts, order.minutes, strict=True)
    lost = sum((count - 1) * minutes for count, minutes in again)
    return World(tuple(counts), ledger.money(), lost)


def _died(ended: Ended, step: str) -> None:
    assert ended.died_in, f"the power was not cut in {step}: {ended}"


def _whole(ended: Ended) -> None:
    assert ended.is_whole, ended
