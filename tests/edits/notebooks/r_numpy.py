"""NumPy's global generator, seeded by a plain cell; draws that a later step continues."""
# uses: rng numpy

# %% plain imports
import numpy as np

# %% plain seed
np.random.seed(3)

# %% step noise
noise = np.random.normal(size=6)

# %% step signal
signal = np.arange(6) + noise

# %% step coin
coin = np.random.randint(0, 2, size=10)
print(coin.tolist())

# %% step heads
heads = int(coin.sum())

# %% plain look
print(signal.shape)

# %% step permuted
permuted = np.random.permutation(signal.round(2))

# %% step biggest
biggest = float(permuted.max())

# %% step range
spread = float(signal.max() - signal.min())
print(heads, biggest, round(spread, 3))

# edit seed: seed(3) -> seed(4) | reruns noise signal coin heads permuted biggest range
# edit noise: normal(size=6) -> normal(0, 1, size=6) | reruns noise
# edit noise: normal(size=6) -> normal(5, 1, size=6) | reruns noise signal permuted biggest range
# edit coin: size=10 -> size=12 | reruns coin heads permuted biggest range
# edit heads: int(coin.sum()) -> int(coin.sum()) * 1 | reruns heads
