"""A CSV file that is written by one step and read by others."""
# uses: files builtins

# %% plain imports
import csv
from pathlib import Path

# %% step write
rows = [("ann", 3), ("bob", 5), ("cid", 2)]
with open("points.csv", "w", newline="") as file:
    csv.writer(file).writerows(rows)
del file

# %% step read
with open("points.csv", newline="") as file:
    points = {name: int(n) for name, n in csv.reader(file)}
del file
print(points)

# %% step total
total = sum(points.values())

# %% plain names
top_name = "ann"

# %% step top
top = points[top_name] / total

# %% step report
Path("report.txt").write_text(f"{top_name}: {top:.2f}\n")

# %% step check
report = Path("report.txt").read_text()
print(report)

# %% step lines
lines = len(Path("points.csv").read_text().splitlines())

# edit write: ("bob", 5) -> ("bob", 6) | reruns write read total top report check lines
# edit names: top_name = "ann" -> top_name = "bob" | reruns top report check
# edit read: int(n) -> float(n) | reruns read total top
# edit report: .2f -> .3f | reruns report check
# edit write: "points.csv", "w", newline="" -> "points.csv", mode="w", newline="" | reruns write
