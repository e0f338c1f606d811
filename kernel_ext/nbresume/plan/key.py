"""The key of a step: the cues that decide whether its commit is still valid.

The rule: `differences` is empty exactly when the keys are equal, so that whatever
makes a step stale has a sentence for people.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from nbresume.model.codec import canonical
from nbresume.model.digests import cue_digest

OPAQUE = "o:"
"""How the version of a value begins that cannot be compared."""


ABSENT = "absent"
"""The version of a file that is not there."""


class Cues(Struct, frozen=True):
    """What a step depends on, each with its version."""

    code_version: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    """Name (or file, parameter, process state) → version."""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Input → other names that share an object with it. Sharing has no direction."""
    after: Mapping[str, str] = field(default_factory=dict)
    """Step named by ``--after`` → key of its commit."""
    process: Mapping[str, str] = field(default_factory=dict)
    """Process state (``rng:numpy``) that something above made → version."""
    files: Mapping[str, str] = field(default_factory=dict)
    """File, folder or source of a local module → version."""


def key_of(cues: Cues) -> str:
    """Return the digest of the cues."""
    return cue_digest(
        canonical(
            ({"process": dict(cues.process)} if cues.process else {})
            | ({"files": dict(cues.files)} if cues.files else {})
            | {
                "after": dict(cues.after),
                "aliases": sorted(_pairs(cues)),
                "code": cues.code_version,
                "inputs": dict(cues.inputs),
            }
        )
    )


def differences(committed: Cues, today: Cues) -> list[str]:
    """Return why the keys differ, one sentence for each cue; [] if they are equal."""
    code = committed.code_version != today.code_version
    pairs = sorted(_pairs(committed) ^ _pairs(today))
    return [
        *(["its code changed"] if code else []),
        *_moved(committed.inputs, today.inputs, _input_moved),
        *(f"{a} and {b} no longer share an object (or now do)" for a, b in pairs),
        *_moved(committed.files, today.files, file_moved),
        *_moved(committed.process, today.process, _process_moved),
        *_moved(committed.after, today.after, _after_moved),
    ]


def _pairs(cues: Cues) -> set[tuple[str, str]]:
    return {
        (min(name, other), max(name, other))
        for name, others in cues.aliases.items()
        for other in others
        if other != name
    }


def _moved(
    then: Mapping[str, str],
    now: Mapping[str, str],
    sentence: Callable[[str, str | None, str | None], str],
) -> list[str]:
    return [
        sentence(name, then.get(name), now.get(name))
        for name in sorted(then.keys() | now.keys())
        if then.get(name) != now.get(name)
    ]


def _input_moved(name: str, then: str | None, now: str | None) -> str:
    if then is None:
        return f"{name} is new"
    if now is None:
        return f"{name} is gone"
    if now.startswith(OPAQUE):
        return f"cannot compare {name}"
    return f"{name} changed"


def file_moved(name: str, then: str | None, now: str | None) -> str:
    """Return in words how a file is not what it was."""
    for version in (then, now):
        if version is not None and version.startswith(OPAQUE):
            return f"cannot compare {name}: {version.removeprefix(OPAQUE)}"
    if then is None:
        return f"{name} is new behind --reads"
    if now == ABSENT:
        return f"{name} is gone"
    return f"{name} is there now" if then == ABSENT else f"{name} changed"


def _process_moved(name: str, _then: str | None, _now: str | None) -> str:
    return f"the process state {name} changed"


def _after_moved(name: str, then: str | None, now: str | None) -> str:
    if then is None:
        return f"step {name} is new behind --after"
    if now is None:
        return f"step {name} is gone from --after"
    return f"step {name} (--after) was run again"
