"""Structured arrays, sorting, unique, broadcasting, a dict of arrays."""
# uses: numpy builtins

# %% step records
import numpy as np

records = np.array(
    [("ann", 31, 1.6), ("bob", 25, 1.8), ("cid", 31, 1.7)],
    dtype=[("name", "U8"), ("age", "i4"), ("height", "f8")],
)

# %% step order
order = np.argsort(records, order=["age", "name"])

# %% step names
names = records["name"][order].tolist()
print(names)

# %% step ages
ages, counts = np.unique(records["age"], return_counts=True)

# %% plain unit
unit = {"m": 1.0, "cm": 100.0}

# %% step heights
heights = {key: records["height"] * factor for key, factor in unit.items()}

# %% step taller
taller = heights["cm"][:, None] > heights["cm"][None, :]

# %% step wins
wins = taller.sum(axis=1)

# %% step table
table = dict(zip(records["name"].tolist(), wins.tolist()))
print(table)

# edit records: "ann", 31, 1.6 -> "ann", 31, 1.65 | reruns records order names ages heights taller table
# edit unit: 100.0 -> 1000.0 | reruns heights taller
# edit order: "age", "name" -> "name", "age" | reruns order names
# edit wins: axis=1 -> axis=0 | reruns wins table
# edit ages: return_counts=True -> return_counts=1 | reruns ages
