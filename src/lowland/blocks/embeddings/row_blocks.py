"""Fixed blocks of rows: threads share the blocks, and sums over rows are added block by block.

The blocks depend only on the number of rows, so results do not depend on the number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from lowland.run.run import Run, RunsTogether

ROWS = 512  # rows of a block


def count_blocks(n: int) -> int:
    """Return the number of blocks of n rows."""
    return max(1, -(-n // ROWS))


def bounds(block: int, n: int) -> tuple[int, int]:
    """Return the first row of a block, and the row after its last."""
    return block * ROWS, min(n, (block + 1) * ROWS)


class Together:
    """Runs work on blocks, on the threads of a run. A thread takes the next blocks when it is free."""

    def __init__(self, rounds: RunsTogether | None, threads: int) -> None:
        self.rounds, self.threads = rounds, threads

    def __call__(self, blocks: int, work: Callable[[int], None]) -> None:
        """Call ``work(block)`` once for every block from 0 to ``blocks`` - 1, in any order and on any thread."""
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

    def rows(self, n: int, work: Callable[[int, int], None]) -> None:
        """Call ``work(a, b)`` for the rows a to b of every block of n rows."""
        self(count_blocks(n), lambda block: work(*bounds(block, n)))

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
