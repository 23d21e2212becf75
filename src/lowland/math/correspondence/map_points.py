"""Points of a map and how to read them: masses, coordinates, inertias, contributions and squared cosines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lowland.arrays.records import record


@record
@dataclass(frozen=True)
class MapPoints:
    """The points of rows, columns or categories on the principal axes of a table."""

    names: np.ndarray | None  # (m,) strings; None: the points have no names
    masses: np.ndarray  # (m,) their sum is 1 over all active points
    coordinates: np.ndarray  # (m, k) principal coordinates
    standard_coordinates: np.ndarray  # (m, k) the same, with weighted variance 1 on each axis
    inertias: np.ndarray  # (m,) mass times squared distance to the centroid, over all axes
    contributions: np.ndarray  # (m, k) to the inertia of each axis; their sum is 1 over all active points
    cos2: np.ndarray  # (m, k) squared cosine of the angle between the point and each axis
    v_tests: np.ndarray | None = None  # (m, k) coordinate of a category over its standard deviation under chance

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.masses)


def map_points(
    names: np.ndarray | None,
    masses: np.ndarray,
    coordinates: np.ndarray,
    eigenvalues: np.ndarray,
    squared_distances: np.ndarray,
    v_tests: np.ndarray | None = None,
) -> MapPoints:
    """Return points with all that follows from masses, principal coordinates and distances to the centroid."""
    F = np.asarray(coordinates, dtype=np.float64)
    positive = eigenvalues > 0
    roots = np.sqrt(np.where(positive, eigenvalues, 1.0))
    far = squared_distances > 0
    cos2 = np.where(far[:, None], F**2 / np.where(far, squared_distances, 1.0)[:, None], 0.0)
    contributions = masses[:, None] * F**2 / np.where(positive, eigenvalues, 1.0)
    standard = F / roots
    return MapPoints(names, masses, F, standard, masses * squared_distances, contributions, cos2, v_tests)


def v_tests(standard_coordinates: np.ndarray, counts: np.ndarray, n: float) -> np.ndarray:
    """Return the v-test of each category on each axis.

    The mean standard coordinate of ``count`` rows drawn from n without replacement has variance (n - count) / (count
    (n - 1)).
    """
    drawn = np.where(counts < n, n - counts, 1.0)
    factor = np.where(counts < n, np.sqrt(counts * (n - 1) / drawn), 0.0)
    return standard_coordinates * factor[:, None]
