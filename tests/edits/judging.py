"""What an edit came to, beside what it has to come to."""

import ast
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from books import Book, Edit


@dataclass
class Verdict:
    """One *Run All* after an edit."""

    label: str
    wrong: list[str] = field(default_factory=list)
    beyond: list[str] = field(default_factory=list)
    """Steps whose bodies ran without need."""
    fewer: list[str] = field(default_factory=list)
    """Steps that did not run although the rule asked for it; nothing is wrong."""
    wanted: int = 0
    said: dict[str, str] = field(default_factory=dict)


def has_to_run(base: dict, after: dict, old: Book, new: Book) -> frozenset[str]:
    """Return the cells that have to run after an edit, by the rule of README.md.

    Parameters
    ----------
    base, after
        What the cells of the clean runs met, before and after the edit.
    old, new
        The notebook before and after it.
    """
    return frozenset(
        cell.name
        for cell in new.cells
        if cell.name in after["cells"]
        and (
            cell.name not in base["cells"]
            or _tree(cell.source) != _tree(old.cell(cell.name).source)
            or _met(base["cells"][cell.name]) != _met(after["cells"][cell.name])
        )
    )


def _tree(source: str) -> str:
    return ast.dump(ast.parse(source))


def _met(cell: dict) -> tuple:
    return cell["names"], cell["random"], cell["files"]


def judge(
    label: str,
    clean: dict,
    got: dict,
    wanted: frozenset[str],
    *,
    steps: frozenset[str],
    may_stay: frozenset[str] = frozenset(),
    is_live: bool = False,
) -> Verdict:
    """Return what one *Run All* came to.

    Parameters
    ----------
    label
        What the report calls it.
    clean
        What the clean run of the same cells came to.
    got
        What the kernel came to.
    wanted
        The cells that have to run.
    steps
        The cells that are steps.
    may_stay
        Names that a plain cell of a former version has left in this kernel.
    is_live
        This kernel has run other versions before.
    """
    verdict = Verdict(label, said=got["said"])
    # where a name of a former plain cell lets more cells run than in a clean run,
    # nothing was said of those
    ran = frozenset(got["ran"]) & steps & clean["cells"].keys()
    verdict.wanted = len(wanted & steps)
    verdict.beyond = sorted(ran - wanted)
    verdict.fewer = sorted((wanted & steps) - ran)
    verdict.wrong += list(_differences(clean, got, may_stay, is_live=is_live))
    return verdict


def _differences(
    clean: dict, got: dict, may_stay: frozenset[str], *, is_live: bool
) -> Iterable[str]:
    missing = re.search(r"'(\w+)' is not defined", clean["error"])
    if missing and missing[1] in may_stay:
        return  # in a living kernel a name of a former plain cell is still there
    if (clean["failed"], clean["error"]) != (got["failed"], got["error"]):
        yield (
            f"ends with {got['failed']}: {got['error']!r:.400} and not with "
            f"{clean['failed']}: {clean['error']!r:.200}"
        )
        return
    for name, cell in clean["cells"].items():
        if name != clean["failed"] and cell["text"] != got["texts"][name]:
            yield f"{name} shows {got['texts'][name]!r:.200}, not {cell['text']!r:.200}"
    # what stands below a cell that failed still stands in a kernel that lives on
    if not (clean["failed"] and is_live):
        yield from _other_names(clean, got, may_stay)


def _other_names(clean: dict, got: dict, may_stay: frozenset[str]) -> Iterable[str]:
    for name in sorted(clean["values"].keys() | got["values"].keys()):
        one, other = clean["values"].get(name), got["values"].get(name)
        if one != other and not (one is None and name in may_stay):
            yield (
                f"{name} is {got['text'].get(name, 'not there')}, not "
                f"{clean['text'].get(name, 'there')}"
            )
    shared, wanted = (_shared(one, may_stay) for one in (got, clean))
    if shared != wanted:
        yield f"shared is also {dict(shared - wanted)}, not {dict(wanted - shared)}"


def _shared(told: dict, without: frozenset[str]) -> Counter[str]:
    groups: Counter[str] = Counter()
    for group, count in told["shared"].items():
        names = [name for name in group.split() if name not in without]
        if len(names) > 1:
            groups[" ".join(names)] += count
    return groups


def left_by_plain(old: Book, new: Book) -> frozenset[str]:
    """Return the names that a version leaves where the other has none of its own.

    What a plain cell binds stays, and a plain cell sees what is there; an edit may
    also make a cell without a header plain that was a step.
    """
    plain, was_plain = (book.names() - book.steps() for book in (new, old))
    return (_bound(old, was_plain) ^ _bound(new, plain)) | (
        _bound(old, plain - was_plain) | _bound(new, was_plain - plain)
    )


def _bound(book: Book, cells: frozenset[str]) -> frozenset[str]:
    nodes = [
        node
        for cell in book.cells
        if cell.name in cells
        for node in ast.walk(ast.parse(cell.source))
    ]
    stored = [n for n in nodes if isinstance(n, ast.Name)]
    defined = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    names = {n.id for n in stored if isinstance(n.ctx, ast.Store)}
    return frozenset(names | {n.name for n in defined})


def expected(edit: Edit, base: dict, clean: dict, old: Book) -> frozenset[str]:
    """Return what has to run: by hand where it is listed, else by the rule."""
    new = old.edited(edit)
    rule = has_to_run(base, clean, old, new)
    if edit.reruns is None or clean["failed"]:
        return rule
    # by hand only steps are listed, and without headers others are steps, too
    return edit.reruns | rule if new.is_auto else edit.reruns
