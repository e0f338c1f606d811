"""Categories, bins, cross tables, a multi-index, an apply with a closure."""
# uses: pandas

# %% plain imports
import pandas as pd

# %% step people
people = pd.DataFrame(
    {
        "age": [23, 37, 41, 58, 62, 19],
        "team": ["x", "y", "x", "y", "x", "y"],
        "paid": [30, 42, 39, 55, 51, 22],
    }
)

# %% plain edges
edges = [0, 30, 50, 100]

# %% step binned
people["band"] = pd.cut(people["age"], edges, labels=["low", "mid", "high"])

# %% step cross
cross = pd.crosstab(people["band"], people["team"])

# %% step scaler
def scaled_by(factor):
    def scale(paid):
        return paid * factor

    return scale

scale = scaled_by(2)

# %% step scaled
scaled = people["paid"].apply(scale)

# %% step nested
nested = people.groupby(["team", "band"], observed=True)["paid"].mean()

# %% step spread
spread = nested.unstack("team").fillna(0)
print(spread.to_string())

# %% step rank
rank = scaled.rank().astype(int).tolist()

# edit edges: 50, 100 -> 60, 100 | reruns binned cross scaled nested spread
# edit scaler: scaled_by(2) -> scaled_by(3) | reruns scaler scaled rank
# edit scaler: paid * factor -> factor * paid | reruns scaler scaled
# edit people: 51, 22] -> 51, 23] | reruns people binned cross scaled nested spread rank
# edit nested: .mean() -> .median() | reruns nested
# edit spread: fillna(0) -> fillna(-1) | reruns spread
