"""Trees: features made by a function, importance, cross-validation, a name reused."""
# uses: sklearn numpy

# %% plain imports
import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

# %% plain features
def features(n):
    base = np.arange(n)
    return np.column_stack([base % 3, base % 5, base // 10])

# %% step data
X = features(60)

# %% step target
y = (X[:, 0] + X[:, 1] > 3).astype(int)
print(y.sum())

# %% step tree
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)

# %% step depth
depth = tree.get_depth()

# %% step importance
importance = dict(enumerate(tree.feature_importances_.round(4).tolist()))

# %% step scores
scores = cross_val_score(DecisionTreeClassifier(max_depth=depth, random_state=0), X, y, cv=3)

# %% step useless
useless = [feature for feature, weight in importance.items() if weight < 0.01]

# %% step summary
summary = (round(scores.mean(), 3), useless)
print(summary)

# edit features: base % 3 -> base % 4 | reruns data target tree depth importance scores useless summary
# edit tree: max_depth=3 -> max_depth=2 | reruns tree depth importance scores useless summary
# edit target: > 3 -> > 2 | reruns target tree depth importance scores useless summary
# edit importance: round(4) -> round(6) | reruns importance useless
# edit scores: cv=3 -> cv=4 | reruns scores summary
