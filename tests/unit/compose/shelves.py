"""Stores in folders, with runs in them, for the tests of backups."""

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from unit.run.fakes import Lab

from nbresume.compose.exporting import Exported, export
from nbresume.compose.importing import Imported, import_backup
from nbresume.compose.stores import OpenStore, Place, open_journal, open_store
from nbresume.run.verify import verify
from nbresume.store.backup_reader import BackupReader

CELLS = {
    "a": "%%step a\nimport numpy as np\nx = np.arange(400_000.0)\nL = [1]",
    "p": "k = 3",
    "b": "%%step b\nL.append(k)\ny = float(x[7])",
    "c": "%%step c\nz = sum(L)",
}


@dataclass
class Shelf:
    """One user's folder: a key, a store and what works on it."""

    folder: Path
    cells: dict[str, str] = field(default_factory=lambda: dict(CELLS))
    encrypt: bool = False

    def __post_init__(self) -> None:
        self.lab = Lab(**self.cells)

    @property
    def place(self) -> Place:
        """Where the store and the key lie."""
        # as commands find the key, with this folder as Jupyter's data folder
        store, data = self.folder / "store", self.folder / "nbresume"
        return Place(store=store, data=data, encrypt=self.encrypt)

    def open(self, *, create: bool = False) -> OpenStore:
        """Open the store; the lab's kernels work on it from now on."""
        store = open_store(self.place, create=create)
        self.lab.backend, self.lab.trust = store.backend, store.trust
        return store

    def ran(self, *cells: str):
        """Let a kernel run cells, or all; return it."""
        self.open(create=True)
        k = self.lab.kernel()
        k.go(*cells)
        return k

    def share_key(self, other: "Shelf") -> None:
        """Give another folder this user's key."""
        other.place.data.mkdir(parents=True, mode=0o700, exist_ok=True)
        other.place.key_file.write_bytes(self.place.key_file.read_bytes())
        other.place.key_file.chmod(0o600)

    def export(self, path: Path, *runs: str, **how) -> Exported:
        """Export runs of the store."""
        how.setdefault("checkpoints", [])
        wanted = list(runs) or sorted(self.open().runs().ids())
        return export(self.open(), wanted, path, self.lab.world(), **how)

    def take(self, path: Path, *runs: str, **how) -> Imported:
        """Import runs of a backup."""
        with BackupReader(path) as reader:
            return import_backup(
                reader, self.place, self.lab.world(), runs=list(runs), **how
            )

    def problems(self, run_id: str) -> list[str]:
        """Return what verifying a run finds."""
        journal = open_journal(self.open(), run_id, self.lab.world())
        journal.open()
        return verify(journal).problems

    def files(self, below: str = "") -> dict[str, str]:
        """Return path → digest of everything in the store, or below a folder of it."""
        root = self.folder / "store"
        paths = [p for p in (root / below).rglob("*") if p.is_file()]
        return {
            p.relative_to(root).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in paths
        }


def shelf(tmp_path: Path, **more) -> Shelf:
    """Return a fresh folder for a user."""
    folder = tmp_path / secrets.token_hex(4)
    folder.mkdir()
    return Shelf(folder, **more)
