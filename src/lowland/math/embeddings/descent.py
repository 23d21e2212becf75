"""The optimizer of neighbor embeddings: phases of gradient descent on the coordinates of all points at once.

A thread owns a block of rows and all their pairs, all points move at the end of an iteration, and sums are added by
fixed blocks. So the result is the same to the last bit on any number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from lowland.arrays.engines import has_kernels
from lowland.arrays.linalg import segment_sums
from lowland.arrays.namespace import Array, device_of, is_sparse, like, on_accelerator, to_numpy, xp_of
from lowland.errors import warn, was_interrupted
from lowland.kernels.descent_steps import adam_rows, momentum_rows
from lowland.kernels.team import execute
from lowland.math.optimize.outcome import STOPPED, Divergence, Outcome, Snapshot
from lowland.run.run import Run, RunsTogether

ROWS = 512  # rows of a block; of many rows, a multiple
_MOST = 16  # blocks: calls from Python take turns, so that more of them keep the threads waiting
_FEW = 8  # ranges for fewer threads, of which one may be late
_LONGEST = 16_384  # rows in a range: Ctrl-C waits for its end
EVERY = 50  # iterations between two values of the objective
_ROWS_OF_A_THREAD = 16_384  # a step of so many rows takes as long as calling another thread
_AT_ONCE = 500_000  # rows times iterations between two reports of progress
_SETTLING = 200  # iterations of the last phase, after which the bound of the last step holds
_SMALLEST_STEP = 1e-7  # of the extent of the map: if no row moves farther in an iteration, nothing moves anymore

State = tuple[np.ndarray, np.ndarray, np.ndarray]  # the gradient, and two arrays of the update rule


# --- work by blocks of rows -------------------------------------------------------------------------------------------


def _block_rows(n: int) -> int:
    """The number of rows of a block of n rows."""
    return ROWS * max(1, -(-n // (ROWS * _MOST)))


def count_blocks(n: int) -> int:
    """Return the number of blocks of n rows."""
    return max(1, -(-n // _block_rows(n)))


def block_bounds(block: int, n: int) -> tuple[int, int]:
    """Return the first row of a block, and the row after its last."""
    size = _block_rows(n)
    return block * size, min(n, (block + 1) * size)


class RowBlocks:
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

    def together(self, n: int, work: Callable[[np.ndarray, int, int], Any]) -> Any:
        """Execute one kernel on n rows by all threads at once: ``work(team, threads, number of the thread)``."""
        return execute(self.rounds, self.threads, n, work)

    def limited(self, threads: int) -> RowBlocks:
        """For short rounds, in which many threads would spend the time waiting for each other."""
        return RowBlocks(self.rounds, max(1, min(self.threads, threads)))

    def rows(self, n: int, work: Callable[[int, int], None]) -> None:
        """Call ``work(a, b)`` for ranges of n rows, which depend on the number of threads: rows must be independent."""
        pieces = 1 if self.threads == 1 else max(_FEW, self.threads)
        size = min(_LONGEST, ROWS * max(1, -(-n // (ROWS * pieces))))
        self(-(-n // size), lambda i: work(i * size, min(n, (i + 1) * size)))

    def sum(self, n: int, work: Callable[[int, int], float]) -> float:
        """Return the sum of ``work(a, b)`` over the blocks of n rows, added in their order."""
        parts = np.zeros(count_blocks(n))

        def keep(block: int) -> None:
            parts[block] = work(*block_bounds(block, n))

        self(len(parts), keep)
        return float(parts.sum())


@contextmanager
def row_blocks(run: Run) -> Iterator[RowBlocks]:
    """Keep the threads of the run for many rounds over blocks."""
    threads = run.settings.thread_count
    if threads < 2:
        yield RowBlocks(None, 1)
        return
    with run.rounds() as rounds:
        yield RowBlocks(rounds, threads)


def as_places(Z: Array, X: Array) -> Array:
    """Return coordinates in float32, the precision of the descent, in the library and on the device of X."""
    home = X.data if is_sparse(X) else X
    return like(Z, home, xp_of(home).float32)


# --- phases of gradient descent ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Momentum:
    """Gradient descent with momentum, and a gain for each coordinate."""

    momentum: float = 0.8
    longest: float = 5.0  # of a step of one row
    least_gain: float = 0.01

    def parameters(self, rate: float, update: int) -> tuple[float, ...]:
        """Return what the kernel takes."""
        return rate, self.momentum, self.least_gain, self.longest


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma and Ba 2015)."""

    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-7

    def parameters(self, rate: float, update: int) -> tuple[float, ...]:
        """Return what the kernel takes for an update, counted from 1."""
        return rate, self.beta1, self.beta2, 1 - self.beta1**update, 1 - self.beta2**update, self.eps


