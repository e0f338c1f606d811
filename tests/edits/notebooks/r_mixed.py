"""Two generators at once: random and NumPy, reseeded in the middle; state saved and set."""
# uses: rng builtins numpy

# %% step seeds
import random

import numpy as np

random.seed(1)
np.random.seed(2)

# %% step letters
letters = random.choices("abcde", k=6)

# %% step numbers
numbers = np.random.randint(0, 50, size=6).tolist()

# %% step pairs
pairs = dict(zip(letters, numbers))
print(pairs)

# %% step saved
saved = random.getstate()
once = random.random()

# %% step restored
random.setstate(saved)
twice = random.random()

# %% plain check
print(once == twice)

# %% step reseed
np.random.seed(len(pairs))

# %% step last
last = np.random.random() + random.random()

# %% step summary
summary = (sorted(pairs), round(last, 4))
print(summary)

# edit seeds: random.seed(1) -> random.seed(3) | reruns seeds letters pairs saved restored reseed last summary
# edit seeds: np.random.seed(2) -> np.random.seed(5) | reruns seeds numbers pairs reseed summary
# edit letters: k=6 -> k=7 | reruns letters pairs saved restored last summary
# edit numbers: 0, 50 -> 0, 60 | reruns numbers
# edit reseed: len(pairs) -> 9 | reruns reseed last summary
