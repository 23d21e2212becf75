"""The objective of UMAP on tensors: sampled edges and random negatives, all rows at once on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lowland.arrays.linalg import segment_sums
from lowland.arrays.namespace import Array, device_of, to_numpy, xp_of
from lowland.math.embeddings.densities import DensityTerm
from lowland.math.embeddings.descent import DescentStep, Phase
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.tensor_edges import TensorEdges, on_device

_CLIP = 4.0  # largest coordinate of the force of one pair
_SOFT = 0.001  # added to squared distances in the repulsion
_TINY = 1e-20
_NEAR = 1e-8  # added to mean squared distances before the logarithm
_DRAWS = 10  # random rows per row in the estimate of the objective


@dataclass(frozen=True)
class TensorCrossEntropy:
    """The fuzzy cross-entropy, by edges that are sampled in proportion to their weights, each with random negatives."""

    edges: TensorEdges
    weight: Array  # (edges,), at most 1: the fraction of the epochs in which an edge is sampled
    phases: Sequence[Phase]
    a: float
    b: float
    gamma: float = 1.0
    negatives: int = 5
    seed: int = 0
    density: DensityTerm | None = None
    name: str = "cross-entropy"

    def gradient(self, Z: Array, step: DescentStep, G: Array, together: Together) -> None:
        """Compute the forces of one epoch at Z (n, k) into G."""
        xp, n, epoch = xp_of(Z), Z.shape[0], step.iteration
        now = xp.floor(self.weight * (epoch + 1)) > xp.floor(self.weight * epoch)
        sampled = xp.nonzero(now)[0]
        counts = segment_sums(xp.astype(now, xp.float32), self.edges.counts)
        source, to = self.edges.source[sampled], self.edges.to[sampled]
        z = Z[source]
        D = z - Z[to]
        d2 = xp.sum(D * D, axis=1)
        power = (d2 + _TINY) ** self.b
        factor = 2 * self.a * self.b * power / ((d2 + _TINY) * (1 + self.a * power))
        force = 2 * xp.clip(factor[:, None] * D, -_CLIP, _CLIP)
        for draw in range(self.negatives):
            D = z - Z[self._drawn(epoch * self.negatives + draw, sampled, n)]
            d2 = xp.sum(D * D, axis=1)
            factor = -2 * self.gamma * self.b / ((_SOFT + d2) * (1 + self.a * d2**self.b))
            force = force + xp.clip(factor[:, None] * D, -_CLIP, _CLIP)
        G[:] = segment_sums(force, xp.astype(counts, xp.int64))
        strength = step.weights["density"]
        if self.density is not None and strength:
            G += self._density_forces(Z, strength, self.density)

    def _radii(self, Z: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Differences, squared lengths and similarities of edges; the sum of similarities and log radius of rows."""
        xp = xp_of(Z)
        D, d2 = self.edges.differences(Z)
        similar = 1 / (1 + self.a * d2**self.b)
        total = self.edges.sums(similar) + _TINY
        return D, d2, similar, total, xp.log(_NEAR + self.edges.sums(similar * d2) / total)

    def _density_forces(self, Z: Array, strength: float, term: DensityTerm) -> Array:
        """The gradient of the density term, (n, k), as on the host."""
        xp = xp_of(Z)
        D, d2, similar, total, radius = self._radii(Z)
        r = to_numpy(radius).astype(np.float64)
        pull = term.summary(r).pull(term.standard, r, strength * term.scale / (2 * Z.shape[0]))
        per_row = on_device(pull.astype(np.float32), Z) / total
        curved = self.b * (1 - similar)
        far = curved / (d2 + _TINY)

        def at(rows: Array) -> Array:
            return per_row[rows] * similar * ((1 - curved) * xp.exp(-radius[rows]) + far)

        factor = -2 * (at(self.edges.source) + at(self.edges.to))
        return 2 * self.edges.sums(xp.clip(factor[:, None] * D, -_CLIP, _CLIP))

    def value(self, Z: Array, step: DescentStep, together: Together) -> float:
        """Return the objective per row at Z; the repulsion is estimated from random rows."""
        xp, n = xp_of(Z), Z.shape[0]
        d2 = self.edges.differences(Z)[1]
        attraction = xp.sum(xp.astype(self.weight * xp.log1p(self.a * d2**self.b), xp.float64))
        rows = xp.arange(n, dtype=xp.int64, device=device_of(Z))
        degree, repulsion, count = self.edges.sums(self.weight), xp.zeros_like(Z[:, 0]), xp.zeros_like(Z[:, 0])
        for draw in range(_DRAWS):
            drawn = self._drawn(-1 - draw, rows, n)
            other = xp.astype(drawn != rows, Z.dtype)  # a row does not repel itself
            D = Z - Z[drawn]
            d2 = xp.sum(D * D, axis=1)
            repulsion = repulsion + other * xp.log1p(1 / (self.a * (d2 + _SOFT) ** self.b))
            count = count + other
        mean = repulsion / xp.clip(count, min=1)
        push = self.gamma * self.negatives / 2 * xp.sum(xp.astype(degree * mean, xp.float64))
        value = float(attraction + push)
        strength = step.weights["density"]
        if self.density is not None and strength:
            found = self.density.summary(to_numpy(self._radii(Z)[4]).astype(np.float64))
            value -= strength * self.density.scale * found.covariance / found.std
        return value / n

    def _drawn(self, number: int, items: Array, n: int) -> Array:
        """A random row for each item: a function of the seed, the number of the draw and the item."""
        xp_of(items)
        key = _mixed_integer(self.seed + _STEP * (number % 2**32 + 1))
        x = items * _signed(_STEP) + _signed(key)
        x = (x ^ _shifted(x, 30)) * _signed(_FIRST)
        x = (x ^ _shifted(x, 27)) * _signed(_SECOND)
        return (_shifted(x ^ _shifted(x, 31), 32) * n) >> 32


# SplitMix64, as in ``kernels.counter_random``, in signed integers, whose products wrap around in the same way
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _signed(x: int) -> int:
    x %= 2**64
    return x - 2**64 if x >= 2**63 else x


def _mixed_integer(x: int) -> int:
    x %= 2**64
    x = (x ^ x >> 30) * _FIRST % 2**64
    x = (x ^ x >> 27) * _SECOND % 2**64
    return x ^ x >> 31


def _shifted(x: Array, bits: int) -> Array:
    """The shift to the right that fills with zeros."""
    return (x >> bits) & (2 ** (64 - bits) - 1)
