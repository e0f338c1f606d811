"""One function over many pieces, in a few threads.

The rule: the order of the results is that of the pieces; after an interrupt or a
failure what has not begun is not begun any more, and no thread is left when it ends.
The caller's thread works as well: one thread less is started, and while there is
nothing to wait for a piece costs no more than its call.
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
    threads = min(len(pieces), threads)
    if threads < 2:  # noqa: PLR2004 - one thread is this one
        return [work(piece) for piece in pieces]
    results: dict[int, Result] = {}
    left = iter(enumerate(pieces))  # its next() is atomic: threads share it

    def work_on() -> None:
        try:
            for number, piece in left:
                results[number] = work(piece)
        except BaseException:
            for _ in left:
                pass  # nobody begins another one
            raise

    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work_on) for _ in range(threads - 1)]
        work_on()
    for other in others:
        other.result()
    return [results[number] for number in range(len(pieces))]
