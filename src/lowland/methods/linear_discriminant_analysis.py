"""Fisher's linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, as_double, like, result_dtype, rounding_of, to_numpy, xp_of
from lowland.arrays.records import record
from lowland.data.open import read_column
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, UnsupportedError, warn
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.discriminants import (
    DiscriminantAxes,
    WithinAxes,
    class_scores,
    directions_of_means,
    directions_of_ratio,
    log_priors,
    why_singular,
    within_axes,
    within_axes_of_rows,
)
from lowland.math.spectra.operators import Affine
from lowland.math.statistics.available_cases import AvailableColumns, FilledThen, available_class_moments
from lowland.math.statistics.class_moments import (
    ClassCovariances,
    ClassMoments,
    CovarianceEstimator,
    MomentsByClass,
    class_means,
    covariances,
    estimated_covariances,
    fourth_powers,
)
from lowland.math.statistics.labels import (
    ClassLabels,
    ClassProbabilities,
    MostProbableClass,
    check_class_counts,
    classes_of,
    merged_classes,
    normalized_priors,
)
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, positional
from lowland.methods.base.method import attribute, param
from lowland.methods.base.moments import MomentsMethod, in_library_of
from lowland.methods.base.params import check_parameters
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for

_NO_MEANS = 1e-20  # ratio of between-class to within-class variance below which it is only rounding error
_INFINITE = 1e37  # stands for an infinite score, of a class with prior 0; float32 holds it
_PROJECTS = "with solver='svd' or 'eigen'"


@record
@dataclass(frozen=True)
class FittedScores:
    """The scores that a fit has found, relative to the mean: far from the origin, coef_ and intercept_ lose digits."""

    coef: Array  # copies of coef_ and intercept_: the scores are used as long as both keep their values
    intercept: Array
    A: Array  # (d, C) float64, without the part common to all classes; (d, 1) with two classes
    center: Array  # (d,) float64
    offset: Array  # (C,) float64, or (1,)


class LinearDiscriminantAnalysis(
    ClassifierMixin,
    MomentsMethod,
    verb="lda",
    title="LDA",
    group="Labels",
    cost=costs.discriminants,
    axis="LD",
    scale_free=True,
    linear=True,
    streams=True,
    all_rows=(lambda p: p.covariance_estimator is not None, "with `covariance_estimator`"),
    reads_y=True,
    needs_y=True,
    tolerance=1e-9,
    missing_parameter="missing",
    missing_remedy="Set `missing='available'` to use the observed values of each column.",
    study=StudyHints(
        max_components=lambda d, n_classes: min(d, n_classes - 1),
        to_classify={"solver": "eigen", "shrinkage": "auto"},
    ),
):
    """Linear discriminant analysis: projection and classifier that maximize between-class over within-class variance.

    Problem: maximize a' S_B a / a' S_W a, the between-class variance over the within-class variance. The solution is
    the generalized eigenvalue problem S_B a = λ S_W a. For two classes, a ∝ S_W⁻¹(μ₁ - μ₂). With C classes, at most C -
    1 eigenvalues are positive.

    1. Sum the counts, the means and the within-class scatter in one pass.
    2. Whiten the within-class covariance: A' S_W A = I on its range.
    3. Compute the principal axes of the class means in these coordinates. Mapped back, they are the discriminants.
    4. Predict the class that minimizes (x - μ_c)' S_W⁻¹ (x - μ_c) - 2 log π_c, where π_c is its prior.

    See Also
    --------
    PCA : largest variance, without labels.
    FeatureFilter : columns that separate classes, one at a time.

    Notes
    -----
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

    solver: Literal["svd", "lsqr", "eigen"] = positional(
        "svd", "'svd' has no shrinkage, 'eigen' supports it, 'lsqr' supports it and only classifies."
    )
    shrinkage: float | Literal["auto"] | None = positional(
        None,
        "Shrinkage of the within-class covariance toward a multiple of the identity, from 0 (none) to 1. It "
        "helps with few rows per column. 'auto' is the estimate of Ledoit and Wolf.",
        at_least=0,
        at_most=1,
    )
    priors: Sequence[float] | np.ndarray | None = positional(
        None,
        "Prior probability of each class, in the sorted order of the classes. None means the class frequencies. A "
        "class with prior 0 is never predicted.",
        wanted="one number per class, or None",
    )
    n_components: int | None = positional(
        None, "Number of discriminants, at most the number of classes minus 1. None means all.", at_least=1
    )
    store_covariance: bool = positional(False, "Also compute the within-class covariance with the solver 'svd'.")
    tol: float = positional(
        1e-4,
        "Within-class standard deviation, of standardized columns, below which a direction counts as constant (svd).",
        at_least=0,
    )
    covariance_estimator: CovarianceEstimator | None = positional(
        None,
        "Instead of shrinkage, an object with fit and covariance_, such as OAS() of scikit-learn. It needs all rows "
        "of a class in memory.",
        wanted="an estimator with fit and covariance_, or None",
    )
    missing: Literal["available"] | None = param(
        None,
        "How NaN is handled. With 'available', means and covariances come from the observed values, pair by pair "
        "of columns, and a missing value of a new row is replaced by the mean. None means that NaN is an error.",
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
    classes_: np.ndarray = attribute("Class labels, sorted.", "(n_classes,)")
    coef_: Array = attribute(
        "Coefficients of the linear scores. With two classes, one row: the second class less the first.",
        "(n_classes, n_features_in_)",
    )
    intercept_: Array = attribute("Intercepts of the linear scores.", "(n_classes,)")
    means_: Array = attribute("Mean of each class.", "(n_classes, n_features_in_)")
    xbar_: Array = attribute("Mean of the class means, weighted by priors_.", "(n_features_in_,)")
    priors_: Array = attribute("Prior probability of each class.", "(n_classes,)")

    # --- fit ---

    def fit(self, X: Any, y: Any = None) -> Self:  # type: ignore[override]
        """Fit to the rows of X, with one label per row, or y the name of a column of X."""
        return self._fit(X, y)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        assert y is not None
        self._check_choices()
        self.classes_, codes = classes_of(y)
        self._fitted.dtype = rows.dtype
        C, d = len(self.classes_), rows.d
        if self.missing is not None:
            found = run.fold(rows, AvailableColumns.of, name="counting missing values")
            if not found.complete:
                found.refuse_lost_squares()
                self._solve_available(rows, run, codes, found)
                return
        if self.solver == "svd" and not self.store_covariance and rows.in_memory and len(y) < d:
            X = run.to_array(rows, "A table with more columns than rows")  # solved by its (n, n) products
            n = np.bincount(codes).astype(np.float64)
            means = class_means(X, codes, n)
            self._count(n, means)
            self._solve_means(means, within_axes_of_rows(X, codes, means, self._least))
            return
        moments = self._fitted.moments = run.fold(rows, MomentsByClass(C, self._apart), codes, name="summing classes")
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
                "`shrinkage='auto'`, priors with a covariance per class, and a `covariance_estimator` need complete "
                "rows.",
                "Impute the missing values, or leave these out.",
                method="LinearDiscriminantAnalysis",
                missing="available",
            )
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

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Add labeled rows to those seen before.

        ``classes`` lists all classes of this and later calls. Without it, later calls may bring new classes.
        """
        check_parameters(self)
        self._check_choices()
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise ParameterError(
                "LinearDiscriminantAnalysis: partial_fit does not support `shrinkage='auto'` or a "
                "`covariance_estimator`, which read the rows twice. Set `shrinkage` to a number, or call fit with a "
                "file or a list of chunks."
            )
        before = self._moments_so_far()
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

    def _moments_of_fit(self) -> ClassMoments:
        raise DataError(
            "partial_fit cannot continue from this fit: with fewer rows than columns, fit does not keep the scatter "
            "matrix. Call partial_fit on a new model with all rows."
        )

    def _solve_moments(self, moments: ClassMoments, run: Run) -> None:
        self._count(moments.n, moments.mean)
        if (self._apart and not moments.apart) or self._params.shrinkage == "auto":
            raise ParameterError(
                "LinearDiscriminantAnalysis: solver, shrinkage or priors changed after partial_fit. The new values "
                "need a scatter matrix per class, which was not kept. Set them back, or call fit with all rows."
            )
        self._solve_by_moments(moments)

    def _solve_by_moments(self, moments: ClassMoments) -> None:
        """Solve from the moments alone: without shrinkage, or with a given one."""
        if self._params.solver != "svd":
            shrinkage = float(self._params.shrinkage or 0.0)
            self._solve_ratio(moments, covariances(moments, to_numpy(self.priors_), shrinkage))
            return
        if self._params.store_covariance:
            self.covariance_ = covariances(moments, to_numpy(self.priors_)).within
        S = moments.pooled / moments.count
        self._solve_means(moments.mean, within_axes(S, moments.mean, moments.rounding, self._least))

    def _solve_means(self, means: Array, axes: WithinAxes) -> None:
        """The svd solver: principal axes of the class means after whitening the within-class covariance."""
        found = directions_of_means(means, self.priors_, axes, self._params.tol)
        self._keep(means, axes, found)
        self._set_scores(*class_scores(means, self.priors_, found.directions, self.xbar_))

    def _solve_ratio(self, moments: ClassMoments, S: ClassCovariances) -> None:
        """The eigen solver, S_B a = λ S_W a; lsqr stops at the coefficients S_W⁻¹μ."""
        axes = within_axes(S.within, moments.mean, moments.rounding, rounding_of(self._fitted.dtype))
        self.covariance_, self.shrinkage_ = S.within, like(S.shrinkage, S.within)
        self._keep(moments.mean, axes, None if self._params.solver == "lsqr" else directions_of_ratio(S.total, axes))
        self._set_scores(*class_scores(moments.mean, self.priors_, axes.A))

    def _count(self, n: np.ndarray, means: Array) -> None:
        check_class_counts(self.classes_, n)
        self._most_components(means.shape[1])
        self.counts_, self.n_samples_ = like(n, means), int(n.sum())
        priors = n / n.sum() if self._params.priors is None else normalized_priors(self._params.priors, len(n))
        self.priors_ = like(priors, means)

    def _keep(self, means: Array, axes: WithinAxes, found: DiscriminantAxes | None) -> None:
        xp = xp_of(means)
        kind = result_dtype(xp, self._fitted.dtype)
        self.means_, self.xbar_, self.rank_ = means, self.priors_ @ means, axes.rank
        n, (C, d) = self.n_samples_, means.shape
        names, rounding = vars(self).get("feature_names_in_"), rounding_of(self._fitted.dtype)
        if (singular := why_singular(axes, means, self.xbar_, n, rounding, names)) is not None:
            shrink = " To use all directions, set solver='eigen' and shrinkage='auto'."
            shrink = "" if self._params.shrinkage or n - C >= d else shrink
            warn(f"{singular} Directions of zero within-class variance are dropped.{shrink}", DataWarning)
        how = {"svd": "means in whitened columns", "eigen": "ratio of variances"}.get(
            self._params.solver, "coefficients only"
        )
        self._record_convergence(Outcome(self._params.solver, how))
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
        return self._params.shrinkage == "auto" or (
            self._params.priors is not None and (self._params.solver != "svd" or self._params.store_covariance)
        )

    @property
    def _least(self) -> float:
        """The variance of standardized columns below which a direction is constant for the svd solver."""
        return max(self._params.tol**2, rounding_of(self._fitted.dtype))

    def _check_choices(self) -> None:
        if self.solver == "svd" and (self.shrinkage is not None or self.covariance_estimator is not None):
            given = "`shrinkage`" if self.shrinkage is not None else "a covariance estimator"
            raise UnsupportedError(
                f"`LinearDiscriminantAnalysis(solver='svd')`: {given} is not supported with svd. Choose "
                "`solver='eigen'` or 'lsqr'."
            )
        if self.shrinkage and self.covariance_estimator is not None:
            raise ParameterError(
                "`covariance_estimator` and shrinkage parameters are not None. Only one of the two can be set. Leave "
                "the other `None`."
            )

    def _most_components(self, d: int) -> int:
        most = min(len(self.classes_) - 1, d)
        limit = (
            f"n_components cannot be larger than min(n_features, n_classes - 1) = min({d}, {len(self.classes_) - 1})"
        )
        check_most(
            self, "n_components", most, f"the data has {d} columns and {len(self.classes_)} classes (`{limit}`)."
        )
        return most if self._params.n_components is None else self._params.n_components

    # --- coordinates ---

    def _encoding_width(self) -> int:
        self._solve_pending()
        if self._params.solver == "lsqr":
            return self._most_components(self.n_features_in_)
        return int(self.patterns_.shape[0])

    def _encoding(self) -> Any:
        found = self._projection()
        return found if self._params.missing is None else FilledThen(to_numpy(self.xbar_), found)

    def _projection(self) -> Affine:
        if self._params.solver == "lsqr":
            raise UnsupportedError(
                "LinearDiscriminantAnalysis: transform not implemented for 'lsqr' solver, which only classifies. "
                "Choose `solver='svd'` or 'eigen'."
            )
        center = self.xbar_ if self._params.solver == "svd" else None
        return Affine(self.scalings_[:, : self.patterns_.shape[0]], center)

    def _decoding(self) -> Affine:
        if self._params.solver == "svd":
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

    # --- classes ---

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row and class, (n, C), or with two classes (n,), positive for the second class."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self._unbounded(self._scored(self._scores(), X, 1)[:, 0])
        return self._unbounded(self._scored(_finite(self._plain_scores()), X, len(self.classes_)))

    def predict(self, X: Any) -> Any:
        """Return the predicted class label of each row, (n,)."""
        check_is_fitted(self)
        return ClassLabels(self.classes_)(self._scored(MostProbableClass(self._scores()), X, 1)[:, 0])

    def predict_proba(self, X: Any) -> Array:
        """Return the posterior probability of each class, (n, C)."""
        check_is_fitted(self)
        return self._scored(ClassProbabilities(self._scores()), X, len(self.classes_))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the posterior probability of each class, (n, C)."""
        check_is_fitted(self)
        return self._unbounded(self._scored(ClassProbabilities(self._scores(), logs=True), X, len(self.classes_)))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the fraction of rows classified correctly. y may be the name of a column, as in fit."""
        from sklearn.metrics import accuracy_score

        labels = read_column(X, y) if isinstance(y, str) else y
        return float(accuracy_score(labels, to_numpy(self.predict(X)), sample_weight=sample_weight))

    def _set_scores(self, coef: Array, intercept: Array) -> None:
        """Set the coefficients, in the precision of the data; with two classes, those of the second less the first."""
        xp = xp_of(coef)
        means, center, logs = self.means_, self.xbar_, log_priors(self.priors_)
        centered = means - center[None, :]
        if len(self.classes_) == 2:
            coef, intercept = coef[1:, :] - coef[:1, :], intercept[1:] - intercept[:1]
            own, offset = coef, logs[1:] - logs[:1] - coef @ ((centered[0, :] + centered[1, :]) / 2)
        else:
            own = coef - (self.priors_ @ coef)[None, :]
            offset = logs - xp.sum(own * centered, axis=1) / 2
        kind = result_dtype(xp, self._fitted.dtype)
        self.coef_, self.intercept_ = xp.astype(coef, kind), xp.astype(intercept, kind)
        self.means_, self.xbar_, self.priors_ = (xp.astype(a, kind) for a in (means, center, self.priors_))
        coef, intercept = (xp.astype(a, kind, copy=True) for a in (coef, intercept))
        self._fitted.scores = FittedScores(coef, intercept, own.T, center, offset)

    def _scored(self, f: Any, X: Any, width: int) -> Array:
        rows, run = self._rows_to_map(X)
        f = FilledThen(to_numpy(self.xbar_), f) if self._handles_missing else f
        return run.gather(f, rows, width, name="classifying rows")

    def _scores(self) -> Affine:
        """The scores by which rows are classified; where a user has set coef_ or intercept_, those."""
        self._solve_pending()
        fitted = vars(self._fitted).get("scores")
        if fitted is not None and _same(fitted.coef, self.coef_) and _same(fitted.intercept, self.intercept_):
            return _finite(Affine(fitted.A, fitted.center, fitted.offset))
        return _finite(self._plain_scores())

    def _plain_scores(self) -> Affine:
        """x'coef + intercept, computed from the difference of x and the mean."""
        coef, center = as_double(self.coef_), as_double(self.xbar_)
        return Affine(coef.T, center, as_double(self.intercept_) + coef @ center)

    def _unbounded(self, Z: Array) -> Array:
        """The scores, or their logarithms; those of a class with prior 0 are infinite."""
        if bool(xp_of(self.intercept_).all(xp_of(self.intercept_).isfinite(self.intercept_))):
            return Z
        xp = xp_of(Z)
        infinite = xp.where(Z > 0, xp.full_like(Z, xp.inf), xp.full_like(Z, -xp.inf))
        return xp.where(xp.abs(Z) > _INFINITE / 2, infinite, Z)


def _finite(scores: Affine) -> Affine:
    """The scores with large numbers for infinite offsets: what is not finite in the result was not in the rows."""
    offset = scores.offset
    xp = xp_of(offset)
    return replace(scores, offset=xp.clip(offset, -_INFINITE, _INFINITE))


def _same(mine: Array, theirs: Any) -> bool:
    if type(mine) is not type(theirs) or mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return False
    return bool(xp_of(mine).all(mine == theirs))