@dataclass(frozen=True)
class Phase:
    """A part of the schedule. Rate and weights change linearly, where an end is given."""

    iterations: int
    rule: Momentum | Adam
    rate: float
    rate_end: float | None = None
    weights: Mapping[str, float] = field(default_factory=dict)  # of the parts of the objective
    weights_end: Mapping[str, float] = field(default_factory=dict)
    keeps_state: bool = True  # whether velocities and moments continue from the previous phase


@dataclass(frozen=True)
class DescentStep:
    """One iteration: its number, counted over all phases, and the weights at it."""

    iteration: int
    total: int
    phase: int
    weights: Mapping[str, float]
    rate: float = 0.0


class EmbeddingObjective(Protocol):
    """What a neighbor embedding minimizes."""

    @property
    def name(self) -> str:
        """The name of the objective, for the progress display: "KL divergence"."""
        ...

    @property
    def phases(self) -> Sequence[Phase]:
        """The schedule."""
        ...

    def gradient(self, Z: Array, step: DescentStep, G: Array, blocks: RowBlocks) -> None:
        """Compute the gradient at Z (n, k) into G."""
        ...

    def value(self, Z: Array, step: DescentStep, blocks: RowBlocks) -> float:
        """Return the objective at Z, exactly or as an estimate."""
        ...


class HostObjective(EmbeddingObjective, Protocol):
    """An objective on the host, which can move to a device."""

    def on_device(self, home: Array) -> EmbeddingObjective:
        """Return the same objective on tensors beside ``home``."""
        ...


@runtime_checkable
class Iterates(Protocol):
    """An objective whose kernel does several iterations at once, gradients and updates."""

    def iterate(
        self, Z: np.ndarray, steps: Sequence[DescentStep], how: np.ndarray, state: State, blocks: RowBlocks
    ) -> np.ndarray:
        """Do some of these iterations, the first ones, or none: then the next one is done by ``gradient``.

        A row of ``how`` has the parameters of the update rule. Return the sum of the squared gradient and the largest
        squared step of each iteration, (done, 2).
        """
        ...


@dataclass(frozen=True)
class StoppingRule:
    """When the descent ends before its last iteration, in the last phase."""

    least_gradient: float = 0.0  # norm of the gradient
    patience: int | None = None  # iterations without a lower objective; None: no limit
    last_step: float = float("inf")  # relative to the extent of the map: if the last step is longer, it oscillates


@dataclass(frozen=True)
class Embedded:
    """The result of a descent."""

    Z: Array  # (n, k)
    value: float  # of the objective, at the end
    gradient_norm: float
    outcome: Outcome
    interrupted: bool = False


def descend(
    objective: EmbeddingObjective,
    start: Array,
    run: Run,
    *,
    solver: Outcome,
    stop: StoppingRule | None = None,
    callback: Callable[[Snapshot], Any] | None = None,
    every: int = EVERY,
) -> Embedded:
    """Minimize from ``start`` (n, k), which is updated in place. ``solver`` has the name and the reason to report.

    The callback receives a snapshot every ``every`` iterations; if it returns False, the descent ends. Ctrl-C ends it
    too: the map so far is returned, with a warning.
    """
    stop = stop or StoppingRule()
    descent = _Descent(objective, start, stop, callback, every)
    interrupted = False
    with row_blocks(run) as blocks, run.stage(f"minimizing the {objective.name}", descent.total) as stage:
        try:
            descent.run(blocks, stage)
        except (KeyboardInterrupt, SystemError) as error:
            if not isinstance(error, KeyboardInterrupt) and not was_interrupted(error):
                raise
            interrupted = True
            text = f"Stopped by Ctrl-C after {descent.done} of {descent.total} iterations. The map is unfinished."
            warn(text, UserWarning)
            descent.why = "it was interrupted"
        if descent.step is not None and not (descent.trace and descent.done % every == 0):
            descent.trace.append(objective.value(start, descent.step, blocks))
    trace, settled = tuple(descent.trace), not (interrupted or descent.oscillates)
    outcome = Outcome(solver.name, solver.reason, descent.done, settled, trace, descent.why)
    value = trace[-1] if descent.step is not None else float("nan")
    return Embedded(start, value, descent.gradient_norm, outcome, interrupted)


