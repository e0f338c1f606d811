"""What nbresume refuses, read as a set: one shape, and something to do next in each.

The rule: whatever makes an error of the tree is found in the code itself, so that one
which is added tomorrow is read too.
"""

import ast
import builtins
import re
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from nbresume import errors
from nbresume.ui.cli import cli
from nbresume.ui.ipython.steps import steps

PACKAGE = Path(__file__).resolve().parents[1] / "kernel_ext" / "nbresume"
TREE = {
    name
    for name, found in vars(errors).items()
    if isinstance(found, type) and issubclass(found, BaseException)
}
VARIES = "\0"
"""Stands for what is known at run time alone."""
VERBS = """
Ask Bind Call Check Choose Close Copy Correct Create Define Delete Draft End Export
Find Free Give Go Hand If Import Install Keep Leave Let Load Look Make Move Name
Open Pass Put Report Restart Restore Return Run Save See Send Set Settle Start Take
To Try Type Use Wait Write
"""
"""What a remedy begins with: somebody is told to do it (`If` and `To` lead there)."""
FOREIGN = {
    "AssertionError": {"ui/text.py"},
    "AttributeError": {"__init__.py", "ui/ipython/namespace.py"},
    "FileNotFoundError": {"capture/registry.py"},
    "KeyError": {"capture/known.py"},
    "PermissionError": {"compose/processes.py"},
    "TypeError": {"store/remote.py"},
    "ValueError": {"capture/process_options.py", "store/datakeys.py"},
}
"""Errors of Python that are raised on purpose: what `getattr` has to raise, what cannot
happen, and what the caller catches."""
NOT_TYPED = {"nbresume run --retry"}
"""The name of a policy, as the records quote it."""
COMMAND = re.compile(r"(?<![\w`%])(nbresume|%steps) ([a-z][a-z-]*)((?: [^ ,;:()]+)*)")
GROUPS = {"nbresume": cli, "%steps": steps}


@dataclass(frozen=True)
class Site:
    """One place at which an error is made."""

    where: str
    kind: str
    parts: tuple[str, ...]
    """What was refused; more than one would be a fault."""
    because: str | None
    remedy: str | None


def shown(node):
    """Return the text of an expression, with `VARIES` for what is not in the code."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(shown(value) for value in values)
        case ast.BinOp(left=left, right=right):
            return shown(left) + shown(right)
    return VARIES


def sites():
    """Return every place at which an error of the tree is made."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in TREE:
                named = {key.arg: shown(key.value) for key in node.keywords}
                where = f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}"
                parts = tuple(shown(part) for part in node.args)
                told = (named.get("because"), named.get("remedy"))
                found.append(Site(where, name, parts, *told))
    return found


SITES = sites()


def spoken():
    """Return every text of the code that no docstring is, with its place."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        silent = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        # what a text is made of is no text of its own
        silent |= {
            id(part)
            for node in nodes
            if isinstance(node, ast.JoinedStr)
            for part in ast.walk(node)
            if part is not node
        }
        found += [
            (f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno}", shown(node))
            for node in nodes
            if isinstance(node, (ast.Constant, ast.JoinedStr))
            and id(node) not in silent
        ]
    return found


def test_every_error_has_its_three_parts():
    """What was refused, because of what, and what to do: none is left out."""
    lacking = [
        site.where
        for site in SITES
        if len(site.parts) != 1 or not (site.parts[0] and site.because and site.remedy)
    ]

    assert len(SITES) > 200  # the walk finds them
    assert lacking == []


def test_every_class_of_the_tree_is_used():
    """A class that nothing raises is no promise."""
    roots = {"NbresumeError", "_Told", "StoreError"}

    assert TREE - {site.kind for site in SITES} - roots == set()


def test_what_was_refused_reads_on_into_the_reason():
    """Both are parts of one sentence: no capital in front, no stop behind."""
    odd = [
        site.where
        for site in SITES
        if re.match(r"[A-Z][a-z]", site.parts[0])
        or re.match(r"[A-Z][a-z]", site.because)
        or site.parts[0].endswith(".")
        or site.because.endswith((".", ":", ";"))
    ]

    assert odd == []


def test_every_remedy_begins_with_what_to_do():
    """The last sentence tells somebody to do something."""
    others = {
        site.where: site.remedy
        for site in SITES
        if not site.remedy.startswith(VARIES)
        and site.remedy.partition(" ")[0].rstrip(",") not in VERBS.split()
    }

    assert others == {}


def wanted(group, name):
    """Return what has to be typed behind a command."""
    return [
        parameter.name
        for parameter in GROUPS[group].commands[name].params
        if parameter.required
        and (isinstance(parameter, click.Argument) or parameter.opts != ["--because"])
    ]


def unfinished(text):
    """Return the commands of a text that a person could not type like that."""
    return [
        f"{group} {name}{rest}".replace(VARIES, "…")
        for group, name, rest in COMMAND.findall(text)
        if name in GROUPS[group].commands
        and f"{group} {name}{rest}" not in NOT_TYPED
        and len([word for word in rest.split() if is_given(word)])
        < len(wanted(group, name))
    ]


def is_given(word):
    """Say whether a word behind a command is typed: a value, a placeholder, a way."""
    return word.startswith(VARIES) or not word.islower() or word in WAYS


WAYS = {"retry", "evidence", "abandon", *cli.commands["key"].params[0].type.choices}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Type nbresume verify to see.", ["nbresume verify to see."]),
        ("Type nbresume verify NOTEBOOK to see.", []),
        (f"Type %steps resolve {VARIES}", ["%steps resolve …"]),
        (f"Type %steps resolve {VARIES} retry --because TEXT", []),
        ("nbresume is not loaded", []),
    ],
)
def test_an_unfinished_command_is_found(text, expected):
    """The next test would notice."""
    assert unfinished(text) == expected


def test_every_command_that_is_told_can_be_typed():
    """It has what it needs behind it, or a word in capitals that stands for it."""
    assert {where: left for where, text in spoken() if (left := unfinished(text))} == {}


def test_nothing_else_is_raised():
    """What is raised is of the tree, is caught again, or is what Python asks for."""
    other = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Raise) or node.exc is None:
                continue
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = getattr(made, "id", getattr(made, "attr", ""))
            if isinstance(getattr(builtins, name, None), type):
                place = path.relative_to(PACKAGE).as_posix()
                other.setdefault(name, set()).add(place)

    assert other == FOREIGN
