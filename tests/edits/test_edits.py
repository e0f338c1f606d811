"""After an edit, Run All comes to what a clean run comes to, and reruns what it must.

Each edit is played in a new kernel (replay and rerun) and in one that lives on, where
it is also undone. The rule, and the form of the notebooks, are told in README.md.
"""

import os
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest
from books import Book, Edit, names, read, uses
from generator import generated, in_turn
from judging import Verdict, expected, judge, left_by_plain
from reasons import reason

pytestmark = pytest.mark.filterwarnings("ignore")

QUICK = (
    "b_closures",
    "c_accounts",
    "c_cache",
    "c_dataclasses",
    "n_views",
    "p_inplace",
    "r_mixed",
    "s_pipeline",
)
"""Notebooks of the ordinary suite: one of each kind, and where faults were found."""
QUICK_AUTO = "p_helpers"
EVERY = bool(os.environ.get("EVERY_EDIT"))
"""All edits that the generator makes, of each kind that fits a cell: half an hour."""
QUICK_EDITS = 3
NEVER_ALIKE = {
    ("n_simulate", "deleted line in clipped"),
    ("r_mixed", "deleted line in seeds"),
}
"""Edits that differ from clean run to clean run: memory not set, no seed."""
LEFT_ON_DISK = {("f_numpy", "deleted line in make")}
"""Edits that no longer write a file: that of the former version is still there.

A clean run in an empty folder misses it, and nbresume removes no file of its user.
"""
EDIT = ": "
"""Between the kernel and the edit in the label of a verdict."""
KINDS = ("builtins", "pandas", "numpy", "sklearn", "files", "rng", "classes")


@dataclass
class Played:
    """What became of the edits of one notebook."""

    book: str
    verdicts: list[Verdict] = field(default_factory=list)
    endless: int = 0
    edits: int = 0

    def wrong(self) -> list[str]:
        """Return what is not as in a clean run."""
        return [f"{v.label}: {one}" for v in self.verdicts for one in v.wrong]

    def unexplained(self) -> list[str]:
        """Return the reruns that no row of the reasons explains."""
        return [
            f"{v.label}: {step} ran again: {v.said.get(step, '').strip()}"
            for v in self.verdicts
            for step in v.beyond
            if self._reason(v, step) is None
        ]

    def _reason(self, verdict: Verdict, step: str) -> str | None:
        edit = verdict.label.partition(EDIT)[2]
        return reason(self.book, edit, verdict.said.get(step, ""))

    def counts(self) -> dict[str, int]:
        """Return the sums that are printed at the end."""
        told = Counter(
            edits=self.edits,
            situations=len(self.verdicts),
            wrong=sum(bool(v.wrong) for v in self.verdicts),
            expected=sum(v.wanted for v in self.verdicts),
            beyond=sum(len(v.beyond) for v in self.verdicts),
        )
        for verdict in self.verdicts:
            for step in verdict.beyond:
                why = self._reason(verdict, step)
                told[f"beyond: {why or 'not explained'}"] += 1
        return dict(told)


def _play(stage, book: Book, edits: list[Edit], base: dict) -> Played:
    """Play edits of a notebook in new kernels, and in one that lives on."""
    cleans = {edit: stage.clean(book.edited(edit)) for edit in edits}
    ended = [edit for edit in edits if cleans[edit] is not None]
    played = Played(book.name, endless=len(edits) - len(ended), edits=len(ended))
    wanted = {edit: expected(edit, base, cleans[edit], book) for edit in ended}
    first, *fresh = stage.fresh(book, ended)
    steps = book.steps()
    played.verdicts.append(judge("first run", base, first, steps, steps=steps))
    for edit, got in zip(ended, fresh, strict=True):
        label = f"new kernel{EDIT}{edit.label}"
        steps = book.edited(edit).steps()
        played.verdicts.append(
            judge(label, cleans[edit], got, wanted[edit], steps=steps)
        )
    _live(stage, book, base, cleans, wanted, played)
    return played


def _live(stage, book, base, cleans, wanted, played) -> None:
    # a module that was imported stays as it is until the kernel ends
    edits = [edit for edit in wanted if not edit.target.endswith(".py")]
    left: frozenset[str] = frozenset()

    def judged(label: str, version: Book, clean, got, wanted) -> Verdict:
        return judge(
            label,
            clean,
            got,
            wanted,
            steps=version.steps(),
            may_stay=left,
            is_live=True,
        )

    if "files" in uses(book.name):
        # what a version wrote stays on disk; each edit has a folder of its own
        answers = [one for edit in edits for one in stage.live(book, [edit])[1:]]
    else:
        _, *answers = stage.live(book, edits)
    for at, edit in enumerate(edits):
        there, back = answers[2 * at], answers[2 * at + 1]
        new = book.edited(edit)
        left |= left_by_plain(book, new)
        label = f"living kernel{EDIT}{edit.label}"
        played.verdicts.append(judged(label, new, cleans[edit], there, wanted[edit]))
        if "files" not in uses(book.name):
            label = f"living kernel, undone{EDIT}{edit.label}"
            played.verdicts.append(judged(label, book, base, back, frozenset()))


def _edits(book: Book, base: dict, *, every: bool) -> list[Edit]:
    frames = {name: cell["frames"] for name, cell in base["cells"].items()}
    made = generated(book, frames)
    if not every:
        # other cells in each notebook, the same in each run
        share = 4 if book.is_auto else 2
        made = in_turn(made)[len(book.name) % share :: share]
    edits = [*book.edits, *made]
    without = NEVER_ALIKE | LEFT_ON_DISK
    return [edit for edit in edits if (book.name, edit.label) not in without]


def _check(stage, book: Book, record_property, *, every, limit=None) -> None:
    base = stage.clean(book)
    assert base["error"] == ""
    edits = _edits(book, base, every=every)
    if limit:
        edits = edits[:limit] + edits[-limit:]
    played = _play(stage, book, edits, base)
    record_property("edits", played.counts())

    assert played.wrong() == []
    assert played.unexplained() == []


@pytest.mark.kernel
@pytest.mark.parametrize("name", QUICK)
def test_some_edits_of_some_notebooks(stage, name, record_property):
    """A few edits of one notebook of each kind."""
    _check(stage, read(name), record_property, every=False, limit=QUICK_EDITS)


@pytest.mark.kernel
def test_some_edits_of_a_notebook_without_headers(stage, record_property):
    """Its cells are steps by themselves."""
    book = replace(read(QUICK_AUTO), is_auto=True)
    _check(stage, book, record_property, every=False, limit=QUICK_EDITS)


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_every_edit_of_every_notebook(stage, name, record_property):
    """The listed edits, and one in every other cell: all kinds come in turn."""
    _check(stage, read(name), record_property, every=EVERY)


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_edits_of_every_notebook_without_headers(stage, name, record_property):
    """The listed edits, and one in every fourth cell."""
    book = replace(read(name), is_auto=True)
    _check(stage, book, record_property, every=EVERY)


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_five_notebooks_of_each_kind(kind):
    """Forty in all."""
    assert len(names()) == 40
    assert len([name for name in names() if kind in uses(name)]) >= 5


@pytest.mark.parametrize("name", names())
def test_a_notebook_has_eight_cells(name):
    """And edits with what they have to rerun."""
    book = read(name)

    assert len(book.cells) >= 8
    assert len(book.edits) >= 3