class _Descent:
    """The state of a descent."""

    def __init__(
        self,
        objective: EmbeddingObjective,
        Z: Array,
        stop: StoppingRule,
        callback: Callable[[Snapshot], Any] | None,
        every: int,
    ) -> None:
        self.objective, self.Z, self.stop, self.callback, self.every = objective, Z, stop, callback, every
        self.total = sum(phase.iterations for phase in objective.phases)
        self.done = 0
        self.trace: list[float] = []
        self.why = "all iterations were done"
        self.gradient_norm = self.longest_step = float("inf")
        self.step: DescentStep | None = None
        self.best, self.best_at = float("inf"), 0
        self.state: tuple[Array, Array] = ()  # type: ignore[assignment]  # of the update rule, made by the first phase

    def run(self, blocks: RowBlocks, stage: Any) -> None:
        """All phases, until a stopping rule holds."""
        G = xp_of(self.Z).zeros_like(self.Z)
        phases = [phase for phase in self.objective.phases if phase.iterations]
        for number, phase in enumerate(phases):
            self._start(phase)
            first = self.done
            while self.done < first + phase.iterations:
                ends = first + phase.iterations, self.done - self.done % self.every + self.every
                several = _AT_ONCE // len(self.Z) if isinstance(self.objective, Iterates) else 1
                count = min(*(end - self.done for end in ends), max(1, several))
                steps = [self._step_of(phase, number, self.done + i, first) for i in range(count)]
                sums = self._iterate(steps, phase.rule, G, blocks)
                self.step = steps[len(sums) - 1]
                self.done += len(sums)
                self.updates += len(sums)
                self.gradient_norm, self.longest_step = np.sqrt(sums[-1]).tolist()
                if not np.isfinite(sums[:, 0]).all():
                    raise Divergence("The gradient is not finite: the steps are too long.")
                stage.advance(len(sums))
                if self.done % self.every == 0 and self._is_over(blocks, stage, last=number == len(phases) - 1):
                    return

    def _step_of(self, phase: Phase, number: int, iteration: int, first: int) -> DescentStep:
        part, end = (iteration - first) / phase.iterations, phase.weights_end
        weights = {name: at + part * (end.get(name, at) - at) for name, at in phase.weights.items()} if end else None
        rate = phase.rate if phase.rate_end is None else phase.rate + part * (phase.rate_end - phase.rate)
        return DescentStep(iteration, self.total, number, weights or phase.weights, rate)

    def _iterate(self, steps: Sequence[DescentStep], rule: Momentum | Adam, G: Array, blocks: RowBlocks) -> np.ndarray:
        """Do one iteration, or several at once; return the sums of each."""
        how = [rule.parameters(step.rate, self.updates + i) for i, step in enumerate(steps, start=1)]
        if isinstance(self.Z, np.ndarray) and isinstance(self.objective, Iterates):
            sums = self.objective.iterate(self.Z, steps, np.array(how), (G, *self.state), blocks)
            if len(sums):
                return sums
        self.objective.gradient(self.Z, steps[0], G, blocks)
        update = self._with_momentum if isinstance(rule, Momentum) else self._with_adam
        return np.array([update(G, how[0], blocks, rule)])  # type: ignore[arg-type]

    def _is_over(self, blocks: RowBlocks, stage: Any, *, last: bool) -> bool:
        """Record the objective, report it, and say whether to stop."""
        assert self.step is not None
        value = self.objective.value(self.Z, self.step, blocks)
        self.trace.append(value)
        stage.note = f"{self.objective.name} {value:.4g}"
        if self.callback is not None:
            copy = xp_of(self.Z).asarray(self.Z, copy=True)
            if self.callback(Snapshot(self.done, self.total, copy, value, self.gradient_norm)) is False:
                self.why = STOPPED
                return True
        if value < self.best:
            self.best, self.best_at = value, self.done
        if not last:
            self.best, self.best_at = float("inf"), self.done  # the objective changes with the phase
            return False
        extent = float(xp_of(self.Z).max(xp_of(self.Z).abs(self.Z)))
        if self.gradient_norm <= self.stop.least_gradient:
            self.why = f"the norm of the gradient, {self.gradient_norm:.2g}, is below the limit"
        elif self.longest_step <= _SMALLEST_STEP * extent:
            self.why = "no row moves anymore"
        elif self.stop.patience is not None and self.done - self.best_at > self.stop.patience:
            self.why = f"the objective was not lower for {self.done - self.best_at} iterations"
        else:
            return False
        return True

    @property
    def oscillates(self) -> bool:
        """Whether the last iteration still moved a row far, although the map had time to settle."""
        xp = xp_of(self.Z)
        extent = float(xp.max(xp.abs(self.Z))) or 1.0
        settled = self.done - self.total + self.objective.phases[-1].iterations >= _SETTLING
        return settled and self.done > 0 and self.longest_step > self.stop.last_step * extent

    # --- update rules: each returns the sum of the squared gradient and the largest squared step ---

    def _start(self, phase: Phase) -> None:
        """Velocities and gains, or both moments, at the beginning of a phase."""
        zeros, ones = xp_of(self.Z).zeros_like, xp_of(self.Z).ones_like
        if not self.state or not phase.keeps_state:
            second = ones if isinstance(phase.rule, Momentum) else zeros
            self.state, self.updates = (zeros(self.Z), second(self.Z)), 0

    def _with_momentum(
        self, G: Array, how: tuple[float, ...], blocks: RowBlocks, rule: Momentum
    ) -> tuple[float, float]:
        V, gains = self.state
        if isinstance(self.Z, np.ndarray):
            return self._over_blocks(blocks, lambda a, b: momentum_rows(self.Z, G, V, gains, a, b, *how))
        xp, rate = xp_of(self.Z), how[0]
        if has_kernels(self.Z):
            from lowland.kernels.on_device import momentum_step

            momentum_step(self.Z, G, V, gains, rate, rule)
        else:
            gains[:] = xp.clip(xp.where((G > 0) != (V > 0), gains + 0.2, gains * 0.8), min=rule.least_gain)
            V[:] = rule.momentum * V - rate * gains * G
            lengths = xp.linalg.vector_norm(V, axis=1, keepdims=True)
            V *= xp.where(lengths > rule.longest, rule.longest / lengths, xp.ones_like(lengths))
            self.Z += V
        return self._sums(G, V)

    def _with_adam(self, G: Array, how: tuple[float, ...], blocks: RowBlocks, rule: Adam) -> tuple[float, float]:
        M, S = self.state
        if isinstance(self.Z, np.ndarray):
            return self._over_blocks(blocks, lambda a, b: adam_rows(self.Z, G, M, S, a, b, *how))
        xp, (rate, _, _, first, second, _) = xp_of(self.Z), how
        if has_kernels(self.Z):
            from lowland.kernels.on_device import adam_step

            moved = xp.empty_like(G)
            adam_step(self.Z, G, M, S, moved, rate, first, second, rule)
        else:
            M[:] = rule.beta1 * M + (1 - rule.beta1) * G
            S[:] = rule.beta2 * S + (1 - rule.beta2) * G * G
            moved = rate * (M / first) / (xp.sqrt(S / second) + rule.eps)
            self.Z -= moved
        return self._sums(G, moved)

    def _over_blocks(self, blocks: RowBlocks, work: Callable[[int, int], tuple[float, float]]) -> tuple[float, float]:
        n = len(self.Z)
        parts = np.zeros((count_blocks(n), 2))

        def keep(block: int) -> None:
            parts[block] = work(*block_bounds(block, n))

        blocks.limited(n // _ROWS_OF_A_THREAD)(len(parts), keep)
        return float(parts[:, 0].sum()), float(parts[:, 1].max())

    def _sums(self, G: Array, moved: Array) -> tuple[float, float]:
        """The same on a device; read only where they are looked at, since reading waits for the device."""
        if on_accelerator(self.Z) and (self.done + 1) % self.every and self.done + 1 < self.total:
            return 1.0, 1.0
        xp = xp_of(G)
        both = xp.stack([xp.sum(G * G), xp.max(xp.sum(moved * moved, axis=1))])
        squares, farthest = to_numpy(both)
        return float(squares), float(farthest)


# --- edges on a device ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorEdges:
    """Edges sorted by row: those of row i are at ``start[i]:start[i + 1]``."""

    start: Array  # (n + 1,) int64
    to: Array  # (edges,) int32

    @classmethod
    def of(cls, start: np.ndarray, to: np.ndarray, home: Array) -> Self:
        """Move the edges to the device of ``home``."""
        return cls(
            on_device(start.astype(np.int64, copy=False), home), on_device(to.astype(np.int32, copy=False), home)
        )

    @cached_property
    def counts(self) -> Array:
        """The number of edges of each row, (n,) int64."""
        return self.start[1:] - self.start[:-1]

    @cached_property
    def source(self) -> Array:
        """The row at which each edge begins, (edges,) int64."""
        xp, n = xp_of(self.to), self.start.shape[0] - 1
        return xp.repeat(xp.arange(n, dtype=xp.int64, device=device_of(self.to)), self.counts)

    def differences(self, Z: Array) -> tuple[Array, Array]:
        """Return z_i - z_j of all edges, (edges, k), and their squared lengths, (edges,)."""
        D = Z[self.source] - Z[self.to]
        return D, xp_of(D).sum(D * D, axis=1)

    def sums(self, values: Array) -> Array:
        """Return the sum of the values of the edges of each row, (n, …)."""
        return segment_sums(values, self.counts)


def on_device(values: Any, home: Array, dtype: Any = None) -> Array:
    """Return an array of numpy as a tensor beside ``home``."""
    return xp_of(home).asarray(values, device=device_of(home), dtype=dtype)
