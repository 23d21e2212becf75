"""Fisher's linear discriminant analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, result_dtype, rounding_of
from lowland.blocks.spectra.discriminants import (
    DiscriminantAxes,
    WithinAxes,
    class_scores,
    directions_of_means,
    directions_of_ratio,
    why_singular,
    within_axes,
    within_axes_of_rows,
)
from lowland.blocks.statistics.class_covariances import (
    ClassCovariances,
    CovarianceEstimator,
    covariances,
    estimated_covariances,
    fourth_powers,
)
from lowland.blocks.statistics.class_moments import ClassMoments, MomentsByClass, class_means
from lowland.blocks.statistics.labels import check_class_counts, classes_of, merged_classes, normalized_priors
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.classifier import LinearClassifier
from lowland.methods.base.estimator import param
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import in_library_of
from lowland.methods.base.parameters import check_parameters
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for

_NO_MEANS = 1e-20  # variance between classes over that within, below which only rounding sets them apart


class LinearDiscriminantAnalysis(
    LinearClassifier,
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
    2. Whiten the classes: A' S_W A = I on the directions that vary (``blocks.spectra.discriminants``).
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
        """Fit to rows and their labels: one per row, or the name of a column of the frame or file."""
        return self._fit(X, y)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Moments of the classes, axes of the variance within, discriminants there."""
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
        moments = self._moments = run.fold(rows, MomentsByClass(C, self._apart), codes, name="summing classes")
        self._count(moments.n, moments.mean)
        if self.covariance_estimator is not None:
            X = to_numpy(run.to_array(rows, "A covariance estimator"))
            S = estimated_covariances(self.covariance_estimator, X, codes, to_numpy(self.priors_))
            self._solve_ratio(
                moments, replace(S, within=like(S.within, moments.mean), total=like(S.total, moments.mean))
            )
        elif self.shrinkage == "auto":
            fourth = run.fold(rows, fourth_powers(moments), codes, name="measuring noise").value
            self._solve_ratio(moments, covariances(moments, to_numpy(self.priors_), fourth=fourth))
        else:
            self._solve_by_moments(moments)

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
        """The discriminants of merged moments."""
        self._count(moments.n, moments.mean)
        if (self._apart and not moments.apart) or self.shrinkage == "auto":
            raise ParameterError(
                "solver, shrinkage or priors were changed after rows had been added, and the classes were not kept "
                "apart. Set them back, or start anew with fit."
            )
        self._solve_by_moments(moments)

    def _solve_by_moments(self, moments: ClassMoments) -> None:
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
        """The svd solver: principal axes of the class means after the classes were whitened."""
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
        """Check the classes that are there, and settle their priors."""
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
            shrink = " To use all of them, choose solver='eigen' and a shrinkage."
            shrink = "" if self.shrinkage or n - C >= d else shrink
            warn(f"{singular} Directions without spread are left out.{shrink}", DataWarning)
        if found is None:
            return
        k = min(self._most_components(d), found.directions.shape[1])
        if not found.total > _NO_MEANS:
            warn("The classes have the same means: no direction sets them apart.")
        ratios = xp.where(found.ratios > 0, found.ratios, xp.zeros_like(found.ratios))[:k]
        self.scalings_ = xp.astype(found.directions, kind)
        self.patterns_ = xp.astype(found.patterns[:, :k].T, kind)
        self.explained_variance_ratio_ = xp.astype(ratios / found.total if found.total > 0 else ratios, kind)
        self.singular_values_ = xp.astype(xp.sqrt(ratios * ((n - C) / (C - 1))), kind)

    # --- choices ---

    @property
    def _apart(self) -> bool:
        """Whether the classes need scatters of their own: their priors are given, or each is shrunk by itself."""
        return self.shrinkage == "auto" or (self.priors is not None and (self.solver != "svd" or self.store_covariance))

    @property
    def _least(self) -> float:
        """The variance of standardized columns that counts as none for the svd solver."""
        return max(self.tol**2, rounding_of(self._dtype))

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

    # --- coordinates ---

    def _encoding_width(self) -> int:
        self._solve_pending()
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

    def _facts(self) -> dict[str, Any]:
        self._solve_pending()
        counts = zip(to_numpy(self.classes_).tolist(), to_numpy(self.counts_).tolist(), strict=True)
        return {
            "shares of": "the variance between classes",
            "rows of classes": {str(label): int(n) for label, n in counts},
            "rank within classes": self.rank_,
            "deviation between/within": vars(self).get("singular_values_"),
        }
