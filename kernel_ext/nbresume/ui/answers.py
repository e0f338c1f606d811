"""What was typed behind ``resolve`` → an answer; alike in a kernel and a terminal."""

import ast
from collections.abc import Iterable, Mapping
from typing import Any, Final

from nbresume.errors import UsageError
from nbresume.model.values import How
from nbresume.run.settling import Answer

UNSAID: Final[Mapping[str, Any]] = {
    "because": "",
    "kind": "statement",
    "reference": "",
    "effect": "",
    "result": None,
    "value": (),
}
"""What is given when nothing is typed."""


def answer_of(how: str, given: Mapping[str, Any], names_not_kept: list[str]) -> Answer:
    """Return what a person said, as it was typed.

    Parameters
    ----------
    how
        retry, evidence or abandon.
    given
        The options: because, kind, reference, effect, result, value.
    names_not_kept
        Names that the step would have set.

    Raises
    ------
    UsageError
        The result is no Python literal, or belongs to no effect.
    """
    effect, result = given["effect"] or "", given["result"]
    if result is not None and not effect:
        raise UsageError(
            f"--result {result}",
            because="only an effect has a result; a step has names",
            remedy="Name the effect: --effect KEY --result VALUE",
        )
    values = _values(given["value"], how, effect)
    return Answer(
        How(how),
        given["because"] or "",
        kind=given["kind"] or "",
        reference=given["reference"] or "",
        names_not_kept=[name for name in names_not_kept if name not in values],
        effect=effect,
        result=() if result is None else (_literal("--result", result),),
        values=values,
    )


def _values(typed: Iterable[str], how: str, effect: str) -> dict[str, Any]:
    values = {}
    for text in typed:
        name, equals, literal = text.partition("=")
        if how != How.EVIDENCE or effect or not equals or not name.isidentifier():
            raise UsageError(
                f"--value {text}",
                because="a value is NAME=VALUE, given with evidence for a whole step",
                remedy="Type for example: evidence --value receipt=\"'ch_17'\"",
            )
        values[name] = _literal(f"--value {name}=", literal)
    return values


def _literal(option: str, text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise UsageError(
            f"{option} {text}",
            because="it is no Python literal",
            remedy="Type a number, None, or a text in quotes of its own: \"'ch_17'\"",
        ) from error
