"""PaCMAP and LocalMAP: attraction along neighbors and mid-near pairs, repulsion along further pairs.

With D = 1 + |z_i - z_j|², the objective is w_NN sum D / (10 + D) + w_MN sum D / (10,000 + D) + w_FP sum 1 / (1 + D).
Mid-near pairs first arrange the map as a whole, then neighbors and further pairs refine it. In the last phase, LocalMAP
multiplies the attraction of neighbors by (radius / 2) / sqrt(D), and draws further pairs again and again among rows
within the radius in the map: near clusters separate. Random draws are functions of the seed, the row and the slot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.engines import has_kernels
from lowland.arrays.namespace import Array, device_of, is_sparse, like, on_accelerator, slices, to_numpy, xp_of
from lowland.errors import DataError
from lowland.kernels import pacmap
from lowland.kernels.neighbor_search import measure_table
from lowland.kernels.pacmap import (
    draw_candidates,
    draw_further,
    list_at_both_ends,
    nearest_scaled,
    redraw_further,
)
from lowland.kernels.team import count_team_blocks
from lowland.math.distances.incomplete_rows import SharedColumns
from lowland.math.distances.metrics import Metric, allows_nan
from lowland.math.distances.to_points import DistancesTo
from lowland.math.embeddings.descent import Adam, DescentStep, Phase, RowBlocks, State, TensorEdges, on_device
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.searcher import MetricSpace
from lowland.run.run import Run

EXTRA = 50  # candidates beyond the number of neighbors
DRAWN = 6  # random rows, of which the second nearest is a mid-near row
_FIRST, _LAST = 3, 6  # the scale of a row is its mean distance to neighbors 4 to 6
_LEAST_SCALE = 1e-10  # of the mean scale, for rows with many duplicates
_ROWS = 2048  # rows of a task
_PAIRS = 1 << 21  # distances that a task holds, for a metric that compares with all rows
_KINDS = (("neighbors", 10.0, 1.0), ("mid_near", 10_000.0, 1.0), ("further", 1.0, -1.0))  # constant, sign of the weight
_REDRAWN = 10  # iterations between two draws of further pairs


@dataclass(frozen=True)
class Pairs:
    """Pairs of n rows: the partners of row i are at ``start[i]:start[i + 1]``."""

    start: np.ndarray  # (n + 1,) int64
    to: np.ndarray  # (pairs,) int32

    @classmethod
    def of_table(cls, table: np.ndarray) -> Pairs:
        """The pairs of k partners per row, from a table (n, k)."""
        n, k = table.shape
        return cls(np.arange(n + 1) * k, np.ascontiguousarray(table, dtype=np.int32).ravel())

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.start) - 1

    def table(self, rows: np.ndarray, home: Array) -> Array:
        """Return the pairs as row numbers, (pairs, 2) int32, beside ``home``; ``rows`` has the number of each row."""
        if on_accelerator(home):
            edges, numbers = TensorEdges.of(self.start, self.to, home), on_device(rows.astype(np.int32), home)
            return xp_of(home).stack([numbers[edges.source], numbers[edges.to]], axis=1)
        rows, table = rows.astype(np.int32), np.empty((len(self.to), 2), dtype=np.int32)
        table[:, 0], table[:, 1] = np.repeat(rows, np.diff(self.start)), rows[self.to]
        return like(table, home, xp_of(home).int32)

    def __add__(self, other: Pairs) -> Pairs:
        """Return the pairs of both; in each row, those of ``other`` come last."""
        rows = np.concatenate([np.repeat(np.arange(self.n), np.diff(each.start)) for each in (self, other)])
        to = np.concatenate([self.to, other.to])[np.argsort(rows, kind="stable")]
        return Pairs(self.start + other.start, to)

    def at_both_ends(self) -> Pairs:
        """Return each pair listed at both of its rows, in a fixed order."""
        start, to = np.empty_like(self.start), np.empty(2 * len(self.to), dtype=np.int32)
        list_at_both_ends(self.start, self.to, start, to)
        return Pairs(start, to)

    def edges_at_both_ends(self, home: Array) -> TensorEdges:
        """Return the same on the device of ``home``, in another order."""
        given, xp = TensorEdges.of(self.start, self.to, home), xp_of(home)
        ends = (
            xp.concat([xp.astype(given.source, xp.int32), given.to]),
            xp.concat([given.to, xp.astype(given.source, xp.int32)]),
        )
        order = xp.argsort(ends[0], stable=True)
        start = xp.searchsorted(ends[0][order], xp.arange(self.n + 1, dtype=xp.int32, device=device_of(home)))
        return TensorEdges(start, ends[1][order])


def given_pairs(pairs: Any, n: int) -> Pairs:
    """Return the user's pairs, an (m, 2) array of row numbers, grouped by their first row."""
    P = to_numpy(pairs) if not isinstance(pairs, list | tuple) else np.asarray(pairs)
    if P.ndim != 2 or P.shape[1] != 2 or not len(P):
        raise DataError(f"The pairs have shape {P.shape}. Pass an (m, 2) array of row numbers.")
    if P.dtype.kind not in "iu":
        raise DataError(f"The pairs have dtype {P.dtype}. Pass an (m, 2) array of integers, the row numbers.")
    if P.min() < 0 or P.max() >= n:
        wrong = int(P.min()) if P.min() < 0 else int(P.max())
        raise DataError(f"The pairs contain the row number {wrong}. It must be from 0 to {n - 1}.")
    same = np.flatnonzero(P[:, 0] == P[:, 1])
    if len(same):
        raise DataError(f"Pair {same[0]} joins row {P[same[0], 0]} to itself. Pass pairs of two different rows.")
    order = np.argsort(P[:, 0], kind="stable")
    counts = np.bincount(P[:, 0].astype(np.int64), minlength=n)
    return Pairs(np.concatenate([[0], np.cumsum(counts)]), P[order, 1].astype(np.int32))


