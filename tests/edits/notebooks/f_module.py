"""A module of one's own beside the notebook, and a text file that it reads."""
# uses: files builtins
# file shapes.py: SIDES = 4\n\ndef area(a, b):\n    return a * b\n
# file sizes.txt: 2 3\n4 5\n

# %% step imports
import shapes

# %% step sizes
sizes = [tuple(map(int, line.split())) for line in open("sizes.txt").read().splitlines()]

# %% step areas
areas = [shapes.area(*size) for size in sizes]
print(areas)

# %% plain scale
scale = 2

# %% step scaled
scaled = [area * scale for area in areas]

# %% step sides
sides = len(sizes) * shapes.SIDES

# %% step largest
largest = max(scaled)

# %% step text
text = f"{largest} of {sides}"
print(text)

# edit sizes.txt: 4 5 -> 4 6 | reruns sizes areas scaled sides largest text
# edit scale: scale = 2 -> scale = 3 | reruns scaled largest text
# edit sides: len(sizes) * shapes.SIDES -> shapes.SIDES * len(sizes) | reruns sides
# edit areas: shapes.area(*size) for size -> shapes.area(a, b) for a, b | reruns areas
# edit shapes.py: SIDES = 4 -> SIDES = 5 | reruns imports areas sides text
