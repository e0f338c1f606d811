"""A heat equation: arrays swapped in a loop, state carried through steps, an out= argument."""
# uses: numpy

# %% plain imports
import numpy as np

# %% plain grid
cells = 20
speed = 0.25

# %% step state
heat = np.zeros(cells)
heat[cells // 2] = 100.0

# %% step run
def advance(now, steps):
    for _ in range(steps):
        now[1:-1] += speed * (now[2:] - 2 * now[1:-1] + now[:-2])

advance(heat, 10)
after_ten = heat.copy()

# %% step again
advance(heat, 5)

# %% step loss
loss = 100.0 - heat.sum()

# %% step clipped
clipped = np.empty_like(heat)
np.clip(heat, 1.0, None, out=clipped)

# %% plain show
print(round(float(clipped.max()), 4))

# %% step width
width = int((clipped > 1.0).sum())

# %% step peak
peak = round(float(after_ten.max()), 6)
print(width, peak)

# edit grid: speed = 0.25 -> speed = 0.2 | reruns run again loss clipped width peak
# edit grid: cells = 20 -> cells = 22 | reruns state run again loss clipped width peak
# edit again: advance(heat, 5) -> advance(heat, 6) | reruns again loss clipped width
# edit run: after_ten = heat.copy() -> after_ten = heat | reruns run again loss clipped peak
# edit clipped: 1.0, None -> 2.0, None | reruns clipped width peak
# edit width: clipped > 1.0 -> 1.0 < clipped | reruns width
