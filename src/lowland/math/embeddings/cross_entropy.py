"""The objective of UMAP: the fuzzy cross-entropy of the graph and the map, by sampled edges and random negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lowland.arrays.namespace import Array
from lowland.arrays.records import record
from lowland.kernels import umap as kernels
from lowland.math.embeddings.densities import DensityTerm
from lowland.math.embeddings.descent import Adam, DescentStep, Phase
from lowland.math.embeddings.fuzzy_graph import FuzzyGraph
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.tensor_cross_entropy import TensorCrossEntropy
from lowland.math.embeddings.tensor_edges import TensorEdges, on_device

RULE = Adam(0.5, 0.9, 1e-7)


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
        self, graph: FuzzyGraph, Y: np.ndarray, Z: np.ndarray, epoch: int, first: int, last: int, G: np.ndarray
    ) -> None:
        """Compute the rows of G from ``first`` to ``last``: forces on rows of Y along edges to rows of Z.

        The weight of an edge is the fraction of the epochs in which it is sampled. If Y is not Z, all rows of Y have
        the same random negatives: they do not depend on each other.
        """
        kernels.forces(
            graph.start, graph.to, graph.weight, Y, Z, np.float32(self.a), np.float32(self.b), np.float32(self.gamma),
            self.negatives, self.seed, epoch, int(Y is Z), first, last, G,
        )  # fmt: skip

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
        cls, graph: FuzzyGraph, forces: EdgeForces, epochs: int, rate: float, density: DensityTerm | None = None
    ) -> CrossEntropy:
        """Prepare the sampling of the edges in a number of epochs; the rate decreases linearly to zero."""
        top = float(graph.weight.max(initial=0)) or 1.0
        sampled = graph.strongest(top / max(epochs, 1))
        sampled.weight[:] /= np.float32(top)
        before = epochs if density is None else round(epochs * (1 - density.part))
        middle = rate * (1 - before / max(epochs, 1))
        phases = [Phase(before, RULE, rate, middle, {"density": 0.0})]
        if density is not None:
            phases.append(Phase(epochs - before, RULE, middle, 0.0, {"density": density.strength}))
        return cls(sampled, forces, phases, density)

    def on_device(self, home: Array) -> TensorCrossEntropy:
        """Return the same objective on tensors beside ``home``, with random draws of its own."""
        edges, weight = TensorEdges.of(self.graph.start, self.graph.to, home), on_device(self.graph.weight, home)
        f = self.forces
        return TensorCrossEntropy(edges, weight, self.phases, f.a, f.b, f.gamma, f.negatives, f.seed, self.density)

    def gradient(self, Z: np.ndarray, step: DescentStep, G: np.ndarray, together: Together) -> None:
        """Compute the forces of one epoch at Z (n, k) into G."""
        together.rows(
            len(Z), lambda first, last: self.forces.gradient(self.graph, Z, Z, step.iteration, first, last, G)
        )
        strength = step.weights["density"]
        if self.density is not None and strength:
            self.density.add_gradient(self.graph, Z, strength, G, together)

    def value(self, Z: np.ndarray, step: DescentStep, together: Together) -> float:
        """Return the objective at Z, with the density term; the repulsion is estimated."""
        value = self.cross_entropy(Z, step.iteration, together)
        strength = step.weights["density"]
        if self.density is not None and strength:
            value -= strength * self.density.scale * self.density.correlation(self.graph, Z, together) / len(Z)
        return value

    def cross_entropy(self, Z: np.ndarray, epoch: int, together: Together) -> float:
        """Return the cross-entropy per row at Z; the repulsion is estimated with the draws of an epoch."""
        total = together.sum(len(Z), lambda first, last: self.forces.value(self.graph, Z, epoch, first, last))
        return total / len(Z)
