"""densMAP: local radii of the data and of the map, and the term of the objective that correlates them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.arrays.records import record
from lowland.kernels import map_densities as kernels
from lowland.math.embeddings.fuzzy_graph import FuzzyGraph
from lowland.math.embeddings.row_blocks import Together
from lowland.math.neighbors.graph import NeighborGraph

_NEAR = 1e-8  # added to mean squared distances before the logarithm


def log_radii(graph: FuzzyGraph, lengths: NeighborGraph) -> np.ndarray:
    """Return the log of the weighted mean squared distance of each row to its neighbors, (n,) float64."""
    both, mean = lengths.symmetric(), np.empty(graph.n)
    kernels.mean_squares(graph.start, graph.to, graph.weight, both.start, both.to, both.length, mean)
    return np.log(_NEAR + mean)


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

    def in_map(self, graph: FuzzyGraph, Z: np.ndarray, together: Together) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the similarities of each row, and its log radius, both (n,) float64."""
        total, radius = np.empty(len(Z)), np.empty(len(Z))
        a, b = np.float32(self.a), np.float32(self.b)
        together.rows(
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

    def correlation(self, graph: FuzzyGraph, Z: np.ndarray, together: Together) -> float:
        """Return the correlation, with the shifted standard deviation."""
        found = self.summary(self.in_map(graph, Z, together)[1])
        return found.covariance / found.std

    def add_gradient(
        self, graph: FuzzyGraph, Z: np.ndarray, strength: float, G: np.ndarray, together: Together
    ) -> None:
        """Add the gradient of -strength · scale · correlation to G, (n, k)."""
        total, radius = self.in_map(graph, Z, together)
        pull = self.summary(radius).pull(self.standard, radius, strength * self.scale / (2 * len(Z)))
        a, b = np.float32(self.a), np.float32(self.b)
        together.rows(
            len(Z),
            lambda first, last: kernels.density_forces(
                graph.start, graph.to, Z, Z, a, b, total, radius, pull, total, radius, pull, first, last, G
            ),
        )
