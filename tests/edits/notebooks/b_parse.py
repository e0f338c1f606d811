"""Parse a log: regular expressions, named tuples, exceptions, an early cut-off."""
# uses: builtins

# %% plain imports
import re
from collections import Counter, namedtuple

# %% step raw
raw = """\
10:00 INFO start
10:01 WARN slow 31
10:02 ERROR lost 7
10:05 WARN slow 44
10:07 INFO stop
"""

# %% step pattern
pattern = re.compile(r"(\d+):(\d+) (\w+) (\w+) ?(\d*)")

# %% step entries
Entry = namedtuple("Entry", "minute level word value")
entries = []
for line in raw.splitlines():
    hours, minutes, level, word, value = pattern.match(line).groups()
    entries.append(Entry(int(hours) * 60 + int(minutes), level, word, value or None))

# %% step levels
levels = Counter(entry.level for entry in entries)

# %% plain threshold
threshold = 40

# %% step slow
slow = []
for entry in entries:
    try:
        if int(entry.value) > threshold:
            slow.append(entry.minute)
    except TypeError:
        continue

# %% step span
span = entries[-1].minute - entries[0].minute

# %% step pace
pace = {level: round(n / span, 3) for level, n in sorted(levels.items())}
print(pace)

# %% step verdict
verdict = "bad" if slow else "good"

# edit raw: slow 31 -> slow 32 | reruns raw entries levels slow span
# edit raw: 10:07 INFO -> 10:08 INFO | reruns raw entries levels slow span pace
# edit threshold: threshold = 40 -> threshold = 43 | reruns slow
# edit threshold: threshold = 40 -> threshold = 50 | reruns slow verdict
# edit pattern: (\d+):(\d+) -> (\d\d):(\d\d) | reruns pattern entries
# edit pace: 3) -> 2) | reruns pace
