"""The objective of PaCMAP and LocalMAP: attraction along neighbors and mid-near pairs, repulsion along further pairs.

With D = 1 + |z_i - z_j|², the objective is

    w_NN sum D / (10 + D) + w_MN sum D / (10,000 + D) + w_FP sum 1 / (1 + D)

over neighbors, mid-near pairs and further pairs. The weights change in three phases: mid-near pairs first arrange the
map as a whole, then neighbors and further pairs refine it. LocalMAP multiplies, in the last phase, the attraction of
neighbors by (radius / 2) / sqrt(D), and draws further pairs again and again among rows within the radius in the map:
near clusters separate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, to_numpy
from lowland.math.embeddings.descent import Adam, DescentStep, Phase
from lowland.math.embeddings.pairs import Pairs
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.tensor_edges import TensorEdges
from lowland.math.embeddings.tensor_pair_forces import TensorPairForces

_REDRAWN = 10  # iterations between two draws of further pairs


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
        self.listed = [each.at_both_ends() for each in (neighbors, mid_near, further)]
        self.drawn_at = -1

    def on_device(self, home: Array) -> TensorPairForces:
        """Return the same objective on tensors beside ``home``. LocalMAP draws its pairs on the host."""
        edges = [TensorEdges.of(pairs.start, pairs.to, home) for pairs in self.listed]
        if self.local is None:
            return TensorPairForces(edges, self.phases)

        def redraw(Z: Array, step: DescentStep, together: Together) -> TensorEdges | None:
            if not self._is_due(step):
                return None
            self._redraw(to_numpy(Z), step, together)
            return TensorEdges.of(self.listed[2].start, self.listed[2].to, Z)

        return TensorPairForces(edges, self.phases, self.local.radius, self.local.after, redraw)

    def gradient(self, Z: np.ndarray, step: DescentStep, G: np.ndarray, together: Together) -> None:
        """Compute the gradient at Z (n, k) into G."""
        from lowland.kernels import pacmap

        self._redraw(Z, step, together)
        compute = pacmap.gradient_2d if Z.shape[1] == 2 and Z.dtype == np.float32 else pacmap.gradient
        given = self._given(step)
        together.rows(len(Z), lambda a, b: compute(Z, *given, a, b, G))

    def value(self, Z: np.ndarray, step: DescentStep, together: Together) -> float:
        """Return the objective at Z with the weights of the step, up to a constant."""
        from lowland.kernels import pacmap

        given = self._given(step)
        return together.sum(len(Z), lambda a, b: pacmap.value(Z, *given, a, b))

    def _given(self, step: DescentStep) -> tuple[Any, ...]:
        lists = [part for pairs in self.listed for part in (pairs.start, pairs.to)]
        weights = [float(step.weights[name]) for name in ("neighbors", "mid_near", "further")]
        is_local = self.local is not None and step.iteration > self.local.after
        return (*lists, *weights, self.local.radius / 2 if self.local is not None and is_local else 0.0)

    def _redraw(self, Z: np.ndarray, step: DescentStep, together: Together) -> None:
        """Every ten iterations of the last phase, draw the further pairs of LocalMAP again, by the map as it is."""
        local, done = self.local, step.iteration - 1
        if local is None or not self._is_due(step):
            return
        from lowland.kernels.pacmap import redraw_further

        near, far = local.neighbors, self.further

        def draw(a: int, b: int) -> None:
            redraw_further(Z, np.float32(local.radius), local.seed, done, near.start, near.to, far.start, far.to, a, b)

        together.rows(len(Z), draw)
        self.listed[2], self.drawn_at = far.at_both_ends(), done

    def _is_due(self, step: DescentStep) -> bool:
        done = step.iteration - 1
        return self.local is not None and done > self.local.after and not done % _REDRAWN and self.drawn_at != done
