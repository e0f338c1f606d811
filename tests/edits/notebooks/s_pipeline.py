"""A pipeline with a lambda, a grid of parameters, and a frame as input."""
# uses: sklearn pandas

# %% step frame
import numpy as np
import pandas as pd

frame = pd.DataFrame({"x": np.arange(30) / 10})
frame["y"] = frame["x"] ** 2 + 1

# %% plain imports
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

# %% step pipeline
pipeline = make_pipeline(
    FunctionTransformer(lambda part: np.column_stack([part, part**2])), Ridge(alpha=0.1)
)

# %% step fitted
pipeline.fit(frame[["x"]].to_numpy(), frame["y"])

# %% step predicted
predicted = pipeline.predict(np.array([[1.0], [2.0]])).round(6)
print(predicted.tolist())

# %% plain alphas
alphas = [0.01, 1.0]

# %% step errors
errors = {}
for alpha in alphas:
    other = Ridge(alpha=alpha).fit(frame[["x"]].to_numpy(), frame["y"])
    errors[alpha] = float(np.abs(other.predict(frame[["x"]].to_numpy()) - frame["y"]).mean())

# %% step best
best = min(errors, key=errors.get)

# %% step report
report = f"{best}: {errors[best]:.4f}"
print(report)

# edit frame: ** 2 + 1 -> ** 3 + 1 | reruns frame fitted predicted errors best report
# edit pipeline: alpha=0.1 -> alpha=0.2 | reruns pipeline fitted predicted
# edit pipeline: part**2 -> part**3 | reruns pipeline fitted predicted
# edit alphas: [0.01, 1.0] -> [0.01, 2.0] | reruns errors best report
# edit predicted: round(6) -> round(5) | reruns predicted
# edit report: .4f -> .5f | reruns report
