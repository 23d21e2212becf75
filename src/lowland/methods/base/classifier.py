"""Linear classifiers: a row is assigned to the class with the largest linear score."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, to_numpy, xp_of
from lowland.blocks.statistics.labels import ClassLabels, ClassProbabilities, MostProbableClass
from lowland.data.open import read_column
from lowland.methods.base.estimator import attribute
from lowland.methods.base.linear_map import Affine
from lowland.methods.base.moments_map import MomentsMap


class LinearClassifier(ClassifierMixin, MomentsMap):
    """A classifier with one linear score per class, x'coef + intercept. A subclass sets the attributes below."""

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
            return self._scored(self._scores(), X, 1)[:, 0]
        coef = self.coef_
        plain = Affine(coef.T, self.xbar_, self.intercept_ + coef @ self.xbar_)
        return self._scored(plain, X, len(self.classes_))

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
        return self._scored(ClassProbabilities(self._scores(), logs=True), X, len(self.classes_))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the fraction of rows classified correctly. y may be the name of a column, as in fit."""
        from sklearn.metrics import accuracy_score

        labels = read_column(X, y) if isinstance(y, str) else y
        return float(accuracy_score(labels, to_numpy(self.predict(X)), sample_weight=sample_weight))

    def _set_scores(self, coef: Array, intercept: Array) -> None:
        """Set the coefficients; with two classes, those of the second less the first, as in scikit-learn."""
        if len(self.classes_) == 2:
            coef, intercept = coef[1:, :] - coef[:1, :], intercept[1:] - intercept[:1]
        self.coef_, self.intercept_ = coef, intercept

    def _scored(self, f: Any, X: Any, width: int) -> Array:
        rows, run = self._rows_to_map(X)
        return run.gather(f, rows, width, name="classifying rows")

    def _scores(self) -> Affine:
        """Scores relative to xbar_, without the part common to all classes, which costs digits far from the origin."""
        self._solve_pending()
        centered = self.means_ - self.xbar_[None, :]
        xp = xp_of(centered)
        logs = xp.log(self.priors_)
        if len(self.classes_) == 2:
            middle = (centered[0, :] + centered[1, :]) / 2
            return Affine(self.coef_.T, self.xbar_, logs[1:] - logs[:1] - self.coef_ @ middle)
        coef = self.coef_ - (self.priors_ @ self.coef_)[None, :]
        return Affine(coef.T, self.xbar_, logs - xp.sum(coef * centered, axis=1) / 2)
