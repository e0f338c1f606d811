"""JSON files in a folder that a step makes; listing it; a file given from outside."""
# uses: files builtins
# file config.json: {"least": 2, "tag": "x"}

# %% plain imports
import json
import os

# %% step config
with open("config.json") as source:
    config = json.load(source)
del source

# %% step folder
os.makedirs("parts", exist_ok=True)
for n in range(4):
    with open(f"parts/{n}.json", "w") as target:
        json.dump({"n": n, "square": n * n}, target)
del target

# %% step listed
listed = sorted(os.listdir("parts"))
print(listed)

# %% step loaded
loaded = []
for name in listed:
    with open(os.path.join("parts", name)) as source:
        loaded.append(json.load(source))
del source

# %% plain tag
prefix = "p"

# %% step kept
kept = [part["square"] for part in loaded if part["n"] >= config["least"]]

# %% step total
total = sum(kept)

# %% step label
label = f"{prefix}-{config['tag']}-{total}"
print(label)

# edit config.json: "least": 2 -> "least": 3 | reruns config kept total label
# edit config.json: "tag": "x" -> "tag": "y" | reruns config kept label
# edit folder: n * n -> n * n + 1 | reruns folder loaded kept total label
# edit folder: range(4) -> range(5) | reruns folder listed loaded kept total label
# edit tag: prefix = "p" -> prefix = "q" | reruns label
