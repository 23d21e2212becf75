"""The objective of UMAP: the fuzzy cross-entropy of the graph and the map, by sampled edges; and densMAP's term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lowland.arrays.engines import has_kernels
from lowland.arrays.linalg import segment_sums
from lowland.arrays.namespace import Array, device_of, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.kernels import team
from lowland.kernels import umap as kernels
from lowland.math.embeddings.descent import Adam, DescentStep, Phase, RowBlocks, State, TensorEdges, on_device
from lowland.math.embeddings.fuzzy_graph import FuzzyGraph
from lowland.math.neighbors.graph import NeighborGraph

_NEAR = 1e-8  # added to mean squared distances before the logarithm
_CLIP = 4.0  # largest coordinate of the force of one pair
_SOFT = 0.001  # added to squared distances in the repulsion
_TINY = 1e-20
_DRAWS = 10  # random rows per row in the estimate of the objective
RULE = Adam(0.5, 0.9, 1e-7)


# --- densMAP ----------------------------------------------------------------------------------------------------------


def log_radii(graph: FuzzyGraph, lengths: NeighborGraph) -> np.ndarray:
    """Return the log of the weighted mean squared distance of each row to its neighbors, (n,) float64."""
    W, both = graph.matrix(), lengths.symmetric()
    squares, known = (both.matrix(each) for each in (both.length.astype(np.float64) ** 2, np.ones(len(both.to))))
    total = W.multiply(known).sum(axis=1)  # edges without a length are left out
    return np.log(_NEAR + np.divide(W.multiply(squares).sum(axis=1), total, out=np.zeros(graph.n), where=total > 0))


@record
@dataclass(frozen=True)
class MapRadii:
    """The log radii in the map: their mean, standard deviation (with the shift) and covariance with those of the data.

    With ``data_mean`` and ``data_std`` of the log radii in the data, the density term of a new row follows.
    """

    mean: float
    std: float
    covariance: float
    data_mean: float
    data_std: float

    def pull(self, standard: np.ndarray, radius: np.ndarray, strength: float) -> np.ndarray:
        """Return strength times the derivative of the correlation by each radius, up to the factor 1 / n."""
        return strength / self.std * (standard - self.covariance * (radius - self.mean) / self.std**2)


@dataclass(frozen=True)
class DensityTerm:
    """Minus the correlation of the log radii in the map with those in the data, in the last part of the epochs.

    The radius of a row in the map is the mean of d² over its edges, weighted by their similarities 1 / (1 + a d^2b)
    (Narayan, Berger and Cho 2021).
    """

    radii: np.ndarray  # (n,) log radii of the data
    a: float
    b: float
    scale: float  # sum of all edge weights
    strength: float = 2.0
    part: float = 0.3  # of the epochs
    shift: float = 0.1  # added to the variance of the log radii in the map

    @property
    def standard(self) -> np.ndarray:
        """The log radii of the data, standardized, (n,)."""
        return (self.radii - self.radii.mean()) / (float(self.radii.std()) or 1.0)

    def in_map(self, graph: FuzzyGraph, Z: np.ndarray, blocks: RowBlocks) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the similarities of each row, and its log radius, both (n,) float64."""
        total, radius = np.empty(len(Z)), np.empty(len(Z))
        a, b = np.float32(self.a), np.float32(self.b)
        blocks.rows(
            len(Z),
            lambda first, last: kernels.map_radii(graph.start, graph.to, Z, Z, a, b, first, last, total, radius),
        )
        return total, radius

    def summary(self, radius: np.ndarray) -> MapRadii:
        """Return the statistics of the log radii in the map."""
        covariance = float(np.sum(radius * self.standard)) / max(1, len(radius) - 1)
        std = float(np.sqrt(radius.var() + self.shift))
        data_std = float(self.radii.std()) or 1.0
        return MapRadii(float(radius.mean()), std, covariance, float(self.radii.mean()), data_std)

    def correlation(self, graph: FuzzyGraph, Z: np.ndarray, blocks: RowBlocks) -> float:
        """Return the correlation, with the shifted standard deviation."""
        found = self.summary(self.in_map(graph, Z, blocks)[1])
        return found.covariance / found.std

    def add_gradient(self, graph: FuzzyGraph, Z: np.ndarray, strength: float, G: np.ndarray, blocks: RowBlocks) -> None:
        """Add the gradient of -strength · scale · correlation to G, (n, k)."""
        total, radius = self.in_map(graph, Z, blocks)
        pull = self.summary(radius).pull(self.standard, radius, strength * self.scale / (2 * len(Z)))
        a, b = np.float32(self.a), np.float32(self.b)
        blocks.rows(
            len(Z),
            lambda first, last: kernels.density_forces(
                graph.start, graph.to, Z, Z, a, b, total, radius, pull, total, radius, pull, first, last, G
            ),
        )


