"""Orders: filter by a query string that names a limit, group, join, report."""
# uses: pandas

# %% plain imports
import pandas as pd

# %% plain settings
limit = 20

# %% step orders
orders = pd.DataFrame(
    {
        "city": ["Rome", "Oslo", "Rome", "Bern", "Oslo"],
        "price": [10, 25, 30, 45, 5],
        "items": [1, 2, 3, 1, 1],
    }
)

# %% step large
large = orders.query("price > @limit")
print(large.shape)

# %% step by_city
by_city = orders.groupby("city")["price"].sum()

# %% step cities
cities = pd.DataFrame({"city": ["Rome", "Oslo", "Bern"], "country": ["IT", "NO", "CH"]})

# %% step joined
joined = large.merge(cities, on="city")
print(joined.to_string())

# %% step share
share = (joined.groupby("country")["price"].sum() / orders["price"].sum()).round(3)

# %% step top
top = share.idxmax()

# %% step items
items = int(orders["items"].sum())
print(top, items)

# edit settings: limit = 20 -> limit = 28 | reruns large joined share top
# edit settings: limit = 20 -> limit = 22 | reruns large
# edit orders: [1, 2, 3, 1, 1] -> [1, 2, 3, 1, 2] | reruns orders large by_city share items
# edit cities: "CH"] -> "SU"] | reruns cities joined share top items
# edit large: price > @limit -> price >= @limit | reruns large
# edit share: round(3) -> round(2) | reruns share top
