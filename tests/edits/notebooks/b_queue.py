"""A queue worked off by steps; state in a dict that plain cells and steps share."""
# uses: builtins

# %% plain imports
import heapq
import itertools

# %% plain config
config = {"slots": 2, "bonus": 1}

# %% step jobs
jobs = [(3, "sweep"), (1, "cook"), (2, "wash"), (5, "paint")]
heapq.heapify(jobs)

# %% step first
done = [heapq.heappop(jobs)[1] for _ in range(config["slots"])]

# %% step second
done += [heapq.heappop(jobs)[1]]
left = len(jobs)

# %% plain peek
print("next:", jobs[0])

# %% step pairs
pairs = list(itertools.combinations(done, 2))

# %% step score
def score(names):
    return sum(map(len, names)) + config["bonus"]

points = score(done)

# %% step table
table = {pair: score(pair) for pair in pairs}

# %% step winner
winner = max(table, key=table.get)
print(winner, points)

# edit config: "slots": 2 -> "slots": 1 | reruns first second pairs score table winner
# edit config: "bonus": 1 -> "bonus": 2 | reruns first score table winner
# edit jobs: (5, "paint") -> (6, "paint") | reruns jobs first second
# edit second: left = len(jobs) -> left = len(jobs) * 2 | reruns second
# edit peek: "next:" -> "then:" | reruns nothing
# edit score: sum(map(len, names)) -> sum(map(len, names)) * 2 | reruns score table winner
