"""Python's garbage collector waits while many objects are made that stay.

The rule: it is put off, never switched off; a pass that finds nothing costs more the
more objects the user has, and what nbresume makes here is in use until it is done.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def put_off() -> Iterator[None]:
    """Let the collector wait for the end of the body, if it works at all."""
    works = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if works:
            gc.enable()
