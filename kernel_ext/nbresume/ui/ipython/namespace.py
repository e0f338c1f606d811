"""Names that wait: whatever asks the namespace for one has it loaded.

The rule: the namespace stays a plain dict (a dict subclass misses ``global`` stores
and class bodies, and slows every lookup). What is in neither the globals nor the
builtins is asked of ``__builtins__``, which is a dict that knows the waiting names.
Measured on CPython 3.11 to 3.13; static analysis loads most names before a cell runs,
so this is the net below it.
"""

import builtins
from typing import Any

from nbresume.capture.live import Live
from nbresume.errors import NotKeptError


class LazyBuiltins(dict[str, Any]):
    """The builtins, and behind them the names that wait or were not kept."""

    def __init__(self, live: Live) -> None:
        # a waiting name hides the builtin of that name (``from numpy import *``)
        shown = {n: v for n, v in vars(builtins).items() if n not in live.pending}
        super().__init__(shown)
        self._live = live

    def __missing__(self, name: str) -> Any:
        if name in self._live.pending:
            return self._live.load_in_cell(name)
        if name in self._live.unkept:
            raise not_kept(name, self._live.unkept[name])
        return vars(builtins)[name]


def not_kept(name: str, step: str) -> NotKeptError:
    """Return the error of a name that its step could not keep."""
    return NotKeptError(
        f"name {name!r} has no value here",
        because=f"step {step} made it and could not keep it",
        remedy=f"Type %steps rerun {step} and run its cell, or mark it --always.",
        name=name,
        step=step,
    )


class LazyNamespace:
    """The net below one shell's namespace; it hangs only while something waits."""

    def __init__(self, shell: Any, live: Live) -> None:
        self._shell = shell
        self._live = live
        self._is_up = False
        self._ofind = shell._ofind  # noqa: SLF001 - what `name?` and hover ask

    def install(self) -> None:
        """Let completion and inspection load what they are asked for."""
        completer = getattr(self._shell, "Completer", None)
        if completer is not None:
            completer.custom_matchers.append(self._complete)
        self._shell._ofind = self._find_object  # noqa: SLF001 - see above

    def remove(self) -> None:
        """Take everything down again."""
        self._down()
        completer = getattr(self._shell, "Completer", None)
        if completer is not None and self._complete in completer.custom_matchers:
            completer.custom_matchers.remove(self._complete)
        self._shell._ofind = self._ofind  # noqa: SLF001 - see above

    def update(self, live: Live) -> None:
        """Hang the net if something waits or was not kept; else take it down."""
        self._live = live
        live.tidy()
        if not live.pending and not live.unkept:
            self._down()
            return
        # Set where they stand: a key that comes and goes would have all names of the
        # namespace be looked at one by one.
        namespace = self._shell.user_ns
        namespace["__builtins__"] = LazyBuiltins(live)
        namespace["__getattr__"] = self._getattr
        self._is_up = True

    def _down(self) -> None:
        if not self._is_up:
            return
        self._is_up = False
        namespace = self._shell.user_ns
        namespace["__builtins__"] = builtins
        namespace.pop("__getattr__", None)

    def _getattr(self, name: str) -> Any:
        """Answer for ``__main__.name`` (PEP 562)."""
        if name in self._live.pending:
            return self._live.load_in_cell(name)
        message = f"module '__main__' has no attribute {name!r}"
        raise AttributeError(message)

    def _complete(self, text: str) -> list[str]:
        root, dot, _ = text.partition(".")
        if dot:
            self._live.load(root)
            return []
        return [name for name in self._live.pending if name.startswith(text)]

    def _find_object(self, oname: str, *args: Any, **kwargs: Any) -> Any:
        self._live.load(str(oname).strip().partition(".")[0])
        return self._ofind(oname, *args, **kwargs)
