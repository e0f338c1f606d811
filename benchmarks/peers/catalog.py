"""All workloads and all adapters, by name."""

from collections.abc import Callable

from peers import replays, snapshots, workloads
from peers.adapters import Adapter
from peers.semantics import semantics, unkept
from peers.workloads import Workload

WORKLOADS: dict[str, Callable[[float], Workload]] = {
    "tiny": workloads.tiny,
    "many": workloads.many,
    "big": workloads.big,
    "wide": workloads.wide,
    "soup": workloads.soup,
    "packed": workloads.packed,
    "mixed": workloads.mixed,
    "semantics": semantics,
    "unkept": unkept,
}
"""How each workload is made, at a scale."""
ADAPTERS: dict[str, type[Adapter]] = {
    adapter.name: adapter
    for adapter in (
        snapshots.Plain,
        snapshots.Nbresume,
        snapshots.Dill,
        snapshots.Cloudpickle,
        snapshots.Kishu,
        replays.Joblib,
        replays.Diskcache,
        replays.Dbos,
        replays.Langgraph,
        replays.Marimo,
    )
}
"""Every tool that is measured; `plain` is the kernel alone."""
