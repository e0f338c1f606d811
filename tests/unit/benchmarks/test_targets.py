"""Targets are data: what is divided by what, judged over rounds."""

import pytest
from peers.catalog import ADAPTERS, WORKLOADS
from peers.measured import Round
from peers.targets import TARGETS, Target, Unmeasured, judge, value_of

NUMBERS = {"nbresume.step": 5.0, "plain.step": 1.0, "limits.three_creates": 2.0}
TARGET = Target(
    "tiny", "tiny", "nbresume.step - plain.step", "limits.three_creates", 2.0
)


def rounds(*steps):
    """Return rounds in which a step took so long."""
    return [Round(NUMBERS | {"nbresume.step": step}) for step in steps]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("nbresume.step", 5.0),
        ("nbresume.step - plain.step", 4.0),
        ("plain.step + limits.three_creates", 3.0),
        ("3*plain.step + nbresume.step", 8.0),
        ("64e6", 64e6),
        ("0.3", 0.3),
    ],
)
def test_a_formula_is_a_sum_of_terms(formula, expected):
    """Names, numbers, and a number times a name are added up."""
    assert expected == value_of(formula, NUMBERS)


def test_a_name_without_a_number_is_told():
    """A formula says which of its names was not measured."""
    with pytest.raises(Unmeasured, match=r"kishu\.step"):
        value_of("nbresume.step - kishu.step", NUMBERS)


def test_the_median_of_the_rounds_decides():
    """One slow round does not make a target missed; the spread shows it."""
    verdict = judge(TARGET, rounds(4.0, 5.0, 50.0))

    assert (verdict.outcome, verdict.ratio, verdict.spread) == ("met", 2.0, (1.5, 24.5))


def test_a_miss_is_a_miss():
    """A median above the bound is shown with its number."""
    verdict = judge(TARGET, rounds(5.1))

    assert (verdict.outcome, verdict.ratio) == ("MISSED", pytest.approx(2.05))


def test_one_wrong_restore_fails_a_target():
    """A target that the other rounds meet is failed by values that are not equal."""
    lost = Round({"plain.step": 1.0}, {"nbresume": "restored values are not equal"})

    verdict = judge(TARGET, [*rounds(4.0, 4.0), lost])

    assert verdict.outcome == "FAILED"
    assert verdict.because == "nbresume: restored values are not equal"


def test_rounds_that_are_missing_are_told():
    """A median of fewer rounds than ran says so."""
    lost = Round({"nbresume.step": 4.0}, {"plain": "the kernel died"})

    verdict = judge(TARGET, [*rounds(4.0, 4.0), lost])

    assert (verdict.outcome, verdict.because) == ("met", "2 of 3 rounds")


def test_noise_is_no_bound():
    """Nothing is divided by a difference that the noise swallowed."""
    target = Target("x", "tiny", "nbresume.step", "plain.step - plain.step", 1.0)

    assert judge(target, rounds(5.0)).outcome == "not measured"


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: f"{t.workload}: {t.name}")
def test_every_target_can_be_measured(target):
    """Each name in a formula is of a known adapter, in a workload that there is."""
    work = WORKLOADS[target.workload](0.01)
    groups = {cell.group or cell.name for cell in work.cells}
    known = groups | {f"{group}_bytes" for group in groups}
    known |= {"total", "early", "late", "early_bytes", "late_bytes", "each_bytes"}
    known |= {"first_bytes", "creates", "setup", "start", "restore", "ready", "disk"}
    known |= {"grown"}
    terms = [t for t in f"{target.over} {target.under}".split() if t[0].isalpha()]

    assert terms
    for term in terms:
        adapter, what = term.split(".")
        assert adapter in {*ADAPTERS, "limits"}
        assert adapter == "limits" or what in known
        assert not work.only or adapter in {*work.only, "limits"}
