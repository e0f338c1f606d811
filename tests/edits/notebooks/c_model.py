"""A model class of one's own: fit and predict, protocols, repr, comparison, arrays inside."""
# uses: classes numpy

# %% plain imports
import numpy as np

# %% plain settings
learning = 0.1

# %% step model
class Line:
    """A line that learns."""

    def __init__(self):
        self.weights = np.zeros(2)
        self.seen = 0

    def predict(self, x):
        return self.weights[0] + self.weights[1] * x

    def fit(self, x, y, rate):
        for _ in range(20):
            error = self.predict(x) - y
            self.weights = self.weights - rate * np.array([error.mean(), (error * x).mean()])
            self.seen += len(x)
        return self

    def __repr__(self):
        return f"Line({self.weights.round(3).tolist()})"

    def __eq__(self, other):
        return bool(np.allclose(self.weights, other.weights))

# %% step data
x = np.linspace(-1, 1, 11)
y = 2 * x + 1

# %% step line
line = Line()

# %% step trained
line.fit(x, y, learning)
print(line)

# %% step error
error = float(np.abs(line.predict(x) - y).mean())

# %% plain half
print(error < 1)

# %% step longer
longer = Line().fit(x, y, learning).fit(x, y, learning)

# %% step better
better = float(np.abs(longer.predict(x) - y).mean()) < error

# %% step seen
seen = longer.seen - line.seen
print(better, seen)

# edit settings: learning = 0.1 -> learning = 0.2 | reruns trained error longer better seen
# edit data: 2 * x + 1 -> 3 * x + 1 | reruns data trained error longer better seen
# edit model: range(20) -> range(21) | reruns model line trained error longer better seen
# edit longer: .fit(x, y, learning).fit(x, y, learning) -> .fit(x, y, learning) | reruns longer better seen
# edit half: error < 1 -> error < 2 | reruns nothing
