"""The objective of PaCMAP and LocalMAP on tensors: forces along listed pairs, summed for each row on the device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lowland.arrays.namespace import Array, xp_of
from lowland.math.embeddings.descent import DescentStep, Phase
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.tensor_edges import TensorEdges

_KINDS = (("neighbors", 10.0, 1.0), ("mid_near", 10_000.0, 1.0), ("further", 1.0, -1.0))  # constant, sign of the weight


@dataclass
class TensorPairForces:
    """With D = 1 + |z_i - z_j|²: the sum of w D / (c + D) over the three kinds of pairs, each listed at both rows."""

    edges: list[TensorEdges]  # neighbors, mid-near and further pairs
    phases: Sequence[Phase]
    radius: float = 0.0  # of LocalMAP in the map; 0: PaCMAP
    after: int = 0  # iterations before the local adjustment
    redraw: Callable[[Array, DescentStep, Together], TensorEdges | None] | None = None  # of the further pairs
    name: str = field(default="pair objective")

    def gradient(self, Z: Array, step: DescentStep, G: Array, together: Together) -> None:
        """Compute the gradient at Z (n, k) into G."""
        drawn = None if self.redraw is None else self.redraw(Z, step, together)
        if drawn is not None:
            self.edges[2] = drawn
        xp = xp_of(Z)
        G[:] = 0 * Z
        for edges, (kind, c, sign) in zip(self.edges, _KINDS, strict=True):
            weight = sign * step.weights[kind]
            if not weight:
                continue
            D, d2 = edges.differences(Z)
            factor = 2 * weight * c / (c + 1 + d2) ** 2
            if kind == "neighbors" and self._is_local(step):
                factor = factor * (self.radius / 2) / xp.sqrt(1 + d2)
            G += edges.sums(factor[:, None] * D)

    def value(self, Z: Array, step: DescentStep, together: Together) -> float:
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
