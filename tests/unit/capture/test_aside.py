"""What reading fills, and who refers to an object, is no part of a value."""

import os
import subprocess
import sys
import threading
from functools import cached_property

import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

from nbresume.capture.canonical import look
from nbresume.capture.looks import is_swapped

FIGURE = """
import gc
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from nbresume.capture.canonical import look
fig, axes = plt.subplots(2, 2)
axes[0, 0].plot([1, 2, 3], [1, 8, 4], label="a")
axes[0, 1].hist([1, 1, 2])
axes[1, 0].legend(["b"])
fig.savefig("/dev/null", format="png")
gc.collect()
print(look(fig, {}).digest)
"""


class Table:
    """A value that caches what it was asked for."""

    @cached_property
    def rows(self):
        """Return a list that is made once."""
        return [1, 2]

    @cached_property
    def lock(self):
        """Return what cannot be compared."""
        return threading.Lock()


def test_a_figure_has_one_digest_in_every_process():
    """Its transforms know their parents by addresses."""
    seeds = ("1", "2")
    digests = {
        subprocess.run(
            [sys.executable, "-c", FIGURE],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in seeds
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == 64


def test_reading_a_fitted_model_is_no_change():
    """Its results are computed when somebody asks, and kept."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=50)})
    data["y"] = 2 * data.x + rng.normal(size=50)
    models = [
        smf.ols("y ~ x", data).fit(),
        smf.glm("y ~ x", data).fit(),
        sm.tsa.ARIMA(data.y.to_numpy(), order=(1, 0, 0)).fit(),
    ]
    for model in models:
        before = look(model, {}).digest
        assert before is not None
        assert model.summary() is not None
        assert model.pvalues is not None
        assert model.predict() is not None
        assert look(model, {}).digest == before
        model.model.note = "more"
        assert look(model, {}).digest != before


def test_what_is_cached_is_reached():
    """It is pickled with the value, so another name for it is the same object."""
    table = Table()
    rows = table.rows
    seen = look(table, {})
    assert seen.reach[id(rows)] is rows
    assert seen.places_of({id(rows)}) == [id(rows)]
    assert id(rows) not in seen.visits


def test_a_cache_that_cannot_be_compared_does_not_matter():
    """The value can."""
    table = Table()
    before = look(table, {}).digest
    assert table.lock is not None
    assert look(table, {}).digest == before


def test_who_else_holds_the_attributes_is_no_change():
    """The dict is a place of the pickle then, but the value stands as it stood."""
    table = Table()
    table.name = "a"
    before = look(table, {})
    attributes = vars(table)
    now = look(table, {})
    assert now.places_of({id(attributes)}) == [id(attributes)]
    assert now.reach[id(attributes)] is attributes
    assert now.digest == before.digest
    assert now.visits.is_same(before.visits)
    assert not is_swapped(before, now, [{id(attributes): attributes}])
