"""One function over many pieces, in a few threads.

The rule: the order of the results is that of the pieces; after an interrupt or a
failure what has not begun is not begun any more, and no thread is left when it ends.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_THREADS = 2

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def in_threads(
    work: Callable[[Piece], Result], pieces: Sequence[Piece], *, threads: int = _THREADS
) -> list[Result]:
    """Return what a function gives for each piece; it lets other threads run.

    Parameters
    ----------
    threads
        How many: two share the work of processors, more of them wait for answers.
    """
    if min(len(pieces), threads) < 2:  # noqa: PLR2004 - one thread is this one
        return [work(piece) for piece in pieces]
    pool = ThreadPoolExecutor(threads)
    try:
        return [done.result() for done in [pool.submit(work, one) for one in pieces]]
    finally:
        pool.shutdown(cancel_futures=True)
