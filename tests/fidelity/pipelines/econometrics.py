"""Prices, wages and growth with statsmodels: formulas, GLMs, time series.

`CELLS` maps a cell's id to its text; ids that begin with ``p`` are plain cells.
"""

CELLS = {
    "p_imports": """
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.tsa.ar_model import AutoReg
""",
    "make": """%%step make
rng = np.random.default_rng(20)
n = 240
wages = pd.DataFrame({
    "school": rng.integers(8, 20, n),
    "years": rng.uniform(0, 30, n),
    "region": rng.choice(["north", "south", "west"], n),
    "union": rng.random(n) < 0.3,
})
wages["log_wage"] = (
    1 + 0.08 * wages.school + 0.03 * wages.years + 0.1 * wages.union
    + rng.normal(0, 0.2, n)
)
""",
    "category": """%%step category
wages["region"] = wages["region"].astype("category")
levels = list(wages["region"].cat.categories)
""",
    "p_limit": "limit = 25",
    "clean": """%%step clean
kept = wages.query("years < @limit").copy()
dropped = len(wages) - len(kept)
""",
    "alias": """%%step alias
frame = kept
by_name = {"all": wages, "kept": kept}
""",
    "features": """%%step features
kept["years2"] = kept["years"] ** 2
""",
    "formula": """%%step formula
def centred(values):
    return values - values.mean()

formulas = {
    "short": "log_wage ~ school",
    "long": "log_wage ~ school + years + years2 + C(region)",
    "cross": "log_wage ~ school * union",
}
""",
    "ols": """%%step ols
short = smf.ols(formulas["short"], kept).fit()
coefficients = {"short": short.params}
r_squared = {"short": short.rsquared}
""",
    "ols_long": """%%step ols_long
long = smf.ols(formulas["long"], kept).fit()
coefficients["long"] = long.params
r_squared["long"] = long.rsquared
""",
    "ols_all": """%%step ols_all
for label in formulas:
    if label not in coefficients:
        fitted = smf.ols(formulas[label], kept).fit()
        coefficients[label] = fitted.params
        r_squared[label] = fitted.rsquared
del label, fitted
""",
    "p_note": "best = max(r_squared, key=r_squared.get)",
    "residuals": """%%step residuals
residuals = np.array(long.resid)
tail = residuals[-20:]
middle = tail[5:15]
""",
    "shift": """%%step shift
residuals -= residuals.mean()
""",
    "robust": """%%step robust
robust = smf.ols(formulas["long"], kept).fit(cov_type="HC1")
errors = pd.DataFrame({"plain": long.bse, "robust": robust.bse})
""",
    "matrix": """%%step matrix
X = sm.add_constant(kept[["school", "years"]].to_numpy(float))
y = kept["log_wage"].to_numpy()
direct = sm.OLS(y, X).fit()
""",
    "wls": """%%step wls
weights = 1 / (1 + X[:, 2])
weighted = sm.WLS(y, X, weights=weights).fit()
""",
    "glm_data": """%%step glm_data
counts = pd.DataFrame({"x": rng.normal(size=150)})
counts["hits"] = rng.poisson(np.exp(0.3 + 0.5 * counts.x))
counts["won"] = (rng.random(150) < 1 / (1 + np.exp(-counts.x))).astype(int)
""",
    "poisson": """%%step poisson
poisson = smf.glm("hits ~ x", counts, family=sm.families.Poisson()).fit()
""",
    "logit": """%%step logit
logit = smf.logit("won ~ x", counts).fit(disp=0)
chance = logit.predict(counts)
""",
    "class": """%%step class
class Report:
    made = []

    def __init__(self, title, result):
        self.title, self.params = title, result.params
        Report.made.append(self)

    def top(self):
        return self.params.abs().idxmax()
""",
    "reports": """%%step reports
reports = [Report("poisson", poisson), Report("logit", logit)]
first_report = reports[0]
""",
    "series": """%%step series
steps = rng.normal(size=120)
level = np.empty(120)
level[0] = 0
for t in range(1, 120):
    level[t] = 0.7 * level[t - 1] + steps[t]
growth = pd.Series(level, pd.period_range("2015-01", periods=120, freq="M"))
del t
""",
    "ar": """%%step ar
ar = AutoReg(level, lags=2).fit()
ahead = ar.predict(120, 126)
""",
    "acf": """%%step acf
lags = sm.tsa.acf(level, nlags=10)
quarters = growth.groupby(
    growth.index.quarter).mean()
""",
    "ets": """%%step ets
smooth = sm.tsa.SimpleExpSmoothing(level, initialization_method="estimated").fit()
smoothed = smooth.fittedvalues
""",
    "sarimax": """%%step sarimax
space = sm.tsa.SARIMAX(level, order=(1, 0, 0)).fit(disp=0)
space_params = np.array(space.params)
""",
    "draw": """%%step draw
sample = rng.choice(residuals, 50)
bootstrap = [float(rng.choice(residuals, 50).mean()) for _ in range(5)]
""",
    "drop": """%%step drop
del sample, steps
""",
    "summary": """%%step summary
table = pd.DataFrame(
    {"short": coefficients["short"], "long": coefficients["long"]}
).T
print(table.round(3))
""",
    "p_last": "columns = list(table.columns)",
    "end": """%%step end
same_frame = frame is kept and by_name["kept"] is kept
shares = bool(np.shares_memory(tail, residuals))
final = (same_frame, shares, len(reports), isinstance(first_report, Report))
""",
}
