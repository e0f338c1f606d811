"""An equal output keeps its object id.

The rule: only if neither the former nor the new object shares data with another
name; what held the former object is bound to the new one. Without it ``d["x"] is a``
breaks between an old commit of ``d`` and a new, equal one of ``a``.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from nbresume.capture.live import Live
from nbresume.capture.snapshot import Captured
from nbresume.model.manifest import Manifest, Unit
from nbresume.model.records import Committed
from nbresume.model.values import Output


@dataclass(frozen=True, slots=True)
class _Swap:
    name: str
    new_id: str
    old_id: str


def keep_object_ids(
    captured: Captured,
    *,
    previous: Committed,
    manifest: Manifest,
    above: Sequence[Committed],
    live: Live,
    tables: Iterable[Mapping[str, Unit]],
) -> None:
    """Give equal outputs of a new capture the object ids of the commit before.

    Parameters
    ----------
    captured
        The new capture; changed in place.
    previous, manifest
        The step's commit before, and its manifest.
    above
        The records of the commits above the step.
    live
        The namespace; the live objects take the former ids over.
    tables
        Units of all manifests that this kernel has read: holders of former objects.
    """
    tables = list(tables)
    for swap in _swaps(captured, previous, manifest, above):
        unit = manifest.units[swap.old_id]
        value = live.namespace[swap.name]
        del captured.units[swap.new_id]
        captured.units[swap.old_id] = unit
        captured.bindings[swap.name] = msgspec.structs.replace(
            captured.bindings[swap.name], target=swap.old_id
        )
        captured.outputs[swap.name] = Output(
            version=captured.outputs[swap.name].version,
            object=swap.old_id,
            data=previous.outputs[swap.name].data,
            calls=captured.outputs[swap.name].calls,
        )
        live.identities.remember(swap.old_id, unit.deep, value)
        live.identities.name(swap.old_id, value)
        live.identities.forget_holders(swap.old_id, tables)


def _swaps(
    captured: Captured,
    previous: Committed,
    manifest: Manifest,
    above: Sequence[Committed],
) -> list[_Swap]:
    found = []
    for name, output in captured.outputs.items():
        former = previous.outputs.get(name)
        if former is None or not former.object or not output.object:
            continue
        if former.version != output.version or former.object == output.object:
            continue
        if captured.units[output.object].refs or manifest.units[former.object].refs:
            continue
        shared = {output.object, *output.data, former.object, *former.data}
        if not _others_share(name, shared, captured, previous, above):
            found.append(_Swap(name, output.object, former.object))
    return found


def _others_share(
    name: str,
    shared: set[str],
    captured: Captured,
    previous: Committed,
    above: Sequence[Committed],
) -> bool:
    tables = [captured.outputs, previous.outputs, *(r.outputs for r in above)]
    return any(
        not shared.isdisjoint((output.object, *output.data))
        for table in tables
        for other, output in table.items()
        if other != name
    )
