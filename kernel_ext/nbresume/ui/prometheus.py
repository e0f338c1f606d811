"""RunView → the text format of Prometheus.

The rule: a registry for each answer: what is told are the numbers of one run, none of
the process that tells them. A server has its own collector, of the same families.
"""

from collections.abc import Iterable, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from nbresume.run.metrics import Metrics
from nbresume.run.view import RunView

Family = GaugeMetricFamily | CounterMetricFamily
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


class Families:
    """The families of numbers about runs, with the labels that a face gives them."""

    def __init__(self, labels: Sequence[str]) -> None:
        self._families: dict[str, Family] = {
            name: GaugeMetricFamily(f"nbresume_{name}", told, labels=labels)
            for name, told in _GAUGES.items()
        }
        for name, told in _COUNTERS.items():
            family = CounterMetricFamily(f"nbresume_{name}", told, labels=labels)
            self._families[name] = family
        self._families["resume_age_s"] = GaugeMetricFamily(
            "nbresume_resume_age_seconds", "Age of the newest commit.", labels=labels
        )

    def add(self, labels: Sequence[str], numbers: Metrics) -> None:
        """Take in the numbers of a run."""
        for name, family in self._families.items():
            value = getattr(numbers, name)
            if value is not None:
                family.add_metric(labels, value)

    def add_unreadable(self, labels: Sequence[str]) -> None:
        """Take in a run of which a record is of an unknown format."""
        self._families["schema_mismatches"].add_metric(labels, 1)

    def all(self) -> list[Family]:
        """Return them."""
        return list(self._families.values())


class _Run(Collector):
    """One run as a collector."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._labels = (view.run_id, view.workflow)

    def collect(self) -> Iterable[Metric]:
        """Give each family of numbers."""
        families = Families(_RUN)
        families.add(self._labels, self._view.metrics)
        yield from families.all()
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
