"""What a run repeats outside of its records, and what is wrong with it.

The rule: only what follows from records is written again; a payload or a record that is
damaged stays as it is, and is told.
"""

from collections.abc import Callable, Iterator

from msgspec import Struct

from nbresume.errors import Damaged
from nbresume.model.histories import Commit
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest
from nbresume.run.packing import commit_attributes
from nbresume.run.runs import Runs, claimed_now


class Mendable(Struct, frozen=True):
    """Something that differs from what the records say."""

    told: str
    mend: Callable[[], None]
    """Writes it again."""


def mendable(journal: Journal, runs: Runs) -> list[Mendable]:
    """Return what of a run's repetitions is missing or damaged; nothing is written."""
    return [*_claim(journal, runs), *_groups(journal)]


def _claim(journal: Journal, runs: Runs) -> Iterator[Mendable]:
    """Give the newest claim if it is not found where runs are looked for."""
    claimed = claimed_now(journal.run_id, journal.state)
    if claimed is not None and not runs.is_noted(claimed):
        told = f"the claim of run {journal.run_id} is not repeated under runs/"
        yield Mendable(told, lambda: runs.note(claimed))


def _groups(journal: Journal) -> Iterator[Mendable]:
    """Give the commits whose payloads are whole, and that plain zarr does not see."""
    for history in journal.state.steps.values():
        for commit in history.commits.values():
            found = _unpublished(journal, commit)
            if found is not None:
                yield found


def _unpublished(journal: Journal, commit: Commit) -> Mendable | None:
    ref, objects = commit.record.manifest, journal.objects
    if not ref.group or ref.run or commit.erased:
        return None
    try:
        manifest = read_manifest(objects, ref)
        if objects.missing(manifest.payloads.values()):
            return None
    except Damaged:
        return None
    attributes = commit_attributes(commit.record, manifest)
    if objects.is_published(ref.group, attributes):
        return None
    told = (
        f"the zarr metadata of step {commit.record.step} (commit "
        f"{commit.record.commit_number}) is damaged or missing"
    )
    return Mendable(told, lambda: objects.publish(ref.group, attributes))
