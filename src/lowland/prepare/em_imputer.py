"""Missing values replaced by their conditional means under probabilistic PCA, as a step of a pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lowland.data.open import open_rows
from lowland.data.rows import MappedRows, Rows
from lowland.math.missing.latent_model import ImputeRows
from lowland.math.spectra.component_rules import ParallelAnalysis
from lowland.methods.registry import load_method


class EMImputer(TransformerMixin, BaseEstimator):
    """Replace missing values as ``PCA(missing="em")`` of the training rows predicts them; others do not change.

    Parallel analysis chooses the number of components. The fit reads the rows in chunks. A data frame returns a data
    frame. The step can be saved in a model file.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the PCA to the incomplete rows."""
        self.pca_ = load_method("PCA")(n_components=ParallelAnalysis(), missing="em").fit(X)
        self.n_features_in_ = self.pca_.n_features_in_
        if hasattr(self.pca_, "feature_names_in_"):
            self.feature_names_in_ = self.pca_.feature_names_in_
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> Any:
        """Return X without missing values."""
        check_is_fitted(self)
        return self.pca_.impute(X)

    def open_rows(self, X: Any) -> Rows:
        """Return X without missing values as Rows, in chunks."""
        check_is_fitted(self)
        rows = open_rows(X)
        self.pca_._check_rows(rows, reset=False)
        return MappedRows(rows, ImputeRows(self.pca_._latent()))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns, which stay as they are."""
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", input_features)
        names = [f"x{j}" for j in range(self.n_features_in_)] if given is None else given
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: missing values are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags
