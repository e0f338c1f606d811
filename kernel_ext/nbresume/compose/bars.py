"""Progress bars of resumable loops: tqdm's where it is installed, else none.

The rule: a bar only shows. Whatever it raises, the loop goes on without it.
"""

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, TypeVar

from nbresume.run.loops import Loop

T = TypeVar("T")


def with_bar(loop: Loop, items: Iterator[T], title: str) -> Iterator[T]:
    """Hand a loop's items on and show how many are done, those of before included."""
    bar: Any = None
    try:
        for item in items:
            if bar is None:
                bar = _bar(loop, title)
            _show(bar, loop)
            yield item
        _show(bar, loop)
    finally:
        with contextlib.suppress(Exception):
            bar.close()
        close = getattr(items, "close", None)
        if close is not None:
            close()


def _show(bar: Any, loop: Loop) -> None:
    with contextlib.suppress(Exception):
        bar.update(loop.position - bar.n)


def _bar(loop: Loop, title: str) -> Any:
    """Return a bar at the loop's position; None without tqdm."""
    try:
        with warnings.catch_warnings():
            # without ipywidgets tqdm asks for them; its bar of text will do
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm  # noqa: PLC0415 - optional, and slow to import

            # its monitor is a thread, beside which values have to be looked at twice
            quiet = type("tqdm", (tqdm,), {"monitor_interval": 0})
            return quiet(
                desc=title,
                total=None if loop.total < 0 else loop.total,
                initial=loop.position,
            )
    except Exception:  # noqa: BLE001 - see above
        return None
