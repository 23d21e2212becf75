"""t-SNE: affinities of the data, and the KL divergence of the similarities in the map from them.

An anchor adds a global term, the squared distance to a reference map at the best scale (Kury et al. 2025, DREAMS):
(1 - weight) * loss + weight / n * |Z - s A|², where A is the reference and s = <Z, A> / <A, A>.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.engines import has_kernels
from lowland.arrays.namespace import Array, device_of, is_sparse, slices, to_numpy, xp_of
from lowland.errors import DataError
from lowland.kernels.grid import CROWD
from lowland.kernels.tsne import attract, attract_2d, calibrate, edge_denominators
from lowland.math.embeddings.descent import (
    DescentStep,
    Momentum,
    Phase,
    RowBlocks,
    State,
    TensorEdges,
    on_device,
    row_blocks,
)
from lowland.math.embeddings.repulsion import ExactRepulsion, GridRepulsion, Repulsion, sample_total
from lowland.math.neighbors.graph import NeighborGraph, describe_fault
from lowland.run.run import Run

_TOLERANCE = 1e-7  # of the entropy
_SPACING = 0.4  # of the nodes of the grid, as on the host
_MOST_NODES = 4096  # along an axis
_UNIT = 2.0**40  # charges are sums of integers in this unit: the order of the additions does not matter
_PAIRS = 1 << 26  # pairs that are held at a time
_CHECKED = 2000  # rows whose pairs are all summed for a check of a map
_MOMENTUM, _MORE_MOMENTUM = 0.8, 0.9  # compact maps oscillate with more: of few rows, exaggerated, or with light tails
_MANY_ROWS = 5_000
_LONGEST_STEP = 5.0


# --- affinities -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TensorAffinities:
    """Joint affinities on a device: symmetric, in rows of sorted columns, their sum is 1."""

    edges: TensorEdges
    p: Array  # (edges,) float64

    @classmethod
    def of(cls, P: scipy.sparse.csr_array, home: Array) -> TensorAffinities:
        """Move affinities to the device of ``home``."""
        return cls(TensorEdges.of(P.indptr, P.indices, home), on_device(P.data, home))

    @classmethod
    def averaged(cls, P: scipy.sparse.csr_array, home: Array) -> TensorAffinities:
        """Return the average of P, which has no duplicate entries, and its transpose, by sorting on the device."""
        edges, p = plus_transpose(P, home)
        return cls(edges, p / xp_of(p).sum(p))

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = int(self.edges.start.shape[0]) - 1
        return n, n


def gaussian_affinities(
    graph: NeighborGraph, perplexity: float | Sequence[float], run: Run | None = None, home: Array | None = None
) -> scipy.sparse.csr_array | TensorAffinities:
    """Return the joint affinities of the edges, (n, n): symmetric, their sum is 1.

    In each row they are proportional to exp(-b d²), with b such that the entropy is the logarithm of the perplexity.
    Several perplexities: the average of their affinities. They stay on the device of ``home`` if kernels run there.
    """
    P = graph.matrix(conditional_affinities(graph, perplexity, run or Run()))
    return TensorAffinities.averaged(P, home) if has_kernels(home) else joint_affinities(P)


def conditional_affinities(graph: NeighborGraph, perplexity: float | Sequence[float], run: Run) -> np.ndarray:
    """Return the affinities of the edges of each row, which sum to 1 in the row, (edges,)."""
    logs = np.log(np.atleast_1d(np.asarray(perplexity, dtype=np.float64)))
    P = np.zeros(len(graph.to))

    def rows(a: int, b: int) -> None:
        for log_perplexity in logs:
            calibrate(graph.start, graph.length, log_perplexity, _TOLERANCE, a, b, P)

    with row_blocks(run) as blocks:
        blocks.rows(graph.n, rows)
    return P / len(logs)


def mean_width(graph: NeighborGraph, perplexity: float) -> float:
    """Return the width of the Gaussians exp(-(d / width)²) of a perplexity, from their mean precision.

    The weights p of a row, its entropy H and its nearest neighbor, at distance d with the weight q, determine the
    precision: (H + log q) / (sum p d² - d²).
    """
    start, square = graph.start, np.square(graph.length, dtype=np.float64)
    p = conditional_affinities(graph, perplexity, Run())
    first = start[:-1][np.diff(start) > 0]
    surprise = np.log(p, where=p > 0, out=np.zeros_like(p))
    excess = np.add.reduceat(p * square, first) - square[first]  # neighbors are sorted, nearest first
    precision = (surprise[first] - np.add.reduceat(p * surprise, first))[excess > 0] / excess[excess > 0]
    return float(precision.mean() ** -0.5) if precision.sum() > 0 else math.inf


def uniform_affinities(graph: NeighborGraph) -> scipy.sparse.csr_array:
    """Return joint affinities that are equal for all neighbors of a row, (n, n)."""
    counts = np.maximum(np.diff(graph.start), 1)
    return joint_affinities(graph.matrix(np.repeat(1 / counts, np.diff(graph.start))))


def joint_affinities(P: Any) -> scipy.sparse.csr_array:
    """Return the average of affinities and their transpose, scaled to the sum 1, in rows of sorted columns."""
    S = scipy.sparse.csr_array(P + P.T)
    S.sort_indices()
    S.data /= S.data.sum()
    return S


def plus_transpose(P: scipy.sparse.csr_array, home: Array) -> tuple[TensorEdges, Array]:
    """Return the edges and the values of P + P', sorted on the device of ``home``. P has no duplicate entries."""
    xp, n = xp_of(home), P.shape[0]
    edges = TensorEdges.of(P.indptr, P.indices, home)
    i, j = edges.source, xp.astype(edges.to, xp.int64)
    keys = xp.concat([i * n + j, j * n + i])
    order = xp.argsort(keys, stable=True)
    keys, values = keys[order], xp.concat([on_device(P.data, home)] * 2)[order]
    repeats = xp.concat([xp.zeros_like(keys[:1], dtype=xp.bool), keys[1:] == keys[:-1]])
    first, second = xp.nonzero(~repeats)[0], xp.nonzero(repeats)[0]
    sums = values[first]
    sums[xp.cumulative_sum(xp.astype(~repeats, xp.int64))[second] - 1] += values[second]
    keys = keys[first]
    start = xp.searchsorted(keys, n * xp.arange(n + 1, dtype=xp.int64, device=device_of(home)))
    return TensorEdges(start, xp.astype(keys % n, xp.int32)), sums