# --- on a device ------------------------------------------------------------------------------------------------------


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

    def gradient(self, Z: Array, step: DescentStep, G: Array, blocks: RowBlocks) -> None:
        """Compute the forces of one epoch at Z (n, k) into G."""
        if has_kernels(Z):
            from lowland.kernels.on_device import sampled_forces

            curve = self.a, self.b
            sampled_forces(
                self.edges, self.weight, Z, G, step.iteration, self.seed, curve, self.gamma, self.negatives, _CLIP
            )
        else:
            G[:] = self._sampled_forces(Z, step.iteration)
        strength = step.weights["density"]
        if self.density is not None and strength:
            G += self._density_forces(Z, strength, self.density)

    def _sampled_forces(self, Z: Array, epoch: int) -> Array:
        """The forces of one epoch, (n, k)."""
        xp, n = xp_of(Z), Z.shape[0]
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
        return segment_sums(force, xp.astype(counts, xp.int64))

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

    def value(self, Z: Array, step: DescentStep, blocks: RowBlocks) -> float:
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
        key = (self.seed + _STEP * (number % 2**32 + 1)) % 2**64
        key = (key ^ key >> 30) * _FIRST % 2**64
        key = (key ^ key >> 27) * _SECOND % 2**64
        x = items * _signed(_STEP) + _signed(key ^ key >> 31)
        x = (x ^ _shifted(x, 30)) * _signed(_FIRST)
        x = (x ^ _shifted(x, 27)) * _signed(_SECOND)
        return (_shifted(x ^ _shifted(x, 31), 32) * n) >> 32


# SplitMix64, as in ``kernels.counter_random``, in signed integers, whose products wrap around in the same way
_STEP, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def _signed(x: int) -> int:
    x %= 2**64
    return x - 2**64 if x >= 2**63 else x


def _shifted(x: Array, bits: int) -> Array:
    """The shift to the right that fills with zeros."""
    return (x >> bits) & (2 ** (64 - bits) - 1)


# --- on the host ------------------------------------------------------------------------------------------------------


@record
@dataclass(frozen=True)
class EdgeForces:
    """What acts on a row: similarities 1 / (1 + a d^2b), and random negatives."""

    a: float
    b: float
    gamma: float = 1.0  # strength of the repulsion
    negatives: int = 5  # random rows for each sampled edge
    seed: int = 0

    def gradient(
        self, graph: FuzzyGraph, Y: np.ndarray, Z: np.ndarray, epoch: int, G: np.ndarray, blocks: RowBlocks
    ) -> None:
        """Compute G: forces on rows of Y along edges to rows of Z.

        The weight of an edge is the fraction of the epochs in which it is sampled. If Y is not Z, all rows of Y have
        the same random negatives: they do not depend on each other.
        """
        self.descend(graph, Y, Z, epoch, (G, G, G), np.empty((0, 6)), blocks)

    def descend(
        self,
        graph: FuzzyGraph,
        Y: np.ndarray,
        Z: np.ndarray,
        epoch: int,
        state: State,
        how: np.ndarray,
        blocks: RowBlocks,
    ) -> np.ndarray:
        """Move the rows of Y by these forces, from an epoch on: one epoch for each row of ``how``, Adam's parameters.

        ``state``: the gradient and both moments. Return the sums of the squared gradients and the largest squared
        steps, (epochs, 2).
        """
        sums, parts = np.empty((len(how), 2)), np.empty((team.count_team_blocks(len(Y)), 2))
        curve = np.float32(self.a), np.float32(self.b), np.float32(self.gamma)
        blocks.together(
            len(Y),
            lambda *who: kernels.epochs(
                *who, graph.start, graph.to, graph.weight, Y, Z, *curve, self.negatives, self.seed, epoch, int(Y is Z),
                *state, how, parts, sums,
            ),
        )  # fmt: skip
        return sums

    def value(self, graph: FuzzyGraph, Z: np.ndarray, epoch: int, first: int, last: int) -> float:
        """Return the objective of the rows from ``first`` to ``last``."""
        return kernels.cross_entropy(
            graph.start, graph.to, graph.weight, Z, self.a, self.b, self.gamma, self.negatives, self.seed, epoch,
            first, last,
        )  # fmt: skip


