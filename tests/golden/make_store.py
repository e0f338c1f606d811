"""Write a golden store: what a release of today leaves on a disk, with its key.

Type ``PYTHONPATH=tests .venv/bin/python tests/golden/make_store.py NAME``. A store that
was committed once is never written again: a new schema version gets a new one.
"""

import io
import sys
import tarfile
from pathlib import Path

from unit.run.fakes import KEY, Lab
from unit.run.later import LATER

from nbresume.compose.migrating import migrator
from nbresume.model.values import How
from nbresume.run.migrate import Wish
from nbresume.run.recovery import Answer
from nbresume.store.layout import open_layout
from nbresume.store.trust import Trust, key_of_store

FOLDER = Path(__file__).parent
STORE_ID = "60" * 16
RUN, DAMAGED = "600d" * 4, "bad0" * 4
CELLS = {
    "a": "%%step a\nimport numpy as np\nx = np.zeros(150_000)\nx[7] = 7",
    "b": "%%step b\nrows = [int(x[7]), 8]",
    "p": "k = 1",
    "c": "%%step c\ntotal = sum(rows) + k",
    "f": "%%step f\nraise ValueError",
    "m": "%%step m --effects\ndie()",
}


def open_lab() -> Lab:
    """Return the notebook over an empty store."""
    lab = Lab(**CELLS)
    open_layout(lab.backend, new_id=STORE_ID)
    lab.trust = Trust(key_of_store(KEY, STORE_ID))
    return lab


def write_run(lab: Lab) -> None:
    """Write a run with a record of every kind, and with folds."""
    k = lab.kernel(run_id=RUN)
    k.go("a", "b", "p", "c")
    for n in range(18):
        lab.edit(b=f"{CELLS['b']}\nextra = {n}")
        k.go("b")
    lab.edit(b=CELLS["b"])
    k.go("b", "c")  # the first commit of b counts again: made current
    k.go("f")
    k.go("m")
    k = lab.kernel(run_id=RUN)
    k.parts.recovery.resolve("m", Answer(How.ABANDON, "it was a test"))
    k.kill()
    chain, wish = lab.store().chain(RUN), Wish("a test")
    moves = migrator(lab.store(), lab.world(alive=False), formats=LATER)
    moves.migrate(chain, wish)
    moves.undo(chain, wish)


def write_damaged_run(lab: Lab) -> None:
    """Write a run of which a record is damaged, and quarantined."""
    k = lab.kernel(run_id=DAMAGED)
    k.go("a", "b")
    k.kill()
    lab.backend.files[f"journal/{DAMAGED}/{2:010d}.rec"] = b"{"
    lab.kernel(run_id=DAMAGED).go("a")


def pack(lab: Lab, path: Path) -> None:
    """Write the store and the key as files of their owner alone."""
    files = {f".nbresume/{name}": data for name, data in lab.backend.files.items()}
    files["jupyter-data/nbresume/key"] = KEY.hex().encode() + b"\n"
    with tarfile.open(path, "w:gz") as tar:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            tar.addfile(entry, io.BytesIO(data))


if __name__ == "__main__":
    target = FOLDER / f"{sys.argv[1]}.tar.gz"
    if target.exists():
        sys.exit(f"{target.name} is there: a golden store is never written again")
    golden = open_lab()
    write_run(golden)
    write_damaged_run(golden)
    pack(golden, target)
