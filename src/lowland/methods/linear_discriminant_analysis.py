"""Fisher's linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, Self, runtime_checkable

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.spectra.discriminants import (
    DiscriminantAxes,
    WithinAxes,
    directions_of_means,
    directions_of_ratio,
    within_axes,
    within_axes_of_rows,
)
from lowland.blocks.statistics.class_moments import (
    ClassMoments,
    Covariances,
    MomentsByClass,
    class_means,
    covariances,
    fourth_powers,
)
from lowland.blocks.statistics.labels import (
    NamedClass,
    Probabilities,
    Winner,
    classes_of,
    joined_classes,
    prior_shares,
    shown,
)
from lowland.data.open import read_column
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.estimator import param
from lowland.methods.base.maps import Affine, MomentsMap, in_library_of
from lowland.methods.base.parameters import check_parameters
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for

_NO_MEANS = 1e-20  # variance between classes over that within, below which only rounding sets them apart


@runtime_checkable
class CovarianceEstimator(Protocol):
    """What scikit-learn's covariance estimators offer: ``fit(X)``, which sets ``covariance_``."""

    def fit(self, X: Any) -> Any:
        """Estimate the covariance of the rows."""


class LinearDiscriminantAnalysis(
    ClassifierMixin,
    MomentsMap,
    verb="lda",
    streams=True,
    reads_y=True,
    needs_y=True,
    tolerance=1e-9,
    study=StudyHints(max_components=lambda d, n_classes: min(d, n_classes - 1)),
):
    """Fisher's linear discriminants: the directions that set labelled classes apart, and the classifier they make.

    Problem: maximise a' S_B a / a' S_W a, the variance of the class means over the variance within the classes. The
    answer: S_B a = λ S_W a; for two classes a ∝ S_W⁻¹(μ₁ - μ₂). At most C - 1 of the λ are above zero for C classes.

    1. Sum counts, means and the scatter within classes in one pass (``blocks.statistics.class_moments``).
    2. Make the spread within classes round: A' S_W A = I on the directions that vary (``blocks.spectra.discriminants``).
    3. Find the principal axes of the class means there; turned back, they are the discriminants.
    4. A row belongs to the class whose mean is nearest by S_W⁻¹, less twice the log of the class's prior.

    Cost: one pass, n d² + 9 d³ operations and d² + C d numbers; n² d where rows are fewer than columns and in memory.
    Prefer ``PCA`` where there are no labels, shrinkage where rows are few, a kernel or a forest where classes curve.

    Attributes: ``scalings_`` (d, m), ``coef_``, ``intercept_``, ``means_`` (C, d), ``xbar_``, ``priors_``,
    ``classes_``, ``explained_variance_ratio_`` (of the variance between classes), ``singular_values_`` (deviation
    between classes over that within, as MASS::lda's svd), ``patterns_`` (k, d: how the columns move along each
    discriminant), ``rank_`` (of S_W), ``covariance_`` (S_W, where the solver forms it), ``shrinkage_`` (the shares of
    the classes and of all rows), ``counts_``, ``n_samples_``.

    Reference: Fisher 1936, doi:10.1111/j.1469-1809.1936.tb02137.x; Rao 1948, doi:10.1111/j.2517-6161.1948.tb00008.x.

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
        "svd", "svd: no shrinkage; eigen: with shrinkage; lsqr: with shrinkage, a classifier only.", positional=True
    )
    shrinkage: float | Literal["auto"] | None = param(
        None,
        "Draw the covariance within classes towards a ball: a share, or 'auto' by Ledoit and Wolf (eigen and lsqr).",
        at_least=0,
        at_most=1,
        positional=True,
    )
    priors: Sequence[float] | np.ndarray | None = param(
        None,
        "Share of each class among the rows to come, in the order of classes_; None: as in the data.",
        positional=True,
        wanted="one number for each class, or None",
    )
    n_components: int | None = param(
        None, "How many discriminants to keep; None for all, at most classes - 1.", at_least=1, positional=True
    )
    store_covariance: bool = param(False, "Keep covariance_ with the svd solver too.")
    tol: float = param(
        1e-4, "Deviation, of columns divided by their own, below which a direction within classes is none.", at_least=0
    )
    covariance_estimator: CovarianceEstimator | None = param(
        None,
        "An estimator of scikit-learn's covariance module instead of shrinkage; reads the rows of each class at once.",
        wanted="an estimator with fit and covariance_, or None",
    )

    # --- fit ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows and their labels: one a row, or the name of a column of the frame or file."""
        return self._fit(X, y)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Moments of the classes, axes of the spread within, discriminants there."""
        assert y is not None
        self._check_choices()
        self.classes_, codes = classes_of(y)
        self._dtype = rows.dtype
        C, d = len(self.classes_), rows.d
        if self.solver == "svd" and not self.store_covariance and rows.in_memory and len(y) < d:
            self._solve_wide(run.to_array(rows, "A table with more columns than rows"), codes)
            return
        scatters = 4 + C * self._apart
        run.require(scatters * 8 * d**2, f"The {d} x {d} scatter within classes", "Reduce the columns first with PCA")
        self._moments = run.fold(rows, MomentsByClass(C, self._apart), codes, name="summing classes")
        self._count(self._moments.n, self._moments.mean)
        if self.covariance_estimator is not None:
            X = to_numpy(run.to_array(rows, "A covariance estimator"))
            self._solve_ratio(self._moments, self._estimated(X, codes))
        elif self.shrinkage == "auto":
            fourth = run.fold(rows, fourth_powers(self._moments), codes, name="measuring noise").value
            self._solve_ratio(self._moments, covariances(self._moments, to_numpy(self.priors_), fourth=fourth))
        else:
            self._solve_plainly(self._moments)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Add labelled rows to those seen before; ``classes`` names all that will come, else new ones may join."""
        check_parameters(self)
        self._check_choices()
        if self.shrinkage == "auto" or self.covariance_estimator is not None:
            raise ParameterError(
                "LinearDiscriminantAnalysis reads the rows twice for shrinkage='auto' or a covariance_estimator, which "
                "partial_fit cannot. Give a number, or call fit with a file or a list of chunks."
            )
        before = vars(self).get("_moments")
        if before is None and vars(self).get("_solved"):
            raise DataError(
                "fit kept no moments, since there were fewer rows than columns: rows cannot be added. "
                "Call partial_fit from the start on a new model."
            )
        rows, labels = self._open(X, y)
        self._check_rows(rows, reset=before is None, least=1)
        known = vars(self).get("classes_")
        found, codes = joined_classes(known, labels, classes)
        of = MomentsByClass(len(found), self._apart if before is None else before.apart)
        moments = run_for(rows).fold(rows, of, codes, name="summing classes")
        if before is not None and known is not None:
            before = before.with_classes(np.searchsorted(found, known), len(found))
            moments = before + in_library_of(moments, before)
        self._merge(moments, rows, y)
        self.classes_ = found
        return self

    def _solve_moments(self, moments: ClassMoments, run: Run) -> None:  # type: ignore[override]
        """The discriminants of merged moments."""
        self._count(moments.n, moments.mean)
        if (self._apart and not moments.apart) or self.shrinkage == "auto":
            raise ParameterError(
                "solver, shrinkage or priors were changed after rows had been added, and the classes were not kept "
                "apart. Set them back, or start anew with fit."
            )
        self._solve_plainly(moments)

    def _solve_plainly(self, moments: ClassMoments) -> None:
        """With the moments alone: no shrinkage, or by a number."""
        if self.solver != "svd":
            self._solve_ratio(moments, covariances(moments, to_numpy(self.priors_), float(self.shrinkage or 0.0)))
            return
        if self.store_covariance:
            self.covariance_ = covariances(moments, to_numpy(self.priors_)).within
        S = moments.pooled / moments.count
        self._solve_means(moments.mean, within_axes(S, moments.mean, moments.rounding, self._least))

    def _solve_wide(self, X: Array, codes: np.ndarray) -> None:
        """The means of the classes, then products of rows instead of columns."""
        n = np.bincount(codes).astype(np.float64)
        means = class_means(X, codes, n)
        self._count(n, means)
        self._solve_means(means, within_axes_of_rows(X, codes, means, self._least))

    def _solve_means(self, means: Array, axes: WithinAxes) -> None:
        """The svd solver: principal axes of the class means where the spread within classes is round."""
        found = directions_of_means(means, self.priors_, axes, self.tol)
        self._keep(means, axes, found)
        A = found.directions
        self.coef_ = ((means - self.xbar_[None, :]) @ A) @ A.T
        self._keep_intercept()

    def _solve_ratio(self, moments: ClassMoments, S: Covariances) -> None:
        """The eigen solver, S_B a = λ S_W a; lsqr stops at the coefficients S_W⁻¹μ."""
        axes = within_axes(S.within, moments.mean, moments.rounding, self._rounding)
        self.covariance_, self.shrinkage_ = S.within, like(S.shares, S.within)
        self._keep(moments.mean, axes, None if self.solver == "lsqr" else directions_of_ratio(S.total, axes))
        self.coef_ = (moments.mean @ axes.A) @ axes.A.T
        self._keep_intercept()

    def _keep(self, means: Array, axes: WithinAxes, found: DiscriminantAxes | None) -> None:
        """Set the fitted attributes of the directions, in the precision of the data."""
        xp = xp_of(means)
        kind = xp.float32 if self._dtype == np.float32 else xp.float64
        self.means_, self.xbar_ = means, self.priors_ @ means
        self.rank_ = axes.rank
        self._tell_of_rank(axes)
        if found is None:
            return
        k = min(self._most_components(means.shape[1]), found.directions.shape[1])
        n, C = self.n_samples_, len(self.classes_)
        if not found.total > _NO_MEANS:
            warn("The classes have the same means: no direction sets them apart.")
        ratios = xp.where(found.ratios > 0, found.ratios, xp.zeros_like(found.ratios))[:k]
        self.scalings_ = xp.astype(found.directions, kind)
        self.patterns_ = xp.astype(found.patterns[:, :k].T, kind)
        self.explained_variance_ratio_ = xp.astype(ratios / found.total if found.total > 0 else ratios, kind)
        self.singular_values_ = xp.astype(xp.sqrt(ratios * ((n - C) / (C - 1))), kind)

    def _keep_intercept(self) -> None:
        means, coef = self.means_, self.coef_
        xp = xp_of(coef)
        logs = xp.log(self.priors_)
        if self.solver == "svd":  # its coefficients are those of means seen from xbar_
            own = xp.sum((means - self.xbar_[None, :]) * coef, axis=1) / 2 + coef @ self.xbar_
        else:
            own = xp.sum(means * coef, axis=1) / 2
        self.intercept_ = logs - own
        if len(self.classes_) == 2:
            self.coef_, self.intercept_ = coef[1:, :] - coef[:1, :], self.intercept_[1:] - self.intercept_[:1]

    def _estimated(self, X: np.ndarray, codes: np.ndarray) -> Covariances:
        """The covariances by the estimator that was given, class by class and of all rows."""

        def estimate(part: np.ndarray) -> np.ndarray:
            fitted = clone(self.covariance_estimator).fit(part)
            if not hasattr(fitted, "covariance_"):
                raise ParameterError(
                    f"{type(fitted).__name__} does not have a covariance_ attribute after fit. Give one of "
                    "scikit-learn's covariance estimators."
                )
            return np.asarray(fitted.covariance_, dtype=np.float64)

        within = sum(p * estimate(X[codes == c]) for c, p in enumerate(to_numpy(self.priors_)))
        target = self._moments.mean
        return Covariances(like(within, target), like(estimate(X), target), np.zeros(len(self.classes_) + 1))

    # --- checks ---

    @property
    def _apart(self) -> bool:
        """Whether the classes need scatters of their own: their shares differ, or each is shrunk by its own share."""
        return self.shrinkage == "auto" or (self.priors is not None and (self.solver != "svd" or self.store_covariance))

    @property
    def _rounding(self) -> float:
        return 8 * float(np.finfo(self._dtype).eps)

    @property
    def _least(self) -> float:
        """The variance, of columns divided by their deviations, that counts as none for the svd solver."""
        return max(self.tol**2, self._rounding)

    def _check_choices(self) -> None:
        if self.solver == "svd" and (self.shrinkage is not None or self.covariance_estimator is not None):
            raise ParameterError(
                "LinearDiscriminantAnalysis(solver='svd') takes neither shrinkage nor a covariance_estimator: "
                "choose solver='eigen' or 'lsqr'."
            )
        if self.shrinkage and self.covariance_estimator is not None:
            raise ParameterError(
                "Both shrinkage and covariance_estimator are given. Only one of the two can be set: leave one None."
            )

    def _most_components(self, d: int) -> int:
        most = min(len(self.classes_) - 1, d)
        if self.n_components is not None and self.n_components > most:
            raise ParameterError(
                f"LinearDiscriminantAnalysis(n_components={self.n_components}): n_components cannot be larger than "
                f"min(n_features, n_classes - 1) = min({d}, {len(self.classes_) - 1}). Choose at most {most}."
            )
        return most if self.n_components is None else self.n_components

    def _count(self, n: np.ndarray, means: Array) -> None:
        """Check the classes that are there, and settle their priors."""
        C = len(self.classes_)
        if C < 2:
            raise DataError(
                f"All rows so far have the label {shown(self.classes_[0])}. Add rows of another class before reading a "
                "result."
            )
        self._most_components(means.shape[1])
        if (n == 0).any():
            raise DataError(f"There is no row of class {shown(self.classes_[n == 0][0])} yet. Add rows of every class.")
        if n.sum() <= C:
            raise DataError(
                f"There are {n.sum():g} rows in {C} classes. The number of samples must be more than the number of "
                "classes: with one row each, nothing says how a class spreads."
            )
        if (n == 1).any():
            warn(
                f"The class {shown(self.classes_[n == 1][0])} has only one member: the other classes alone say how it "
                "spreads.",
                DataWarning,
            )
        self.counts_, self.n_samples_ = like(n, means), int(n.sum())
        self.priors_ = like(n / n.sum() if self.priors is None else prior_shares(self.priors, C), means)

    def _tell_of_rank(self, axes: WithinAxes) -> None:
        d = len(axes.constant)
        if axes.rank == d:
            return
        spare = self.n_samples_ - len(self.classes_)
        why = (
            f"{self.n_samples_} rows in {len(self.classes_)} classes span at most {spare} directions"
            if spare < d
            else "columns are constant within the classes, or collinear"
        )
        text = f"The scatter within classes is singular: rank {axes.rank} of {d}, since {why}."
        centred = np.abs(to_numpy(self.means_ - self.xbar_[None, :])).max(axis=0)
        perfect = np.flatnonzero(axes.constant & (centred > 8 * self._rounding * np.abs(to_numpy(self.means_)).max(0)))
        if len(perfect):
            names = getattr(self, "feature_names_in_", np.arange(d))
            text += (
                f" Column {shown(names[perfect[0]])} does not vary within any class but differs between them: it "
                "alone tells classes apart, and is left out."
            )
        shrink = "" if self.shrinkage or spare >= d else " To use all of them, choose solver='eigen' and a shrinkage."
        warn(f"{text} Directions without spread are left out.{shrink}", DataWarning)

    # --- coordinates ---

    def _encoding_width(self) -> int:
        self._settle()
        return int(self.patterns_.shape[0]) if self.solver != "lsqr" else self._most_components(self.n_features_in_)

    def _encoding(self) -> Affine:
        if self.solver == "lsqr":
            raise ParameterError(
                "LinearDiscriminantAnalysis(solver='lsqr') only classifies. For transform choose 'svd' or 'eigen'."
            )
        return Affine(self.scalings_[:, : self.patterns_.shape[0]], self.xbar_ if self.solver == "svd" else None)

    def _decoding(self) -> Affine:
        if self.solver == "svd":
            return Affine(self.patterns_, None, self.xbar_)
        A, B = as_double(self._encoding().A), as_double(self.patterns_)
        return Affine(self.patterns_, None, self.xbar_ - (self.xbar_ @ A) @ B)

    # --- classes ---

    def decision_function(self, X: Any) -> Array:
        """Return a score for each row and class, (n, C); for two classes one number a row, positive for the second."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self._gathered(self._scores(), X, 1)[:, 0]
        coef = self.coef_
        plain = Affine(coef.T, self.xbar_, self.intercept_ + coef @ self.xbar_)
        return self._gathered(plain, X, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """Return the class of each row."""
        check_is_fitted(self)
        return NamedClass(self.classes_)(self._gathered(Winner(self._scores()), X, 1)[:, 0])

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, (n, C)."""
        check_is_fitted(self)
        return self._gathered(Probabilities(self._scores()), X, len(self.classes_))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities, (n, C)."""
        check_is_fitted(self)
        return self._gathered(Probabilities(self._scores(), logs=True), X, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is found; y may name a column, as in fit."""
        from sklearn.metrics import accuracy_score

        labels = read_column(X, y) if isinstance(y, str) else y
        return float(accuracy_score(labels, to_numpy(self.predict(X)), sample_weight=sample_weight))

    def _gathered(self, f: Any, X: Any, width: int) -> Array:
        rows, run = self._rows_to_map(X)
        return run.gather(f, rows, width, name="classifying rows")

    def _scores(self) -> Affine:
        """Scores seen from xbar_, without what all classes share: it would cost digits far from the origin."""
        self._settle()
        centred = self.means_ - self.xbar_[None, :]
        xp = xp_of(centred)
        logs = xp.log(self.priors_)
        if len(self.classes_) == 2:
            middle = (centred[0, :] + centred[1, :]) / 2
            return Affine(self.coef_.T, self.xbar_, logs[1:] - logs[:1] - self.coef_ @ middle)
        coef = self.coef_ - (self.priors_ @ self.coef_)[None, :]
        return Affine(coef.T, self.xbar_, logs - xp.sum(coef * centred, axis=1) / 2)

    def _facts(self) -> dict[str, Any]:
        self._settle()
        counts = zip(to_numpy(self.classes_).tolist(), to_numpy(self.counts_).tolist(), strict=True)
        return {
            "shares of": "the variance between classes",
            "rows of classes": {str(label): int(n) for label, n in counts},
            "rank within classes": self.rank_,
            "deviation between/within": vars(self).get("singular_values_"),
        }