@dataclass
class CrossEntropy:
    """The objective per row: sum_j w_ij log(1 + a d^2b), and γ m / 2 · degree · mean of -log(1 - similarity).

    The first part is exact. The mean in the second one is estimated from ten random rows per row. The gradient samples
    edges in proportion to their weights, each with m negatives, as umap-learn does; all rows move at the end of an
    epoch. The k-th sample of an edge of weight w is in epoch ceil(k w_max / w): no state is needed. Edges that would
    never be sampled are left out.
    """

    graph: FuzzyGraph  # weights divided by the largest one, without the edges that are never sampled
    forces: EdgeForces
    phases: Sequence[Phase]
    density: DensityTerm | None = None
    name: str = field(default="cross-entropy", init=False)

    @classmethod
    def of(
        cls,
        graph: FuzzyGraph,
        forces: EdgeForces,
        epochs: int,
        rate: float,
        density: DensityTerm | None = None,
        heat: float = 1.0,
    ) -> CrossEntropy:
        """Prepare the sampling of the edges in a number of epochs; the rate decreases linearly to zero.

        With ``heat``, steps are so many times as long at first, and in the second half as long as ``rate`` at most: a
        start that is not unfolded needs long steps, or else parts of the map stay torn apart.
        """
        top = float(graph.weight.max(initial=0)) or 1.0
        sampled = graph.strongest(top / max(epochs, 1))
        sampled.weight[:] /= np.float32(top)
        before = epochs if density is None else round(epochs * (1 - density.part))
        cuts = sorted({0, before, epochs, *([epochs // 2] if heat > 1 else [])})
        knots = ([0, epochs // 2, epochs], [heat * rate, rate, 0.0]) if heat > 1 else ([0, epochs], [rate, 0.0])
        rates = [float(at) for at in np.interp(cuts, *knots)]
        phases = [
            Phase(b - a, RULE, first, last, {"density": density.strength if density and a >= before else 0.0})
            for a, b, first, last in zip(cuts, cuts[1:], rates, rates[1:], strict=False)
        ]
        return cls(sampled, forces, phases or [Phase(0, RULE, rate, 0.0, {"density": 0.0})], density)

    def on_device(self, home: Array) -> TensorCrossEntropy:
        """Return the same objective on tensors beside ``home``, with random draws of its own."""
        edges, weight = TensorEdges.of(self.graph.start, self.graph.to, home), on_device(self.graph.weight, home)
        f = self.forces
        return TensorCrossEntropy(edges, weight, self.phases, f.a, f.b, f.gamma, f.negatives, f.seed, self.density)

    def gradient(self, Z: np.ndarray, step: DescentStep, G: np.ndarray, blocks: RowBlocks) -> None:
        """Compute the forces of one epoch at Z (n, k) into G."""
        self.forces.gradient(self.graph, Z, Z, step.iteration, G, blocks)
        strength = step.weights["density"]
        if self.density is not None and strength:
            self.density.add_gradient(self.graph, Z, strength, G, blocks)

    def iterate(
        self, Z: np.ndarray, steps: Sequence[DescentStep], how: np.ndarray, state: State, blocks: RowBlocks
    ) -> np.ndarray:
        """Do these iterations, as ``descent.Iterates`` says; none with the density term, which needs sums over rows."""
        if self.density is not None and steps[0].weights["density"]:
            return np.empty((0, 2))
        return self.forces.descend(self.graph, Z, Z, steps[0].iteration, state, how, blocks)

    def value(self, Z: np.ndarray, step: DescentStep, blocks: RowBlocks) -> float:
        """Return the objective at Z, with the density term; the repulsion is estimated."""
        value = self.cross_entropy(Z, step.iteration, blocks)
        strength = step.weights["density"]
        if self.density is not None and strength:
            value -= strength * self.density.scale * self.density.correlation(self.graph, Z, blocks) / len(Z)
        return value

    def cross_entropy(self, Z: np.ndarray, epoch: int, blocks: RowBlocks) -> float:
        """Return the cross-entropy per row at Z; the repulsion is estimated with the draws of an epoch."""
        total = blocks.sum(len(Z), lambda first, last: self.forces.value(self.graph, Z, epoch, first, last))
        return total / len(Z)
