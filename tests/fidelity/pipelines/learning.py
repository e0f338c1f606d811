"""Flowers and moons with scikit-learn: pipelines, a transformer of one's own, views.

`CELLS` maps a cell's id to its text; ids that begin with ``p`` are plain cells.
"""

CELLS = {
    "p_imports": """
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV, StratifiedKFold, cross_val_score, train_test_split)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
""",
    "make": """%%step make
rng = np.random.default_rng(7)
n = 200
frame = pd.DataFrame({
    "length": rng.normal(5, 1, n),
    "width": rng.gamma(2, 1, n),
    "colour": rng.choice(["red", "blue", "white"], n),
})
target = (frame.length + frame.width + rng.normal(0, 1, n) > 7).astype(int)
""",
    "matrix": """%%step matrix
matrix = frame[["length", "width"]].to_numpy(copy=True)
head = matrix[:50]
column = matrix[:, 0]
corner = head[10:20, 1:]
""",
    "scale": """%%step scale
matrix *= 2
""",
    "p_size": "share = 0.25",
    "split": """%%step split
train, test, y_train, y_test = train_test_split(
    frame, target, test_size=share, random_state=3)
""",
    "transformer": """%%step transformer
class Clip(BaseEstimator, TransformerMixin):
    seen = 0

    def __init__(self, low=0.0, high=1.0):
        self.low, self.high = low, high

    def fit(self, X, y=None):
        self.bounds_ = np.quantile(X, [self.low, self.high], axis=0)
        type(self).seen += 1
        return self

    def transform(self, X):
        return np.clip(X, *self.bounds_)

    def get_feature_names_out(self, names=None):
        return np.asarray(names, object)
""",
    "clip": """%%step clip
clip = Clip(0.05, 0.95)
clipped = clip.fit_transform(matrix)
""",
    "logs": """%%step logs
base = 1.0
log = FunctionTransformer(lambda X: np.log(X + base))
logged = log.fit_transform(np.abs(matrix))
""",
    "columns": """%%step columns
numbers = make_pipeline(Clip(0.01, 0.99), StandardScaler())
columns = ColumnTransformer([
    ("numbers", numbers, ["length", "width"]),
    ("colour", OneHotEncoder(), ["colour"]),
])
""",
    "transformed": """%%step transformed
design = columns.fit_transform(train)
names = list(columns.get_feature_names_out())
""",
    "model": """%%step model
model = make_pipeline(clone(columns), LogisticRegression(max_iter=500))
model.fit(train, y_train)
""",
    "p_pick": "steps_of = [name for name, _ in model.steps]",
    "inner": """%%step inner
inner = model[-1]
parts = {"model": model, "inner": inner, "columns": model[0]}
""",
    "score": """%%step score
scores = {"logistic": model.score(test, y_test)}
guess = model.predict_proba(test)
""",
    "folds": """%%step folds
folds = StratifiedKFold(4, shuffle=True, random_state=5)
splits = list(folds.split(train, y_train))
first_fold = splits[0][0]
""",
    "cross": """%%step cross
crossed = cross_val_score(model, train, y_train, cv=folds)
scores["crossed"] = crossed.mean()
""",
    "forest": """%%step forest
forest = RandomForestClassifier(12, random_state=1).fit(matrix, target)
importances = forest.feature_importances_
""",
    "trees": """%%step trees
trees = forest.estimators_
one_tree = trees[3]
""",
    "search": """%%step search
search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, cv=3)
search.fit(matrix, frame["width"])
ridge = search.best_estimator_
""",
    "functions": """%%step functions
def threshold(limit):
    hits = 0

    def decide(p):
        nonlocal hits
        hits += 1
        return p > limit

    def count():
        return hits

    return decide, count

decide, count = threshold(0.5)
""",
    "decide": """%%step decide
decided = [bool(decide(p)) for p in guess[:5, 1]]
hits_now = count()
""",
    "generator": """%%step generator
noise = rng.normal(size=10)
other_rng = rng
""",
    "more_noise": """%%step more_noise
more = other_rng.normal(size=5)
matrix[0] = 0
""",
    "subclass": """%%step subclass
class Gentle(Clip):
    def transform(self, X):
        return np.tanh(super().transform(X))

gentle = Gentle().fit(matrix)
family = {Clip: [clip], Gentle: [gentle]}
""",
    "registry": """%%step registry
registry = {}

def register(function):
    registry[function.__name__] = function
    return function

@register
def mean_score():
    return np.mean(list(scores.values()))

@register
def best_score():
    return max(scores.values())
""",
    "use": """%%step use
results = {name: float(function()) for name, function in registry.items()}
""",
    "masks": """%%step masks
mask = np.ma.masked_greater(matrix, 12)
flags = matrix > 4
chosen = matrix[flags]
transposed = matrix.T
""",
    "partial": """%%step partial
import functools
predict = functools.partial(model.predict, test.iloc[:6])
predictor = model.predict
predicted = predict()
""",
    "redefine": """%%step redefine
class Clip(Clip):
    version = 2

newer = Clip().fit(matrix)
older_is_clip = isinstance(clip, Clip)
""",
    "drop": """%%step drop
del head, one_tree, logged
""",
    "p_last": "left = sorted(scores)",
    "end": """%%step end
shares = [bool(np.shares_memory(a, matrix)) for a in (column, corner, transposed)]
final = (inner is model[-1], trees is forest.estimators_, other_rng is rng, shares)
""",
}
