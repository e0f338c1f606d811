"""Loading nbresume in every kernel of an environment: one file, opt-in.

The rule: only a file that we wrote is written over or taken away.
"""

import sys
from pathlib import Path

from nbresume.errors import RefusedError
from nbresume.ui.writing import write_whole

_MARK = "# written by: nbresume autoload --sys-prefix"
_TEXT = f"""{_MARK}
# Loads nbresume in kernels whose notebook has steps; runs and restores nothing.
# nbresume autoload --remove takes this file away; so does the first kernel that starts
# after nbresume was uninstalled, because pip knows only what it has installed.
try:
    __import__("nbresume.ui.ipython.startup", fromlist=["load"]).load(get_ipython())
except ImportError as error:
    _own = __import__("pathlib").Path(__file__)
    if error.name == "nbresume" and __import__("os").access(_own.parent, 2):
        _own.unlink(missing_ok=True)
    del _own
"""


def startup_file() -> Path:
    """Return where IPython of this environment finds what it runs in each kernel."""
    return Path(sys.prefix) / "etc" / "ipython" / "startup" / "50-nbresume.py"


def is_on() -> bool:
    """Say whether kernels of this environment load nbresume by themselves."""
    return _is_ours(startup_file())


def turn_on() -> Path:
    """Write the file; return where it lies.

    Raises
    ------
    RefusedError
        There is another file of that name, or the folder cannot be written to.
    """
    path = startup_file()
    if path.exists() and not _is_ours(path):
        raise RefusedError(
            f"{path} was not written",
            because="there is a file of that name that nbresume did not write",
            remedy="Move it away, or load nbresume by %load_ext nbresume.",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _TEXT)
        path.chmod(0o644)
    except OSError as error:
        raise _unwritable(path, "written", error) from error
    return path


def turn_off() -> bool:
    """Take the file away; return whether there was one of ours.

    Raises
    ------
    RefusedError
        It cannot be removed.
    """
    path = startup_file()
    if not _is_ours(path):
        return False
    try:
        path.unlink()
    except OSError as error:
        raise _unwritable(path, "removed", error) from error
    return True


def _is_ours(path: Path) -> bool:
    try:
        return path.read_text(encoding="utf-8").startswith(_MARK)
    except (OSError, ValueError):
        return False


def _unwritable(path: Path, what: str, error: OSError) -> RefusedError:
    return RefusedError(
        f"{path} was not {what}",
        because=error.strerror or str(error),
        remedy="Use an environment that you may write to, or %load_ext nbresume.",
    )
