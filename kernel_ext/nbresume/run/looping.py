"""How far the loops of a step have come, as every face shows it."""

from nbresume.model.histories import StepHistory
from nbresume.model.progress import newest, outermost, spoken
from nbresume.run.view import ProgressView


def progress_view(history: StepHistory | None) -> ProgressView | None:
    """Return how far a step has come; None if it saved no progress since its commit."""
    last = newest(history.progress) if history else None
    if history is None or last is None:
        return None
    outer = outermost(history.progress, last).record
    return ProgressView(
        position=outer.position,
        total=outer.total,
        at=last.at,
        text=spoken(history.progress),
    )
