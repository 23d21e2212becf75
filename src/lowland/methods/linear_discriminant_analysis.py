"""Fisher's linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, result_dtype, rounding_of
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, UnsupportedError, warn
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.discriminants import (
    DiscriminantAxes,
    WithinAxes,
    class_scores,
    directions_of_means,
    directions_of_ratio,
    why_singular,
    within_axes,
    within_axes_of_rows,
)
from lowland.math.statistics.available_cases import AvailableColumns, FilledThen, available_class_moments
from lowland.math.statistics.class_covariances import (
    ClassCovariances,
    CovarianceEstimator,
    covariances,
    estimated_covariances,
    fourth_powers,
)
from lowland.math.statistics.class_moments import ClassMoments, MomentsByClass, class_means
from lowland.math.statistics.labels import check_class_counts, classes_of, merged_classes, normalized_priors
from lowland.methods.base.as_fitted import view_as_fitted
from lowland.methods.base.classifier import LinearClassifier
from lowland.methods.base.estimator import attribute, param
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import in_library_of
from lowland.methods.base.parameters import check_parameters
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for

_NO_MEANS = 1e-20  # ratio of between-class to within-class variance below which it is only rounding error
_PROJECTS = "with solver='svd' or 'eigen'"


class LinearDiscriminantAnalysis(
    LinearClassifier,
    verb="lda",
    streams=True,
    reads_y=True,
    needs_y=True,
    tolerance=1e-9,
    missing_remedy="Set missing='available' to use the observed values of each column.",
    study=StudyHints(
        max_components=lambda d, n_classes: min(d, n_classes - 1),
        to_classify={"solver": "eigen", "shrinkage": "auto"},
    ),
):
    """Linear discriminant analysis: projection that maximizes between-class over within-class variance; classifier.

    Problem: maximize a' S_B a / a' S_W a, the between-class variance over the within-class variance. The solution is
    the generalized eigenvalue problem S_B a = λ S_W a; for two classes, a ∝ S_W⁻¹(μ₁ - μ₂). With C classes, at most
    C - 1 eigenvalues are positive.

    1. Sum the counts, the means and the within-class scatter in one pass (``math.statistics.class_moments``).
    2. Whiten the within-class covariance: A' S_W A = I on its range (``math.spectra.discriminants``).
    3. Compute the principal axes of the class means in these coordinates. Mapped back, they are the discriminants.
    4. Predict the class that minimizes (x - μ_c)' S_W⁻¹ (x - μ_c) - 2 log π_c, where π_c is its prior.

    Notes
    -----
    Cost: one pass over the rows and n d² + 9 d³ operations; n² d with fewer rows than columns in memory. Memory:
    d² + C d numbers.

    The classes are assumed to be normal with a common covariance. With few rows per column, use ``shrinkage``, and
    evaluate by cross-validation: the discriminants overfit. Prefer ``PCA`` without labels, and a kernel method or a
    random forest where the boundaries between classes are curved.

    References
    ----------
    Fisher, R. A. (1936). The use of multiple measurements in taxonomic problems. Annals of Eugenics.
    doi:10.1111/j.1469-1809.1936.tb02137.x

    Rao, C. R. (1948). The utilization of multiple measurements in problems of biological classification. Journal of
    the Royal Statistical Society B. doi:10.1111/j.2517-6161.1948.tb00008.x

    Ledoit, O., and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices. Journal of
    Multivariate Analysis. doi:10.1016/S0047-259X(03)00096-4

    Examples
    --------
    >>> from lowland import LinearDiscriminantAnalysis
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> lda = LinearDiscriminantAnalysis().fit(iris.X, iris.y)
    >>> lda.explained_variance_ratio_.round(4).tolist(), round(lda.score(iris.X, iris.y), 2)
    ([0.9912, 0.0088], 0.98)
    """

    solver: Literal["svd", "lsqr", "eigen"] = param(
        "svd", "'svd' has no shrinkage, 'eigen' supports it, 'lsqr' supports it and only classifies.", positional=True
    )
    shrinkage: float | Literal["auto"] | None = param(
        None,
        "Shrinkage of the within-class covariance toward a multiple of the identity, from 0 to 1; 'auto': Ledoit-Wolf.",
        at_least=0,
        at_most=1,
        positional=True,
    )
    priors: Sequence[float] | np.ndarray | None = param(
        None,
        "Prior probability of each class, in the sorted order of the classes; None means the class frequencies. A "
        "class with prior 0 is never predicted.",
        positional=True,
        wanted="one number per class, or None",
    )
    n_components: int | None = param(
        None,
        "Number of discriminants, at most the number of classes minus 1; None for all.",
        at_least=1,
        positional=True,
    )
    store_covariance: bool = param(
        False, "Also compute the within-class covariance with the solver 'svd'.", positional=True
    )
    tol: float = param(
        1e-4,
        "Within-class standard deviation, of standardized columns, below which a direction counts as constant (svd).",
        at_least=0,
        positional=True,
    )
    covariance_estimator: CovarianceEstimator | None = param(
        None,
        "Instead of shrinkage, an object with fit and covariance_, such as OAS() of scikit-learn. It needs all rows "
        "of a class in memory.",
        positional=True,
        wanted="an estimator with fit and covariance_, or None",
    )
    missing: Literal["available"] | None = param(
        None,
        "How NaN is handled. 'available': means and covariances of the observed values, pair by pair of columns, and "
        "the mean for a missing value of a new row; None: NaN is an error.",
    )

    scalings_: Array = attribute(
        "Discriminant directions as columns.", "(n_features_in_, n_directions)", when=_PROJECTS
    )
    patterns_: Array = attribute(
        "Within-class covariance of each column with each discriminant, S_W a.",
        "(n_components, n_features_in_)",
        when=_PROJECTS,
    )
    explained_variance_ratio_: Array = attribute(
        "Fraction of the between-class variance explained by each discriminant.", "(n_components,)", when=_PROJECTS
    )
    singular_values_: Array = attribute(
        "Between-class over within-class standard deviation of each discriminant, as svd of MASS::lda in R.",
        "(n_components,)",
        when=_PROJECTS,
    )
    rank_: int = attribute("Rank of the within-class covariance.")
    counts_: Array = attribute("Number of training rows per class.", "(n_classes,)")
    covariance_: Array = attribute(
        "Within-class covariance, divisor n.",
        "(n_features_in_, n_features_in_)",
        when="with solver='eigen' or 'lsqr', or store_covariance=True",
    )
    shrinkage_: Array = attribute(
        "Shrinkage used for each class and, last, for all rows.",
        "(n_classes + 1,)",
        when="with solver='eigen' or 'lsqr'",
    )

    # --- fit ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows and class labels: one label per row, or the name of a column of the frame or file."""
        return self._fit(X, y)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Sum the moments of the classes, whiten the within-class covariance, compute the discriminants."""
        assert y is not None
        self._check_choices()
        self.classes_, codes = classes_of(y)
        self._dtype = rows.dtype
        C, d = len(self.classes_), rows.d
        if self.missing is not None:
            found = run.fold(rows, AvailableColumns.of, name="counting missing values")
            if not found.complete:
                found.refuse_lost_squares()
                self._solve_available(rows, run, codes, found)
                return
        if self.solver == "svd" and not self.store_covariance and rows.in_memory and len(y) < d:
            self._solve_wide(run.to_array(rows, "A table with more columns than rows"), codes)
            return
        scatters = 4 + C * self._apart
        run.require(
            scatters * 8 * d**2, f"The {d} x {d} within-class scatter matrix", "Reduce the columns first with PCA"
        )
        moments = self._moments = run.fold(rows, MomentsByClass(C, self._apart), codes, name="summing classes")
        self._count(moments.n, moments.mean)
        if self.covariance_estimator is not None:
            X = to_numpy(run.to_array(rows, "A covariance estimator"))
            S = estimated_covariances(self.covariance_estimator, X, codes, to_numpy(self.priors_))
            self._solve_ratio(
                moments, replace(S, within=like(S.within, moments.mean), total=like(S.total, moments.mean))
            )
        elif self.shrinkage == "auto":
            fourth = run.fold(rows, fourth_powers(moments), codes, name="estimating shrinkage").value
            self._solve_ratio(moments, covariances(moments, to_numpy(self.priors_), fourth=fourth))
        else:
            self._solve_by_moments(moments)

    def _solve_available(self, rows: Rows, run: Run, codes: np.ndarray, found: AvailableColumns) -> None:
        """Solve from the means and pairwise covariances of the observed values."""
        if self._apart or self.covariance_estimator is not None:
            raise UnsupportedError(
                "LinearDiscriminantAnalysis(missing='available'): shrinkage='auto', priors with a covariance per "
                "class, and a covariance_estimator need complete rows. Impute the missing values, or leave these out."
            )
        run.require(6 * 8 * rows.d**2, f"The {rows.d} x {rows.d} within-class scatter matrix", "Use fewer columns")
        moments, least = available_class_moments(rows, run, codes, self.classes_, found.mean)
        self._count(moments.n, moments.mean)
        negative = " They are not a covariance matrix: negative eigenvalues were set to zero." if least < 0 else ""
        warn(
            f"LinearDiscriminantAnalysis: {found.missing_fraction:.1%} of the values are missing. Means and "
            "covariances are those of the available cases, which is unbiased only if values are missing "
            "completely at random (MCAR)."
            f"{negative}",
            DataWarning,
        )
        self._solve_by_moments(moments)

    @property
    def _handles_missing(self) -> bool:
        return (view_as_fitted(self) if vars(self).get("_solved") else self).missing is not None

    def _admit_missing(self, rows: Rows) -> None:
        super()._admit_missing(rows)
        rows.allow_nan = rows.allow_nan and not rows.is_sparse

    def _scored(self, f: Any, X: Any, width: int) -> Array:
        return super()._scored(FilledThen(to_numpy(self.xbar_), f) if self._handles_missing else f, X, width)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Add labeled rows to those seen before.

        ``classes`` lists all classes of this and later calls. Without it, later calls may bring new classes.
        """
        check_parameters(self)
        self._check_choices()
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise ParameterError(
                "LinearDiscriminantAnalysis: partial_fit does not support shrinkage='auto' or a covariance_estimator, "
                "which read the rows twice. Set shrinkage to a number, or call fit with a file or a list of chunks."
            )
        before = vars(self).get("_moments")
        if before is None and vars(self).get("_solved"):
            raise DataError(
                "partial_fit cannot continue from this fit: with fewer rows than columns, fit does not keep the "
                "scatter matrix. Call partial_fit on a new model with all rows."
            )
        y, _ = self._roles(X, y, None)
        rows, labels = self._open(X, y)
        self._check_rows(rows, reset=before is None, least=1)
        known = vars(self).get("classes_")
        found, codes = merged_classes(known, labels, classes)
        of = MomentsByClass(len(found), self._apart if before is None else before.apart)
        moments = run_for(rows).fold(rows, of, codes, name="summing classes")
        if before is not None and known is not None:
            before = before.with_classes(np.searchsorted(found, known), len(found))
            moments = before + in_library_of(moments, before)
        self._merge(moments, rows, y)
        self.classes_ = found
        return self

    def _solve_moments(self, moments: ClassMoments, run: Run) -> None:  # type: ignore[override]
        """Compute the discriminants from merged moments."""
        self._count(moments.n, moments.mean)
        if (self._apart and not moments.apart) or self.shrinkage == "auto":
            raise ParameterError(
                "LinearDiscriminantAnalysis: solver, shrinkage or priors changed after partial_fit. The new values "
                "need a scatter matrix per class, which was not kept. Set them back, or call fit with all rows."
            )
        self._solve_by_moments(moments)

    def _solve_by_moments(self, moments: ClassMoments) -> None:
        """Solve from the moments alone: without shrinkage, or with a given one."""
        if self.solver != "svd":
            self._solve_ratio(moments, covariances(moments, to_numpy(self.priors_), float(self.shrinkage or 0.0)))
            return
        if self.store_covariance:
            self.covariance_ = covariances(moments, to_numpy(self.priors_)).within
        S = moments.pooled / moments.count
        self._solve_means(moments.mean, within_axes(S, moments.mean, moments.rounding, self._least))

    def _solve_wide(self, X: Array, codes: np.ndarray) -> None:
        """Solve with fewer rows than columns: by the (n, n) products of the rows."""
        n = np.bincount(codes).astype(np.float64)
        means = class_means(X, codes, n)
        self._count(n, means)
        self._solve_means(means, within_axes_of_rows(X, codes, means, self._least))

    def _solve_means(self, means: Array, axes: WithinAxes) -> None:
        """The svd solver: principal axes of the class means after whitening the within-class covariance."""
        found = directions_of_means(means, self.priors_, axes, self.tol)
        self._keep(means, axes, found)
        self._set_scores(*class_scores(means, self.priors_, found.directions, self.xbar_))

    def _solve_ratio(self, moments: ClassMoments, S: ClassCovariances) -> None:
        """The eigen solver, S_B a = λ S_W a; lsqr stops at the coefficients S_W⁻¹μ."""
        axes = within_axes(S.within, moments.mean, moments.rounding, rounding_of(self._dtype))
        self.covariance_, self.shrinkage_ = S.within, like(S.shrinkage, S.within)
        self._keep(moments.mean, axes, None if self.solver == "lsqr" else directions_of_ratio(S.total, axes))
        self._set_scores(*class_scores(moments.mean, self.priors_, axes.A))

    def _count(self, n: np.ndarray, means: Array) -> None:
        """Check the class counts and set the priors."""
        check_class_counts(self.classes_, n)
        self._most_components(means.shape[1])
        self.counts_, self.n_samples_ = like(n, means), int(n.sum())
        priors = n / n.sum() if self.priors is None else normalized_priors(self.priors, len(n))
        self.priors_ = like(priors, means)

    def _keep(self, means: Array, axes: WithinAxes, found: DiscriminantAxes | None) -> None:
        """Set the fitted attributes of the directions, in the precision of the data."""
        xp = xp_of(means)
        kind = result_dtype(xp, self._dtype)
        self.means_, self.xbar_, self.rank_ = means, self.priors_ @ means, axes.rank
        n, (C, d) = self.n_samples_, means.shape
        names, rounding = vars(self).get("feature_names_in_"), rounding_of(self._dtype)
        if (singular := why_singular(axes, means, self.xbar_, n, rounding, names)) is not None:
            shrink = " To use all directions, set solver='eigen' and shrinkage='auto'."
            shrink = "" if self.shrinkage or n - C >= d else shrink
            warn(f"{singular} Directions of zero within-class variance are dropped.{shrink}", DataWarning)
        how = {"svd": "means in whitened columns", "eigen": "ratio of variances"}.get(self.solver, "coefficients only")
        self._record_convergence(Outcome(self.solver, how))
        if found is None:
            return
        k = min(self._most_components(d), found.directions.shape[1])
        if not found.total > _NO_MEANS:
            warn("All classes have the same mean, so no direction separates them. Check the labels.")
        ratios = xp.where(found.ratios > 0, found.ratios, xp.zeros_like(found.ratios))[:k]
        self.scalings_ = xp.astype(found.directions, kind)
        self.patterns_ = xp.astype(found.patterns[:, :k].T, kind)
        self.explained_variance_ratio_ = xp.astype(ratios / found.total if found.total > 0 else ratios, kind)
        self.singular_values_ = xp.astype(xp.sqrt(ratios * ((n - C) / (C - 1))), kind)

    # --- choices ---

    @property
    def _apart(self) -> bool:
        """Whether each class needs its own scatter matrix: priors are given, or each class is shrunk separately."""
        return self.shrinkage == "auto" or (self.priors is not None and (self.solver != "svd" or self.store_covariance))

    @property
    def _least(self) -> float:
        """The variance of standardized columns below which a direction is constant for the svd solver."""
        return max(self.tol**2, rounding_of(self._dtype))

    def _check_choices(self) -> None:
        if self.solver == "svd" and (self.shrinkage is not None or self.covariance_estimator is not None):
            raise UnsupportedError(
                "LinearDiscriminantAnalysis(solver='svd') does not support shrinkage or a covariance_estimator. "
                "Choose solver='eigen' or 'lsqr'."
            )
        if self.shrinkage and self.covariance_estimator is not None:
            raise ParameterError(
                "LinearDiscriminantAnalysis: shrinkage and covariance_estimator are both set. Only one of the two can "
                "be set. Leave the other None."
            )

    def _most_components(self, d: int) -> int:
        most = min(len(self.classes_) - 1, d)
        if self.n_components is not None and self.n_components > most:
            raise ParameterError(
                f"LinearDiscriminantAnalysis(n_components={self.n_components}): n_components cannot be larger than "
                f"min(n_features, n_classes - 1) = min({d}, {len(self.classes_) - 1}). Choose at most {most}."
            )
        return most if self.n_components is None else self.n_components

    # --- coordinates ---

    def _encoding_width(self) -> int:
        self._solve_pending()
        return int(self.patterns_.shape[0]) if self.solver != "lsqr" else self._most_components(self.n_features_in_)

    def _encoding(self) -> Any:
        return FilledThen(to_numpy(self.xbar_), self._projection()) if self.missing is not None else self._projection()

    def _projection(self) -> Affine:
        if self.solver == "lsqr":
            raise UnsupportedError(
                "LinearDiscriminantAnalysis: transform not implemented for 'lsqr' solver, which only classifies. "
                "Choose solver='svd' or 'eigen'."
            )
        return Affine(self.scalings_[:, : self.patterns_.shape[0]], self.xbar_ if self.solver == "svd" else None)

    def _decoding(self) -> Affine:
        if self.solver == "svd":
            return Affine(self.patterns_, None, self.xbar_)
        A, B = as_double(self._projection().A), as_double(self.patterns_)
        return Affine(self.patterns_, None, as_double(self.xbar_) - (as_double(self.xbar_) @ A) @ B)

    def _facts(self) -> dict[str, Any]:
        self._solve_pending()
        counts = zip(to_numpy(self.classes_).tolist(), to_numpy(self.counts_).tolist(), strict=True)
        return {
            "explained variance ratio of": "the variance between classes",
            "rows per class": {str(label): int(n) for label, n in counts},
            "rank within classes": self.rank_,
            "standard deviation between / within classes": vars(self).get("singular_values_"),
        }
