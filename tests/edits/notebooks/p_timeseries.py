"""A time series: resample, roll, shift, pivot."""
# uses: pandas numpy

# %% plain imports
import numpy as np
import pandas as pd

# %% step series
index = pd.date_range("2024-01-01", periods=60, freq="D")
series = pd.Series(np.arange(60) % 7 + 0.5, index=index)

# %% plain window
window = 7

# %% step weekly
weekly = series.resample("W").sum()

# %% step rolled
rolled = series.rolling(window).mean().dropna()

# %% step change
change = weekly.pct_change().dropna().round(4)

# %% step table
table = series.to_frame("value")
table["month"] = table.index.month
table["weekday"] = table.index.weekday

# %% step pivot
pivot = table.pivot_table(index="month", columns="weekday", values="value", aggfunc="mean")

# %% step flat
flat = float(rolled.max() - rolled.min())

# %% step best
best = int(pivot.mean().idxmax())
print(best, flat)

# edit window: window = 7 -> window = 14 | reruns rolled flat
# edit series: % 7 + 0.5 -> % 7 + 1.5 | reruns series weekly rolled change table pivot flat best
# edit weekly: .sum() -> .sum().round(6) | reruns weekly
# edit table: table.index.weekday -> table.index.dayofweek | reruns table
# edit pivot: aggfunc="mean" -> aggfunc="max" | reruns pivot
# edit change: round(4) -> round(3) | reruns change
