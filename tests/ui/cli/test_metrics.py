"""The numbers of a run as a scraper reads them."""

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from unit.run.write_goldens import FOLDER

from nbresume.run.view import RunView
from nbresume.ui import prometheus

VIEWS = sorted(FOLDER.glob("*.json"))


def samples(text):
    """Return (name, labels) → value, as Prometheus itself parses it."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.parametrize("path", VIEWS, ids=lambda path: path.stem)
def test_every_number_of_a_view_is_exposed(path):
    """Under the name that it has in the RunView, with the run and the workflow."""
    view = RunView.from_json(path.read_bytes())
    found = samples(prometheus.exposed(view))
    run = (("run", view.run_id), ("workflow", view.workflow))
    wanted = msgspec.structs.asdict(view.metrics)
    age = wanted.pop("resume_age_s")
    of_run = {
        name.removeprefix("nbresume_").removesuffix("_total"): value
        for (name, labels), value in found.items()
        if labels == run
    }

    assert of_run.pop("resume_age_seconds", None) == age
    assert of_run == wanted
    for step in view.steps:
        labels = tuple(sorted((*run, ("step", step.name))))
        assert found["nbresume_step_attempts_total", labels] == step.attempts
        assert found["nbresume_step_checkpoint_bytes", labels] == step.payload_bytes


def test_a_name_may_hold_anything():
    """Quotes, backslashes and line ends of a workflow's name come back."""
    view = RunView.from_json((FOLDER / "new.json").read_bytes())
    name = 'a "b"\\c\nd.ipynb'
    odd = msgspec.structs.replace(view, workflow=name)

    (labels,) = {
        dict(labels)["workflow"] for _, labels in samples(prometheus.exposed(odd))
    }
    assert labels == name


def test_a_run_that_cannot_be_read_has_one_number():
    """A scraper sees the mismatch although nothing else can be said."""
    assert samples(prometheus.unreadable("main.ipynb")) == {
        (
            "nbresume_schema_mismatches_total",
            (("run", ""), ("workflow", "main.ipynb")),
        ): 1.0
    }


def test_nothing_of_the_process_is_exposed():
    """No number of Python or of the machine, and none of another run."""
    view = RunView.from_json((FOLDER / "new.json").read_bytes())
    names = {name for name, _ in samples(prometheus.exposed(view))}

    assert all(name.startswith("nbresume_") for name in names)
