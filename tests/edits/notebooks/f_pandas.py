"""Frames to CSV and back, an input that lies beside the notebook, an output file."""
# uses: files pandas
# file sales.csv: shop,n\nA,3\nB,4\nA,5\n

# %% plain imports
import pandas as pd

# %% step sales
sales = pd.read_csv("sales.csv")

# %% step grouped
grouped = sales.groupby("shop", as_index=False)["n"].sum()

# %% step saved
grouped.to_csv("grouped.csv", index=False)

# %% plain note
print("saved", len(grouped))

# %% step again
again = pd.read_csv("grouped.csv")

# %% step best
best = again.loc[again["n"].idxmax(), "shop"]

# %% step shops
shops = sorted(sales["shop"].unique())
print(best, shops)

# %% step appended
sales.assign(n=0).to_csv("zero.csv", index=False)

# %% step zeros
zeros = int((pd.read_csv("zero.csv")["n"] == 0).sum())

# edit sales.csv: B,4 -> B,9 | reruns sales grouped saved again best shops appended
# edit sales.csv: A,5 -> A,6 | reruns sales grouped saved again best shops appended
# edit saved: index=False) -> index=False, sep=",") | reruns saved
# edit grouped: .sum() -> .max() | reruns grouped saved again best
# edit again: "grouped.csv" -> "./grouped.csv" | reruns again
