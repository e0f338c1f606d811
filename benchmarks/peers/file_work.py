"""The files of a tiny step by the store's own hands, with no kernel and no capture.

Run in nbresume's environment: ``python -m peers.file_work FOLDER`` prints the median
seconds as JSON, and those of bare creates taken in turn with it. A tiny step makes its
intent, its pack and its commit record: two keys of the journal, and a group that is
sealed and then published.
"""

import json
import statistics
import sys
import time
from pathlib import Path

from nbresume.store.local_open import open_local
from nbresume.store.objects import Objects
from peers.bare import three_creates

STEPS = 30
RUN = "0123456789abcdef"


def measure(folder: Path) -> dict[str, float]:
    """Return the seconds of the files of one step."""
    backend = open_local(folder / "store", create=True)
    objects = Objects(backend, RUN)
    record = b"x" * 800
    taken, bare = [], []
    for number in range(STEPS):
        begun = time.perf_counter()
        backend.create(f"journal/{RUN}/{2 * number:010d}.rec", record)
        draft = objects.draft(f"group-{number}")
        draft.add_to_pack(record)
        draft.begin()
        staged = objects.stage(f"group-{number}", {})
        key = f"journal/{RUN}/{2 * number + 1:010d}.rec"
        backend.create(key, record, after=draft.flush)
        staged.show()
        taken.append(time.perf_counter() - begun)
        bare.append(three_creates(folder / "bare"))
    return {"files": statistics.median(taken), "files_bare": statistics.median(bare)}


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
