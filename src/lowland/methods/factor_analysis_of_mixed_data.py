"""Factor analysis of mixed data: numbers and categories together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.categories import levels_of
from lowland.data.reader import selected
from lowland.data.rows import Rows
from lowland.math.correspondence.categories import Expanded, MixedPoints
from lowland.math.correspondence.profiles import MapPoints, map_points, v_tests
from lowland.math.spectra.leading import leading_eigenpairs
from lowland.math.statistics.moments import Moments
from lowland.methods.base import costs
from lowland.methods.base.category_map import CategoryMap
from lowland.methods.base.choices import positional, refusal
from lowland.methods.base.method import attribute, param
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run

_ROUNDING = 1e-13  # of the total inertia
_UNKNOWN = "Fit with handle_unknown='ignore' to place such values at the mean."


class FactorAnalysisOfMixedData(
    CategoryMap,
    verb="famd",
    title="FAMD",
    group="Categories and counts",
    cost=costs.levels,
    streams=True,
    reads="mixed",
    missing_remedy="Set `missing='category'` to make missing categories a separate level.",
    tolerance=1e-9,
    study=StudyHints(
        why_left_out="It equals PCA of standardized columns unless some columns are categories.", categories=1
    ),
):
    """Factor analysis of mixed data: principal components of numbers and categories, each column with the same weight.

    Problem: the axes z that maximize the sum over the columns of their squared correlation with z: r² for a column of
    numbers, the correlation ratio η² for a column of categories.

    1. Find the levels of the columns of categories, in one pass if there is text.
    2. Sum the moments of the numbers and of the indicators of all levels.
    3. Divide each number by its standard deviation and each indicator by the square root of its proportion, and compute
       the leading eigenpairs of the covariance.
    4. Transform by centering, dividing and projecting.

    See Also
    --------
    MultipleCorrespondenceAnalysis : categories only.
    PCA : numbers only.
    TablePreparer : categories as numbers for any method.

    Notes
    -----
    A file may be larger than memory.

    With numbers only it is PCA of standardized columns (divisor n). With categories only, the eigenvalues are Q times
    those of ``MultipleCorrespondenceAnalysis`` with Q columns.

    Text, categories and booleans are categories, everything else is numbers. A column of numbers that are codes becomes
    one of categories by ``categorical_features``.

    References
    ----------
    Kiers, H. A. L. (1991). Simple structure in component analysis techniques for mixtures of qualitative and
    quantitative variables. Psychometrika. doi:10.1007/BF02294458

    Pagès, J. (2014). Multiple factor analysis by example using R. Chapman and Hall/CRC. doi:10.1201/b17700

    Examples
    --------
    >>> from lowland import FactorAnalysisOfMixedData
    >>> rows = [[1.0, "a"], [2.5, "a"], [3.0, "b"], [7.0, "c"], [6.5, "c"]]
    >>> famd = FactorAnalysisOfMixedData(2).fit(rows)
    >>> famd.squared_correlations_.round(2).tolist()
    [[0.99, 0.0], [0.99, 1.0]]
    """

    n_components: int | None = positional(
        2, "Number of axes: at most the numbers and levels less the columns of categories. None means all.",
        at_least=1)  # fmt: skip
    categorical_features: str | Sequence[Any] | None = param(
        None,
        "Columns of numbers to treat as categories: their names or positions. A string contains names separated "
        "by commas.",
    )
    missing: Literal["error", "category"] = param(
        "error", "Missing categories are an error, or become a level of their column. Missing numbers are an error."
    )
    handle_unknown: Literal["error", "ignore"] = param(
        "error",
        "Categories of new rows that do not occur in the training data are an error, or are placed at the mean.",
    )

    eigenvalues_: np.ndarray = attribute("Inertia along each axis, descending.", "(n_components_,)")
    explained_variance_ratio_: np.ndarray = attribute("Fraction of the total inertia on each axis.", "(n_components_,)")
    total_inertia_: float = attribute("Total inertia: the numbers, and the levels less the columns of categories.")
    numeric_columns_: np.ndarray = attribute("Positions of the columns of numbers.", "(n_numeric,)")
    correlations_: np.ndarray = attribute(
        "Correlation of each column of numbers with each axis.", "(n_numeric, n_components_)"
    )
    category_points_: MapPoints = attribute(
        "The levels: names, masses (proportions), coordinates (means of their rows), inertias, contributions, cos2 and "
        "v_tests."
    )
    squared_correlations_: np.ndarray = attribute(
        "Squared correlation of each column of numbers with each axis, and η² of each column of categories.",
        "(n_features_in_, n_components_)",
    )
    column_contributions_: np.ndarray = attribute(
        "Contribution of each column to each axis. They sum to 1.", "(n_features_in_, n_components_)"
    )
    mean_: np.ndarray = attribute("Mean of each number, then proportion of each level.", "(n_numeric + n_levels,)")
    scale_: np.ndarray = attribute(
        "Standard deviation (divisor n) of each number, then square root of each proportion.", "(n_numeric + n_levels,)"
    )
    components_: np.ndarray = attribute(
        "Axes over the numbers and the levels.", "(n_components_, n_numeric + n_levels)"
    )

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        categorical = self._categorical(rows)
        numbers = tuple(j for j in range(rows.d) if j not in categorical)
        coding = self._learned_coding(rows, run, categorical, missing_level=self.missing == "category")
        expanded = Expanded(numbers, coding, (), refuse_missing=True)
        if self.missing == "category":
            rows.missing_as_level, rows.missing_remedy = categorical, "Impute missing numbers first."
        moments: Moments = run.fold(rows, expanded.moments, name="summing moments")
        n = moments.n
        used = moments.mean[len(numbers) :] > 0.5 / n  # a level occurs at least once
        names = self._keep_levels(coding, used, rows, int(n))
        kept = np.concatenate([np.ones(len(numbers), dtype=bool), used])
        self.mean_ = moments.mean[kept]
        variances = (moments.variances if n > 1 else np.zeros(len(kept)))[kept] * (n - 1) / n  # zero if only rounding
        covariance = moments.scatter[np.ix_(kept, kept)] / n
        p = self.mean_[len(numbers) :]
        deviations = np.sqrt(variances[: len(numbers)])
        self.scale_ = np.concatenate([np.where(deviations > 0, deviations, 1.0), np.sqrt(p)])
        A = covariance / np.outer(self.scale_, self.scale_)
        A[: len(numbers)][deviations == 0] = 0.0
        A[:, : len(numbers)][:, deviations == 0] = 0.0
        self.numeric_columns_, self.n_samples_ = np.asarray(numbers, dtype=np.intp), moments.rows
        k = self._check_count(min(len(A) - len(categorical), max(moments.rows - 1, 0)), len(A))
        pairs = leading_eigenpairs(A, k, run=run)
        self._record_convergence(pairs.outcome(f"the matrix has {len(A)} rows"))
        self._keep(A, pairs.values[:k], pairs.vectors[:, :k], names)

    def _categorical(self, rows: Rows) -> tuple[int, ...]:
        """The positions of the columns of categories: text, and those that were named."""
        given = self.categorical_features
        named = [word.strip() for word in given.split(",")] if isinstance(given, str) else list(given or ())
        places = [j for j in named if not isinstance(j, str)]
        if any(not isinstance(j, int | np.integer) or not 0 <= j < rows.d for j in places):
            remedy = f"Pass names or positions from 0 to {rows.d - 1}."
            raise refusal(self, f"the table has {rows.d} columns.", remedy, "categorical_features")
        words = [name for name in named if isinstance(name, str)]
        if words:
            places += selected(rows.names or (), words, (), rows.source)
        texts = [j for j, levels in enumerate(levels_of(rows)) if levels is not None]
        return tuple(sorted({*map(int, places), *texts}))

    def _keep(self, A: np.ndarray, values: np.ndarray, V: np.ndarray, names: np.ndarray) -> None:
        """Set the inertias, and what columns and levels have to do with the axes."""
        total = float(np.trace(A))
        self.eigenvalues_ = np.where(values > _ROUNDING * total, values, 0.0)
        self.total_inertia_, self.n_components_ = total, len(values)
        self.explained_variance_ratio_ = self.eigenvalues_ / (total if total > 0 else 1.0)
        self.components_ = V.T
        m = len(self.numeric_columns_)
        loadings = V * np.sqrt(self.eigenvalues_)  # (K, k)
        self.correlations_ = loadings[:m]
        self.category_points_ = self._levels(A, V, names)
        squares = np.zeros((self.n_features_in_, len(values)))
        squares[self.numeric_columns_] = self.correlations_**2
        coding = self._coding()
        for j, start, size in zip(coding.columns, coding.starts, coding.sizes, strict=True):
            squares[j] = (loadings[m + start : m + start + size] ** 2).sum(axis=0)
        self.squared_correlations_ = squares
        self.column_contributions_ = squares / np.where(self.eigenvalues_ > 0, self.eigenvalues_, 1.0)

    def _levels(self, A: np.ndarray, V: np.ndarray, names: np.ndarray) -> MapPoints:
        """The points of the levels: the means of the rows that have them."""
        m = len(self.numeric_columns_)
        p, own = self.mean_[m:], V[m:]
        centroids = own * self.eigenvalues_ / np.sqrt(p)[:, None]
        standard = centroids / np.sqrt(np.where(self.eigenvalues_ > 0, self.eigenvalues_, 1.0))
        distances = (A[:, m:] ** 2).sum(axis=0) / p
        cos2 = centroids**2 / np.where(distances > 0, distances, 1.0)[:, None]
        tests = v_tests(standard, p * self.n_samples_, self.n_samples_)
        return MapPoints(names, p, centroids, standard, A.diagonal()[m:].copy(), own**2, cos2, tests)

    def _encoding(self) -> MixedPoints:
        expanded = Expanded(
            tuple(self.numeric_columns_.tolist()),
            self._coding(),
            self._column_names(),
            refuse_missing=self._refuses_missing(),
            remedy=_UNKNOWN if self._params.handle_unknown == "error" else None,
        )
        return MixedPoints(expanded, self.mean_, self.components_.T / self.scale_[:, None])

    def row_points(self, X: Any) -> MapPoints:
        """Return the rows of X on the map: coordinates, inertias, contributions and squared cosines.

        A row has the mass 1/n, with n training rows, so that contributions of the training rows sum to 1.
        """
        rows, run = self._rows_to_map(X)
        encoding = self._encoding()
        F = to_numpy(run.gather(encoding, rows, self.n_components_, name="transforming rows"))
        squares = np.concatenate([encoding.squared_norms(chunk, self.scale_) for chunk in rows.chunks()])
        return map_points(None, np.full(len(F), 1.0 / self.n_samples_), F, self.eigenvalues_, squares)

    def _facts(self) -> dict[str, Any]:
        found = {"numbers": len(self.numeric_columns_), "levels": len(self.category_points_)}
        return {"explained variance ratio of": "the inertia", **found}
