"""Linear classifiers: a row is assigned to the class with the largest linear score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, to_numpy, xp_of
from lowland.arrays.precision import as_double, result_dtype
from lowland.arrays.records import record
from lowland.data.open import read_column
from lowland.math.spectra.discriminants import log_priors
from lowland.math.statistics.labels import ClassLabels, ClassProbabilities, MostProbableClass
from lowland.methods.base.estimator import attribute
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import MomentsMap

_INFINITE = 1e37  # stands for an infinite score, of a class with prior 0; float32 holds it


@record
@dataclass(frozen=True)
class FittedScores:
    """The scores that a fit has found, relative to the mean: far from the origin, coef_ and intercept_ lose digits."""

    coef: Array  # copies of coef_ and intercept_: the scores are used as long as both keep their values
    intercept: Array
    A: Array  # (d, C) float64, without the part common to all classes; (d, 1) with two classes
    center: Array  # (d,) float64
    offset: Array  # (C,) float64, or (1,)

    def stand_for(self, coef: Any, intercept: Any) -> bool:
        """Whether these are the coefficients and intercepts of the fit, not others that a user has set."""
        return _same(self.coef, coef) and _same(self.intercept, intercept)


class LinearClassifier(ClassifierMixin, MomentsMap):
    """A classifier with one linear score per class, x'coef + intercept. A subclass sets the attributes below."""

    if TYPE_CHECKING:
        _fitted_scores: FittedScores

    classes_: np.ndarray = attribute("Class labels, sorted.", "(n_classes,)")
    coef_: Array = attribute(
        "Coefficients of the linear scores; with two classes, one row: the second class less the first.",
        "(n_classes, n_features_in_)",
    )
    intercept_: Array = attribute("Intercepts of the linear scores.", "(n_classes,)")
    means_: Array = attribute("Mean of each class.", "(n_classes, n_features_in_)")
    xbar_: Array = attribute("Mean of the class means, weighted by priors_.", "(n_features_in_,)")
    priors_: Array = attribute("Prior probability of each class.", "(n_classes,)")

    def decision_function(self, X: Any) -> Array:
        """Return the score of each row and class, (n, C); with two classes, (n,), positive for the second class."""
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
        kind = result_dtype(xp, self._dtype)
        self.coef_, self.intercept_ = xp.astype(coef, kind), xp.astype(intercept, kind)
        self.means_, self.xbar_, self.priors_ = (xp.astype(a, kind) for a in (means, center, self.priors_))
        coef, intercept = (xp.astype(a, kind, copy=True) for a in (coef, intercept))
        self._fitted_scores = FittedScores(coef, intercept, own.T, center, offset)

    def _scored(self, f: Any, X: Any, width: int) -> Array:
        rows, run = self._rows_to_map(X)
        return run.gather(f, rows, width, name="classifying rows")

    def _scores(self) -> Affine:
        """The scores by which rows are classified; where a user has set coef_ or intercept_, those."""
        self._solve_pending()
        fitted = vars(self).get("_fitted_scores")
        if fitted is not None and fitted.stand_for(self.coef_, self.intercept_):
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
