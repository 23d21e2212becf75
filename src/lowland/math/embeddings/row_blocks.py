"""Work on rows, which the threads of a run share; sums over rows are added by fixed blocks.

The blocks depend only on the number of rows, so that sums do not depend on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from lowland.run.run import Run, RunsTogether

ROWS = 512  # rows of a block; of many rows, a multiple
_MOST = 16  # blocks: calls from Python take turns, so that more of them keep the threads waiting
_FEW = 8  # ranges for fewer threads, of which one may be late
_LONGEST = 16_384  # rows in a range: Ctrl-C waits for its end


def _block_rows(n: int) -> int:
    """The number of rows of a block of n rows."""
    return ROWS * max(1, -(-n // (ROWS * _MOST)))


def count_blocks(n: int) -> int:
    """Return the number of blocks of n rows."""
    return max(1, -(-n // _block_rows(n)))


def bounds(block: int, n: int) -> tuple[int, int]:
    """Return the first row of a block, and the row after its last."""
    size = _block_rows(n)
    return block * size, min(n, (block + 1) * size)


class Together:
    """Runs work on blocks, on the threads of a run. A thread takes the next blocks when it is free."""

    def __init__(self, rounds: RunsTogether | None, threads: int) -> None:
        self.rounds, self.threads = rounds, threads

    def __call__(self, blocks: int, work: Callable[[int], None]) -> None:
        """Call ``work(block)`` once for every block from 0 to ``math`` - 1, in any order and on any thread."""
        threads = min(self.threads, blocks)
        if self.rounds is None or threads < 2:
            for block in range(blocks):
                work(block)
            return
        numbers = itertools.count()  # ``next`` is atomic

        def take(_: int) -> None:
            for block in iter(lambda: next(numbers), None):
                if block >= blocks:
                    return
                work(block)

        self.rounds(range(threads), take)

    def limited(self, threads: int) -> Together:
        """For short rounds, in which many threads would spend the time waiting for each other."""
        return Together(self.rounds, max(1, min(self.threads, threads)))

    def rows(self, n: int, work: Callable[[int, int], None], besides: Sequence[Callable[[], Any]] = ()) -> None:
        """Call ``work(a, b)`` for ranges of n rows, which depend on the number of threads: rows must be independent."""
        self.ranges(n, ROWS, work, besides, longest=_LONGEST)

    def ranges(
        self,
        n: int,
        unit: int,
        work: Callable[[int, int], None],
        besides: Sequence[Callable[[], Any]] = (),
        longest: int | None = None,
    ) -> None:
        """Call ``work(a, b)`` for ranges of n items that begin at multiples of ``unit``, and the calls ``besides``."""
        pieces = 1 if self.threads == 1 else max(_FEW, self.threads)
        size = unit * max(1, -(-n // (unit * pieces)))
        size = min(size, longest or size)
        calls: list[Callable[[], Any]] = [*besides]
        calls += [partial(work, a, min(n, a + size)) for a in range(0, n, size)]
        self(len(calls), lambda i: calls[i]())

    def sum(self, n: int, work: Callable[[int, int], float]) -> float:
        """Return the sum of ``work(a, b)`` over the blocks of n rows, added in their order."""
        parts = np.zeros(count_blocks(n))

        def keep(block: int) -> None:
            parts[block] = work(*bounds(block, n))

        self(len(parts), keep)
        return float(parts.sum())


@contextmanager
def together(run: Run) -> Iterator[Together]:
    """Keep the threads of the run for many rounds over blocks."""
    threads = run.settings.thread_count
    if threads < 2:
        yield Together(None, 1)
        return
    with run.rounds() as rounds:
        yield Together(rounds, threads)
