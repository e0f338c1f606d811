"""How long machines live, with lifelines and figures that are kept in names.

`CELLS` maps a cell's id to its text; ids that begin with ``p`` are plain cells.
"""

CELLS = {
    "p_imports": """
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lifelines import (
    CoxPHFitter, KaplanMeierFitter, NelsonAalenFitter, WeibullAFTFitter,
    WeibullFitter)
from lifelines.statistics import logrank_test
from lifelines.utils import concordance_index
""",
    "make": """%%step make
rng = np.random.default_rng(11)
n = 180
machines = pd.DataFrame({
    "age": rng.uniform(0, 10, n),
    "load": rng.normal(0, 1, n),
    "line": rng.choice(["a", "b"], n),
})
""",
    "life": """%%step life
scale = np.exp(2.5 - 0.08 * machines.age - 0.3 * machines.load)
life = rng.weibull(1.4, n) * scale
stop = rng.uniform(2, 25, n)
machines["weeks"] = np.minimum(life, stop).clip(lower=0.1)
machines["failed"] = life <= stop
""",
    "groups": """%%step groups
is_a = machines.line == "a"
groups = {name: part for name, part in machines.groupby("line")}
first = groups["a"]
""",
    "kaplan": """%%step kaplan
kaplan = KaplanMeierFitter(label="all")
kaplan.fit(machines.weeks, machines.failed)
median = kaplan.median_survival_time_
""",
    "curve": """%%step curve
curve = kaplan.survival_function_
at_ten = float(kaplan.predict(10.0))
""",
    "figure": """%%step figure
figure, axes = plt.subplots(figsize=(4, 3))
kaplan.plot_survival_function(ax=axes)
axes.set_title("all machines")
plt.close(figure)
""",
    "p_size": "size = figure.get_size_inches().tolist()",
    "label": """%%step label
axes.set_xlabel("weeks")
axes.axvline(10, color="grey")
""",
    "lines": """%%step lines
line = axes.get_lines()[0]
line.set_linewidth(3)
""",
    "by_line": """%%step by_line
fits = {}
for name, part in groups.items():
    fits[name] = KaplanMeierFitter(label=name).fit(part.weeks, part.failed)
del name, part
""",
    "grid": """%%step grid
grid, panels = plt.subplots(1, 2)
for panel, name in zip(panels, fits):
    fits[name].plot_survival_function(ax=panel, ci_show=False)
left_panel = panels[0]
plt.close(grid)
del panel, name
""",
    "rank": """%%step rank
rank = logrank_test(
    first.weeks, groups["b"].weeks, first.failed, groups["b"].failed)
p_value = rank.p_value
""",
    "aalen": """%%step aalen
aalen = NelsonAalenFitter().fit(machines.weeks, machines.failed)
hazard = aalen.cumulative_hazard_
""",
    "weibull": """%%step weibull
weibull = WeibullFitter().fit(machines.weeks, machines.failed)
shape = (weibull.lambda_, weibull.rho_)
""",
    "design": """%%step design
design = machines[["age", "load", "weeks", "failed"]].copy()
design["is_a"] = is_a.astype(int)
""",
    "cox": """%%step cox
cox = CoxPHFitter(penalizer=0.01).fit(design, "weeks", "failed")
risks = cox.predict_partial_hazard(design)
""",
    "p_names": "covariates = list(cox.params_.index)",
    "same": """%%step same
models = {"cox": cox}
best = models["cox"]
""",
    "concordance": """%%step concordance
concordance = concordance_index(design.weeks, -risks, design.failed)
""",
    "formula": """%%step formula
formula = CoxPHFitter().fit(
    machines[["age", "load", "weeks", "failed"]], "weeks", "failed",
    formula="age + load")
models["formula"] = formula
""",
    "aft": """%%step aft
aft = WeibullAFTFitter().fit(design, "weeks", "failed")
models["aft"] = aft
expected = aft.predict_median(design.head(20))
""",
    "class": """%%step class
from dataclasses import dataclass, field

@dataclass
class Verdict:
    name: str
    model: object
    notes: list = field(default_factory=list)

    def aic(self):
        return getattr(self.model, "AIC_partial_", None) or self.model.AIC_
""",
    "verdicts": """%%step verdicts
verdicts = [Verdict(name, model) for name, model in models.items()]
verdicts[0].notes.append(first)
""",
    "rank_models": """%%step rank_models
ranked = sorted(verdicts, key=lambda v: v.aic())
winner = ranked[0]
""",
    "image": """%%step image
image_figure, image_axes = plt.subplots()
picture = np.add.outer(np.arange(20.0), np.arange(30.0))
image = image_axes.imshow(picture, cmap="magma")
plt.close(image_figure)
""",
    "figures": """%%step figures
figures = {"all": figure, "image": image_figure}
""",
    "change": """%%step change
machines.loc[machines.index[:3], "load"] = 0.0
figures["all"].axes[0].set_title("changed")
""",
    "again": """%%step again
resampled = machines.sample(60, random_state=rng)
refit = KaplanMeierFitter().fit(resampled.weeks, resampled.failed)
""",
    "shares": """%%step shares
values = machines[["age", "weeks"]].to_numpy(copy=True)
weeks = values[:, 1]
late = weeks[-10:]
values[-1, 1] = 99.0
""",
    "drop": """%%step drop
del stop, life, refit
""",
    "p_last": "title = figures['all'].axes[0].get_title()",
    "end": """%%step end
final = (
    figures["all"] is figure, axes.figure is figure, best is cox,
    line in axes.get_lines(), winner in verdicts,
    bool(np.shares_memory(late, values)))
""",
}
