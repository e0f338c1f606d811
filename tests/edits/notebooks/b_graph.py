"""A graph of places: nested dicts, sets, a search, deleted names."""
# uses: builtins

# %% step roads
roads = {
    "A": {"B": 4, "C": 2},
    "B": {"D": 5},
    "C": {"B": 1, "D": 8},
    "D": {},
}

# %% step reverse
reverse = {place: set() for place in roads}
for place, ways in roads.items():
    for target in ways:
        reverse[target].add(place)
del place, ways, target

# %% plain start
start = "A"

# %% step distances
distances = {start: 0}
waiting = [start]
while waiting:
    here = waiting.pop(0)
    for there, length in roads[here].items():
        new = distances[here] + length
        if new < distances.get(there, 10**6):
            distances[there] = new
            waiting.append(there)
del waiting

# %% step furthest
furthest = max(distances, key=distances.get)

# %% step path
path = [furthest]
while path[-1] != start:
    here = path[-1]
    path.append(min(reverse[here], key=lambda place: distances[place] + roads[place][here]))
path.reverse()
print(" > ".join(path))

# %% step cost
cost = sum(roads[one][two] for one, two in zip(path, path[1:]))

# %% plain check
assert cost == distances[furthest]

# %% step busy
busy = [place for place, sources in sorted(reverse.items()) if len(sources) > 1]

# edit roads: "D": 8 -> "D": 9 | reruns roads reverse distances path cost
# edit roads: "B": 1, -> "B": 3, | reruns roads reverse distances furthest path cost
# edit start: start = "A" -> start = "A" + "" | reruns nothing
# edit busy: len(sources) > 1 -> len(sources) >= 1 | reruns busy
# edit distances: 10**6 -> 10**7 | reruns distances
