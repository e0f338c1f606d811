"""Classes in steps: instances made elsewhere, a subclass, methods that change in place."""
# uses: classes builtins

# %% step account
class Account:
    fee = 1

    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance

    def pay(self, amount):
        self.balance -= amount + self.fee
        return self

# %% step saver
class Saver(Account):
    rate = 0.1

    def grow(self):
        self.balance = round(self.balance * (1 + self.rate), 2)
        return self

# %% step open
ann = Account("ann", 100)
bob = Saver("bob", 50)

# %% step pay
ann.pay(20)

# %% step grow
bob.grow()

# %% plain look
print(ann.balance, bob.balance)

# %% step all
everyone = [ann, bob]

# %% step total
total = sum(one.balance for one in everyone)

# %% step savers
savers = [one.owner for one in everyone if isinstance(one, Saver)]
print(total, savers)

# edit account: fee = 1 -> fee = 2 | reruns account saver open pay grow all total savers
# edit saver: rate = 0.1 -> rate = 0.2 | reruns saver open grow all total savers
# edit open: 100) -> 110) | reruns open pay all total savers
# edit pay: ann.pay(20) -> ann.pay(10).pay(9) | reruns pay
# edit grow: bob.grow() -> bob.grow().grow() | reruns grow all total savers
# edit account: amount + self.fee -> self.fee + amount | reruns account saver open pay grow all total savers
