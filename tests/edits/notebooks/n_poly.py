"""Polynomials, interpolation, integration; functions passed as values."""
# uses: numpy

# %% plain imports
import numpy as np
from functools import partial

# %% step points
xs = np.linspace(0, 4, 9)
ys = xs**2 - 3 * xs + 1

# %% step fit
coefficients = np.round(np.polyfit(xs, ys, 2), 6) + 0.0

# %% step model
def evaluate(c, x):
    return np.polyval(c, x)

model = partial(evaluate, coefficients)

# %% step values
values = model(np.array([0.5, 1.5]))
print(values.round(3).tolist())

# %% plain grid
fine = np.linspace(0, 4, 41)

# %% step area
area = float(np.trapezoid(model(fine), fine)) if hasattr(np, "trapezoid") else 0.0

# %% step roots
roots = np.sort(np.roots(coefficients).real).round(4)

# %% step lowest
lowest = fine[model(fine).argmin()]
print(roots.tolist(), lowest)

# %% step between
between = bool(roots[0] < lowest < roots[1])

# edit points: 3 * xs + 1 -> 3 * xs + 2 | reruns points fit model values area roots lowest between
# edit points: linspace(0, 4, 9) -> linspace(0, 4, 17) | reruns points fit
# edit model: np.polyval(c, x) -> np.polyval(c, x) * 1 | reruns model values area lowest
# edit grid: 0, 4, 41 -> 0, 4, 81 | reruns area lowest
# edit roots: round(4) -> round(5) | reruns roots lowest between
# edit between: < lowest < -> <= lowest <= | reruns between
