"""The power-cut experiment: two sliders, three figures, and what was said."""

from __future__ import annotations

import html

import ipywidgets
from figures import side_by_side
from orders import STEPS, Experiment, experiment
from power import MOMENTS


class Desk:
    """Sliders for step and moment; every move runs the experiment again.

    Parameters
    ----------
    seed
        Of the order: the same seed and the same place of the sliders give the same
        result.
    """

    def __init__(self, *, seed: int) -> None:
        self._seed = seed
        slow = {
            "continuous_update": False,
            "style": {"description_width": "9em"},
            "layout": {"width": "34em"},
        }
        self.step = ipywidgets.SelectionSlider(
            options=[(name, n) for n, name in enumerate(STEPS, 1)],
            value=3,
            description="the power goes in",
            **slow,
        )
        self.moment = ipywidgets.SelectionSlider(
            options=[(name, n) for n, name in enumerate(MOMENTS)],
            value=1,
            description="at the moment",
            **slow,
        )
        self.figures, self.words = ipywidgets.HTML(), ipywidgets.HTML()
        self.found: Experiment | None = None
        for slider in (self.step, self.moment):
            slider.observe(lambda _: self.go(), names="value")
        self.panel = ipywidgets.VBox([self.step, self.moment, self.figures, self.words])
        self.go()

    def go(self) -> None:
        """Run the experiment where the sliders stand, and show what came of it."""
        self.words.value = "<i>two real kernels run, one is killed, both go on …</i>"
        self.found = experiment(self.step.value, self.moment.value, seed=self._seed)
        self.figures.value = side_by_side(self.found)
        self.words.value = told(self.found)


def told(found: Experiment) -> str:
    """Return what stood there when the power was back, in sentences."""
    back = found.recovery
    locked = f"{len(back.locked)} of {len(STEPS)} steps locked"
    names = ", ".join(back.locked) or "none"
    point = back.resume_from or "nothing: all are committed"
    lines = [
        f"The power went in <b>{found.step}</b> ({found.moment}).",
        f"When it was back: {locked} ({names}); <b>{found.step}</b> is {back.state}.",
        f"It goes on at <b>{point}</b>.",
        f"nbresume said: <i>{html.escape(back.said)}</i>",
    ]
    if back.decision:
        lines.append(
            "A person looked into the service's ledger, and typed: "
            f"<code>{html.escape(back.decision)}</code>"
        )
    if back.events:
        event = html.escape("; ".join(back.events))
        lines.append(f"New in the audit trail: <i>{event}</i>")
    return "".join(f"<p>{line}</p>" for line in lines)
