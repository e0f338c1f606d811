"""Which process state is a step's business: secrets, the terminal's variables, seeds.

The rule: decided by names and texts alone; nothing here looks at the process.
"""

import ast
import re

ENV = "env:"
"""Stands before the name of each variable of the environment."""

_SECRET = re.compile(
    r"(?i)token(?!iz)|secret|passw|passphrase|api_?key|credential|private|cookie"
    # An author is no authority: Git's variables name authors.
    r"|auth(?!or(?!i))"
)
_SECRET_WORDS = frozenset(
    {"key", "keys", "pass", "pwd", "pat", "jwt", "dsn", "bearer", "sas", "pin"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PASSWORD_IN_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")

_LOSE = frozenset(
    {
        *("COLUMNS", "LINES", "_", "PWD", "OLDPWD", "SHLVL", "TERM", "COLORTERM"),
        *("WINDOWID", "MPLBACKEND"),
    }
)
_LOSE_PREFIXES = (
    *("PYTEST_", "JPY_", "NBRESUME_", "JUPYTER", "TERM_PROGRAM", "PYDEVD_"),
)

SEEDERS = frozenset(
    {
        *("seed", "setstate", "set_state", "set_rng_state", "manual_seed"),
        *("manual_seed_all", "seed_all", "seed_everything", "set_seed"),
        "set_random_seed",
    }
)
"""Functions that bring a global random generator to a known state."""
_SEEDS = re.compile(rf"\b(?:{'|'.join(sorted(SEEDERS))})\s*\(")
_COMMENT = re.compile(r"(?m)^\s*#.*$")


def is_secret(name: str, value: str = "") -> bool:
    """Tell whether a variable of the environment looks like a secret.

    `name` may carry the prefix ``env:``. A value that looks like an address with a
    password in it counts as well.
    """
    name = name.removeprefix(ENV)
    if _SECRET.search(name) or _PASSWORD_IN_URL.search(value):
        return True
    return any(word.lower() in _SECRET_WORDS for word in _WORD.findall(name))


def is_lost(name: str) -> bool:
    """Tell whether a variable belongs to the terminal, to Jupyter or to us."""
    return name in _LOSE or name.startswith(_LOSE_PREFIXES)


def counts_as_input(name: str) -> bool:
    """Tell whether a process state belongs to the key of a step that uses it."""
    return name.startswith("rng:") or name == "decimal"


def seeds(source_names: frozenset[str] | str) -> bool:
    """Tell whether a plain cell seeds a global generator.

    Given its text, by the functions that it calls; given the names that it reads, by
    these. ``default_rng`` makes a generator of its own, which is a plain variable.
    """
    if not isinstance(source_names, str):
        return any(name.rpartition(".")[2] in SEEDERS for name in source_names)
    try:
        tree = ast.parse(source_names)
    except (SyntaxError, ValueError):
        # Magics are no Python; a call beside them is still seen.
        return _SEEDS.search(_COMMENT.sub("", source_names)) is not None
    return any(_seeds(node) for node in ast.walk(tree))


def _seeds(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    name = getattr(called, "attr", None) or getattr(called, "id", None)
    return name in SEEDERS
