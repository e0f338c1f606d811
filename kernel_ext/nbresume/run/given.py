"""Values that a person gives with evidence: kept as the step would have left them.

The rule: what was given is durable before the resolution that names it, and a value
that cannot be kept refuses the whole answer.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from nbresume.capture.live import Live
from nbresume.capture.snapshot import Snapshot
from nbresume.errors import RefusedError
from nbresume.model.values import ManifestRef, Output
from nbresume.run.journal import Journal
from nbresume.run.packing import pack
from nbresume.run.ports import World


class Given(Struct, frozen=True):
    """Where given values lie, and what a commit says of them."""

    manifest: ManifestRef
    outputs: dict[str, Output]
    next_object: int
    """Object ids from this number on are free."""


def keep_given(
    values: Mapping[str, Any], step: str, attempt: str, journal: Journal, world: World
) -> Given:
    """Make given values durable in a group that nobody has written to.

    Raises
    ------
    RefusedError
        One of them cannot be kept.
    StoreError
        The store cannot write.
    """
    live = Live(dict(values), new_nonce=world.ids.nonce)
    live.identities.next_object = journal.state.next_object
    captured = Snapshot(live, is_stored=lambda _digest: False).take(values)
    for name, reason in captured.not_kept.items():
        raise RefusedError(
            f"step {step} was not settled",
            because=f"the value given for {name} cannot be kept ({reason})",
            remedy=f"Leave --value {name}=… out: the name is not kept then.",
            step=step,
        )
    group = f"{attempt}-evidence-{world.ids.attempt_id()}"
    draft = journal.objects.draft(group)
    packed = pack(captured, draft=draft, group=group, objects=journal.objects, known={})
    draft.write()
    return Given(packed.ref, captured.outputs, live.identities.next_object)
