"""RunView → the text format of Prometheus.

The rule: a registry for each answer, and nothing registered elsewhere: what is told
are the numbers of one run, none of the process that tells them.
"""

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from nbresume.run.view import RunView

_RUN = ("run", "workflow")
_STEP = (*_RUN, "step")
_GAUGES = {
    "ambiguous": "Steps in doubt now.",
    "damaged_records": "Records that cannot be read.",
    "checkpoint_bytes": "Payload bytes that the commits that count wrote.",
}
_COUNTERS = {
    "attempts": "Bodies that were about to start.",
    "commits": "Commits of all steps.",
    "ambiguous_recoveries": "Attempts whose end was in doubt, settled or not.",
    "written_bytes": "Payload bytes that all commits wrote.",
    "revision_conflicts": "Appends of this process that lost against another writer.",
    "schema_mismatches": "Records that this process cannot read.",
}


class _Run(Collector):
    """One run as a collector."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._labels = (view.run_id, view.workflow)

    def collect(self) -> Iterable[Metric]:
        """Give each family of numbers."""
        numbers = self._view.metrics
        for name, told in _GAUGES.items():
            gauge = GaugeMetricFamily(f"nbresume_{name}", told, labels=_RUN)
            gauge.add_metric(self._labels, getattr(numbers, name))
            yield gauge
        for name, told in _COUNTERS.items():
            counter = CounterMetricFamily(f"nbresume_{name}", told, labels=_RUN)
            counter.add_metric(self._labels, getattr(numbers, name))
            yield counter
        age = GaugeMetricFamily(
            "nbresume_resume_age_seconds", "Age of the newest commit.", labels=_RUN
        )
        if numbers.resume_age_s is not None:
            age.add_metric(self._labels, numbers.resume_age_s)
        yield age
        yield from self._steps()

    def _steps(self) -> Iterable[Metric]:
        size = GaugeMetricFamily(
            "nbresume_step_checkpoint_bytes",
            "Payload bytes that the commit that counts wrote.",
            labels=_STEP,
        )
        tried = CounterMetricFamily(
            "nbresume_step_attempts", "Attempts of the step.", labels=_STEP
        )
        for step in self._view.steps:
            labels = (*self._labels, step.name)
            size.add_metric(labels, step.payload_bytes)
            tried.add_metric(labels, step.attempts)
        return size, tried


class _Unreadable(Collector):
    """A run of which a record is of an unknown format."""

    def __init__(self, workflow: str) -> None:
        self._workflow = workflow

    def collect(self) -> Iterable[Metric]:
        """Give the one number that is known."""
        name = "schema_mismatches"
        counter = CounterMetricFamily(f"nbresume_{name}", _COUNTERS[name], labels=_RUN)
        counter.add_metric(("", self._workflow), 1)
        yield counter


def exposed(view: RunView) -> str:
    """Return the numbers of a run as a scraper reads them."""
    return _text(_Run(view))


def unreadable(workflow: str) -> str:
    """Return what can be said of a run that this release cannot read."""
    return _text(_Unreadable(workflow))


def _text(collector: Collector) -> str:
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry).decode()
