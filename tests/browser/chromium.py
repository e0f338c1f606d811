"""Where the browser is; without one, what to type.

The rule: never a silent skip. ``make test-browser`` asks before it sets anything up,
so that nobody waits for minutes to read that the browser is missing.
"""

import os
import shutil
import sys
from collections.abc import Callable, Mapping

VARIABLE = "NBRESUME_CHROMIUM"
# Debian's name first, then Ubuntu's and Google's
NAMES = ("chromium", "chromium-browser", "google-chrome")
MISSING = f"""\
the tests in a real browser were not run: there is no {", ".join(NAMES)} on the PATH.
Type: apt-get install -y --no-install-recommends chromium fonts-dejavu-core
or name another Chromium: {VARIABLE}=/path/to/chrome make test-browser"""


class NoChromiumError(Exception):
    """There is no browser; the message says what to type."""


def find_chromium(
    environ: Mapping[str, str], which: Callable[[str], str | None] = shutil.which
) -> str:
    """Return the browser's path.

    Raises
    ------
    NoChromiumError
        There is none, or the named one is no program.
    """
    named = environ.get(VARIABLE)
    if named:
        found = which(named)
        if found is None:
            raise NoChromiumError(f"{VARIABLE}={named} is no program.\n{MISSING}")
        return found
    for name in NAMES:
        found = which(name)
        if found is not None:
            return found
    raise NoChromiumError(MISSING)


def main() -> None:
    """Return in silence if there is one; else say what to type, and fail."""
    try:
        find_chromium(os.environ)
    except NoChromiumError as missing:
        sys.exit(str(missing))


if __name__ == "__main__":
    main()
