"""The place of new rows in a map of UMAP: edges to their nearest training rows, which stay where they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.kernels.descent_steps import adam_rows
from lowland.math.embeddings.cross_entropy import RULE, EdgeForces
from lowland.math.embeddings.densities import MapRadii
from lowland.math.embeddings.fuzzy_graph import FuzzyGraph, memberships
from lowland.math.graphs.shortest_paths import k_smallest
from lowland.math.neighbors.out_of_sample import NearestAmong, inverse_distances

EPOCHS = 100  # for new rows, whatever their number


@record
@dataclass(frozen=True)
class DensityOfNewRows:
    """The density term of new rows: statistics of the training rows, strength and the part of the epochs."""

    radii: MapRadii
    strength: float  # times the sum of the edge weights, over twice the number of rows
    part: float


@dataclass(frozen=True)
class PlacedByEdges:
    """Places each new row by a descent of its own: attraction along its edges, repulsion from random training rows.

    Its edges are weighted by their memberships, over the distances: the nearer a row is to one training row,
    the nearer is its place to that row's. The start is the weighted mean of the nearest training rows. The random rows
    depend on the seed and the epoch alone, so a row's place depends on that row and the model only. A row at distance
    zero from a training row is placed at it.
    """

    nearest: NearestAmong | None  # None: the rows are distances to the training rows
    k: int
    kept: np.ndarray | None  # columns of given distances that belong to embedded rows; None: all
    Z: np.ndarray  # (n, p) float32
    forces: EdgeForces
    connectivity: float
    mean: float  # of all distances in the training graph
    rate: float
    density: DensityOfNewRows | None = None

    def __call__(self, X: Array) -> Array:
        """Return coordinates, (m, p)."""
        start, to, length = self._edges(X)
        m = len(start) - 1
        Y = np.full((m, self.Z.shape[1]), np.nan)
        finite = np.isfinite(length[start[:-1]])  # rows with NaN have no neighbors
        exact = length[start[:-1]] == 0
        Y[exact] = self.Z[to[start[:-1][exact]]]
        moving = np.flatnonzero(finite & ~exact)
        if len(moving):
            counts = np.diff(start)[moving]
            which = np.repeat(start[moving] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
            inner = np.concatenate([[0], np.cumsum(counts)])
            Y[moving] = self._descend(inner, to[which], length[which])
        return like(Y, X.data if is_sparse(X) else X, None if is_sparse(X) else X.dtype)

    def _edges(self, X: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Neighbors of each row in CSR form, nearest first."""
        if self.nearest is None and is_sparse(X):  # the stored distances
            X = X.tocsr() if self.kept is None else X.tocsr()[:, self.kept]
            rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            order = np.lexsort((X.indices, X.data, rows))
            return X.indptr.astype(np.int64), X.indices[order].astype(np.int32), X.data[order].astype(np.float64)
        if self.nearest is None:
            if self.kept is not None:
                X = xp_of(X).take(X, like(self.kept, X, xp_of(X).int64), axis=1)
            to, length = k_smallest(to_numpy(X), self.k)
        else:
            to, length = self.nearest(X)
        start = np.arange(len(to) + 1, dtype=np.int64) * to.shape[1]
        return start, to.ravel().astype(np.int32), length.ravel().astype(np.float64)

    def _descend(self, start: np.ndarray, to: np.ndarray, length: np.ndarray) -> np.ndarray:
        m = len(start) - 1
        member = memberships(start, length, self.mean, connectivity=self.connectivity)
        weight = (member * inverse_distances(start, length)).astype(np.float32)
        rows = np.repeat(np.arange(m), np.diff(start))
        total = np.bincount(rows, weight, m)
        Y = np.stack([np.bincount(rows, weight * z[to], m) / total for z in self.Z.T.astype(np.float64)], axis=1)
        weight /= np.repeat(np.maximum.reduceat(weight, start[:-1]), np.diff(start))
        Y, graph = np.ascontiguousarray(Y, dtype=np.float32), FuzzyGraph(start, to, weight)
        term = None
        if self.density is not None:  # radii as in the fit, by the memberships alone
            term = _Pull(self, FuzzyGraph(start, to, member), np.bincount(rows, member * length**2, m), rows)
        G, M, S = np.zeros_like(Y), np.zeros_like(Y), np.zeros_like(Y)
        for epoch in range(EPOCHS):
            self.forces.gradient(graph, Y, self.Z, epoch, 0, m, G)
            if term is not None and epoch >= round(EPOCHS * (1 - term.density.part)):
                term.add(Y, G)
            first, second = 1 - RULE.beta1 ** (epoch + 1), 1 - RULE.beta2 ** (epoch + 1)
            rate = self.rate * (1 - epoch / EPOCHS)
            adam_rows(Y, G, M, S, 0, m, rate, RULE.beta1, RULE.beta2, first, second, RULE.eps)
        return Y


class _Pull:
    """The forces of the density term on new rows."""

    def __init__(self, place: PlacedByEdges, graph: FuzzyGraph, squares: np.ndarray, rows: np.ndarray) -> None:
        assert place.density is not None
        self.place, self.graph, self.density = place, graph, place.density
        radii, m, n = self.density.radii, graph.n, len(place.Z)
        mean = squares / np.bincount(rows, graph.weight, m)
        self.standard = (np.log(1e-8 + mean) - radii.data_mean) / radii.data_std
        self.total, self.radius = np.empty(m), np.empty(m)
        self.ones, self.zeros = np.ones(n), np.zeros(n)  # training rows stay, so their radii do not count

    def add(self, Y: np.ndarray, G: np.ndarray) -> None:
        """Add the forces to G, (m, p)."""
        from lowland.kernels import map_densities as kernels

        g, m = self.graph, len(Y)
        a, b = np.float32(self.place.forces.a), np.float32(self.place.forces.b)
        kernels.map_radii(g.start, g.to, Y, self.place.Z, a, b, 0, m, self.total, self.radius)
        pull = self.density.radii.pull(self.standard, self.radius, self.density.strength)
        kernels.density_forces(
            g.start, g.to, Y, self.place.Z, a, b, self.total, self.radius, pull, self.ones, self.zeros, self.zeros,
            0, m, G,
        )  # fmt: skip
