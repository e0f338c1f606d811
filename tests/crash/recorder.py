"""Every file operation of a process below some folders, in the order it was made.

It wraps the functions of ``os`` that the store calls, and writes one line of JSON for
each call that succeeded. `strace` sees the same (`test_power.py`).
"""

import base64
import json
import os
import threading
from pathlib import Path


class Recorder:
    """Writes the operations of this process to a log."""

    def __init__(self, log: Path) -> None:
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._write = os.write
        self._lock = threading.RLock()
        self._open: dict[int, str] = {}
        """Descriptors that the process opened, and the path behind each."""

    def tell(self, operation: str, *details: object) -> None:
        """Add a line to the log."""
        line = json.dumps([operation, *details]) + "\n"
        self._write(self._log, line.encode())

    def install(self) -> None:
        """Record from now on."""
        self._wrap("open", self._opened)
        self._wrap("write", self._wrote)
        self._wrap("fsync", lambda _, fd: self.tell("fsync", self._open.get(fd, "")))
        self._wrap("close", lambda _, fd: self._open.pop(fd, None))
        for name in ("link", "replace", "rename"):
            self._wrap(
                name,
                lambda _, a, b, name=name, **__: self.tell(
                    "link" if name == "link" else "replace", str(a), str(b)
                ),
            )
        for name in ("mkdir", "unlink", "remove", "rmdir"):
            self._wrap(
                name,
                lambda _, path, *__, name=name, **___: self.tell(
                    "unlink" if name == "remove" else name, str(path)
                ),
            )

    def _wrap(self, name: str, note) -> None:
        original = getattr(os, name)

        def recorded(*args, **options):
            with self._lock:
                result = original(*args, **options)
                note(result, *args, **options)
            return result

        setattr(os, name, recorded)

    def _opened(self, fd: int, path, flags: int, *_, **__) -> None:
        self._open[fd] = str(path)
        if flags & os.O_CREAT:
            self.tell("create", str(path))

    def _wrote(self, count: int, fd: int, data) -> None:
        path = self._open.get(fd)
        if path is not None:
            written = bytes(memoryview(data).cast("B")[:count])
            self.tell("write", path, base64.b64encode(written).decode())