def given_affinities(P: Any) -> scipy.sparse.csr_array:
    """Return the joint affinities of a matrix (n, n) of the user: averaged with its transpose, scaled to the sum 1.

    The diagonal is ignored. Raise a DataError if it is not valid.
    """
    if P.ndim != 2 or P.shape[0] != P.shape[1]:
        raise DataError(
            f"The affinities are {' x '.join(map(str, P.shape))}. They must be square, with one row and one column "
            f"per point."
        )
    P = scipy.sparse.coo_array(P if is_sparse(P) else to_numpy(P)).astype(np.float64)
    bad = np.flatnonzero(~((P.data >= 0) & np.isfinite(P.data)))
    if len(bad):
        i, j = int(P.coords[0][bad[0]]), int(P.coords[1][bad[0]])
        fault = describe_fault(P.data[bad[0]]).replace("length", "value")
        raise DataError(
            f"The affinities have a {fault} in row {i + 1}, column {j + 1}. They must be finite and nonnegative."
        )
    other = (P.coords[0] != P.coords[1]) & (P.data > 0)
    if not other.any():
        raise DataError("The affinities of different points are all zero. Pass a matrix with positive affinities.")
    kept = scipy.sparse.coo_array(
        (P.data[other] / P.data[other].max(), (P.coords[0][other], P.coords[1][other])), P.shape
    )
    return joint_affinities(kept.tocsr())


