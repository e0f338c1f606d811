"""The global generator: a seed in one step, draws in others, a step between that does not draw."""
# uses: rng builtins

# %% plain imports
import random

# %% step seed
random.seed(7)

# %% step first
first = [random.randint(1, 6) for _ in range(5)]

# %% plain sides
sides = 6

# %% step sum
total = sum(first)

# %% step second
second = random.sample(range(100), 3)
print(second)

# %% step faces
faces = {face: first.count(face) for face in range(1, sides + 1)}

# %% step shuffle
deck = list(range(8))
random.shuffle(deck)

# %% step top
top = deck[:2] + [max(second)]
print(top, total)

# %% step mean
mean = total / len(first)

# edit seed: random.seed(7) -> random.seed(8) | reruns seed first sum second faces shuffle top mean
# edit first: range(5) -> range(6) | reruns first sum second faces shuffle top mean
# edit second: range(100), 3 -> range(100), 4 | reruns second shuffle top
# edit sum: sum(first) -> sum(first, 0) | reruns sum
# edit sides: sides = 6 -> sides = 7 | reruns faces
