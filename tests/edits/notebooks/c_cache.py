"""Cached functions, decorators, static and class methods, a registry filled by a decorator."""
# uses: classes builtins

# %% plain imports
import functools

# %% plain registry
registry = {}

def register(function):
    registry[function.__name__] = function
    return function

# %% step rules
@register
def double(x):
    return 2 * x

@register
def square(x):
    return x * x

# %% step cached
@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

# %% step numbers
numbers = [fib(n) for n in range(10)]
print(numbers)

# %% step applied
applied = {name: rule(7) for name, rule in registry.items()}

# %% step maker
class Maker:
    made = 0

    @classmethod
    def make(cls, value):
        cls.made += 1
        return value, cls.made

    @staticmethod
    def label(value):
        return f"<{value}>"

# %% step things
things = [Maker.make(n) for n in numbers[-3:]]

# %% plain show
print(things)

# %% step labels
labels = [Maker.label(value) for value, _ in things]

# %% step made
made = Maker.made + len(applied)
print(labels, made)

# edit rules: 2 * x -> 3 * x | reruns rules applied made
# edit cached: fib(n - 1) + fib(n - 2) -> fib(n - 2) + fib(n - 1) | reruns cached numbers
# edit maker: f"<{value}>" -> f"[{value}]" | reruns maker things labels made
# edit numbers: range(10) -> range(11) | reruns numbers things labels made
# edit labels: Maker.label(value) for value, _ -> Maker.label(v) for v, _ | reruns labels
