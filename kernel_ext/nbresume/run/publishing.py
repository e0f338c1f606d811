"""Publication: a commit's group is shown to plain zarr, last and again.

The rule: derived from the record and its manifest; what is damaged or missing is told
and written anew by the next claim, never by a reader.
"""

from nbresume.errors import StoreError
from nbresume.model.manifest import Manifest
from nbresume.model.records import Committed
from nbresume.run.journal import Journal
from nbresume.run.packing import commit_attributes
from nbresume.run.ports import World
from nbresume.run.restore import Restorer


class Publisher:
    """Publishes commits of one run."""

    def __init__(self, journal: Journal, restorer: Restorer, world: World) -> None:
        self._journal = journal
        self._restorer = restorer
        self._world = world
        self._unpublished: dict[int, Committed] = {}
        """Commits whose published metadata was found missing or damaged."""

    def publish(self, revision: int, record: Committed, manifest: Manifest) -> None:
        """Publish a commit; one that cannot be published is committed all the same."""
        try:
            self._write(record, manifest)
        except StoreError as error:
            self._unpublished[revision] = record
            self._world.screen.say(
                f"step {record.step} is committed, but its zarr metadata was not "
                f"written ({error}); the next claim writes it"
            )

    def check(self, revision: int, record: Committed) -> None:
        """Tell when a commit's zarr metadata is damaged; the next claim mends it."""
        if not record.manifest.group or revision in self._unpublished:
            return
        manifest = self._restorer.manifest(record.manifest)
        attributes = commit_attributes(record, manifest)
        if not self._journal.objects.is_published(record.manifest.group, attributes):
            self._unpublished[revision] = record
            self._world.screen.say(
                f"the zarr metadata of step {record.step} is damaged or missing; its "
                "values are whole, and the next claim writes it again"
            )

    def publish_again(self) -> None:
        """Redo what a crash may have left between a commit and its publication."""
        newest = [
            commit
            for history in self._journal.state.steps.values()
            for commit in history.commits.values()
            if commit.record.manifest.group
        ]
        if newest:
            last = max(newest, key=lambda commit: commit.revision)
            self._unpublished.setdefault(last.revision, last.record)
        for revision, record in list(self._unpublished.items()):
            if not self._restorer.damage(record):
                manifest = self._restorer.manifest(record.manifest)
                self._write(record, manifest)
            del self._unpublished[revision]

    def _write(self, record: Committed, manifest: Manifest) -> None:
        attributes = commit_attributes(record, manifest)
        self._journal.objects.publish(record.manifest.group, attributes)
