"""Views of one array: slices, reshapes, in-place arithmetic through a view."""
# uses: numpy

# %% plain imports
import numpy as np

# %% step base
base = np.arange(12, dtype=float)

# %% step grid
grid = base.reshape(3, 4)

# %% step row
row = grid[1]

# %% step scale
row *= 10

# %% plain look
print(base.sum())

# %% step total
total = base.sum()

# %% step column
column = grid[:, 1].copy()

# %% step shift
column += total / 100

# %% step means
means = grid.mean(axis=0).tolist()
print(means)

# %% step outside
outside = float(column.max())

# edit base: arange(12 -> arange(1, 13 | reruns base grid row scale total column shift means outside
# edit row: grid[1] -> grid[1].copy() | reruns row scale total column shift means outside
# edit scale: *= 10 -> *= 11 | reruns scale total column shift means outside
# edit scale: row *= 10 -> row[:] = row * 10 | reruns scale
# edit shift: / 100 -> / 200 | reruns shift outside
# edit look: base.sum() -> grid.sum() | reruns nothing
