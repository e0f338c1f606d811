"""Closures and functions that call each other, some defined in plain cells."""
# uses: builtins

# %% plain rates
rate = 0.2
flat = 5

# %% plain tax
def tax(price):
    return round(price * rate, 2)

# %% step shipping
def shipping(price):
    return 0 if price > 50 else flat

# %% step total
def total(price):
    return price + tax(price) + shipping(price)

# %% step prices
prices = [10.0, 40.0, 60.0]

# %% step totals
totals = [total(price) for price in prices]
print(totals)

# %% step counter
def make_counter(start):
    count = [start]

    def step(by=1):
        count[0] += by
        return count[0]

    return step

tick = make_counter(10)

# %% step ticks
ticks = [tick(), tick(2)]

# %% step more
more = tick() + len(ticks)

# %% step best
best = min(zip(totals, prices))

# edit rates: rate = 0.2 -> rate = 0.25 | reruns totals best
# edit rates: flat = 5 -> flat = 6 | reruns totals best
# edit tax: price * rate -> price * (rate) | reruns nothing
# edit shipping: price > 50 -> price > 45 | reruns shipping totals
# edit counter: make_counter(10) -> make_counter(20) | reruns counter ticks more
# edit ticks: tick(2) -> tick(3) | reruns ticks more
# edit total: price + tax -> tax(price) * 0 + price + tax | reruns total totals
