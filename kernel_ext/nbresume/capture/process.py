"""Process state that steps change: random generators, variables, folder, options.

The rule: a state is plain data with a name (``rng:numpy``, ``env:NAME``, ``cwd`` …);
it is read before and after a step, and what differs belongs to the step. Options,
``sys.path`` and warning filters are kept as deltas (`is_delta`): what the step changed
and nothing else, so several steps' deltas are applied one after the other. No library
is imported to read or set its state; a state of one that is not loaded stays pending.
"""

import contextlib
import importlib
import random
from collections.abc import Callable, Mapping
from typing import Any

from nbresume.capture import process_lists, process_system
from nbresume.capture.process_changes import (
    GONE,
    LISTS,
    Gone,
    State,
    compare,
    defaults_of,
)
from nbresume.capture.process_names import (
    ENV,
    counts_as_input,
    is_lost,
    is_secret,
    seeds,
)
from nbresume.capture.process_options import LIBRARIES, find_opaque
from nbresume.errors import CaptureError
from nbresume.model.digests import cue_digest

__all__ = [
    "GONE",
    "Gone",
    "State",
    "apply",
    "apply_pending",
    "baseline",
    "changes",
    "counts_as_input",
    "is_delta",
    "is_lost",
    "is_secret",
    "libraries",
    "not_kept",
    "pending",
    "restorable_default",
    "seeds",
    "snapshot",
    "version",
]

_pending: dict[str, State] = {}


def snapshot() -> dict[str, State]:
    """Return every process state, as it is now, by its name."""
    states = process_system.read_environment()
    states.update(process_system.read_system())
    for name, library in LIBRARIES.items():
        home = library.find_home()
        if home is not None:
            # An import that failed half-way, or a release that keeps it elsewhere.
            with contextlib.suppress(Exception):
                states[name] = library.read(home)
    return states


def baseline() -> dict[str, State]:
    """Return what is put back for states that only a step at or below made.

    Taken when the extension is loaded. Random generators are not in it.
    """
    return {k: v for k, v in snapshot().items() if not k.startswith("rng:")}


def libraries() -> frozenset[str]:
    """Return which libraries that hold process state are loaded."""
    return frozenset(one.library for one in LIBRARIES.values() if one.is_loaded())


def is_delta(name: str) -> bool:
    """Tell whether the states of a name are deltas, each on top of the former."""
    return name in LISTS or (name in LIBRARIES and LIBRARIES[name].by_key)


def changes(
    before: Mapping[str, State],
    after: Mapping[str, State],
    *,
    libraries_before: frozenset[str],
    also: frozenset[str] = frozenset(),
) -> dict[str, State | Gone]:
    """Return what a step changed, in the form that `apply` takes.

    What the import of a library brought along is no change: states of libraries that
    are not in `libraries_before` are compared with the library's defaults. `also` names
    states that count although they are equal: a step that seeds runs again.
    """
    return compare(before, after, libraries_before, also).kept


def not_kept(
    before: Mapping[str, State],
    after: Mapping[str, State],
    *,
    libraries_before: frozenset[str],
) -> dict[str, str]:
    """Return what a step changed and `changes` leaves out, with the reason."""
    return compare(before, after, libraries_before, frozenset()).lost


def version(state: State | Gone) -> str:
    """Return a digest of a state: the same in every process, on every Python."""
    # ascii, since what repr escapes follows the Unicode tables of a Python.
    return cue_digest(ascii(_ordered(state)).encode())


def _ordered(state: State | Gone) -> Any:
    if isinstance(state, Gone):
        return (state.value,)
    if type(state) is dict:
        return ("{}", [(key, _ordered(state[key])) for key in sorted(state)])
    if type(state) is tuple:
        return tuple(map(_ordered, state))
    return state


