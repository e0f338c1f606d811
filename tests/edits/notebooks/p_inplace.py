"""A frame that several steps change in place: columns added, dropped, updated."""
# uses: pandas

# %% step load
import pandas as pd

frame = pd.DataFrame({"a": [1, 2, 3], "b": [4.0, 5.0, 6.0], "c": list("xyz")})

# %% step double
frame["double"] = frame["a"] * 2

# %% step drop
del frame["c"]

# %% plain shape
print(frame.shape)

# %% step ratio
frame["ratio"] = frame["b"] / frame["double"]

# %% step rename
frame.rename(columns={"b": "base"}, inplace=True)

# %% step patch
patch = pd.DataFrame({"base": [40.0]}, index=[0])
frame.update(patch)

# %% step total
total = frame["base"].sum() + frame["ratio"].sum()
print(round(total, 3))

# %% step columns
columns = list(frame.columns)

# edit load: [1, 2, 3] -> [1, 2, 4] | reruns load double drop ratio rename patch total columns
# edit double: * 2 -> * 3 | reruns double drop ratio rename patch total columns
# edit double: * 2 -> + frame["a"] | reruns double
# edit drop: del frame["c"] -> frame.drop(columns="c", inplace=True) | reruns drop
# edit patch: [40.0] -> [41.0] | reruns patch total columns
# edit rename: "b": "base" -> "b": "base", "a": "alpha" | reruns rename patch total columns
# edit shape: print(frame.shape) -> print(frame.shape, frame.size) | reruns nothing
