"""Tables of counts: margins, row profiles in the metric of chi-squared distances, and the points of a map."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import Array, as_double, is_sparse, like, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.data.rows import DaskRows, MappedRows, Rows


@dataclass(frozen=True)
class Margins:
    """The row and column sums of a table of counts."""

    row_sums: np.ndarray  # (n,) float64
    column_sums: np.ndarray  # (d,) float64
    smallest: float  # entry

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the margins of one chunk."""
        values = X.data if is_sparse(X) else X
        smallest = float(xp_of(values).min(values)) if math.prod(values.shape) else 0.0
        columns = X.astype(np.float64).sum(axis=0) if is_sparse(X) else to_numpy(xp_of(X).sum(as_double(X), axis=0))
        return cls(row_sums_of(X), np.asarray(columns, dtype=np.float64).ravel(), smallest)

    def __add__(self, other: Self) -> Self:
        rows = np.concatenate([self.row_sums, other.row_sums])
        return type(self)(rows, self.column_sums + other.column_sums, min(self.smallest, other.smallest))

    def is_finite(self) -> bool:
        """Whether NaN and infinity are absent."""
        return bool(np.isfinite(self.column_sums.sum()) and np.isfinite(self.smallest))

    @property
    def total(self) -> float:
        """The sum of the table."""
        return float(self.column_sums.sum())


def row_sums_of(X: Any) -> np.ndarray:
    """Return the sum of each row in float64."""
    if is_sparse(X):
        return np.asarray(X.astype(np.float64).sum(axis=1)).ravel()
    xp = xp_of(X)
    return np.asarray(to_numpy(xp.sum(as_double(X), axis=1)), dtype=np.float64)


def scaled_profiles(scale: np.ndarray, X: Any) -> Any:
    """Return the row profiles of a slab of counts, each column divided by its scale, (d,); a row of zeros stays one."""
    sums = row_sums_of(X)
    inverse = np.where(sums > 0, 1.0 / np.where(sums > 0, sums, 1.0), 0.0)
    if is_sparse(X):
        import scipy.sparse

        scaled = scipy.sparse.diags_array(inverse) @ X.astype(np.float64) @ scipy.sparse.diags_array(1 / scale)
        return scaled.tocsr().astype(X.dtype)
    D = as_double(X)
    D = D * like(inverse, D)[:, None] / like(scale, D)[None, :]
    return xp_of(X).astype(D, X.dtype)


def profile_rows(rows: Rows, column_masses: np.ndarray) -> Rows:
    """Return the row profiles of counts in the metric of chi-squared distances."""
    profiles = partial(scaled_profiles, np.sqrt(np.where(column_masses > 0, column_masses, 1.0)))
    if isinstance(rows, DaskRows):
        return DaskRows(rows.X.astype(rows.dtype).map_blocks(profiles, dtype=rows.dtype))
    return MappedRows(rows, profiles)


@dataclass(frozen=True)
class ProfilePoints:
    """The map from counts to principal coordinates: row profiles times the standard coordinates of the columns."""

    masses: np.ndarray  # (d,) of the columns
    standard: np.ndarray  # (d, k)

    def __call__(self, X: Any) -> Array:
        """Map one slab; a row of zeros lies at the centroid."""
        sums = row_sums_of(X)
        some = sums > 0
        inverse = np.where(some, 1.0 / np.where(some, sums, 1.0), 0.0)
        if is_sparse(X):
            center = self.masses @ self.standard  # zero, except along axes without inertia, which are arbitrary
            return ((X @ self.standard) * inverse[:, None] - np.outer(some, center)).astype(X.dtype)
        D = as_double(X) * like(inverse, as_double(X))[:, None]
        D = D - like(some, D)[:, None] * like(self.masses, D)[None, :]  # centered before the product: no cancellation
        return xp_of(X).astype(D @ like(self.standard, D), X.dtype)


def profile_distances(masses: np.ndarray, X: Any) -> np.ndarray:
    """Return the squared chi-squared distance of each row profile to the centroid, (m,); column masses are (d,)."""
    used = masses > 0
    inverse = np.where(used, 1.0 / np.where(used, masses, 1.0), 0.0)
    sums = row_sums_of(X)
    some = sums > 0
    if is_sparse(X):  # sum of p²/c, less 1
        D = X.astype(np.float64)
        squares = (D.multiply(D) @ inverse) / np.where(some, sums, 1.0) ** 2 - masses.sum()
    else:
        D = to_numpy(as_double(X)) / np.where(some, sums, 1.0)[:, None] - masses
        squares = D**2 @ inverse
    return np.where(some, np.maximum(squares, 0.0), 0.0)


# --- points of a map and how to read them -----------------------------------------------------------------------------


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
