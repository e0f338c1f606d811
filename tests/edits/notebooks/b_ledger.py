"""A ledger that later steps change in place, and names for the same list."""
# uses: builtins

# %% step open
ledger = [("open", 100)]
history = ledger

# %% step deposits
for amount in (20, 30):
    ledger.append(("in", amount))

# %% plain audit
checked = len(history)
print("entries so far", checked)

# %% step balance
balance = sum(amount for _, amount in ledger)

# %% step withdraw
def withdraw(book, amount):
    book.append(("out", -amount))
    return len(book)

size = withdraw(history, 15)

# %% step after
after = sum(amount for _, amount in ledger)
print(balance, after)

# %% step copy
snapshot = list(ledger)
snapshot.sort(key=lambda row: row[1])

# %% step smallest
smallest = snapshot[0]

# %% step kinds
kinds = {kind for kind, _ in ledger}

# edit open: ("open", 100) -> ("open", 90) | reruns open deposits balance withdraw after copy smallest kinds
# edit open: history = ledger -> history = list(ledger) | reruns open deposits balance withdraw after copy smallest kinds
# edit deposits: (20, 30) -> (20, 40) | reruns deposits balance withdraw after copy smallest kinds
# edit withdraw: size = withdraw(history, 15) -> size = withdraw(history, 16) | reruns withdraw after copy smallest kinds
# edit copy: row[1] -> (row[1], 0) | reruns copy
# edit audit: checked = len(history) -> checked = len(history) + 1 | reruns nothing