# --- anchor -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Anchor:
    """A reference map and the weight of the distance to it."""

    A: Array  # (n, k) float64, centered
    weight: float  # between 0 and 1

    @classmethod
    def aligned(cls, A: np.ndarray, weight: float, Z: np.ndarray) -> Anchor:
        """The anchor after the rotation or reflection that brings it nearest to the start Z (orthogonal Procrustes)."""
        A, Z = A - A.mean(axis=0), Z - Z.mean(axis=0)
        U, _, V = np.linalg.svd(A.T @ Z)
        return cls(A @ (U @ V), weight)

    def on_device(self, home: Array) -> Anchor:
        """Return the anchor as a tensor beside ``home``."""
        return replace(self, A=on_device(self.A, home))

    def scale(self, Z: Array) -> float:
        """Return the scale of the reference that fits Z best; never negative."""
        xp = xp_of(self.A)
        squares = float(xp.sum(self.A * self.A))
        return max(0.0, float(xp.sum(Z * self.A)) / squares) if squares > 0 else 0.0

    def add_gradient(self, Z: Array, G: Array) -> None:
        """Replace the gradient G of the loss by that of the weighted sum; the best scale adds no term of its own."""
        G *= 1 - self.weight
        G += (2 * self.weight / len(Z)) * (Z - self.scale(Z) * self.A)

    def with_value(self, Z: Array, loss: float) -> float:
        """Return the weighted sum of the loss and the squared distance."""
        rest = Z - self.scale(Z) * self.A
        return (1 - self.weight) * loss + self.weight / len(Z) * float(xp_of(rest).sum(rest * rest))


# --- on a device ------------------------------------------------------------------------------------------------------


