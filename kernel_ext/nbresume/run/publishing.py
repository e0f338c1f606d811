"""Publication: a commit's group is shown to plain zarr, last and again.

The rule: derived from the record and its manifest; what is damaged or missing is told
and written anew by the next claim, never by a reader.
"""

from nbresume.errors import StoreError
from nbresume.model.manifest import Manifest
from nbresume.model.records import Committed
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest
from nbresume.run.packing import commit_attributes
from nbresume.run.ports import World
from nbresume.run.restore import Restorer
from nbresume.store.port import Staged


class Publisher:
    """Publishes commits of one run."""

    def __init__(self, journal: Journal, restorer: Restorer, world: World) -> None:
        self._journal = journal
        self._restorer = restorer
        self._world = world
        self._unpublished: dict[int, Committed] = {}
        """Commits whose published metadata was found missing or damaged."""

    def stage(self, record: Committed, manifest: Manifest) -> "Publication":
        """Prepare the publication of a commit, before its record stands."""
        return Publication(self._journal, record, manifest)

    def publish(self, revision: int, publication: "Publication") -> None:
        """Publish a commit; one that cannot be published is committed all the same."""
        try:
            publication.show()
        except StoreError as error:
            _tell_unpublished(self._world, publication.record, error)
            self._unpublished[revision] = publication.record

    def check(self, revision: int, record: Committed) -> None:
        """Tell when a commit's zarr metadata is damaged; the next claim mends it."""
        if not _is_here(record) or revision in self._unpublished:
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
            if _is_here(commit.record) and not commit.erased
        ]
        if newest:
            last = max(newest, key=lambda commit: commit.revision)
            self._unpublished.setdefault(last.revision, last.record)
        for revision, record in list(self._unpublished.items()):
            if not self._restorer.damage(record):
                manifest = self._restorer.manifest(record.manifest)
                _write(self._journal, record, manifest)
            del self._unpublished[revision]


class Publication:
    """What shows one commit to plain zarr, from before its record stands until then."""

    def __init__(self, journal: Journal, record: Committed, manifest: Manifest) -> None:
        self.record = record
        self._staged: Staged | None = None
        self._failed: StoreError | None = None
        attributes = commit_attributes(record, manifest)
        try:
            self._staged = journal.objects.stage(record.manifest.group, attributes)
        except StoreError as error:
            # no reason not to commit: the next claim writes it
            self._failed = error

    def show(self) -> None:
        """Let plain zarr find the commit.

        Raises
        ------
        StoreError
            It could not be prepared, or not be shown.
        """
        if self._failed is not None:
            raise self._failed
        if self._staged is not None:
            self._staged.show()

    def discard(self) -> None:
        """Take away what was prepared: no record stands."""
        if self._staged is not None:
            self._staged.discard()


def _is_here(record: Committed) -> bool:
    """Say whether a commit has a group, and this run holds it."""
    return bool(record.manifest.group) and not record.manifest.run


def publish_given(journal: Journal, world: World, step: str) -> None:
    """Publish the commit that a person's evidence made, with the values given."""
    commit = journal.state.commit(step)
    if commit is None or not commit.record.manifest.group:
        return
    manifest = read_manifest(journal.objects, commit.record.manifest)
    try:
        _write(journal, commit.record, manifest)
    except StoreError as error:
        _tell_unpublished(world, commit.record, error)


def _tell_unpublished(world: World, record: Committed, error: StoreError) -> None:
    world.screen.say(
        f"step {record.step} is committed, but its zarr metadata was not "
        f"written ({error}); the next claim writes it"
    )


def _write(journal: Journal, record: Committed, manifest: Manifest) -> None:
    attributes = commit_attributes(record, manifest)
    journal.objects.publish(record.manifest.group, attributes)
