"""An equal output keeps its object id.

The rule: only if neither the former nor the new object shares data with another
name; what held the former object is bound to the new one. Without it ``d["x"] is a``
breaks between an old commit of ``d`` and a new, equal one of ``a``.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from nbresume.capture.live import Live
from nbresume.capture.snapshot import Captured
from nbresume.model.manifest import Manifest, Unit
from nbresume.model.records import Committed
from nbresume.model.values import Output


class _Swap(Struct, frozen=True):
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
    for object_id in captured.replaced:
        live.identities.forget_holders(object_id, tables)
    # one that was swapped may be what another one refers to
    while swaps := _swaps(captured, previous, manifest, above):
        for swap in swaps:
            _swap(swap, captured, previous, manifest, live)
            live.identities.forget_holders(swap.old_id, tables)


def _swap(
    swap: _Swap,
    captured: Captured,
    previous: Committed,
    manifest: Manifest,
    live: Live,
) -> None:
    unit, value = manifest.units[swap.old_id], live.namespace[swap.name]
    new = captured.units.pop(swap.new_id)
    captured.units[swap.old_id] = unit
    captured.bindings[swap.name] = msgspec.structs.replace(
        captured.bindings[swap.name], target=swap.old_id
    )
    output = captured.outputs[swap.name]
    former = previous.outputs.get(swap.name)
    captured.outputs[swap.name] = Output(
        version=output.version,
        object=swap.old_id,
        data=former.data if former and swap.new_id != swap.old_id else output.data,
        calls=output.calls,
    )
    live.identities.remember(swap.old_id, unit.deep, value)
    if swap.new_id == swap.old_id:
        # this kernel would write these bytes again
        live.identities.remember(swap.old_id, new.deep, value)
    live.identities.name(swap.old_id, value)


def _swaps(
    captured: Captured,
    previous: Committed,
    manifest: Manifest,
    above: Sequence[Committed],
) -> list[_Swap]:
    # the stream of a new unit that refers to another one names its new id
    referred = {ref for unit in captured.units.values() for ref in unit.refs}
    found = []
    for name, output in captured.outputs.items():
        former = _former(name, previous, above)
        if former is None or former.object not in manifest.units or not output.object:
            continue
        if former.version != output.version:
            continue
        if _is_stored_alike(output.object, captured.units, former.object, manifest):
            continue
        if not _refer_alike(output.object, captured.units, former.object, manifest):
            continue
        if output.object == former.object:
            found.append(_Swap(name, output.object, former.object))
            continue
        # what both reach through the same objects they share with the same names
        apart = set(output.data) ^ set(former.data)
        shared = {output.object, former.object, *apart}
        is_shared = _others_share(name, shared, captured, previous, above)
        if output.object not in referred and not is_shared:
            found.append(_Swap(name, output.object, former.object))
    return list({swap.new_id: swap for swap in found}.values())


def _former(
    name: str, previous: Committed, above: Sequence[Committed]
) -> Output | None:
    """Return what stood for a name: made by this step, or by the nearest one above."""
    records = (previous, *above)
    return next((r.outputs[name] for r in records if name in r.outputs), None)


def _is_stored_alike(
    new_id: str, units: Mapping[str, Unit], old_id: str, manifest: Manifest
) -> bool:
    """Say whether it is the former object, in the former bytes.

    Equal values may have other bytes, and holders know an object by its bytes.
    """
    return new_id == old_id and units[new_id].deep == manifest.units[old_id].deep


def _refer_alike(
    new_id: str, units: Mapping[str, Unit], old_id: str, manifest: Manifest
) -> bool:
    """Say whether both units refer to the very same objects, and to no circle."""
    new, old = units[new_id], manifest.units[old_id]
    if new.members or old.members or set(new.refs) != set(old.refs):
        return False
    return all(
        ref in units and units[ref].deep == manifest.units[ref].deep for ref in new.refs
    )


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
