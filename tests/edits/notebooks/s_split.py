"""A classifier: split, scale, fit, score; a helper for the metric."""
# uses: sklearn numpy

# %% plain imports
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

# %% plain settings
test_size = 0.25

# %% step data
rows = np.random.default_rng(0).normal(size=(80, 3))
labels = (rows[:, 0] + 0.5 * rows[:, 1] > 0).astype(int)

# %% step split
train, test, train_y, test_y = train_test_split(rows, labels, test_size=test_size, random_state=1)

# %% step scaler
scaler = StandardScaler().fit(train)

# %% step model
model = LogisticRegression(C=1.0).fit(scaler.transform(train), train_y)

# %% step predicted
predicted = model.predict(scaler.transform(test))

# %% step accuracy
def accuracy(wanted, got):
    return float((wanted == got).mean())

score = accuracy(test_y, predicted)
print(round(score, 3))

# %% step weights
weights = model.coef_.ravel().round(3)

# %% step verdict
verdict = "good" if score > 0.8 else "poor"
print(verdict)

# edit settings: test_size = 0.25 -> test_size = 0.5 | reruns split scaler model predicted accuracy weights verdict
# edit model: C=1.0 -> C=1.0, max_iter=100 | reruns model
# edit scaler: StandardScaler() -> StandardScaler(with_mean=True) | reruns scaler
# edit accuracy: (wanted == got) -> (got == wanted) | reruns accuracy
# edit weights: round(3) -> round(2) | reruns weights
# edit verdict: score > 0.8 -> score >= 0.8 | reruns verdict
