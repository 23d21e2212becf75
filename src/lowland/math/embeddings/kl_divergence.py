"""The objective of t-SNE: the Kullback-Leibler divergence of the similarities in the map from those of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array
from lowland.math.embeddings.anchor import Anchor
from lowland.math.embeddings.descent import DescentStep, Momentum, Phase
from lowland.math.embeddings.grid_repulsion import GridRepulsion
from lowland.math.embeddings.repulsion import ExactRepulsion, Repulsion
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.tensor_edges import TensorEdges, on_device
from lowland.math.embeddings.tensor_kl_divergence import TensorKLDivergence

_MOMENTUM, _MORE_MOMENTUM = 0.8, 0.9  # compact maps oscillate with more: of few rows, exaggerated, or with light tails
_MANY_ROWS = 5_000
_LONGEST_STEP = 5.0


@dataclass(eq=False)
class KLDivergence:
    """sum_ij p_ij log(p_ij / q_ij) with q_ij = w_ij / sum w and w = (1 + d²/dof)^-dof, for rows of a map.

    Its gradient is 4 sum_j (p_ij - q_ij) (z_i - z_j) / (1 + d²/dof): attraction along the edges of P and repulsion
    between all pairs. In a phase, the attraction is multiplied by the weight "exaggeration".

    An anchor adds a second term: (1 - weight) KL + weight * anchor.
    """

    P: scipy.sparse.csr_array  # (n, n), symmetric, the sum is 1
    repulsion: Repulsion
    phases: Sequence[Phase]
    dof: float = 1.0
    anchor: Anchor | None = None
    name: str = field(init=False)
    edges: tuple[np.ndarray, ...] = field(init=False)
    entropy: float = field(init=False)  # of P

    def __post_init__(self) -> None:
        """Name the objective, and cast P once: unsigned indices need no check for negative ones."""
        self.name = "KL divergence" if self.anchor is None else "KL divergence with anchor"
        P = self.P
        edges = P.indptr.astype(np.int64), P.indices.astype(np.uint32), P.data.astype(np.float32)
        positive = P.data[P.data > 0]
        self.edges = edges
        self.entropy = -float(np.sum(positive * np.log(positive)))  # BLAS would sum in another order on more threads

    def on_device(self, home: Array) -> TensorKLDivergence:
        """Return the same objective on tensors beside ``home``."""
        start, to, p = self.edges
        anchor = None if self.anchor is None else self.anchor.on_device(home)
        edges = TensorEdges.of(start, to, home)
        exact, name = isinstance(self.repulsion, ExactRepulsion), self.name
        return TensorKLDivergence(
            edges, on_device(p, home), self.phases, self.entropy, self.dof, anchor, exact=exact, name=name
        )

    def gradient(self, Z: np.ndarray, step: DescentStep, G: np.ndarray, together: Together) -> None:
        """Compute the gradient at Z (n, k) into G."""
        F = np.empty_like(Z)
        total = self._forces(Z, F, G, step.iteration, together)
        F *= 4 * step.weights["exaggeration"]
        G *= 4 / total
        np.subtract(F, G, out=G)
        if self.anchor is not None:
            self.anchor.add_gradient(Z, G)

    def _forces(self, Z: np.ndarray, F: np.ndarray, R: np.ndarray, iteration: int, together: Together) -> float:
        """Write attraction and repulsion to F and R (n, k), and return the sum of w.

        A repulsion in short rounds is the work of one thread, while the others compute the attraction.
        """
        from lowland.kernels.tsne_forces import attract

        def attraction(a: int, b: int) -> None:
            attract(*self.edges, Z, 1 / self.dof, a, b, F)

        repulsion = self.repulsion
        if isinstance(repulsion, GridRepulsion) and repulsion.is_for_one_thread(len(Z), together.threads):
            totals: list[float] = []
            alone = Together(None, 1)
            together.rows(len(Z), attraction, [lambda: totals.append(repulsion(Z, R, alone, iteration))])
            return totals[0]
        total = repulsion(Z, R, together, iteration)
        together.rows(len(Z), attraction)
        return total

    def value(self, Z: np.ndarray, step: DescentStep, together: Together) -> float:
        """Return the objective at Z, without exaggeration."""
        loss = self.divergence(Z, together)
        return loss if self.anchor is None else self.anchor.with_value(Z, loss)

    def divergence(self, Z: np.ndarray, together: Together) -> float:
        """Return the KL divergence at Z."""
        total = self.repulsion(Z, np.empty_like(Z), together)
        loss = together.sum(len(Z), lambda a, b: self._edge_loss(Z, a, b))
        return self.dof * loss + math.log(total) - self.entropy

    def _edge_loss(self, Z: np.ndarray, a: int, b: int) -> float:
        """The sum of p log(1 + d²/dof) over the edges of rows a to b. numpy's logarithm is vectorized."""
        from lowland.kernels.tsne_forces import edge_denominators

        start, to, p = self.edges
        logs = np.empty(start[b] - start[a])
        edge_denominators(start, to, Z, 1 / self.dof, a, b, logs)
        np.log(logs, out=logs)
        logs *= p[start[a] : start[b]]
        return float(logs.sum())


def schedule(
    counts: tuple[int, int], exaggeration: tuple[float, float], rates: tuple[float, float], n: int, dof: float
) -> list[Phase]:
    """Return the two phases: early exaggeration, which lets clusters form, and the descent to the final map."""
    phases, wide = [], n >= _MANY_ROWS and dof <= 1
    for count, factor, rate in zip(counts, exaggeration, rates, strict=True):
        momentum = _MORE_MOMENTUM if wide and factor <= 1 else _MOMENTUM
        phases.append(Phase(count, Momentum(momentum, _LONGEST_STEP), rate, weights={"exaggeration": factor}))
    return phases
