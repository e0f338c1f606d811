"""The targets, as data: what is divided by what, and the bound of the ratio.

The rule: a target is met when the median of its ratio over the rounds is within the
bound. One restore of ours that was not equal fails it, however quick the others were.
A term that was not measured makes it *not measured*, with the reason, and a peer that
restored wrong values is no opponent: its row says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from peers.measured import Round

MET, MISSED, FAILED, UNKNOWN = "met", "MISSED", "FAILED", "not measured"
OUTCOMES = (MET, MISSED, FAILED, UNKNOWN)
SUBJECT = "nbresume"


class Unmeasured(Exception):  # noqa: N818 - says what is missing
    """A term of a formula has no number in a round."""


@dataclass(frozen=True, slots=True)
class Target:
    """One line of the table of targets."""

    name: str
    workload: str
    over: str
    under: str
    bound: float
    """``over / under`` is at most this."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a target."""

    target: Target
    outcome: str
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    because: str = ""


def value_of(formula: str, numbers: dict[str, float]) -> float:
    """Return the value of a sum of terms: names, numbers, or a number times a name.

    Raises
    ------
    Unmeasured
        A name has no number.
    """
    total, sign = 0.0, 1.0
    for term in formula.split():
        if term in "+-":
            sign = 1.0 if term == "+" else -1.0
            continue
        product = sign
        for factor in term.split("*"):
            product *= _factor(factor, numbers)
        total += product
    return total


def _factor(text: str, numbers: dict[str, float]) -> float:
    if text in numbers:
        return numbers[text]
    try:
        return float(text)
    except ValueError:
        raise Unmeasured(text) from None


def judge(target: Target, rounds: Sequence[Round]) -> Verdict:
    """Return what the rounds say about a target."""
    for one in rounds:
        if SUBJECT in one.reasons:
            return Verdict(target, FAILED, because=_why(f"{SUBJECT}.", one))
    ratios: list[float] = []
    because = "its workload did not run"
    for one in rounds:
        try:
            over = value_of(target.over, one.numbers)
            under = value_of(target.under, one.numbers)
        except Unmeasured as error:
            because = _why(str(error), one)
            continue
        if under <= 0:
            because = f"{target.under} is lost in the noise"
            continue
        ratios.append(over / under)
    if not ratios:
        return Verdict(target, UNKNOWN, because=because)
    middle = median(ratios)
    outcome = MET if middle <= target.bound else MISSED
    few = f"{len(ratios)} of {len(rounds)} rounds" if len(ratios) < len(rounds) else ""
    return Verdict(target, outcome, middle, (min(ratios), max(ratios)), few)


def _why(term: str, one: Round) -> str:
    """Return why a round has no number for a term."""
    name = term.split(".", maxsplit=1)[0]
    if name in one.reasons:
        return f"{name}: {one.reasons[name]}"
    known = any(number.startswith(f"{name}.") for number in one.numbers)
    return f"no number {term}" if known else f"{name} did not run"


def _ahead(what: str, workload: str, cost: str, rivals: str) -> tuple[Target, ...]:
    """Return one target for each rival: less of the cost than it has."""
    return tuple(
        Target(
            f"{what}: ahead of {rival}",
            workload,
            cost.format(SUBJECT),
            cost.format(rival),
            1.0,
        )
        for rival in rivals.split()
    )


_STEP = "nbresume.step - plain.step"
_LOAD = "nbresume.load - plain.load"
_PEERS = "dill cloudpickle kishu joblib diskcache dbos langgraph marimo"
TARGETS: tuple[Target, ...] = (
    Target("tiny step, over its plain cell", "tiny", _STEP, "nbresume.creates", 2),
    Target("its files alone", "tiny", "limits.files", "limits.files_bare", 1.4),
    *_ahead("tiny step", "tiny", "{}.step", "dbos langgraph"),
    Target("last steps of 200", "tiny", "nbresume.late", "nbresume.early", 1.1),
    Target("last steps of 10,000", "many", "nbresume.late", "nbresume.early", 1.1),
    *(
        Target(
            f"bytes of the last steps of {count}",
            workload,
            "nbresume.late_bytes - plain.late_bytes",
            "nbresume.early_bytes - plain.early_bytes",
            # names and counts get longer, t9999 for t5; and a commit behind the first
            # folded state says where the newest one lies, in some 120 bytes
            1.06,
        )
        for workload, count in (("tiny", "200"), ("many", "10,000"))
    ),
    Target(
        "bytes of a step of 10,000, over the first tenth's",
        "many",
        "nbresume.each_bytes - plain.each_bytes",
        "nbresume.first_bytes - plain.first_bytes",
        1.1,
    ),
    Target(
        "step that only reads a large array",
        "big",
        "nbresume.read",
        "plain.read + limits.array_hash",
        1.1,
    ),
    Target("commit of a large array", "big", _LOAD, "limits.array_write", 1.2),
    Target(
        "the same: ahead of np.save, fsync, hash", "big", _LOAD, "limits.array_save", 1
    ),
    *_ahead("the same", "big", "{}.load - plain.load", "joblib dill kishu"),
    Target(
        "1 % changed: bytes", "big", "nbresume.change_bytes", "limits.array_bytes", 0.05
    ),
    Target("1 % changed: time", "big", "nbresume.change - plain.change", _LOAD, 0.25),
    Target(
        "added columns: bytes",
        "wide",
        "nbresume.column_bytes",
        "limits.column_bytes",
        1.1,
    ),
    Target(
        "added columns: time",
        "wide",
        "nbresume.column - plain.column",
        "limits.column_write + limits.frame_hash",
        1.3,
    ),
    Target(
        "small objects, 1 % touched",
        "soup",
        "nbresume.touch - plain.touch",
        "limits.soup_pickle",
        1.5,
    ),
    Target(
        "did a list of dicts change",
        "mixed",
        "nbresume.list-read - plain.list-read",
        "limits.list_pickle",
        1.5,
    ),
    Target(
        "compressible array: disk",
        "packed",
        "nbresume.disk",
        "limits.smooth_bytes",
        1.1,
    ),
    Target("compressible array: time", "packed", _LOAD, "limits.smooth_alone", 1.3),
    Target(
        "mixed notebook: time",
        "mixed",
        "nbresume.total",
        "plain.total + limits.changed_write + limits.list_pickle",
        1.5,
    ),
    *_ahead("mixed notebook", "mixed", "{}.total", _PEERS),
    Target(
        "mixed notebook: disk",
        "mixed",
        "nbresume.disk",
        "limits.changed_bytes + limits.list_bytes",
        1.1,
    ),
    Target(
        "new kernel to a new cell, above 0.3 s",
        "big",
        "nbresume.ready - plain.start",
        "0.3",
        1,
    ),
    Target(
        "full restore of a large array",
        "big",
        "nbresume.restore",
        "limits.array_read",
        1.3,
    ),
    Target(
        "memory while committing, above 64 MB",
        "big",
        "nbresume.grown - plain.grown",
        "64e6",
        1,
    ),
    Target(
        "load_ext with nothing to resume, above 60 ms",
        "tiny",
        "nbresume.setup - plain.setup",
        "0.06",
        1,
    ),
)
