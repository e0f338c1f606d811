"""A class defined twice under one name; old instances keep their own class."""
# uses: classes

# %% step first
class Shape:
    def sides(self):
        return 3

# %% step old
old = [Shape(), Shape()]

# %% step second
class Shape:
    def sides(self):
        return 4

    def corners(self):
        return self.sides()

# %% step new
new = Shape()

# %% step counts
counts = [one.sides() for one in (*old, new)]
print(counts)

# %% plain check
print(isinstance(old[0], Shape), isinstance(new, Shape))

# %% step kinds
kinds = len({type(one) for one in (*old, new)})

# %% step corners
corners = new.corners()

# %% step both
both = corners + kinds + sum(counts)
print(both)

# edit first: return 3 -> return 5 | reruns first old counts kinds both
# edit second: return 4 -> return 6 | reruns second new counts kinds corners both
# edit old: [Shape(), Shape()] -> [Shape()] | reruns old counts kinds both
# edit new: new = Shape() -> new = (Shape)() | reruns nothing
# edit kinds: type(one) -> one.__class__ | reruns kinds
