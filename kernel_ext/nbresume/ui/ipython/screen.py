"""What a cell shows: recorded where it is written, shown live, shown again on replay.

The rule: the stream's own ``write`` is wrapped, not ``sys.stdout``: loggers hold the
stream itself, and IPython puts ``sys.stdout.write`` back after each cell.
"""

import sys
from collections.abc import Callable
from typing import Any, TextIO

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import publish_display_data

from nbresume.capture.outputs import apply_message, fold_carriage_returns
from nbresume.model.displays import Shown, Stream

RESTORED = {"nbresume": {"restored": True}}
"""Metadata of displays that were shown again, not made now."""


class _Tap:
    """One stream whose writes are recorded while they go through."""

    def __init__(self, name: str, stream: TextIO, record: Callable[..., None]) -> None:
        self._stream = stream
        self._write = stream.write

        def write(text: str, *args: Any, **kwargs: Any) -> int:
            written = self._write(text, *args, **kwargs)
            record("stream", {"name": name, "text": text})
            return written

        self._tapped = write
        stream.write = write  # type: ignore[method-assign]

    def remove(self) -> None:
        """Let writes pass unseen, unless somebody wrapped them once more."""
        if self._stream.write is self._tapped:
            self._stream.write = self._write  # type: ignore[method-assign]


class ShellScreen:
    """The screen of an IPython shell, in a kernel or a terminal."""

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell
        self._outputs: list[Shown] = []
        self._taps: list[_Tap] = []

    def start(self) -> None:
        """Record what the cell shows from now on."""
        self._outputs = []
        self._taps = [_Tap("stdout", sys.stdout, self._record)]
        # a cell may have made them one stream: what goes there is written once
        if sys.stderr is not sys.stdout:
            self._taps.append(_Tap("stderr", sys.stderr, self._record))
        for publisher in self._publishers():
            publisher.register_hook(self._hook)

    def stop(self) -> list[Shown]:
        """Return what was recorded and record no more."""
        for tap in self._taps:
            tap.remove()
        self._taps = []
        for publisher in self._publishers():
            publisher.unregister_hook(self._hook)
        return self._outputs

    def _publishers(self) -> list[Any]:
        # a terminal's publishers have no hooks: there is nothing but streams to keep
        both = (self._shell.display_pub, self._shell.displayhook)
        return [p for p in both if hasattr(p, "register_hook")]

    def _record(self, msg_type: str, content: dict[str, Any]) -> None:
        apply_message(self._outputs, msg_type, content)

    def _hook(self, message: dict[str, Any]) -> dict[str, Any]:
        self._record(message["msg_type"], message["content"])
        return message

    def show(self, outputs: list[Shown]) -> None:
        """Show recorded outputs again, marked as restored."""
        for shown in outputs:
            if isinstance(shown, Stream):
                stream = sys.stdout if shown.name == "stdout" else sys.stderr
                stream.write(fold_carriage_returns(shown.text))
                stream.flush()
            else:
                publish_display_data(  # type: ignore[no-untyped-call] # has no types
                    data=shown.data, metadata={**shown.metadata, **RESTORED}
                )

    def say(self, text: str) -> None:
        """Tell the person one line."""
        print(f"nbresume: {text}", flush=True)  # noqa: T201 - the cell's own output