# --- neighbors --------------------------------------------------------------------------------------------------------


def local_scales(graph: NeighborGraph) -> np.ndarray:
    """Return the mean distance of each row to its neighbors 4 to 6, or to its last ones, (n,) float64."""
    last = np.minimum(np.diff(graph.start), _LAST)
    first = np.maximum(np.minimum(_FIRST, last - 1), 0)
    scales = np.zeros(graph.n)
    for at in range(_LAST):
        here = (first <= at) & (at < last)
        scales[here] += graph.length[graph.start[:-1][here] + at]
    return above_zero(scales / np.maximum(last - first, 1))


def above_zero(scales: np.ndarray) -> np.ndarray:
    """Return the scales with zeros, those of rows with many duplicates, replaced by a tiny fraction of their mean."""
    return np.maximum(scales, _LEAST_SCALE * (float(scales.mean()) or 1.0))


def scaled_neighbors(
    graph: NeighborGraph, scales: np.ndarray, k: int, run: Run, *, own: np.ndarray | None = None
) -> Pairs:
    """Return, of the candidates in the graph, the k with the smallest d² / (scale_i scale_j) for each row i.

    ``own``: the scales of the rows themselves, if they are not among the points of the graph.
    """
    own = scales if own is None else own
    start = np.concatenate([[0], np.cumsum(np.minimum(np.diff(graph.start), k))])
    to = np.empty(start[-1], dtype=np.int32)

    def choose(rows: slice) -> None:
        nearest_scaled(graph.start, graph.to, graph.length, own, scales, k, start, to, rows.start, rows.stop)

    run.each("choosing neighbors", slices(graph.n, _ROWS), choose)
    return Pairs(start, to)


# --- random pairs -----------------------------------------------------------------------------------------------------


