"""Print the newest supported Python on this machine, if it is newer than this one."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = [(3, minor) for minor in (13, 12, 11)]


def candidates(minor: int) -> Iterator[str]:
    """Yield interpreters of this minor version: on the path, and those of pyenv."""
    found = shutil.which(f"python3.{minor}")
    if found:
        yield found
    versions = Path.home() / ".pyenv" / "versions"
    for folder in sorted(versions.glob(f"3.{minor}.*"), reverse=True):
        yield str(folder / "bin" / f"python3.{minor}")


def works(python: str, minor: int) -> bool:
    """Say whether it starts, is of that version, and can make environments."""
    code = "import sys, venv, ensurepip; print(sys.version_info[1])"
    try:
        done = subprocess.run(  # noqa: S603 - an interpreter of this machine
            [python, "-c", code], capture_output=True, text=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == str(minor)


def main() -> None:
    """Print its path, or nothing."""
    for version in SUPPORTED:
        if version <= sys.version_info[:2]:
            return
        for python in candidates(version[1]):
            if works(python, version[1]):
                print(python)
                return


if __name__ == "__main__":
    main()
