"""Correspondence analysis of a table of counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse, rounding_of, to_numpy
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import DataError, warn
from lowland.math.correspondence.profiles import (
    MapPoints,
    Margins,
    ProfilePoints,
    map_points,
    profile_distances,
    profile_rows,
    row_sums_of,
)
from lowland.math.spectra.component_rules import Fixed
from lowland.math.spectra.principal_axes import Axes, principal_axes
from lowland.methods.base import costs
from lowland.methods.base.choices import positional, refusal
from lowland.methods.base.method import Method, attribute
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class CorrespondenceAnalysis(
    Method,
    verb="ca",
    title="correspondence analysis",
    group="Categories and counts",
    cost=costs.profiles,
    streams=True,
    takes_sparse=True,
    reads="counts",
    tolerance=1e-9,
    quick={"n_components": 1},
    study=StudyHints(why_left_out="It is for tables of counts: run it by its name on such a table."),
):
    """Correspondence analysis: rows and columns of a table of counts in one map, by chi-squared distances.

    Problem: for the table of relative frequencies P with row masses r and column masses c, the best approximation of
    rank k of the standardized residuals S = D_r^(-1/2) (P - r c') D_c^(-1/2). Its squared singular values are the
    principal inertias, and their sum is chi²/n of the test of independence.

    1. Sum the rows and the columns of the table.
    2. Divide each row by its sum (its profile) and each column by the square root of its mass. The principal axes of
       these rows, weighted by their masses, are the right singular vectors of S.
    3. The standard coordinates of the columns are V / sqrt(c), and their principal coordinates sqrt(λ) times these.
    4. Transform by the transition formula: a row lies at the mean of the standard coordinates of the columns, weighted
       by its profile.

    See Also
    --------
    MultipleCorrespondenceAnalysis : several columns of categories.
    TruncatedSVD : word counts without weights.

    Notes
    -----
    Sparse tables stay sparse.

    A row of zeros has no profile. It has no influence on the axes, lies at the centroid, and ``fit`` warns. The same
    holds for a column of zeros. FactoMineR drops both with a warning, and MASS raises an error.

    ``row_points(X)`` has the masses, inertias, contributions and squared cosines of rows, ``column_points_`` those of
    the columns. New rows are supplementary rows: ``transform`` places them without an influence on the axes.

    References
    ----------
    Greenacre, M. (2017). Correspondence analysis in practice. Chapman and Hall/CRC. doi:10.1201/9781315369983

    Nenadić, O., and Greenacre, M. (2007). Correspondence analysis in R, with two- and three-dimensional graphics: the
    ca package. Journal of Statistical Software. doi:10.18637/jss.v020.i03

    Examples
    --------
    >>> from lowland import CorrespondenceAnalysis
    >>> smokers = [[4, 2, 3, 2], [4, 3, 7, 4], [25, 10, 12, 4], [18, 24, 33, 13], [10, 6, 7, 2]]
    >>> ca = CorrespondenceAnalysis(3).fit(smokers)
    >>> ca.eigenvalues_.round(4).tolist(), round(ca.total_inertia_, 4)
    ([0.0748, 0.01, 0.0004], 0.0852)
    """

    n_components: int | None = positional(
        2, "Number of axes: at most one less than the rows and the columns. None means all.", at_least=1
    )

    eigenvalues_: np.ndarray = attribute("Principal inertias, descending.", "(n_components_,)")
    explained_variance_ratio_: np.ndarray = attribute("Fraction of the total inertia on each axis.", "(n_components_,)")
    total_inertia_: float = attribute("Total inertia: chi² of the test of independence over the sum of the table.")
    column_points_: MapPoints = attribute(
        "The columns: names, masses, coordinates, standard_coordinates, inertias, contributions and cos2."
    )
    grand_total_: float = attribute("Sum of the table.")
    n_components_: int = attribute("Number of axes.")
    n_iter_: int = attribute("Number of iterations, or 0 for a direct solver.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        margins: Margins = run.fold(rows, Margins.of, name="summing rows and columns")
        self._check_counts(margins, rows)
        masses = margins.column_sums / margins.total
        n = int((margins.row_sums > 0).sum())
        k = self._count(n, int((masses > 0).sum()), rows.d)
        counts = margins.row_sums * (n / margins.total)  # weights of mean 1, whatever the scale of the table
        axes = principal_axes(profile_rows(rows, masses), run, Fixed(k), weights=counts)
        self._keep(axes, masses, rows, k)
        self.grand_total_, self.n_samples_ = margins.total, len(margins.row_sums)
        self._record_convergence(axes.outcome)

    def _check_counts(self, margins: Margins, rows: Rows) -> None:
        """Raise an error for negative values; warn of rows and columns of zeros."""
        if margins.smallest < 0:
            raise DataError(
                f"Negative values in data passed to {type(self).__name__}: the smallest value of {rows.source} is "
                f"{margins.smallest:g}. Pass counts or other values that are not negative."
            )
        if not margins.total > 0:
            raise DataError(f"All values of {rows.source} are zero. Pass a table of counts.")
        for what, sums in (("row", margins.row_sums), ("column", margins.column_sums)):
            empty = int((sums == 0).sum())
            if empty:
                some = f"1 {what} contains" if empty == 1 else f"{empty} {what}s contain"
                warn(
                    f"{type(self).__name__}: {some} only zeros in {rows.source}. Such a {what} has no influence on "
                    f"the axes and lies at the origin of the map. Drop {what}s of zeros from the table."
                )

    def _count(self, n: int, d_used: int, d: int) -> int:
        """The number of axes; an error if there are fewer."""
        most = min(n, d_used) - 1
        k = most if self.n_components is None else int(self.n_components)
        if k > most or most < 1:
            remedy = f"Choose at most {most}." if most > 0 else "Pass at least two rows and two columns of counts."
            table = f"a table of {n} rows and {d_used} columns that are not zero (`n_features={d}`)"
            raise refusal(self, f"{table} has {most} axes.", remedy, "n_components")
        return k

    def _keep(self, axes: Axes, masses: np.ndarray, rows: Rows, k: int) -> None:
        """Set the attributes from the principal axes of the profiles."""
        n = axes.columns.n
        divisor = (n - 1) / n  # from variances with divisor n - 1 to inertias
        inertias = to_numpy(axes.columns.variances) * divisor
        total = float(inertias.sum())
        values = to_numpy(axes.pairs.values)[:k] * divisor
        self.eigenvalues_ = np.where(values > rounding_of(rows.dtype) * max(total, 1e-300), values, 0.0)
        self.total_inertia_, self.n_components_ = total, k
        self.explained_variance_ratio_ = self.eigenvalues_ / total if total > 0 else self.eigenvalues_
        used = masses > 0
        root = np.sqrt(np.where(used, masses, 1.0))
        V = np.asarray(to_numpy(axes.pairs.vectors), dtype=np.float64)[:, :k]
        standard = np.where(used[:, None], V / root[:, None], 0.0)
        names = None if rows.names is None else np.asarray(rows.names, dtype=object)
        distances = np.where(used, inertias / np.where(used, masses, 1.0), 0.0)
        points = map_points(names, masses, standard * np.sqrt(self.eigenvalues_), self.eigenvalues_, distances)
        self.column_points_ = points

    def _encoding(self) -> ProfilePoints:
        points = self.column_points_
        return ProfilePoints(points.masses, points.standard_coordinates)

    def _encoding_width(self) -> int:
        return int(self.n_components_)

    def row_points(self, X: Any) -> MapPoints:
        """Return the rows of X on the map: masses, coordinates, inertias, contributions and squared cosines.

        The masses are relative to the sum of the training table, so that contributions of the training rows sum to 1.
        """
        rows, run = self._rows_to_map(X)
        F = to_numpy(run.gather(self._encoding(), rows, self.n_components_, name="transforming rows"))
        column_masses = self.column_points_.masses
        squares = np.concatenate([profile_distances(column_masses, chunk) for chunk in rows.chunks()])
        masses = np.concatenate([row_sums_of(chunk) for chunk in rows.chunks()]) / self.grand_total_
        return map_points(None, masses, F, self.eigenvalues_, squares)

    def supplementary_columns(self, X: Any, columns: Any) -> MapPoints:
        """Return further columns of counts on the map. X has the training rows, and ``columns`` the same rows.

        A column lies at the mean of the standard coordinates of the rows, weighted by its profile.
        """
        points = self.row_points(X)
        opened = open_rows(columns)
        Y = opened.to_array()
        Y = Y.toarray() if is_sparse(Y) else np.asarray(to_numpy(Y), dtype=np.float64)  # (n, m)
        if len(Y) != len(points):
            raise DataError(f"columns has {len(Y)} rows, but `X` has {len(points)}. Pass the same rows.")
        sums = Y.sum(axis=0)
        if not np.isfinite(sums).all() or (Y < 0).any() or not (sums > 0).all():
            raise DataError("columns contains negative values, NaN, or a column of zeros. Pass counts.")
        profiles = Y / sums  # (n, m)
        some = points.masses > 0
        gaps = (profiles - points.masses[:, None])[some]
        squares = (gaps**2 / points.masses[some, None]).sum(axis=0)
        names = None if opened.names is None else np.asarray(opened.names, dtype=object)
        G = profiles.T @ points.standard_coordinates
        return map_points(names, sums / self.grand_total_, G, self.eigenvalues_, squares)

    def _facts(self) -> dict[str, Any]:
        return {"explained variance ratio of": "the inertia", "total inertia": self.total_inertia_}
