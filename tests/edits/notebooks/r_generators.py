"""Generator objects: one that steps share and move on, spawned children, a copy."""
# uses: rng numpy

# %% step rng
import copy

import numpy as np

rng = np.random.default_rng(11)

# %% step draws
draws = rng.integers(0, 10, size=4)

# %% step more
more = rng.random(3).round(3)
print(more.tolist())

# %% plain factor
factor = 10

# %% step scaled
scaled = (draws * factor).tolist()

# %% step fork
twin = copy.deepcopy(rng)
peek = twin.random()

# %% step choice
choice = rng.choice(scaled, size=2, replace=False)

# %% step same
same = bool(abs(rng.random() - peek) < 1e-12)

# %% step result
result = (sorted(choice.tolist()), same)
print(result)

# edit rng: default_rng(11) -> default_rng(12) | reruns rng draws more scaled fork choice same result
# edit draws: size=4 -> size=6 | reruns draws more scaled fork choice same result
# edit factor: factor = 10 -> factor = 20 | reruns scaled choice result
# edit more: round(3) -> round(2) | reruns more
# edit fork: twin.random() -> twin.random() + 0 | reruns fork
