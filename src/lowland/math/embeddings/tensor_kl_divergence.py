"""The objective of t-SNE on tensors: the same sums as on the host, by segment sums and one convolution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lowland.arrays.namespace import Array, device_of, xp_of
from lowland.math.embeddings.anchor import Anchor
from lowland.math.embeddings.descent import DescentStep, Phase
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.tensor_edges import TensorEdges

_SPACING = {1: 0.3, 2: 0.4}  # of the nodes of the grid, as on the host
_MOST_NODES = {1: 2**16, 2: 4096}
_UNIT = 2.0**40  # charges are sums of integers in this unit: the order of the additions does not matter
_PAIRS = 1 << 26  # pairs that are held at a time


@dataclass
class TensorKLDivergence:
    """sum_ij p_ij log(p_ij / q_ij) with q_ij = w_ij / sum w and w = (1 + d²/dof)^-dof."""

    edges: TensorEdges
    p: Array  # (edges,), the sum is 1
    phases: Sequence[Phase]
    entropy: float  # of P
    dof: float = 1.0
    anchor: Anchor | None = None
    exact: bool = False  # all pairs; else a grid, in two dimensions
    name: str = "KL divergence"
    _spectra: dict[Any, Array] = field(default_factory=dict)

    def gradient(self, Z: Array, step: DescentStep, G: Array, together: Together) -> None:
        """Compute the gradient at Z (n, k) into G."""
        repulsion, total = self._repulsion(Z)
        D, d2 = self.edges.differences(Z)
        pull = self.p / (1 + d2 / self.dof)
        attraction = self.edges.sums(pull[:, None] * D)
        G[:] = 4 * (step.weights["exaggeration"] * attraction - repulsion / xp_of(Z).astype(total, Z.dtype))
        if self.anchor is not None:
            self.anchor.add_gradient(Z, G)

    def value(self, Z: Array, step: DescentStep, together: Together) -> float:
        """Return the objective at Z, without exaggeration."""
        loss = self.divergence(Z, together)
        return loss if self.anchor is None else self.anchor.with_value(Z, loss)

    def divergence(self, Z: Array, together: Together) -> float:
        """Return the KL divergence at Z."""
        xp = xp_of(Z)
        total = float(self._repulsion(Z)[1])
        d2 = xp.astype(self.edges.differences(Z)[1], xp.float64)
        loss = self.dof * float(xp.sum(xp.astype(self.p, xp.float64) * xp.log1p(d2 / self.dof)))
        return loss + math.log(total) - self.entropy

    def _repulsion(self, Z: Array) -> tuple[Array, Array]:
        """sum_j u w (z_i - z_j), (n, k), and the sum of w over all ordered pairs of different rows."""
        return self._by_grid(Z) if Z.shape[1] == 2 and not self.exact else self._by_pairs(Z)

    def _by_pairs(self, Z: Array) -> tuple[Array, Array]:
        """All pairs, a block of rows at a time."""
        xp, n = xp_of(Z), Z.shape[0]
        squares = xp.sum(Z * Z, axis=1)
        forces, totals = [], []
        step = max(1, _PAIRS // n)
        for a in range(0, n, step):
            part = Z[a : a + step]
            d2 = squares[a : a + step, None] + squares[None, :] - 2 * part @ Z.T
            u = 1 / (1 + xp.where(d2 > 0, d2, xp.zeros_like(d2)) / self.dof)
            w = u**self.dof
            uw = u * w
            forces.append(part * xp.sum(uw, axis=1)[:, None] - uw @ Z)
            totals.append(xp.sum(w, dtype=xp.float64))
        return xp.concat(forces, axis=0), xp.sum(xp.stack(totals)) - n

    def _by_grid(self, Z: Array) -> tuple[Array, Array]:
        """The gradient of one potential, by cubic B-splines on a grid and one convolution (see ``grid_repulsion``)."""
        xp = xp_of(Z)
        low, span = xp.min(Z, axis=0), float(xp.max(xp.max(Z, axis=0) - xp.min(Z, axis=0)))
        h = _SPACING[2] * math.sqrt(min(self.dof, 1.0))
        h = max(h, span / (_MOST_NODES[2] - 46))
        m = max(64, math.ceil((span / h + 14) / 32) * 32)
        U = (Z - low[None, :]) / h + 2
        C = xp.floor(U)
        weights, slopes = _splines(U - C)  # each (n, 4, 2): four nodes along each axis
        first = xp.astype(C, xp.int64) - 1
        near = xp.arange(4, device=device_of(Z))
        nodes = (first[:, 0, None, None] + near[None, :, None]) * m + first[:, 1, None, None] + near[None, None, :]
        across, along = weights[:, :, None, 0], weights[:, None, :, 1]
        charges = xp.zeros((m * m,), dtype=xp.int64, device=device_of(Z))
        whole = xp.astype(xp.round(xp.astype(across * along, xp.float64) * _UNIT), xp.int64)
        charges.index_add_(0, xp.reshape(nodes, (-1,)), xp.reshape(whole, (-1,)))
        field = xp.astype(xp.astype(charges, xp.float64) / _UNIT, xp.float32)
        transform = xp.fft.rfftn(xp.reshape(field, (m, m)), s=(2 * m, 2 * m)) * self._spectrum(m, h, Z)
        potential = xp.reshape(xp.fft.irfftn(transform, s=(2 * m, 2 * m))[:m, :m], (-1,))[nodes]  # (n, 4, 4)
        total = xp.sum(xp.sum(potential * across * along, axis=(1, 2)), dtype=xp.float64) - Z.shape[0]
        dx = xp.sum(potential * slopes[:, :, None, 0] * along, axis=(1, 2))
        dy = xp.sum(potential * across * slopes[:, None, :, 1], axis=(1, 2))
        return xp.stack([dx, dy], axis=1) * (-0.5 / h), total

    def _spectrum(self, m: int, h: float, Z: Array) -> Array:
        """The transform of w on a grid of twice m nodes along each axis, divided by that of the splines."""
        if (m, h) not in self._spectra:
            self._spectra.clear()
            xp = xp_of(Z)
            i = xp.arange(2 * m, dtype=xp.float64, device=device_of(Z))
            x = xp.where(i > m, 2 * m - i, i) * h
            w = (1 + (x[:, None] ** 2 + x[None, :] ** 2) / self.dof) ** -self.dof
            spline = ((2 + xp.cos(math.pi / m * i)) / 3) ** 2
            spectrum = xp.real(xp.fft.rfftn(w)) / (spline[:, None] * spline[None, : m + 1])
            self._spectra[m, h] = xp.astype(spectrum, xp.float32)
        return self._spectra[m, h]


def _splines(t: Array) -> tuple[Array, Array]:
    """The four cubic B-splines that are not zero at the fraction t (n, k) of a cell, and their slopes, (n, 4, k)."""
    xp, s = xp_of(t), 1 - t
    values = (s**3, 3 * t**3 - 6 * t**2 + 4, 3 * s**3 - 6 * s**2 + 4, t**3)
    slopes = (-(s**2) / 2, (3 * t**2 - 4 * t) / 2, (4 * s - 3 * s**2) / 2, t**2 / 2)
    return xp.stack(values, axis=1) / 6, xp.stack(slopes, axis=1)
