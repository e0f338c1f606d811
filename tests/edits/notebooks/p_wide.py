"""From wide to long and back; a frame built in a loop, a name reused for another frame."""
# uses: pandas builtins

# %% step parts
import pandas as pd

parts = []
for year in (2021, 2022, 2023):
    parts.append(pd.DataFrame({"year": year, "north": [year % 7], "south": [year % 5]}))

# %% step wide
data = pd.concat(parts, ignore_index=True)

# %% plain note
note = "wide"
print(note, len(data))

# %% step long
long = data.melt(id_vars="year", var_name="side", value_name="n")

# %% step replaced
data = long[long["n"] > 1]

# %% step sums
sums = data.groupby("side")["n"].sum().to_dict()

# %% step back
back = long.pivot(index="year", columns="side", values="n")

# %% step trend
trend = back.diff().dropna().astype(int)
print(trend.to_string())

# %% step last
last = parts[-1]["north"].iloc[0] + sums["south"]

# edit parts: year % 7 -> year % 6 | reruns parts wide long replaced sums back trend last
# edit replaced: > 1 -> > 2 | reruns replaced sums last
# edit replaced: > 1 -> >= 2 | reruns replaced
# edit back: index="year", columns="side" -> columns="side", index="year" | reruns back
# edit note: note = "wide" -> note = "wide one" | reruns nothing
# edit last: + sums -> - sums | reruns last
