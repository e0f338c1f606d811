"""A file that is rewritten by a later step, renamed and removed; strings that name files."""
# uses: files builtins
# file notes.txt: buy milk\ncall bob\nbuy bread\n

# %% plain imports
import os
from collections import Counter

# %% step notes
notes = open("notes.txt").read().splitlines()

# %% step verbs
verbs = Counter(note.split()[0] for note in notes)

# %% step draft
with open("draft.txt", "w") as out:
    out.write("\n".join(sorted(notes)))
del out

# %% step rename
os.replace("draft.txt", "final.txt")

# %% step final
with open("final.txt") as source:
    final = source.read()
del source
print(final)

# %% plain marker
marker = "*"

# %% step marked
marked = [marker + line for line in final.splitlines()]

# %% step longest
longest = max(marked, key=len)

# %% step score
score = verbs["buy"] * 10 + len(longest)
print(score)

# edit notes.txt: buy bread -> buy broad | reruns notes verbs draft rename final marked longest score
# edit notes.txt: call bob -> buy bob | reruns notes verbs draft rename final marked longest score
# edit marker: marker = "*" -> marker = "-" | reruns marked longest score
# edit verbs: note.split()[0] -> note.split(" ")[0] | reruns verbs
# edit draft: sorted(notes) -> sorted(notes, reverse=True) | reruns draft rename final marked longest
