"""A store → what takes its runs from format to format."""

from nbresume.compose.stores import OpenStore
from nbresume.compose.system import PRODUCT
from nbresume.run.migrate import CURRENT, Formats, Migrator
from nbresume.run.ports import World


def migrator(store: OpenStore, world: World, *, formats: Formats = CURRENT) -> Migrator:
    """Return what takes the runs of a store from format to format."""
    return Migrator(store.trust, world, PRODUCT, formats)
