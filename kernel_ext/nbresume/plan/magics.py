"""What IPython's magics and shell lines do to names, by their text alone.

The rule: a magic is known to be harmless, known to run Python, or taken to read every
identifier that it shows; a cell magic of unknown kind may change anything.
"""

import re

from msgspec import Struct

IDENTIFIER = re.compile(r"[^\W\d]\w*")


def words(text: str) -> frozenset[str]:
    """Return the words of a text: how the lists of names are written here."""
    return frozenset(text.split())


_RUNS_LINE = frozenset({"time", "timeit", "prun"})
_RUNS_CELL = frozenset({"time", "timeit", "prun", "capture"})
_REACHES_ALL = words(
    "aimport cpaste debug edit load loadpy macro paste pylab recall rep rerun reset "
    "reset_selective run store who who_ls whos xdel"
)
_HARMLESS = words(
    "alias alias_magic autoawait autocall automagic autoreload autosave "
    "bookmark cd colors conda config connect_info dhist dirs doctest_mode "
    "env gui hist history killbgscripts ll load_ext logoff logon logstart logstate "
    "logstop ls lsmagic magic mamba man matplotlib micromamba notebook page pdb pdef "
    "pdoc pfile pinfo pinfo2 pip popd pprint precision profile psearch psource pushd "
    "pwd quickref rehashx reload_ext set_env steps subshell tb unalias unload_ext uv "
    "xmode"
)
_OPTIONS = re.compile(r"\s*(?:-{1,2}[A-Za-z][\w-]*(?:[ =]?\d+)?\s+)*")
_PRUN_OPTIONS = re.compile(r"\s*(?:-[lsDT]\s+\S+\s+|-[qr]\s+)*")
_SHELL = re.compile(r"(?<!\$)\$([^\W\d]\w*)|\{([^{}]*)\}")


class Magic(Struct, frozen=True):
    """What a magic does to the notebook's names."""

    code: str | None = None
    """Python that it runs; it counts like code of the cell."""
    isolated: bool = False
    """The code runs in a function of its own: what it sets is not kept."""
    reads: frozenset[str] = frozenset()
    stores: frozenset[str] = frozenset()
    wild: bool = False
    """It may read or change any name."""


def line_magic(name: str, line: str) -> Magic:
    """Return what ``%name line`` does."""
    if name in _RUNS_LINE:
        return Magic(code=_statement(name, line), isolated=name == "timeit")
    if name in _REACHES_ALL:
        return Magic(reads=identifiers(line), wild=True)
    if name in _HARMLESS:
        return Magic(reads=shell_names(line))
    return Magic(reads=identifiers(line))


def cell_magic(name: str, line: str, body: str) -> Magic:
    """Return what ``%%name line`` above the body does."""
    if name not in _RUNS_CELL:
        return Magic(reads=identifiers(f"{line}\n{body}"), wild=True)
    if name == "capture":
        names = [word for word in line.split() if not word.startswith("-")]
        return Magic(code=body, stores=frozenset(names[:1]))
    first = _statement(name, line)
    return Magic(code=f"{first}\n{body}", isolated=name == "timeit")


def identifiers(text: str) -> frozenset[str]:
    """Return every identifier in a text."""
    return frozenset(IDENTIFIER.findall(text))


def shell_names(text: str) -> frozenset[str]:
    """Return the names that IPython fills in: ``$name`` and ``{expression}``."""
    names: set[str] = set()
    for variable, expression in _SHELL.findall(text):
        names |= identifiers(variable or expression)
    return frozenset(names)


def _statement(name: str, line: str) -> str:
    options = _PRUN_OPTIONS if name == "prun" else _OPTIONS
    return options.sub("", f"{line} ", count=1).strip()
