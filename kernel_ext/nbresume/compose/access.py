"""What was read of a store, by whom: noted in the reader's own data folder.

The rule: what shows or hands out values on somebody's word is noted before it does, or
does not; a kernel notes the first reading of each group of payloads, and goes on with
a word if it cannot: a full disk must not keep a run from being resumed.
"""

import msgspec

from nbresume.compose.stores import OpenStore
from nbresume.errors import Unavailable
from nbresume.run.ports import World
from nbresume.store.access import Access, AccessLog, Act
from nbresume.store.objects import Told


def log_of(store: OpenStore) -> AccessLog:
    """Return the log of this reader about a store."""
    return AccessLog(store.place.access_file(store.store_id))


def note(
    store: OpenStore,
    world: World,
    act: Act,
    *,
    via: str = "command",
    run: str = "",
    step: str = "",
    detail: str = "",
) -> None:
    """Note durably what is about to be done.

    Raises
    ------
    Unavailable
        It cannot be noted, so it is not to be done.
    """
    access = _access(store, world, act, via)
    log_of(store).add(
        msgspec.structs.replace(access, run=run, step=step, detail=detail)
    )


def kernel_notes(store: OpenStore, world: World) -> Told:
    """Return what notes the readings of a kernel: each group once."""
    noted: set[tuple[str, str]] = set()
    failures: list[Unavailable] = []
    log = log_of(store)

    def told(run: str, group: str) -> None:
        if (run, group) in noted:
            return
        noted.add((run, group))
        access = _access(store, world, Act.READ, "kernel")
        try:
            # not flushed: it survives the kernel, and a flush for each step would
            # cost a restart more than the restore
            log.add(
                msgspec.structs.replace(access, run=run, group=group), lasting=False
            )
        except Unavailable as error:
            failures.append(error)
            if len(failures) == 1:
                world.screen.say(f"what this kernel reads is not on record: {error}")

    return told


def _access(store: OpenStore, world: World, act: Act, via: str) -> Access:
    me = world.liveness.me()
    return Access(
        at=world.clock.now(),
        act=act,
        who=world.liveness.actor(),
        via=via,
        host=me.host,
        pid=me.pid,
        store=str(store.place.store),
    )
