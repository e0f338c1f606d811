"""The manifest of a group, read and checked, whichever run holds it."""

from nbresume.model.codec import decode
from nbresume.model.manifest import Manifest
from nbresume.model.values import ManifestRef
from nbresume.store.objects import Objects


def read_manifest(objects: Objects, ref: ManifestRef) -> Manifest:
    """Return what a group holds; of another run's, each place names that run.

    Raises
    ------
    Damaged
        It is missing or not what its digest says.
    """
    data = objects.read_slice(ref)
    manifest = decode(data, Manifest, name=f"manifest of {ref.group}")
    return manifest.seen_from_outside(ref.run) if ref.run else manifest
