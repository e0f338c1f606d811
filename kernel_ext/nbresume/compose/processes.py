"""Processes of this machine: which one has a number, and since when.

The rule: Linux tells it in a file of each process. Other systems are asked by psutil,
which takes longer to import than all the questions take that a kernel asks.
"""

import os
from pathlib import Path


def started_at(pid: int) -> float | None:
    """Return when a process started, in a time that does not move with the clock.

    None if there is no such process, or it has ended and nobody took note of that.

    Raises
    ------
    PermissionError
        This system does not tell of that process.
    """
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _asked(pid)
    # psutil makes a time of day of it, by a time of the boot that follows the clock:
    # a kernel would look dead to others once the clock was set
    fields = told.rpartition(")")[2].split()
    ended = fields[0] in {"Z", "X"}
    return None if ended else int(fields[19]) / os.sysconf("SC_CLK_TCK")


def _asked(pid: int) -> float | None:
    import psutil  # noqa: PLC0415 - see above

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        started: float = process.create_time()
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied as error:
        raise PermissionError(str(error)) from error
    return started


def booted_at() -> float:
    """Return when this machine was started, where no file names the boot."""
    import psutil  # noqa: PLC0415 - see above

    booted: float = psutil.boot_time()
    return booted
