"""Threads over slabs on this machine, merged in order: bitwise the same result for any number of threads."""

from __future__ import annotations

import functools
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Barrier, Event, Lock, Thread, get_ident
from typing import Any, Protocol, TypeVar

import numpy as np

from lowland.arrays.blas_threads import blas_on_all_threads, blas_on_one_thread, blas_threads_for
from lowland.arrays.namespace import Array, is_sparse, to_numpy, xp_of
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, MemoryBudgetError
from lowland.run import memory, progress
from lowland.run.progress import EVENT_EVERY, Stage, wait_to_stop
from lowland.run.settings import Settings, config, settings

Task = TypeVar("Task")
Result = TypeVar("Result")


class RunsTogether(Protocol):
    """What ``Run.rounds`` yields."""

    def __call__(
        self, tasks: Sequence[Any], work: Callable[[Any], Any], at_failure: Callable[[], None] = ...
    ) -> list[Any]:
        """Return work(task) for every task; after an error, wait for the threads, which ``at_failure`` may stop."""
        ...


_FEW_THREADS = 4  # for small slabs: Python code of more threads would wait for its turn longer than it runs
_PER_THREAD = 2**18  # bytes of a slab for each further thread


class Run:
    """Threads over slabs, with BLAS limited to one thread inside."""

    def __init__(self, chosen: Settings | None = None) -> None:
        self.settings = chosen or settings()
        shown = self.settings.progress
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        self.silent = shown is False or (shown == "auto" and not on_terminal)  # whether no progress is shown
        self._kept: tuple[int, RunsTogether] | None = None  # the thread that keeps others for rounds, while they rest

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

        def work(piece: Any, start: int) -> tuple[Any, int]:
            chunk = rows.prepare(piece)
            stop = start + chunk.shape[0]
            if any(a is not None and len(a) < stop for a in aligned):
                raise _misfit(rows, aligned, f"at least {stop}")
            with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are reported below, by column
                part = of(chunk, *(None if a is None else a[start:stop] for a in aligned))
            if not part.is_finite():
                raise rows.non_finite_error()
            return (part, stop), chunk.shape[0]

        total, n = None, 0
        for part, n in self._in_order(rows, work, name):  # noqa: B007  the last stop is the number of rows
            if total is None:
                total = part
            else:
                total += part
        if total is None:
            raise DataError(
                f"{rows.source} has no rows (`Found array with 0 sample(s) while a minimum of 1 is required`). Check "
                "its source."
            )
        if any(a is not None and len(a) > n for a in aligned):
            raise _misfit(rows, aligned, f"{n}")
        return total

    def map_rows(
        self, f: Callable[[Array], Array], rows: Rows, name: str = "mapping rows", *, at_rest: bool = True
    ) -> Iterator[Array]:
        """Yield f(chunk) for every slab, in order. With ``at_rest``, no thread works while the caller uses a result."""

        return self._in_order(rows, partial(_mapped, f, rows), name, at_rest=at_rest)

    def each(self, name: str, tasks: Sequence[Task], work: Callable[[Task], Result]) -> list[Result]:
        """Return work(task) for every task, in the order of the tasks; threads take the tasks as they become free.

        BLAS has one thread where there are several.
        """
        if len(tasks) == 1 and self.silent:  # nothing to parallelize, and no progress to show
            return [work(tasks[0])]
        threads = min(self.settings.thread_count, len(tasks))
        with self.stage(name, len(tasks)) as stage:
            if threads < 2:
                return [_counted(stage, work(task)) for task in tasks]
            return self._together(stage, threads, tasks, work)

    def fits(self, name: str, tasks: Sequence[Task], work: Callable[[Task], Result]) -> list[Result]:
        """Return work(task) for every task, in order: like ``each``, for work that starts runs itself, such as fits.

        The fits that run at the same time share the threads and the memory budget, and BLAS has one. They show no
        progress of their own. When one of them fails, or at Ctrl-C, the others stop at their next step. If a share of
        the memory is too little, they run one after another.
        """
        count = self.settings.thread_count
        threads = min(count, len(tasks))
        with self.stage(name, len(tasks)) as stage, blas_on_one_thread() if len(tasks) > 1 else nullcontext():
            if threads > 1:
                ended = Event()
                share = config(
                    threads=count // threads, memory=self.budget // threads, progress=lambda _: not ended.is_set()
                )
                # what a fit does to the filters of warnings while another one runs is undone at the end
                with share, warnings.catch_warnings(), suppress(MemoryBudgetError):
                    return self._together(stage, threads, tasks, work, ended.set)
                stage.done = 0
            return [_counted(stage, work(task)) for task in tasks]

    def _together(
        self,
        stage: Stage,
        threads: int,
        tasks: Sequence[Task],
        work: Callable[[Task], Result],
        at_failure: Callable[[], None] = lambda: None,
    ) -> list[Result]:
        """Return work(task) for every task, in order, by a pool of threads."""
        with blas_on_one_thread(), ThreadPoolExecutor(threads) as pool:
            futures: list[Future[Result]] = []
            try:
                for task in tasks:
                    futures.append(pool.submit(work, task))
                return [_counted(stage, _awaited(future, stage)) for future in futures]
            except BaseException as error:
                at_failure()
                _cancel(pool, futures, error, "the current tasks end")
                raise

    @contextmanager
    def rounds(self) -> Iterator[RunsTogether]:
        """Keep the threads for many short rounds: the context maps (tasks, work) to the results, as ``each`` does.

        Inside it, ``fold`` and ``gather`` of rows in memory are rounds too. The calling thread works with the others.
        No progress is shown. One queue serves all threads: a round of 16 tasks of no duration takes a quarter of the
        time of a pool of threads.
        """
        if self._kept and self._kept[0] == get_ident():  # they are kept already
            yield self._kept[1]
            return
        calls: SimpleQueue[Callable[[], Any] | None] = SimpleQueue()
        results: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
        threads: list[Thread] = []

        def serve() -> None:
            for call in iter(calls.get, None):
                call()

        def together(
            tasks: Sequence[Any], work: Callable[[Any], Any], at_failure: Callable[[], None] = lambda: None
        ) -> list[Any]:
            helpers = min(self.settings.thread_count, len(tasks)) - 1
            if helpers < 1:
                return [work(task) for task in tasks]
            while len(threads) < helpers:
                threads.append(Thread(target=serve, daemon=True))
                threads[-1].start()

            def execute(number: int) -> None:
                try:
                    results.put((number, work(tasks[number]), None))
                except BaseException as error:
                    results.put((number, None, error))

            found, kept, self._kept = [None] * len(tasks), self._kept, None
            try:
                for number in range(1, len(tasks)):
                    calls.put(partial(execute, number))
                found[0] = work(tasks[0])
                with suppress(Empty):
                    while call := calls.get_nowait():
                        call()
                for _ in range(1, len(tasks)):
                    number, found[number], error = results.get()
                    if error is not None:
                        raise error
                return found
            except BaseException:  # such as Ctrl-C: no thread may still write to what the caller keeps
                at_failure()
                at_rest = Barrier(len(threads) + 1)
                for _ in threads:
                    calls.put(at_rest.wait)
                at_rest.wait()
                while not results.empty():
                    results.get()
                raise
            finally:
                self._kept = kept

        before, self._kept = self._kept, (get_ident(), together)
        try:
            yield together
        finally:
            self._kept = before
            for _ in threads:
                calls.put(None)
            for thread in threads:
                thread.join()

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
        whole: list[np.ndarray] = []
        lock, several = Lock(), rows.in_memory and rows.n is not None and rows.n > rows.slab

        def work(piece: Any, start: int) -> tuple[Array, int]:
            mapped, count = _mapped(f, rows, piece, start)
            if not several or not isinstance(mapped, np.ndarray):
                return mapped, count
            with lock:
                if not whole:
                    order: Any = "F" if np.isfortran(mapped) else "C"
                    whole.append(np.empty((rows.n, *mapped.shape[1:]), mapped.dtype, order))
            whole[0][start : start + count] = mapped  # by every thread: the first write to new memory is slow
            return whole[0], count

        parts = list(self._in_order(rows, work, name))
        return parts[0] if whole or len(parts) == 1 else xp_of(parts[0]).concat(parts, axis=0)

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

    def _in_order(
        self, rows: Rows, work: Callable[[Any, int], tuple[Any, int]], name: str, *, at_rest: bool = False
    ) -> Iterator[Any]:
        """Yield the results of ``work`` in the order of the slabs, a bounded number of them in flight.

        BLAS is limited to one thread meanwhile. With ``at_rest``, a batch is finished before its first result is
        yielded, and the code of the caller may use all threads.
        """
        if rows.in_memory and rows.n is not None and rows.n <= rows.slab:
            for piece in rows.pieces():  # one slab: no threads, no progress
                with blas_threads_for(rows.n * rows.d * min(rows.n, rows.d)):
                    result = work(piece, 0)[0]
                yield result
            return
        if isinstance(rows, ArrayRows) and rows.has_engine:
            yield from self._in_turn(rows, work, name)
            return
        threads = self.settings.thread_count
        in_flight = memory.slabs_in_flight(rows.slab_bytes, threads, self.budget)
        workers = min(threads, in_flight, max(_FEW_THREADS, rows.slab_bytes // _PER_THREAD))
        if self._kept and self._kept[0] == get_ident() and rows.in_memory and in_flight > threads and not at_rest:
            yield from self._in_a_round(self._kept[1], rows, work, name)
            return
        most = workers if at_rest else in_flight
        waiting: deque[Future[tuple[Any, int]]] = deque()

        def finished() -> Iterator[Any]:
            results = []
            for _ in range(len(waiting) if at_rest else 1):
                results.append(_awaited(waiting[0], stage))
                waiting.popleft()
            stage.advance(sum(count for _, count in results))
            with blas_on_all_threads() if at_rest else nullcontext():
                yield from (result for result, _ in results)

        with (
            self.stage(name, rows.n) as stage,
            blas_on_one_thread(),
            ThreadPoolExecutor(workers) as pool,
        ):
            try:
                start = 0
                for piece in rows.pieces():
                    if len(waiting) >= most:
                        yield from finished()
                    waiting.append(pool.submit(work, piece, start))
                    start += rows.height(piece)
                    del piece  # only the worker refers to the slab, and releases it
                while waiting:
                    yield from finished()
            except BaseException as error:
                _cancel(pool, waiting, error, "the current chunks end")
                raise

    def _in_a_round(
        self, together: RunsTogether, rows: Rows, work: Callable[[Any, int], tuple[Any, int]], name: str
    ) -> list[Any]:
        """All slabs in one round of the threads that ``rounds`` keeps."""
        pieces = list(rows.pieces())
        starts = np.cumsum([0, *map(rows.height, pieces)]).tolist()
        with self.stage(name, rows.n) as stage, blas_on_one_thread():
            found = together(range(len(pieces)), lambda number: work(pieces[number], starts[number])[0])
            stage.advance(starts[-1])
        return found

    def _in_turn(self, rows: Rows, work: Callable[[Any, int], tuple[Any, int]], name: str) -> Iterator[Any]:
        """One slab after another: torch has its own threads, a device its own queue."""
        with self.stage(name, rows.n) as stage:
            start = 0
            for piece in rows.pieces():
                result, count = work(piece, start)
                start += count
                stage.advance(count)
                yield result


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


def serial_run() -> Run:
    """Return a run without threads or progress, for a transform called on a thread of another run."""
    return Run(replace(settings(), threads=1, progress=False))


def _mapped(f: Callable[[Array], Array], rows: Rows, piece: Any, start: int) -> tuple[Array, int]:
    chunk = rows.prepare(piece)
    with np.errstate(invalid="ignore", over="ignore"):
        mapped = f(chunk)
    if not all_finite(mapped):
        raise rows.non_finite_error()
    return mapped, chunk.shape[0]


def _awaited(future: Future[Result], stage: Stage) -> Result:
    """Wait for a result; progress is reported meanwhile, so that a slow task can be stopped."""
    while stage.report is not None and not future.done():
        wait((future,), timeout=EVENT_EVERY)
        stage.advance(0)
    return future.result()


def _cancel(pool: ThreadPoolExecutor, futures: Iterable[Future[Any]], error: BaseException, end: str) -> None:
    """Start no further task; those that run end by themselves, and the pool waits for them."""
    pool.shutdown(wait=False, cancel_futures=True)
    if isinstance(error, KeyboardInterrupt):
        wait_to_stop([future for future in futures if not future.cancelled()], end)


def _counted(stage: Stage, result: Result) -> Result:
    stage.advance()
    return result


def _misfit(rows: Rows, aligned: tuple[np.ndarray | None, ...], count: str) -> DataError:
    lengths = " and ".join(str(len(a)) for a in aligned if a is not None)
    return DataError(
        f"{rows.source} has {count} rows, but there are {lengths} labels or weights. Pass one value per row."
    )
