"""What was typed behind ``resolve`` → an answer; alike in a kernel and a terminal."""

import ast
from collections.abc import Mapping
from typing import Any

from nbresume.errors import UsageError
from nbresume.model.values import How
from nbresume.run.settling import Answer


def answer_of(
    how: str, given: Mapping[str, str | None], names_not_kept: list[str]
) -> Answer:
    """Return what a person said, as it was typed.

    Parameters
    ----------
    how
        retry, evidence or abandon.
    given
        The options: because, kind, reference, effect, result.
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
    return Answer(
        How(how),
        given["because"] or "",
        kind=given["kind"] or "",
        reference=given["reference"] or "",
        names_not_kept=names_not_kept,
        effect=effect,
        result=() if result is None else (_literal(result),),
    )


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise UsageError(
            f"--result {text}",
            because="it is no Python literal",
            remedy="Type for example --result \"'ch_17'\", --result 17 or "
            "--result None",
        ) from error
