"""A bootstrap: seeds derived from names, a function that draws, quantiles."""
# uses: rng numpy pandas

# %% plain imports
import numpy as np
import pandas as pd

# %% plain settings
rounds = 20

# %% step sample
sample = pd.Series([2.0, 3.5, 1.0, 4.5, 3.0], name="v")

# %% step resample
def resample(values, seed):
    rng = np.random.default_rng(seed)
    return rng.choice(values, size=len(values))

means = [resample(sample.to_numpy(), seed).mean() for seed in range(rounds)]

# %% step interval
low, high = np.quantile(means, [0.1, 0.9]).round(4)
print(low, high)

# %% step width
width = float(high - low)

# %% step center
center = float(sample.mean())

# %% step inside
inside = bool(low <= center <= high)

# %% step frame
frame = pd.DataFrame({"mean": means})

# %% step worst
worst = int(frame["mean"].sub(center).abs().idxmax())
print(inside, worst)

# edit settings: rounds = 20 -> rounds = 21 | reruns resample interval width inside frame worst
# edit sample: 4.5, 3.0 -> 5.5, 3.0 | reruns sample resample interval width center inside frame worst
# edit interval: [0.1, 0.9] -> [0.2, 0.8] | reruns interval width inside
# edit resample: size=len(values) -> size=values.size | reruns resample
# edit width: float(high - low) -> float(high) - float(low) | reruns width
