"""Cleaning by functions in a pipe; a function edited in a plain cell."""
# uses: pandas

# %% plain imports
import pandas as pd

# %% plain helpers
def tidy(frame):
    frame = frame.copy()
    frame["name"] = frame["name"].str.strip().str.title()
    return frame

def grade(frame, best=90):
    return frame.assign(grade=["A" if score >= best else "B" for score in frame["score"]])

# %% step raw
raw = pd.DataFrame({"name": [" ann", "BOB ", "cid"], "score": [91, 85, 78]})

# %% step tidied
tidied = raw.pipe(tidy)

# %% step graded
graded = tidied.pipe(grade)
print(graded.to_string(index=False))

# %% step counts
counts = graded["grade"].value_counts().to_dict()

# %% step mean
mean = tidied["score"].mean()

# %% plain bonus
bonus = {"A": 10, "B": 5}

# %% step final
final = graded["score"] + graded["grade"].map(bonus)

# %% step names
names = sorted(tidied["name"])

# edit helpers: best=90 -> best=80 | reruns graded counts final
# edit helpers: str.title() -> str.upper() | reruns tidied graded counts mean final names
# edit raw: 91, 85, 78 -> 91, 85, 79 | reruns raw tidied graded counts mean final names
# edit bonus: "B": 5 -> "B": 6 | reruns final
# edit graded: pipe(grade) -> pipe(grade, best=90) | reruns graded
