"""The ``%%step`` line: where it stands in a cell and what it says.

The rule: a header is understood as a whole or refused with what to type instead;
nothing is printed and nothing exits.
"""

import argparse
import ast
import shlex
from functools import cache, lru_cache
from typing import NoReturn

from msgspec import Struct

from nbresume.errors import BadName, UsageError
from nbresume.model.ids import StepName, parse_step_name
from nbresume.model.printing import parse

MAGIC = "%%step"
USAGE = (
    "%%step NAME [--effects|--pure] [--always] [--retry] [--reads PATH] [--after A,B] "
    "[--when EXPR]"
)


class Header(Struct, frozen=True):
    """What the author of a cell asked for."""

    name: StepName
    effects: bool = False
    """The step acts on the outside; once committed it never runs again unasked."""
    pure: bool = False
    """The author vouches that the step does not act on the outside."""
    always: bool = False
    """The step runs each time, also when nothing changed."""
    auto: bool = False
    """The cell has no header: every cell of the notebook is a step."""
    retry: bool = False
    """A step in doubt may run again without asking."""
    reads: tuple[str, ...] = ()
    """Files, folders and globs that count as inputs."""
    after: tuple[str, ...] = ()
    """Steps whose commits count as inputs."""
    when: str = ""
    """A Python expression: the step is taken where it is true."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises where argparse would print and exit."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(
            "the %%step header was not understood",
            because=message,
            remedy=f"Type {USAGE}",
        )


_FLAGS = {
    "effects": "The step acts on the outside. Cut off, it is ambiguous (in doubt) and "
    "refused until it is settled. Once committed, it never runs again unasked.",
    "pure": "The author's word that the step does not act on the outside, or that its "
    "outside calls only read: what it was seen doing is shown, never held against it. "
    "Excludes `--effects`.",
    "always": "The step runs each time, also when nothing changed. For connections, "
    "imports, and values that cannot be kept. What it was seen doing is never held "
    "against it. Excludes `--effects`.",
    "retry": "When the step is ambiguous, this policy runs it again without asking, on "
    "record.",
}


@cache
def _parser() -> _Parser:
    # half a millisecond, and notebooks without a header need none
    parser = _Parser(prog=MAGIC, add_help=False, allow_abbrev=False)
    for flag, told in _FLAGS.items():
        parser.add_argument(f"--{flag}", action="store_true", help=told)
    parser.add_argument("-h", "--help", dest="help", action="store_true")
    parser.add_argument(
        "--reads",
        action="append",
        default=[],
        metavar="PATH",
        help="A file, folder or glob that the step reads, for what is not seen being "
        "opened: all its files count with their contents. May be repeated.",
    )
    parser.add_argument(
        "--after",
        action="append",
        default=[],
        metavar="A,B",
        help="The commits of these steps count as inputs: when one of them is made "
        "anew, this step is stale. May be repeated.",
    )
    parser.add_argument(
        "--when",
        default=None,
        metavar="EXPR",
        help="The step is taken where this Python expression is true. The decision is "
        "on record, and holds while the names and files that it reads are the same.",
    )
    return parser


@lru_cache(maxsize=4096)
def parse_header(line: str) -> Header:
    """Return what the text behind ``%%step`` asks for, or refuse it.

    Raises
    ------
    UsageError
        An option is unknown, incomplete or contradicts another one, a quote is not
        closed, or there are two names.
    BadName
        The name, or one behind ``--after``, is missing or illegal.
    """
    options, rest = _parser().parse_known_args(_split(line))
    if options.help:
        raise UsageError(
            "%%step --help",
            because="the header of a step is no command that could run",
            remedy=f"Type {USAGE}",
        )
    name = _only_name(rest)
    header = Header(
        name=name,
        effects=options.effects,
        pure=options.pure,
        always=options.always,
        retry=options.retry,
        reads=tuple(dict.fromkeys(options.reads)),
        after=_after(options.after),
        when=_when(name, options.when),
    )
    _refuse_contradictions(header)
    return header


def find_header(text: str) -> int | None:
    """Return the index of the ``%%step`` line; above it are only blanks and comments.

    None says that the cell is no step.
    """
    for index, line in enumerate(text.splitlines()):
        words = line.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        return index if words[0] == MAGIC else None
    return None


def step_name_of(text: str) -> str | None:
    """Return the name in the cell's header as it is written, legal or not.

    It is "" when the header has no name and None when the cell is no step.
    """
    index = find_header(text)
    if index is None:
        return None
    return _name_in(text.splitlines()[index].strip().removeprefix(MAGIC))


@lru_cache(maxsize=4096)
def _name_in(line: str) -> str:
    try:
        words = _parser().parse_known_args(_split(line))[1]
    except UsageError:
        words = line.split()
    return next((word for word in words if not word.startswith("-")), "")


def header_of(text: str) -> Header | None:
    """Return what the header of a cell asks for; None if the cell is no step.

    Raises
    ------
    UsageError
        It is refused when the cell is run, for this reason.
    BadName
        The same.
    """
    index = find_header(text)
    if index is None:
        return None
    return parse_header(text.splitlines()[index].strip().removeprefix(MAGIC))


def body_of(text: str) -> str:
    """Return what stands below the ``%%step`` line; the whole text without one."""
    index = find_header(text)
    if index is None:
        return text
    return "".join(text.splitlines(keepends=True)[index + 1 :])


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(
            "the %%step header was not understood",
            because=f"{str(error).lower()} in: {line.strip()}",
            remedy=f"Close the quote. Type {USAGE}",
        ) from error


def _only_name(rest: list[str]) -> StepName:
    unknown = [word for word in rest if word.startswith("-")]
    if unknown:
        raise UsageError(
            "the %%step header was not understood",
            because=f"there is no option {unknown[0]}",
            remedy=f"Type {USAGE}",
        )
    if not rest:
        raise BadName(
            "the step has no name",
            because="a commit is kept under the name of its step",
            remedy="Type %%step NAME, for example %%step load",
        )
    if len(rest) > 1:
        raise UsageError(
            f"the step has {len(rest)} names: {', '.join(rest)}",
            because="a cell is one step, and a name has no spaces",
            remedy=f"Type %%step {'_'.join(rest)}, or {USAGE}",
        )
    return parse_step_name(rest[0])


def _after(values: list[str]) -> tuple[str, ...]:
    names = [part.strip() for value in values for part in value.split(",")]
    return tuple(dict.fromkeys(parse_step_name(name) for name in names))


def _when(step: StepName, text: str | None) -> str:
    """Return the condition of a step, or refuse what is no expression."""
    if text is None:
        return ""
    tree = parse(text.strip())
    match tree.body if tree else []:
        case [ast.Expr(value=value)] if not _sets_or_waits(value):
            return text.strip()
    raise UsageError(
        f"step {step} --when {text}",
        because="it is no Python expression, or it sets a name or waits",
        remedy=f'Type for example %%step {step} --when "rows > 1000"',
        step=step,
    )


def _sets_or_waits(value: ast.expr) -> bool:
    kinds = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(node, kinds) for node in ast.walk(value))


def _refuse_contradictions(header: Header) -> None:
    if header.effects and header.pure:
        raise UsageError(
            f"step {header.name} has both --effects and --pure",
            because="one says that it acts on the outside, the other that it does not",
            remedy="Keep one of the two.",
            step=header.name,
        )
    if header.effects and header.always:
        raise UsageError(
            f"step {header.name} has both --effects and --always",
            because="a committed step with effects never runs again unasked",
            remedy="Keep one of the two; a committed step runs again after "
            f"%steps rerun {header.name} --because TEXT",
            step=header.name,
        )
    if header.name.lower() in (name.lower() for name in header.after):
        raise UsageError(
            f"step {header.name} comes --after itself",
            because="a step cannot wait for its own commit",
            remedy=f"Take {header.name} out of --after.",
            step=header.name,
        )
    if "" in header.reads:
        raise UsageError(
            f"step {header.name} --reads an empty path",
            because="a file, a folder or a glob is expected",
            remedy="Type for example --reads data/orders.csv",
            step=header.name,
        )
