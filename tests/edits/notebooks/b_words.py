"""Words: count, rank, report; a cut-off where the ranking stays."""
# uses: builtins

# %% plain settings
least = 2
stop = {"the", "a", "of"}

# %% step text
lines = [
    "the tale of a ship",
    "a ship and a storm",
    "the end of the storm",
]

# %% step words
words = [word for line in lines for word in line.split() if word not in stop]
print(len(words), "words")

# %% step counts
counts = {}
for word in words:
    counts[word] = counts.get(word, 0) + 1

# %% step frequent
frequent = sorted(word for word, n in counts.items() if n >= least)

# %% step lengths
lengths = {word: len(word) for word in counts}
longest = max(lengths.values())

# %% plain look
print(frequent)

# %% step report
report = ", ".join(frequent) + f" of {len(counts)}"
print(report)

# %% step title
title = "-".join(frequent).upper()

# edit settings: least = 2 -> least = 1 | reruns frequent report title
# edit settings: "a", "of" -> "a", "of", "nothing" | reruns words
# edit text: the end -> the last end | reruns text words counts frequent lengths report
# edit frequent: n >= least -> n > least - 1 | reruns frequent
# edit lengths: len(word) -> len(word) + 1 | reruns lengths
# edit report: f" of {len(counts)}" -> f" among {len(counts)}" | reruns report
