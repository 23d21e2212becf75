"""Edges of a graph as tensors on a device: forces along them, summed for each row in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowland.arrays.linalg import segment_sums
from lowland.arrays.namespace import Array, device_of, xp_of


@dataclass(frozen=True)
class TensorEdges:
    """Edges sorted by row: edge e goes from row ``source[e]`` to row ``to[e]``."""

    source: Array  # (edges,) int64
    to: Array  # (edges,) int64
    counts: Array  # (n,) int64, the edges of each row

    @classmethod
    def of(cls, start: np.ndarray, to: np.ndarray, home: Array) -> Self:
        """Move the edges of row i, at ``start[i]:start[i + 1]``, to the device of ``home``."""
        xp, device = xp_of(home), device_of(home)
        counts = np.diff(start).astype(np.int64)
        source = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
        return cls(*(xp.asarray(each, device=device) for each in (source, to.astype(np.int64), counts)))

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


@dataclass(frozen=True)
class NormalizedAffinities:
    """D^-1/2 W D^-1/2 of symmetric affinities along edges, as an operator: its leading eigenvectors are those of W."""

    edges: TensorEdges
    weight: Array  # (edges,) float64
    root: Array  # (n,) square roots of the degrees

    @classmethod
    def of(cls, edges: TensorEdges, weight: Array) -> Self:
        """Compute the degrees."""
        xp = xp_of(weight)
        weight = xp.astype(weight, xp.float64)
        return cls(edges, weight, xp.sqrt(edges.sums(weight)))

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = int(self.root.shape[0])
        return n, n

    def __matmul__(self, V: Array) -> Array:
        return self.edges.sums(self.weight[:, None] * (V / self.root[:, None])[self.edges.to]) / self.root[:, None]
