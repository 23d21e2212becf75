"""Multiple correspondence analysis of a table of categories."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.categories import levels_of, open_categories
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.correspondence.categories import (
    BurtTable,
    Coding,
    IndicatorPoints,
    benzecri,
    burt_table,
    greenacre_total,
    row_distances,
    standardized,
)
from lowland.math.correspondence.profiles import MapPoints, map_points, v_tests
from lowland.math.spectra.leading import all_eigenvalues, leading_eigenpairs
from lowland.methods.base import costs
from lowland.methods.base.category_map import CategoryMap, level_text
from lowland.methods.base.choices import positional
from lowland.methods.base.method import attribute, param
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for

_ROUNDING = 1e-13  # inertias below this are zero: those of the indicators are at most 1
_UNKNOWN = "Fit with handle_unknown='ignore' to leave such values out."


class MultipleCorrespondenceAnalysis(
    CategoryMap,
    verb="mca",
    title="MCA",
    group="Categories and counts",
    cost=costs.levels,
    streams=True,
    reads="categories",
    missing_remedy="Set `missing='category'` to make them a separate level, or `missing='passive'` to leave them out.",
    quick={"n_components": 1},
    study=StudyHints(why_left_out="It is for tables with two columns of categories or more.", categories=2),
):
    """Multiple correspondence analysis: rows and levels of a table of categories in one map.

    Problem: correspondence analysis of the indicators Z of all levels of the Q columns: each row has a 1 for each of
    its Q answers. Rows with the same answers coincide. A level lies at the mean of its rows, up to a scale.

    1. Find the levels of each column, in one pass.
    2. Count all pairs of levels in a second pass: the Burt table Z'Z.
    3. Standardize it, S'S = D^(-1/2) (Z'Z / (nQ²) - c c') D^(-1/2) with the masses c of the levels in D, and compute
       its leading eigenpairs in float64. The eigenvalues are the principal inertias.
    4. Adjust the inertias on request.
    5. Transform by the mean of the standard coordinates of the levels of a row.

    See Also
    --------
    CorrespondenceAnalysis : one table of counts.
    FactorAnalysisOfMixedData : numbers and categories.

    Notes
    -----
    The n x K indicators are never formed, so a file may be larger than memory.

    Every distinct number in a column of numbers is a level. For columns of measurements use
    ``FactorAnalysisOfMixedData``, which takes numbers and categories together.

    The inertias of the indicators understate the fit of a map. ``correction`` adjusts ``adjusted_inertias_`` and
    ``explained_variance_ratio_``. The coordinates stay those of the indicators. New rows are supplementary rows.

    References
    ----------
    Greenacre, M., and Blasius, J. (2006). Multiple correspondence analysis and related methods. Chapman and Hall/CRC.
    doi:10.1201/9781420011319

    Greenacre, M. (2017). Correspondence analysis in practice. Chapman and Hall/CRC. doi:10.1201/9781315369983

    Examples
    --------
    >>> from lowland import MultipleCorrespondenceAnalysis
    >>> answers = [["tea", "yes"], ["tea", "no"], ["coffee", "no"], ["coffee", "no"], ["milk", "yes"]]
    >>> mca = MultipleCorrespondenceAnalysis(2).fit(answers)
    >>> mca.category_points_.names.tolist()
    ['x0_coffee', 'x0_milk', 'x0_tea', 'x1_no', 'x1_yes']
    """

    n_components: int | None = positional(
        2, "Number of axes: at most the levels less the columns. None means all.", at_least=1
    )
    correction: Literal["none", "benzecri", "greenacre"] = param(
        "none", "Adjustment of the inertias and of the fractions they explain. 'greenacre' also adjusts their total."
    )
    missing: Literal["error", "category", "passive"] = param(
        "error",
        "Missing values are an error, become a level of their column, or are left out of their row ('passive').",
    )
    handle_unknown: Literal["error", "ignore"] = param(
        "error",
        "Categories of new rows that do not occur in the training data are an error, or are left out of their row.",
    )

    eigenvalues_: np.ndarray = attribute("Principal inertias of the indicators, descending.", "(n_components_,)")
    adjusted_inertias_: np.ndarray = attribute(
        "The inertias after the correction, which are the same without one.", "(n_components_,)"
    )
    explained_variance_ratio_: np.ndarray = attribute(
        "Fraction of the total of the adjusted inertias on each axis.", "(n_components_,)"
    )
    total_inertia_: float = attribute("Total inertia of the indicators: levels / columns - 1 if no value is left out.")
    category_points_: MapPoints = attribute(
        "The levels: names, masses, coordinates, standard_coordinates, inertias, contributions, cos2 and v_tests."
    )
    column_contributions_: np.ndarray = attribute(
        "Contribution of each column to each axis: the sum over its levels.", "(n_features_in_, n_components_)"
    )

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        coding = self._learned_coding(rows, run, range(rows.d), missing_level=self.missing == "category")
        table: BurtTable = run.fold(rows, partial(burt_table, coding), name="counting pairs of categories")
        if table.passive and self.missing == "error":
            raise rows.non_finite_error()
        if not table.counts.any():
            raise DataError(f"All values of {rows.source} are missing. Pass categories.")
        table, used = table.without_empty_levels()
        self.n_samples_ = table.rows
        names = self._keep_levels(coding, used, rows, table.rows)
        answered = sum(len(levels) > 0 for levels in self.categories_ if levels is not None)
        masses, A = standardized(table)
        k = self._check_count(min(len(masses) - answered, max(table.rows - table.empty - 1, 0)), len(masses))
        pairs = leading_eigenpairs(A, k, run=run)
        self._record_convergence(pairs.outcome(f"the matrix has {len(A)} rows"))
        self._keep(A, masses, pairs.values[:k], pairs.vectors[:, :k], names, table.counts)
        self._keep_adjusted(A, rows.d)

    def _keep(
        self,
        A: np.ndarray,
        masses: np.ndarray,
        values: np.ndarray,
        V: np.ndarray,
        names: np.ndarray,
        counts: np.ndarray,
    ) -> None:
        """Set the inertias and the points of the levels."""
        self.eigenvalues_ = np.where(values > _ROUNDING, values, 0.0)
        self.total_inertia_, self.n_components_ = float(np.trace(A)), len(values)
        G = V / np.sqrt(masses)[:, None] * np.sqrt(self.eigenvalues_)
        tests = v_tests(G, counts, self.n_samples_)
        self.category_points_ = map_points(names, masses, G, self.eigenvalues_, A.diagonal() / masses, tests)
        coding = self._coding()
        contributions = self.category_points_.contributions
        self.column_contributions_ = np.stack(
            [
                contributions[start : start + size].sum(axis=0)
                for start, size in zip(coding.starts, coding.sizes, strict=True)
            ]
        )

    def _keep_adjusted(self, A: np.ndarray, q: int) -> None:
        """Set the adjusted inertias and their fractions of the total."""
        total = self.total_inertia_
        self.adjusted_inertias_ = self.eigenvalues_
        if self.correction != "none":
            self.adjusted_inertias_ = benzecri(self.eigenvalues_, q)
        if self.correction == "benzecri":
            total = float(benzecri(all_eigenvalues(A), q).sum())
        elif self.correction == "greenacre":
            total = greenacre_total(float((A**2).sum()), len(A), q)
        self.explained_variance_ratio_ = self.adjusted_inertias_ / (total if total > 0 else 1.0)

    def _encoding(self) -> IndicatorPoints:
        return IndicatorPoints(
            self._coding(),
            self.category_points_.standard_coordinates,
            self._column_names(),
            self._refuses_missing(),
            _UNKNOWN if self._params.handle_unknown == "error" else None,
        )

    def row_points(self, X: Any) -> MapPoints:
        """Return the rows of X on the map: masses, coordinates, inertias, contributions and squared cosines.

        A row has the mass 1/n, with n training rows, so that contributions of the training rows sum to 1.
        """
        rows, run = self._rows_to_map(X)
        F = to_numpy(run.gather(self._encoding(), rows, self.n_components_, name="transforming rows"))
        coding, masses = self._coding(), self.category_points_.masses
        squares = np.concatenate([row_distances(coding, masses, chunk) for chunk in rows.chunks()])
        return map_points(None, np.full(len(F), 1.0 / self.n_samples_), F, self.eigenvalues_, squares)

    def supplementary_columns(self, X: Any, columns: Any) -> MapPoints:
        """Return the levels of further columns on the map. X has the training rows, and ``columns`` the same rows.

        A level lies at the mean of the standard coordinates of the rows that have it. Missing values are left out.
        """
        standard = self.row_points(X).standard_coordinates
        rows = open_categories(columns)
        run = run_for(rows)
        coding = self._learned_coding(rows, run, range(rows.d), missing_level=False)
        codes = Coding.codes(coding, rows.to_array())
        n = len(standard)
        if len(codes[0]) != n:
            raise DataError(f"columns has {len(codes[0])} rows, but `X` has {n}. Pass the same rows.")
        counts = np.concatenate(
            [np.bincount(code[code >= 0], minlength=size) for code, size in zip(codes, coding.sizes, strict=True)]
        ).astype(np.float64)
        sums = np.zeros((coding.length, standard.shape[1]))
        for start, code in zip(coding.starts, codes, strict=True):
            np.add.at(sums, start + code[code >= 0], standard[code >= 0])
        some = counts > 0
        G = sums / np.where(some, counts, 1.0)[:, None]
        texts = levels_of(rows)
        own = [coding.keys[j] if levels is None else levels for j, levels in enumerate(texts)]
        words = [
            f"{rows.names[j] if rows.names else f'x{j}'}_{level_text(level)}"
            for j, levels in enumerate(own)
            for level in levels
        ]
        squares = np.where(some, n / np.where(some, counts, 1.0) - 1.0, 0.0)
        names = np.asarray(words, dtype=object)
        return map_points(
            names, counts / (n * self.n_features_in_), G, self.eigenvalues_, squares, v_tests(G, counts, n)
        )

    def _facts(self) -> dict[str, Any]:
        adjusted = {"none": "the inertia"}.get(
            self._params.correction, f"the inertia, adjusted ({self._params.correction})"
        )
        return {"explained variance ratio of": adjusted, "levels": len(self.category_points_)}