def apply(name: str, state: State | Gone) -> None:
    """Set a state in this process, or keep it pending until its library is loaded.

    `GONE` removes a variable; for options it forgets what is pending. Call it in the
    context that cells run in: NumPy and decimal keep options there.

    Raises
    ------
    CaptureError
        It cannot be set here; what else a delta names is set.
    """
    try:
        if name in LIBRARIES:
            _apply_to_library(name, state)
        elif name == "warnings" and not isinstance(state, Gone):
            _apply_filters(state)
        elif name.startswith(ENV):
            value = None if isinstance(state, Gone) else state
            process_system.write_environment(name.removeprefix(ENV), value)
        elif name in _WRITERS:
            _WRITERS[name](state)
        else:
            raise CaptureError(  # noqa: TRY301 - the same door out for each name
                f"process state {name} is not known",
                because="another release wrote it",
                remedy="Install that release, or run the step again.",
            )
    except CaptureError:
        raise
    except Exception as error:
        raise CaptureError(
            f"process state {name} cannot be set as the step left it",
            because=f"{type(error).__name__}: {error}",
            remedy="Run the step that set it again: %steps rerun NAME.",
        ) from error


_WRITERS: Mapping[str, Callable[[Any], None]] = {
    "rng:random": random.setstate,
    "cwd": process_system.write_folder,
    "sys.path": process_system.write_path,
    "decimal": process_system.write_decimal,
}


def _apply_to_library(name: str, state: State | Gone) -> None:
    library = LIBRARIES[name]
    if isinstance(state, Gone):
        _pending.pop(name, None)
        return
    if not library.is_loaded():
        _keep_pending(name, state)
        return
    home = library.find_home()
    if home is None:
        # NumPy loads its generators at their first use: by then it would be too
        # late, the first draw would come from a stream that nobody seeded.
        home = importlib.import_module(library.home)
    older = _pending.pop(name, {})
    library.write(home, {**older, **state} if library.by_key else state)


def _apply_filters(delta: State) -> None:
    older = _pending.get("warnings")
    if older is not None:
        _pending["warnings"] = process_lists.without(older, delta["removed"])
    waiting = process_system.write_filters(delta)
    if waiting is not None:
        _keep_pending("warnings", waiting)


def _keep_pending(name: str, state: State) -> None:
    older = _pending.get(name)
    if older is not None and name == "warnings":
        state = {key: (*older[key], *state[key]) for key in older}
    elif older is not None and is_delta(name):
        state = {**older, **state}
    _pending[name] = state


def pending() -> list[str]:
    """Return the names of states that wait for their library to be loaded."""
    return sorted(_pending)


def apply_pending() -> None:
    """Set pending states whose library was loaded meanwhile; call it before each cell.

    Raises
    ------
    CaptureError
        One of them cannot be set; it is not tried again, the others are.
    """
    if not _pending:
        return
    first: CaptureError | None = None
    for name in pending():
        if name in LIBRARIES and not LIBRARIES[name].is_loaded():
            continue
        try:
            apply(name, _pending.pop(name))
        except CaptureError as error:
            first = first or error
    if first is not None:
        raise first


def restorable_default(
    name: str, base: Mapping[str, State], *, made: State | Gone | None = None
) -> State | Gone | None:
    """Return what `apply` puts back for a state that no step above made.

    `made` is the state that the step made: of options only those that it changed are
    put back, of a list only its own entries are undone. None: leave it as it is.
    """
    if name.startswith("rng:"):
        return None
    if name in LISTS:
        if isinstance(made, dict):
            return process_lists.inverse(made)
        return process_lists.difference(snapshot()[name], base[name])
    if name in LIBRARIES:
        return _default_options(name, base, made)
    state = base.get(name, GONE if name.startswith(ENV) else None)
    # The base keeps no secret: a variable of that kind cannot be put back.
    return None if name.startswith(ENV) and type(state) is tuple else state


def _default_options(
    name: str, base: Mapping[str, State], made: State | Gone | None
) -> State | Gone | None:
    options = base.get(name)
    home = LIBRARIES[name].find_home()
    if options is None:
        if home is None:
            return GONE
        options = defaults_of(name, None)
    if options is None:
        return None
    keys = made.keys() if isinstance(made, dict) else options.keys()
    found = {
        key: options[key]
        for key in keys
        if key in options and not find_opaque(options[key])
    }
    return found or None
