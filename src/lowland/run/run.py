"""The interface of an engine: ``fold``, ``map_rows`` and ``each``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.run import memory, progress, settings

Task = TypeVar("Task")
Result = TypeVar("Result")
RunsTogether = Callable[[Sequence[Any], Callable[[Any], Any]], list[Any]]


class Run:
    """Base class of the engines."""

    def __init__(self, chosen: settings.Settings | None = None) -> None:
        self.settings = chosen or settings.in_force
        shown = self.settings.progress
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self.silent = shown is False or (shown == "auto" and not on_terminal)  # whether no progress is shown

    @functools.cached_property
    def budget(self) -> int:
        """The memory budget in bytes."""
        return self.settings.budget

    def require(self, needed: float, what: str, remedy: str) -> None:
        """Raise an error for work beyond the memory budget."""
        if needed > self.budget:
            memory.require(needed, self.budget, what, remedy)

    def scratch(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return an array of any values; a large one is mapped to a temporary file, as ``memory.scratch`` says."""
        return memory.scratch(shape, dtype, self.budget)

    def stage(self, name: str, total: float | None = None) -> AbstractContextManager[progress.Stage]:
        """Open a stage of progress."""
        return progress.stage(name, total, self.settings.progress)

    def iterate(self, name: str, steps: int) -> Iterator[int]:
        """Yield the numbers of the iterations and show progress; leave the loop to stop early."""
        with self.stage(name, steps) as stage:
            try:
                for step in range(steps):
                    yield step
                    stage.advance()
            except GeneratorExit:  # the loop was left early: it has converged
                stage.finish()
                raise

    def fold(self, rows: Rows, of: Callable[..., Any], *aligned: np.ndarray | None, name: str = "reading rows") -> Any:
        """Return the sum of ``of(chunk, *slices of aligned)`` over all slabs, added in order."""
        raise NotImplementedError

    def map_rows(
        self, f: Callable[[Array], Array], rows: Rows, name: str = "mapping rows", *, at_rest: bool = True
    ) -> Iterator[Array]:
        """Yield f(chunk) for every slab, in order. With ``at_rest``, no thread works while the caller uses a result."""
        raise NotImplementedError

    def each(self, name: str, tasks: Sequence[Task], work: Callable[[Task], Result]) -> list[Result]:
        """Return work(task) for every task, in the order of the tasks; threads take the tasks as they become free."""
        raise NotImplementedError

    def rounds(self) -> AbstractContextManager[RunsTogether]:
        """Keep the threads for many short rounds: the context maps (tasks, work) to the results, as ``each`` does.

        One task per thread; no progress is shown, since a round may take less than a millisecond.
        """
        raise NotImplementedError

    def gather(
        self,
        f: Callable[[Array], Array],
        rows: Rows,
        width: int,
        name: str = "mapping rows",
        dtype: np.dtype | None = None,
    ) -> Array:
        """Return f over all rows as one array of ``width`` columns; ``dtype``: that of f, by default of the rows."""
        if rows.n is not None and not rows.in_memory:
            size = rows.n * width * (dtype or rows.dtype).itemsize
            self.require(size, "The result", "Iterate over transform_chunks instead")
        parts = list(self.map_rows(f, rows, name, at_rest=False))
        return parts[0] if len(parts) == 1 else xp_of(parts[0]).concat(parts, axis=0)

    def to_array(self, rows: Rows, why: str) -> Array:
        """Return all rows as one finite array, if the budget allows; with NaN where the rows allow it."""
        if not rows.in_memory and rows.n is not None:
            self.require(
                2 * rows.n * rows.d * rows.dtype.itemsize, f"{why} requires all rows in memory and", "Use fewer rows"
            )
        X = rows.to_array()
        if rows.n is None and X.shape[0] < 2:  # the number of rows was unknown before
            raise DataError(
                f"{rows.source} has {X.shape[0]} row (`{X.shape[0]} sample(s), n_samples={X.shape[0]}`), but the "
                "variance of one row is undefined. Add rows."
            )
        if not all_finite(X) and not (rows.allow_nan and _no_infinity(X)):
            raise rows.non_finite_error()
        return X


def all_finite(X: Array) -> bool:
    """Whether X holds neither NaN nor infinity."""
    if isinstance(X, np.ndarray):
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.isfinite(X.sum()) or np.isfinite(X).all())  # only an overflow needs the second pass
    if is_sparse(X):
        X = X.data
    with np.errstate(over="ignore", invalid="ignore"):
        xp = xp_of(X)
        if np.isfinite(float(xp.sum(X))):  # one fast pass; only an overflow needs the second
            return True
        return bool(np.isfinite(to_numpy(X)).all())


def _no_infinity(X: Array) -> bool:
    return not np.isinf(X.data if is_sparse(X) else to_numpy(X)).any()


def run_for(rows: Rows) -> Run:
    """Return the engine for these rows: Dask for Dask arrays, threads on this machine otherwise."""
    from lowland.data.rows import DaskRows

    if isinstance(rows, DaskRows):
        from lowland.run.dask import DaskRun

        return DaskRun()
    from lowland.run.local import LocalRun

    return LocalRun()
