"""The ports of ``run`` on a real machine: clock, ids, liveness, interrupts, files."""

import getpass
import os
import platform
import secrets
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from nbresume.compose.processes import booted_at, started_at
from nbresume.errors import RefusedError
from nbresume.model.values import Writer
from nbresume.plan.notebook import BY_TEXT, NAMED, Cell, parse_notebook
from nbresume.settings import __version__

PRODUCT = f"nbresume {__version__}"
_SAME_START_S = 0.05
"""Process starts closer than this are one process: the system rounds them."""
_WRITTEN_S: Final = 1.0
"""How long a notebook is waited for that somebody is writing."""
_LOOK_S: Final = 0.02


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the time as an aware UTC value."""
        return datetime.now(UTC)

    def monotonic_s(self) -> float:
        """Return seconds that never go backwards."""
        return time.monotonic()

    def cpu_s(self) -> float:
        """Return the CPU seconds that this process has used."""
        return time.process_time()


class RandomIds:
    """Ids from the system's random source: independent of the user's seeds."""

    def run_id(self) -> str:
        """Return 16 hex digits."""
        return secrets.token_hex(8)

    def attempt_id(self) -> str:
        """Return 12 hex digits."""
        return secrets.token_hex(6)

    def nonce(self) -> str:
        """Return 32 hex digits."""
        return secrets.token_hex(16)


class ProcessLiveness:
    """Processes of this machine, told apart by pid, start time and boot."""

    def __init__(self, actor: str = "") -> None:
        self._me = _this_process()
        self._actor = actor
        """Who acts, if that is not the account of this process."""

    def me(self) -> Writer:
        """Return this process as a claim names it; the child of a fork is another."""
        if self._me.pid != os.getpid():
            self._me = _this_process()
        return self._me

    def is_alive(self, writer: Writer) -> bool | None:
        """Say whether that process runs; None if it belongs to another host."""
        if writer.host != self._me.host:
            return None
        if writer.boot_id != self._me.boot_id:
            return False
        try:
            started = started_at(writer.pid)
        except PermissionError:
            return None
        return started is not None and abs(started - writer.started) < _SAME_START_S

    def actor(self) -> str:
        """Return who acts: the person that was named, else the account."""
        if self._actor:
            return self._actor
        try:
            return getpass.getuser()
        except (OSError, KeyError):
            return f"uid {os.getuid()}"


def _this_process() -> Writer:
    return Writer(
        nonce=secrets.token_hex(16),
        host=socket.gethostname(),
        boot_id=_boot_id(),
        pid=os.getpid(),
        started=started_at(os.getpid()) or 0.0,
        python=platform.python_version(),
        product=PRODUCT,
    )


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        # no such file on this system: the time of the boot tells boots apart
        return str(int(booted_at()))


class SignalInterrupts:
    """Ctrl-C by signal; held back only in the main thread, where it arrives."""

    def defer(self) -> Callable[[], None]:
        """Hold interrupts back; returns what lets them through again."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        held: list[int] = []
        former = signal.getsignal(signal.SIGINT)

        def hold(signum: int, _frame: FrameType | None) -> None:
            held.append(signum)

        signal.signal(signal.SIGINT, hold)

        def let_through() -> None:
            signal.signal(signal.SIGINT, former)
            if held:
                signal.raise_signal(signal.SIGINT)

        return let_through


class SavedNotebook(Struct):
    """A notebook as its file has it; read anew when the file has moved on."""

    path: str
    workflow: str
    _stamp: tuple[int, int, int] = (0, 0, 0)
    _cells: list[Cell] | None = None
    _is_broken: bool = False
    """It was waited for, and did not become whole: it is not waited for again."""
    _were_saved: set[str] = field(default_factory=set)
    """Ids of all cells that the file has had: one that it has no more is gone."""
    _saved_steps: set[str] = field(default_factory=set)
    _noted: list[Cell] = field(default_factory=list)
    _noted_places: dict[str, int] = field(default_factory=dict)
    """Cell id, and step name, of each noted cell → its place among them."""
    _all: list[Cell] | None = None
    """Those of the file and the noted ones, while neither become others."""

    def note(self, cell: Cell) -> None:
        """Take a step that the front end has: until it is saved it stands last."""
        self._read()
        # typed again, in this cell or in another one: it stands where it stood
        places = [*map(self._noted_places.get, _keys(cell))]
        former = min((place for place in places if place is not None), default=None)
        if former is None:
            if cell.cell_id not in self._were_saved:
                self._append(cell)
        elif self._noted[former] != cell:
            self._noted[former] = cell
            self._all, self._noted_places = None, {}
            for place, noted in enumerate(self._noted):
                self._place(noted, place)

    def _append(self, cell: Cell) -> None:
        self._place(cell, len(self._noted))
        self._noted.append(cell)
        if self._all is not None:
            self._all += self._unsaved([cell])

    def _place(self, cell: Cell, place: int) -> None:
        for key in _keys(cell):
            self._noted_places.setdefault(key, place)

    def cells(self) -> list[Cell] | None:
        """Return the code cells in order; None when there is no readable file.

        Steps that have begun in this kernel and that the file has never had follow.
        """
        saved = self._read()
        if saved is None or not self._noted:
            return saved
        if self._all is None:
            self._all = saved + self._unsaved(self._noted)
        return self._all

    def _unsaved(self, noted: Iterable[Cell]) -> list[Cell]:
        return [
            cell
            for cell in noted
            if cell.cell_id not in self._were_saved
            and cell.step not in self._saved_steps
        ]

    def _read(self) -> list[Cell] | None:
        if not self.path:
            return None
        # Jupyter's server writes a notebook in place: it is empty for a moment. Where
        # nothing of it is known yet, its plain cells and new steps would be missed
        end = time.monotonic() + _WRITTEN_S
        while not self._take() and self._cells is None and not self._is_broken:
            self._is_broken = time.monotonic() >= end
            time.sleep(_LOOK_S)
        return self._cells

    def _take(self) -> bool:
        """Take the cells of the file if it has moved on; False if it is not whole."""
        try:
            stat = Path(self.path).stat()
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if stamp != self._stamp:
                found = parse_notebook(Path(self.path).read_bytes())
                self._cells, self._stamp = _with_ids(found), stamp
                self._were_saved |= {cell.cell_id for cell in self._cells}
                self._saved_steps = {cell.step for cell in self._cells if cell.step}
                self._all = None
        except OSError:
            # not saved yet: the order comes from the records, and the view says so
            return True
        except RefusedError:
            return False
        return True

    def exists(self, path: str) -> bool:
        """Say whether another notebook's file is (still) there."""
        return bool(path) and Path(path).exists()


def _keys(cell: Cell) -> tuple[str, str]:
    return f"cell {cell.cell_id}", f"step {cell.step}"


def _with_ids(cells: list[Cell]) -> list[Cell]:
    """Give cells of old formats an id: their step name, else their text.

    So do cells that have the id of another one above: Jupyter gives them ids of its
    own when it opens the file, which are in no file before it is saved.
    """
    named: list[Cell] = []
    seen: set[str] = set()
    twins = Counter[str]()
    for cell in cells:
        cell_id = "" if cell.cell_id in seen else cell.cell_id
        seen.add(cell.cell_id)
        if not cell_id and cell.step:
            cell_id = f"{NAMED}{cell.step}"
            twins[cell_id] += 1
            # two cells with one name are two cells: the second one is refused
            cell_id += f"#{twins[cell_id]}" if twins[cell_id] > 1 else ""
        named.append(replace(cell, cell_id=cell_id or f"{BY_TEXT}{cell.text_digest}"))
    return named