def mid_near_pairs(
    X: Array, count: int, seed: int, run: Run, metric: Metric = "euclidean", params: dict[str, Any] | None = None
) -> Pairs:
    """Return ``count`` mid-near rows of each row: each the second nearest of six random rows."""
    n = X.shape[0]
    if not count:
        return Pairs(np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    width = min(DRAWN, n - 1)
    measure, step = _measure(X, metric, params or {})

    def choose(rows: slice) -> np.ndarray:
        drawn = np.empty((rows.stop - rows.start, count * width), dtype=np.int32)
        draw_candidates(n, seed, width, rows.start, rows.stop, drawn)
        order = np.argsort(measure(rows, drawn).reshape(-1, width), axis=1, kind="stable")  # a missing value is last
        return np.take_along_axis(drawn.reshape(-1, width), order[:, min(1, width - 1), None], axis=1).reshape(
            -1, count
        )

    return Pairs.of_table(np.concatenate(run.each("drawing mid-near pairs", slices(n, step), choose)))


def _measure(X: Array, metric: Metric, params: dict[str, Any]) -> tuple[Callable[[slice, np.ndarray], np.ndarray], int]:
    """The function from rows and a table of other rows to their distances, in any monotone scale; rows of a task."""
    n = X.shape[0]
    space = None if is_sparse(X) or metric == "precomputed" else MetricSpace.of(metric, params)
    if space is not None:
        P = space.points(to_numpy(X))

        def by_pairs(rows: slice, to: np.ndarray) -> np.ndarray:
            values = np.empty(to.shape)
            measure_table(P[rows], np.arange(len(to)), P, to, space.p, values)
            return values

        return by_pairs, _ROWS
    if metric == "precomputed" and not is_sparse(X):
        D = to_numpy(X)
        return lambda rows, to: np.take_along_axis(D[rows], to, axis=1), _ROWS
    if allows_nan(metric):
        shared = SharedColumns.of(to_numpy(X), str(metric), params)
        return lambda rows, to: shared.of_pairs(shared.points[rows], to), _ROWS
    distances = DistancesTo.of(X, metric, params)

    def by_rows(rows: slice, to: np.ndarray) -> np.ndarray:
        return np.take_along_axis(to_numpy(distances(X[rows])), to, axis=1)

    return by_rows, max(1, min(_ROWS, _PAIRS // n))


def further_pairs(neighbors: Pairs, count: int, seed: int, run: Run) -> Pairs:
    """Return ``count`` random rows for each row, none of them its neighbor; fewer where all others are neighbors."""
    n, counts = neighbors.n, np.diff(neighbors.start)
    if n <= 4 * int(counts.max(initial=0)):  # there may be too few other rows, and given pairs may repeat some
        counts = np.array([len(np.unique(each)) for each in np.split(neighbors.to, neighbors.start[1:-1])])
    start = np.concatenate([[0], np.cumsum(np.minimum(n - 1 - counts, count))])
    to = np.empty(start[-1], dtype=np.int32)

    def choose(rows: slice) -> None:
        draw_further(n, seed, neighbors.start, neighbors.to, start, to, rows.start, rows.stop)

    run.each("drawing further pairs", slices(n, _ROWS), choose)
    return Pairs(start, to)


@dataclass(frozen=True)
class PairCounts:
    """How many pairs of each kind a row has."""

    neighbors: int
    mid_near: int
    further: int

    @classmethod
    def of(cls, n: int, k: int | None, mid_near: float, further: float) -> PairCounts:
        """The counts for n rows: k neighbors, and their multiples. With few rows, fewer in the same proportion.

        None means 10 neighbors up to 10,000 rows, and 15 more for every factor of 10 beyond.
        """
        k = (10 if n <= 10_000 else round(10 + 15 * (np.log10(n) - 4))) if k is None else k
        if k + round(k * mid_near) + round(k * further) >= n:
            fewer = n / (1 + mid_near + further)
            return cls(int(fewer), int(fewer * mid_near), int(fewer * further))
        return cls(k, round(k * mid_near), round(k * further))


# --- on a device ------------------------------------------------------------------------------------------------------


@dataclass
class TensorPairForces:
    """With D = 1 + |z_i - z_j|²: the sum of w D / (c + D) over the three kinds of pairs, each listed at both rows."""

    edges: list[TensorEdges]  # neighbors, mid-near and further pairs
    phases: Sequence[Phase]
    radius: float = 0.0  # of LocalMAP in the map; 0: PaCMAP
    after: int = 0  # iterations before the local adjustment
    redraw: Callable[[Array, DescentStep, RowBlocks], TensorEdges | None] | None = None  # of the further pairs
    name: str = field(default="pair objective")

    def gradient(self, Z: Array, step: DescentStep, G: Array, blocks: RowBlocks) -> None:
        """Compute the gradient at Z (n, k) into G."""
        drawn = None if self.redraw is None else self.redraw(Z, step, blocks)
        if drawn is not None:
            self.edges[2] = drawn
        xp, first = xp_of(Z), True
        for edges, (kind, c, sign) in zip(self.edges, _KINDS, strict=True):
            weight = sign * step.weights[kind]
            local = self.radius / 2 if kind == "neighbors" and self._is_local(step) else 0.0
            if not weight:
                continue
            if has_kernels(Z):
                from lowland.kernels.on_device import pull

                scale = 2 * weight * c / (c + 1) ** 2
                pull(edges, None, Z, G, scale, 1 / (c + 1), squared=True, local=local, added=not first)
            else:
                D, d2 = edges.differences(Z)
                factor = 2 * weight * c / (c + 1 + d2) ** 2
                if local:
                    factor = factor * local / xp.sqrt(1 + d2)
                G[:] = edges.sums(factor[:, None] * D) + (0 if first else G)
            first = False

    def value(self, Z: Array, step: DescentStep, blocks: RowBlocks) -> float:
        """Return the objective at Z with the weights of the step, up to a constant."""
        xp, total = xp_of(Z), 0.0
        for edges, (kind, c, _) in zip(self.edges, _KINDS, strict=True):
            D = 1 + xp.astype(edges.differences(Z)[1], xp.float64)
            terms = 1 / (1 + D) if kind == "further" else D / (c + D)
            if kind == "neighbors" and self._is_local(step):  # the integral of the local attraction
                r = xp.sqrt(D)
                terms = self.radius / 2 * (r / (c + D) + xp.atan(r / math.sqrt(c)) / math.sqrt(c))
            total += step.weights[kind] * float(xp.sum(terms)) / 2  # each pair is listed twice
        return total

    def _is_local(self, step: DescentStep) -> bool:
        return self.radius > 0 and step.iteration > self.after


# --- on the host ------------------------------------------------------------------------------------------------------


def pair_phases(iterations: Sequence[int], rate: float) -> tuple[Phase, ...]:
    """Return the three phases of the schedule, with the weights of the pairs."""
    weights = (
        {"neighbors": 2.0, "mid_near": 1000.0, "further": 1.0},
        {"neighbors": 3.0, "mid_near": 3.0, "further": 1.0},
        {"neighbors": 1.0, "mid_near": 0.0, "further": 1.0},
    )
    ends: tuple[dict[str, float], ...] = ({"mid_near": 3.0}, {}, {})
    return tuple(
        Phase(count, Adam(0.9, 0.999, 1e-7), rate, weights=at_start, weights_end=at_end)
        for count, at_start, at_end in zip(iterations, weights, ends, strict=True)
    )


@dataclass(frozen=True)
class LocalAdjustment:
    """What LocalMAP changes after the first two phases."""

    radius: float  # in the map
    after: int  # iterations of the first two phases
    neighbors: Pairs  # further pairs are none of these
    seed: int


class PairForces:
    """The objective as a function of the map; one thread owns a block of rows and all forces on them."""

    name = "pair objective"

    def __init__(
        self,
        neighbors: Pairs,
        mid_near: Pairs,
        further: Pairs,
        phases: Sequence[Phase],
        local: LocalAdjustment | None = None,
    ) -> None:
        self.phases, self.local = phases, local
        self.further = Pairs(further.start, further.to.copy()) if local else further  # drawn again by LocalMAP
        self.pairs, self.drawn_at = (neighbors, mid_near, further), -1

    @cached_property
    def listed(self) -> list[Pairs]:
        """Neighbors, mid-near and further pairs, each at both of its rows."""
        return [each.at_both_ends() for each in self.pairs]

    def on_device(self, home: Array) -> TensorPairForces:
        """Return the same objective on tensors beside ``home``. LocalMAP draws its pairs on the host."""
        edges = [each.edges_at_both_ends(home) for each in self.pairs]
        if self.local is None:
            return TensorPairForces(edges, self.phases)

        def redraw(Z: Array, step: DescentStep, blocks: RowBlocks) -> TensorEdges | None:
            if not self._is_due(step):
                return None
            self._redraw(to_numpy(Z), step, blocks)
            return TensorEdges.of(self.listed[2].start, self.listed[2].to, Z)

        return TensorPairForces(edges, self.phases, self.local.radius, self.local.after, redraw)

    def gradient(self, Z: np.ndarray, step: DescentStep, G: np.ndarray, blocks: RowBlocks) -> None:
        """Compute the gradient at Z (n, k) into G."""
        self._redraw(Z, step, blocks)
        if Z.shape[1] == 2 and Z.dtype == np.float32:
            self._descend(Z, [step], np.empty((0, 6)), (G, G, G), blocks)
        else:
            given = self._given(step)
            blocks.rows(len(Z), lambda a, b: pacmap.gradient(Z, *given, a, b, G))

    def iterate(
        self, Z: np.ndarray, steps: Sequence[DescentStep], how: np.ndarray, state: State, blocks: RowBlocks
    ) -> np.ndarray:
        """Do these iterations, as ``descent.Iterates`` says, of a map of two dimensions: up to the next drawing."""
        if Z.shape[1] != 2 or Z.dtype != np.float32:
            return np.empty((0, 2))
        self._redraw(Z, steps[0], blocks)
        count = next((i for i, step in enumerate(steps) if i and self._is_due(step)), len(steps))
        return self._descend(Z, steps[:count], how[:count], state, blocks)

    def _descend(
        self, Z: np.ndarray, steps: Sequence[DescentStep], how: np.ndarray, state: State, blocks: RowBlocks
    ) -> np.ndarray:
        lists = [part for pairs in self.listed for part in (pairs.start, pairs.to)]
        weights = np.array([self._weights(step) for step in steps])
        sums, parts = np.empty((len(how), 2)), np.empty((count_team_blocks(len(Z)), 2))
        blocks.together(len(Z), lambda *who: pacmap.iterations_2d(*who, Z, *lists, weights, *state, how, parts, sums))
        return sums

    def value(self, Z: np.ndarray, step: DescentStep, blocks: RowBlocks) -> float:
        """Return the objective at Z with the weights of the step, up to a constant."""
        given = self._given(step)
        return blocks.sum(len(Z), lambda a, b: pacmap.value(Z, *given, a, b))

    def _given(self, step: DescentStep) -> tuple[Any, ...]:
        return (*(part for pairs in self.listed for part in (pairs.start, pairs.to)), *self._weights(step))

    def _weights(self, step: DescentStep) -> list[float]:
        """The weights of neighbors, mid-near and further pairs; half the radius of LocalMAP in its phase, or 0."""
        weights = [float(step.weights[name]) for name in ("neighbors", "mid_near", "further")]
        is_local = self.local is not None and step.iteration > self.local.after
        return [*weights, self.local.radius / 2 if self.local is not None and is_local else 0.0]

    def _redraw(self, Z: np.ndarray, step: DescentStep, blocks: RowBlocks) -> None:
        """Every ten iterations of the last phase, draw the further pairs of LocalMAP again, by the map as it is."""
        local, done = self.local, step.iteration - 1
        if local is None or not self._is_due(step):
            return
        near, far = local.neighbors, self.further

        def draw(a: int, b: int) -> None:
            redraw_further(Z, np.float32(local.radius), local.seed, done, near.start, near.to, far.start, far.to, a, b)

        blocks.rows(len(Z), draw)
        self.listed[2], self.drawn_at = far.at_both_ends(), done

    def _is_due(self, step: DescentStep) -> bool:
        done = step.iteration - 1
        return self.local is not None and done > self.local.after and not done % _REDRAWN and self.drawn_at != done
