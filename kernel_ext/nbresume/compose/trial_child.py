"""The other process of a trial: loads names of a committed step and says what came.

The rule: it only reads, it ends by itself when it takes too long, and it says a line
for each name as soon as that name is done.
"""

import contextlib
import faulthandler
import json
import os
import sys
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any, TextIO

from nbresume.capture.atoms import resolve_import
from nbresume.capture.entries import Entry, Made
from nbresume.compose.graph import Session, open_session
from nbresume.compose.stores import Place, where
from nbresume.compose.system import (
    ProcessLiveness,
    RandomIds,
    SavedNotebook,
    SystemClock,
)
from nbresume.errors import NbresumeError
from nbresume.model.displays import Shown
from nbresume.model.histories import StepHistory
from nbresume.run.ports import World
from nbresume.settings import Settings


class _Silent:
    """No screen: nobody looks at the other process."""

    def start(self) -> None:
        """Record nothing."""

    def stop(self) -> list[Shown]:
        """Return nothing."""
        return []

    def show(self, outputs: list[Shown]) -> None:
        """Show nothing."""

    def say(self, text: str) -> None:
        """Tell nobody."""


class _NoInterrupts:
    """The other process commits nothing."""

    def defer(self) -> Callable[[], None]:
        """Return what lets interrupts through: they never were held back."""
        return lambda: None


def answer() -> None:
    """Load what standard input asks for; say a line for each name."""
    asked = json.load(sys.stdin)
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    # what the values print while they are loaded is nobody's business
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    with contextlib.suppress(OSError):
        os.nice(10)
    sys.path[:] = asked["path"]
    faulthandler.dump_traceback_later(asked["limit_s"], exit=True)
    namespace = vars(sys.modules["__main__"])
    for name in [n for n in namespace if not n.startswith("__")]:
        del namespace[name]
    _load(asked, namespace, out)
    out.flush()
    # what the values started (threads, exit handlers) does not outlive the trial
    os._exit(0)


def _load(
    asked: dict[str, Any], namespace: MutableMapping[str, Any], out: TextIO
) -> None:
    world = World(
        clock=SystemClock(),
        ids=RandomIds(),
        liveness=ProcessLiveness(),
        notebook=SavedNotebook("", "trial"),
        screen=_Silent(),
        interrupts=_NoInterrupts(),
    )
    place = Place(where(asked["store"]), Path(asked["data"]))
    session = open_session(namespace, world, place, Settings(), run_id=asked["run"])
    parts, state = session.parts, session.journal.state
    current = [c for c in map(StepHistory.commit, state.steps.values()) if c]
    for commit in sorted(current, key=lambda commit: commit.revision):
        for name in commit.record.outputs:
            parts.restorer.bind(name, commit)
    for name, target in state.modules.items():
        with contextlib.suppress(ImportError, NbresumeError):
            parts.live.set(name, Entry(resolve_import(target), Made.AMBIENT))
    [commit] = [c for c in current if c.record.step == asked["step"]]
    for name in asked["names"]:
        said = {"name": name}
        try:
            parts.restorer.bind(name, commit)
            _load_code(name, session)
            parts.live.load(name)
            said["version"] = parts.live.content_version(name)
        except NbresumeError as error:
            said["error"] = error.because or str(error)
        out.write(json.dumps(said) + "\n")


def _load_code(name: str, session: Session) -> None:
    """Load the functions and classes that a name's own loading may call.

    One that fails is not what is tried here: then the name says what it lacks.
    """
    live, restorer = session.parts.live, session.parts.restorer
    ambient = session.journal.state.ambient
    todo, seen = [*live.callees(name)], {name}
    while todo:
        one = todo.pop()
        if one in seen:
            continue
        seen.add(one)
        with contextlib.suppress(NbresumeError):
            if one not in live.pending and not live.has(one) and one in ambient:
                stored = ambient[one]
                restorer.bind_ambient(
                    one, stored.ambient, stored.manifest, base_step=""
                )
            if live.has(one):
                live.load(one)
                todo += live.callees(one)