@dataclass
class TensorKLDivergence:
    """sum_ij p_ij log(p_ij / q_ij) with q_ij = w_ij / sum w and w = (1 + d²/dof)^-dof."""

    edges: TensorEdges
    p: Array  # (edges,), the sum is 1
    phases: Sequence[Phase]
    dof: float = 1.0
    anchor: Anchor | None = None
    exact: bool = False  # all pairs; else a grid, in two dimensions
    name: str = "KL divergence"
    _spectra: dict[Any, Array] = field(default_factory=dict)
    _total: Array | None = None  # sum of w in the last iteration

    @cached_property
    def entropy(self) -> float:
        """The entropy of P."""
        xp = xp_of(self.p)
        p = xp.astype(self.p, xp.float64)
        return -float(xp.sum(p * xp.log(xp.where(p > 0, p, xp.ones_like(p)))))

    def gradient(self, Z: Array, step: DescentStep, G: Array, blocks: RowBlocks) -> None:
        """Compute the gradient at Z (n, k) into G."""
        repulsion, total = self._repulsion(Z)
        strength = 4 * step.weights["exaggeration"]
        if has_kernels(Z):
            from lowland.kernels.on_device import pull

            pull(self.edges, self.p, Z, G, strength, 1 / self.dof, less=(repulsion, 4.0, total))
        else:
            D, d2 = self.edges.differences(Z)
            G[:] = strength * self.edges.sums((self.p / (1 + d2 / self.dof))[:, None] * D)
            G -= repulsion * xp_of(Z).astype(4 / total, Z.dtype)
        if self.anchor is not None:
            self.anchor.add_gradient(Z, G)

    def value(self, Z: Array, step: DescentStep, blocks: RowBlocks) -> float:
        """Return the objective at Z, without exaggeration."""
        loss = self.divergence(Z, blocks)
        return loss if self.anchor is None else self.anchor.with_value(Z, loss)

    def checked_divergence(self, Z: Array, blocks: RowBlocks) -> tuple[float, float]:
        """Return the KL divergence at Z, and its estimate by exact sums over a sample of rows, or over all if few."""
        n = Z.shape[0]
        rows = np.random.default_rng(0).permutation(n)[:_CHECKED]
        total = n / len(rows) * float(self._by_pairs(Z, on_device(rows, Z))[1])
        by_sample = self.divergence(Z, blocks, total)
        return by_sample if len(rows) == n else self.divergence(Z, blocks), by_sample

    def divergence(self, Z: Array, blocks: RowBlocks, total: float | None = None) -> float:
        """Return the KL divergence at Z; ``total`` is the sum of w, if it is known."""
        xp = xp_of(Z)
        total = float(self._repulsion(Z)[1]) if total is None else total
        d2 = xp.astype(self.edges.differences(Z)[1], xp.float64)
        loss = self.dof * float(xp.sum(xp.astype(self.p, xp.float64) * xp.log1p(d2 / self.dof)))
        return loss + math.log(total) - self.entropy

    def _repulsion(self, Z: Array) -> tuple[Array, Array]:
        """sum_j u w (z_i - z_j), (n, k), and the sum of w over all ordered pairs of different rows."""
        found = self._by_grid(Z) if Z.shape[1] == 2 and not self.exact else None
        forces, self._total = self._by_pairs(Z) if found is None else found
        return forces, self._total

    def _by_pairs(self, Z: Array, rows: Array | None = None) -> tuple[Array, Array]:
        """All pairs of different rows, those of the given rows, a block of them at a time."""
        xp, (n, k) = xp_of(Z), Z.shape
        numbers = xp.arange(n, device=device_of(Z))
        rows = numbers if rows is None else rows
        forces, totals = [], []
        for block in slices(rows.shape[0], max(1, _PAIRS // (n * k))):
            own = rows[block]
            apart = [Z[own, c][:, None] - Z[None, :, c] for c in range(k)]
            u = 1 / (1 + sum(d * d for d in apart) / self.dof)
            w = xp.where(own[:, None] == numbers[None, :], xp.zeros_like(u), u**self.dof)
            forces.append(xp.stack([xp.sum(u * w * d, axis=1) for d in apart], axis=1))
            totals.append(xp.sum(w, dtype=xp.float64))
        return xp.concat(forces, axis=0), xp.sum(xp.stack(totals))

    def _by_grid(self, Z: Array) -> tuple[Array, Array] | None:
        """The gradient of one potential, by cubic B-splines on a grid and one convolution. None means not accurate.

        The sum of w is read one iteration later, together with the extent: reading waits for the device.
        """
        xp, n = xp_of(Z), Z.shape[0]
        low, h = xp.min(Z, axis=0), _SPACING * math.sqrt(min(self.dof, 1.0))
        extent = xp.astype(xp.max(xp.max(Z, axis=0) - low), xp.float64)
        span, before = to_numpy(xp.stack([extent, extent if self._total is None else self._total]))
        if span / h > _MOST_NODES - 46 or (self._total is not None and before < CROWD * n):
            return None
        m = max(64, 1 << math.ceil(math.log2(span / h + 14)))  # a device compiles transforms of other lengths first
        kernels = has_kernels(Z)
        if kernels:
            from lowland.kernels import on_device

            copies = xp.zeros((copies_of_grid(n, m), m, m), dtype=xp.int64, device=device_of(Z))
            on_device.spread(Z, low, 1 / h, copies, _UNIT)
            charges = xp.sum(copies, axis=0)
        else:
            charges = xp.zeros((m, m), dtype=xp.int64, device=device_of(Z))
            splines = GridSplines.of((Z - low[None, :]) / h, m)
            splines.spread(charges)
        transform = xp.fft.rfftn(xp.astype(charges, xp.float32), s=(2 * m, 2 * m)) * self._spectrum(m, h, Z)
        potential = xp.fft.irfftn(transform, s=(2 * m, 2 * m))[:m, :m]
        if kernels:
            forces, own = xp.empty_like(Z), xp.empty((n,), dtype=Z.dtype, device=device_of(Z))
            on_device.read(Z, low, 1 / h, potential, forces, own, -0.5 / h)
        else:
            forces, own = splines.read(potential, -0.5 / h)
        total = xp.sum(own, dtype=xp.float64) - n
        if self._total is None and float(total) < CROWD * n:
            return None
        return forces, total

    def _spectrum(self, m: int, h: float, Z: Array) -> Array:
        """The transform of w on a grid of twice m nodes along each axis, over that of the splines and the unit."""
        if (m, h) not in self._spectra:
            self._spectra.clear()
            xp = xp_of(Z)
            i = xp.arange(2 * m, dtype=xp.float64, device=device_of(Z))
            x = xp.where(i > m, 2 * m - i, i) * h
            w = (1 + (x[:, None] ** 2 + x[None, :] ** 2) / self.dof) ** -self.dof
            spline = ((2 + xp.cos(math.pi / m * i)) / 3) ** 2
            spectrum = xp.real(xp.fft.rfftn(w)) / (spline[:, None] * spline[None, : m + 1])
            self._spectra[m, h] = xp.astype(spectrum / _UNIT, xp.float32)
        return self._spectra[m, h]


def copies_of_grid(n: int, m: int) -> int:
    """How many copies of m x m nodes the n points are spread to: their nodes are few times as many as the points."""
    return 1 << max(0, min(8, (4 * n // (m * m)).bit_length() - 1))


@dataclass(frozen=True)
class GridSplines:
    """The cubic B-splines of points on a grid of m nodes along each axis: each touches four nodes along each axis."""

    nodes: Array  # (n, 4, 4)
    weights: Array  # (n, 4, 2), along each axis
    slopes: Array  # (n, 4, 2)

    @classmethod
    def of(cls, U: Array, m: int) -> GridSplines:
        """Place points, (n, 2) in units of the spacing, two nodes into the grid."""
        xp = xp_of(U)
        U = U + 2
        C = xp.floor(U)
        t, first = U - C, xp.astype(C, xp.int64) - 1
        s, near = 1 - t, xp.arange(4, device=device_of(U))
        nodes = (first[:, 0, None, None] + near[None, :, None]) * m + first[:, 1, None, None] + near[None, None, :]
        values = (s**3, 3 * t**3 - 6 * t**2 + 4, 3 * s**3 - 6 * s**2 + 4, t**3)
        slopes = (-(s**2) / 2, (3 * t**2 - 4 * t) / 2, (4 * s - 3 * s**2) / 2, t**2 / 2)
        return cls(nodes, xp.stack(values, axis=1) / 6, xp.stack(slopes, axis=1))

    def spread(self, charges: Array) -> None:
        """Add the splines to the charges (m, m), integers: the order of the additions does not matter."""
        xp = xp_of(charges)
        both = self.weights[:, :, None, 0] * self.weights[:, None, :, 1]
        whole = xp.astype(xp.round(xp.astype(both, xp.float64) * _UNIT), xp.int64)
        xp.reshape(charges, (-1,)).index_add_(0, xp.reshape(self.nodes, (-1,)), xp.reshape(whole, (-1,)))

    def read(self, potential: Array, scale: float) -> tuple[Array, Array]:
        """Return the slopes of the potential at the points, times ``scale``, (n, 2), and its values, (n,)."""
        xp = xp_of(potential)
        P = xp.reshape(potential, (-1,))[self.nodes]
        (across, along), (dx, dy) = ((each[:, :, None, 0], each[:, None, :, 1]) for each in (self.weights, self.slopes))
        slopes = (xp.sum(P * dx * along, axis=(1, 2)), xp.sum(P * across * dy, axis=(1, 2)))
        return xp.stack(slopes, axis=1) * scale, xp.sum(P * across * along, axis=(1, 2))


# --- on the host ------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class KLDivergence:
    """sum_ij p_ij log(p_ij / q_ij) with q_ij = w_ij / sum w and w = (1 + d²/dof)^-dof, for rows of a map.

    Its gradient is 4 sum_j (p_ij - q_ij) (z_i - z_j) / (1 + d²/dof): attraction along the edges of P and repulsion
    between all pairs. In a phase, the attraction is multiplied by the weight "exaggeration".

    An anchor adds a second term: (1 - weight) KL + weight * anchor.
    """

    P: Any  # (n, n) sparse, or TensorAffinities; symmetric, the sum is 1
    repulsion: Repulsion
    phases: Sequence[Phase]
    dof: float = 1.0
    anchor: Anchor | None = None
    _there: TensorKLDivergence | None = None

    @property
    def name(self) -> str:
        """The name of the objective."""
        return "KL divergence" if self.anchor is None else "KL divergence with anchor"

    @cached_property
    def edges(self) -> tuple[np.ndarray, ...]:
        """Where the edges of each row begin, their unsigned targets, which need no check, and affinities."""
        return self.P.indptr.astype(np.int64), self.P.indices.astype(np.uint32), self.P.data.astype(np.float32)

    @cached_property
    def entropy(self) -> float:
        """The entropy of P."""
        positive = self.P.data[self.P.data > 0]
        return -float(np.sum(positive * np.log(positive)))  # BLAS would sum in another order on more threads

    def on_device(self, home: Array) -> TensorKLDivergence:
        """Return the same objective on tensors beside ``home``."""
        if self._there is None:
            anchor = None if self.anchor is None else self.anchor.on_device(home)
            P = self.P if isinstance(self.P, TensorAffinities) else TensorAffinities.of(self.P, home)
            p, exact = xp_of(P.p).astype(P.p, xp_of(P.p).float32), isinstance(self.repulsion, ExactRepulsion)
            self._there = TensorKLDivergence(P.edges, p, self.phases, self.dof, anchor, exact=exact, name=self.name)
        return self._there

    def gradient(self, Z: np.ndarray, step: DescentStep, G: np.ndarray, blocks: RowBlocks) -> None:
        """Compute the gradient at Z (n, k) into G."""
        F, total = np.empty_like(Z), self.repulsion(Z, G, blocks, step.iteration)

        def attraction(a: int, b: int) -> None:
            if Z.shape[1] == 2 and Z.dtype == np.float32:
                attract_2d(*self.edges, Z, Z.view(np.int64)[:, 0], 1 / self.dof, a, b, F)
            else:
                attract(*self.edges, Z, 1 / self.dof, a, b, F)

        blocks.rows(len(Z), attraction)
        F *= 4 * step.weights["exaggeration"]
        G *= 4 / total
        np.subtract(F, G, out=G)
        if self.anchor is not None:
            self.anchor.add_gradient(Z, G)

    def iterate(
        self, Z: np.ndarray, steps: Sequence[DescentStep], how: np.ndarray, state: State, blocks: RowBlocks
    ) -> np.ndarray:
        """Do these iterations, as ``descent.Iterates`` says, where the repulsion is on a plane."""
        if self.anchor is not None or not isinstance(self.repulsion, GridRepulsion) or Z.shape[1] != 2:
            return np.empty((0, 2))
        strengths = np.array([4 * step.weights["exaggeration"] for step in steps], Z.dtype)
        return self.repulsion.iterate(Z, self.edges, strengths, how, state, blocks)

    def value(self, Z: np.ndarray, step: DescentStep, blocks: RowBlocks) -> float:
        """Return the objective at Z, without exaggeration."""
        loss = self.divergence(Z, blocks)
        return loss if self.anchor is None else self.anchor.with_value(Z, loss)

    def checked_divergence(self, Z: Array, blocks: RowBlocks) -> tuple[float, float]:
        """Return the KL divergence at Z, and its estimate by exact sums over a sample of rows, or over all if few."""
        if self._there is not None:
            return self._there.checked_divergence(Z, blocks)
        total, exact = sample_total(Z, self.dof, blocks)
        by_sample = self.divergence(Z, blocks, total)
        return by_sample if exact else self.divergence(Z, blocks), by_sample

    def divergence(self, Z: np.ndarray, blocks: RowBlocks, total: float | None = None) -> float:
        """Return the KL divergence at Z; ``total`` is the sum of w, if it is known."""
        total = self.repulsion(Z, np.empty_like(Z), blocks) if total is None else total
        start, to, p = self.edges

        def attraction(a: int, b: int) -> float:
            """The sum of p log(1 + d²/dof) over the edges of rows a to b. numpy's logarithm is vectorized."""
            logs = np.empty(start[b] - start[a])
            edge_denominators(start, to, Z, 1 / self.dof, a, b, logs)
            np.log(logs, out=logs)
            logs *= p[start[a] : start[b]]
            return float(logs.sum())

        return self.dof * blocks.sum(len(Z), attraction) + math.log(total) - self.entropy


def schedule(
    counts: tuple[int, int], exaggeration: tuple[float, float], rates: tuple[float, float], n: int, dof: float
) -> list[Phase]:
    """Return the phases: early exaggeration, which lets clusters form, and the descent to the final map.

    In the second half of the early iterations, the exaggeration falls to that of the final map. If it ended at once,
    the map would expand so fast that it ends in a worse minimum.
    """
    (early, rest), (high, low), (slow, fast) = counts, exaggeration, rates
    falling = early // 2 if rest else 0
    calm = Momentum(_MOMENTUM, _LONGEST_STEP)
    final = Momentum(_MORE_MOMENTUM, _LONGEST_STEP) if n >= _MANY_ROWS and dof <= 1 and low <= 1 else calm
    return [
        Phase(early - falling, calm, slow, weights={"exaggeration": high}),
        Phase(falling, calm, slow, fast, {"exaggeration": high}, {"exaggeration": low}),
        Phase(rest, final, fast, weights={"exaggeration": low}),
    ]
