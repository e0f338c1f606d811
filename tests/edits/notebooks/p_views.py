"""Slices, masks and assignment by loc; a column taken out of a frame."""
# uses: pandas

# %% step make
import pandas as pd

stock = pd.DataFrame({"sku": ["p", "q", "r", "s"], "qty": [5, 0, 9, 2]}).set_index("sku")

# %% step empty
empty = stock[stock["qty"] == 0]

# %% step refill
stock.loc[empty.index, "qty"] = 10

# %% step low
low = stock["qty"] < 6

# %% plain count
print(int(low.sum()), "low")

# %% step ordered
ordered = stock[low].copy()
ordered["qty"] *= 2

# %% step merged
merged = pd.concat([stock[~low], ordered]).sort_index()

# %% step column
column = merged["qty"]
maximum = int(column.max())

# %% step label
label = merged["qty"].astype(str) + " pcs"
print(label.to_dict(), maximum)

# edit make: [5, 0, 9, 2] -> [5, 0, 8, 2] | reruns make empty refill low ordered merged column label
# edit refill: = 10 -> = 11 | reruns refill low ordered merged column label
# edit low: < 6 -> <= 5 | reruns low
# edit ordered: *= 2 -> *= 3 | reruns ordered merged column label
# edit column: column.max() -> max(column) | reruns column
