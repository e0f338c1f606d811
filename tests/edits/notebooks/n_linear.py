"""Linear algebra: a system solved, residuals, an early cut-off by rounding."""
# uses: numpy

# %% step system
import numpy as np

matrix = np.array([[3.0, 1.0], [1.0, 2.0]])
right = np.array([9.0, 8.0])

# %% step solve
solution = np.linalg.solve(matrix, right)

# %% step residual
residual = matrix @ solution - right

# %% plain digits
digits = 1

# %% step rounded
rounded = np.round(solution, digits)
print(rounded.tolist())

# %% step norm
norm = float(np.sqrt((rounded**2).sum()))

# %% step power
def power(m, n):
    out = np.eye(len(m))
    for _ in range(n):
        out = out @ m
    return out

# %% step powers
powers = [power(matrix, n) for n in range(4)]

# %% step trace
trace = sum(p.trace() for p in powers)
print(trace)

# edit system: [9.0, 8.0] -> [9.001, 8.0] | reruns system solve residual rounded
# edit system: [1.0, 2.0]] -> [1.0, 2.5]] | reruns system solve residual rounded norm powers trace
# edit digits: digits = 1 -> digits = 2 | reruns rounded
# edit powers: range(4) -> range(5) | reruns powers trace
# edit power: np.eye(len(m)) -> np.identity(len(m)) | reruns power powers
# edit norm: rounded**2 -> rounded * rounded | reruns norm
