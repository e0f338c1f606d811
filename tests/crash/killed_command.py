"""A command of nbresume in a process that is killed at the nth event that counts."""

import os
import subprocess
import sys

CHILD = """
import os, signal, sys
nth, count = int(sys.argv.pop(1)), 0
{counts}

def told(event, args):
    global count
    if counts(event, args):
        count += 1
        if count == nth:
            os.kill(os.getpid(), signal.SIGKILL)

from nbresume.ui.cli import main
sys.addaudithook(told)
try:
    main()
finally:
    print(count, file=sys.stderr)
"""


def command(folder, counts, nth, *words, **env):
    """Return how a command ended; the last word that it says is how many there were.

    `counts` is the text of a function ``counts(event, args)``; 0 is never reached.
    """
    return subprocess.run(
        [sys.executable, "-c", CHILD.format(counts=counts), str(nth), *words],
        cwd=folder,
        env={**os.environ, "JUPYTER_DATA_DIR": str(folder / "user"), **env},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
