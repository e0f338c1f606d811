"""The power-cut experiment: two sliders, three figures, and what was said.

Its one rule: without ipywidgets the same is shown, and where to set what the sliders
would set.
"""

from __future__ import annotations

import html
from typing import Any

from figures import side_by_side
from orders import STEPS, Experiment, experiment
from power import MOMENTS

try:
    import ipywidgets
except ModuleNotFoundError:
    ipywidgets = None

NO_SLIDERS = (
    "<p>The sliders need ipywidgets: <code>%pip install ipywidgets</code>, then "
    "restart the kernel. Without them type <code>desk.go(4, 0); desk.panel</code> "
    "into a cell: "
    f"the step, 1 to {len(STEPS)} ({', '.join(STEPS)}), and the moment, "
    f"0 to {len(MOMENTS) - 1} ({', '.join(MOMENTS)}).</p>"
)


class Desk:
    """What came of the experiment that was made last; its panel shows it.

    Parameters
    ----------
    seed
        Of the order: the same seed, step and moment give the same result.
    """

    def __init__(self, *, seed: int) -> None:
        self._seed = seed
        self.found = self.go(3, 1)
        self.panel: Any = self if ipywidgets is None else sliders(self)

    def go(self, step: int, moment: int) -> Experiment:
        """Cut the power in a step (1 to 5) at a moment (0 to 3)."""
        self.found = experiment(step, moment, seed=self._seed)
        return self.found

    def _repr_html_(self) -> str:
        return side_by_side(self.found) + told(self.found) + NO_SLIDERS

    def __repr__(self) -> str:
        return "the figures are shown where HTML is: in Jupyter"


def sliders(desk: Desk) -> Any:
    """Return sliders for step and moment; every move runs the experiment again."""
    slow = {
        "continuous_update": False,
        "style": {"description_width": "9em"},
        "layout": {"width": "34em"},
    }
    step = ipywidgets.SelectionSlider(
        options=[(name, n) for n, name in enumerate(STEPS, 1)],
        value=3,
        description="the power goes in",
        **slow,
    )
    moment = ipywidgets.SelectionSlider(
        options=[(name, n) for n, name in enumerate(MOMENTS)],
        value=1,
        description="at the moment",
        **slow,
    )
    figures, words = ipywidgets.HTML(), ipywidgets.HTML()

    def show() -> None:
        figures.value, words.value = side_by_side(desk.found), told(desk.found)

    def moved(_: Any) -> None:
        words.value = "<i>two real kernels run, one is killed, both go on …</i>"
        desk.go(step.value, moment.value)
        show()

    show()
    for slider in (step, moment):
        slider.observe(moved, names="value")
    return ipywidgets.VBox([step, moment, figures, words])


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
