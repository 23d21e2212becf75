"""Short texts as numbers: hashed n-grams of characters, reduced by a truncated singular value decomposition."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils.validation import check_is_fitted

from lowland.methods.registry import load_method

FEATURES = 2**14  # hashed n-grams


class TextComponents(TransformerMixin, BaseEstimator):
    """The leading components of each column of texts, so that texts with common parts of words are near each other.

    A missing text is an empty text: zero in every component.
    """

    def __init__(self, n_components: int = 10, random_state: int | None = 0) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit one decomposition per column."""
        columns = _texts(X)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.asarray(
            getattr(X, "column_names", [f"x{j}" for j in range(len(columns))]), dtype=object
        )
        svd = load_method("TruncatedSVD")
        self.models_ = []
        for column in columns:
            k = max(1, min(self.n_components, len(set(column)) - 1))
            self.models_.append(svd(n_components=k, random_state=self.random_state).fit(_hashed(column)))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the components, (n, sum of the numbers of components)."""
        check_is_fitted(self)
        pairs = zip(self.models_, _texts(X), strict=True)
        return np.column_stack([model.transform(_hashed(column)) for model, column in pairs])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns, numbered."""
        pairs = zip(self.feature_names_in_, self.models_, strict=True)
        names = [f"{name} {i + 1}" for name, model in pairs for i in range(model.n_components)]
        return np.asarray(names, dtype=object)


def _hashed(texts: list[str]) -> Any:
    """The counts of n-grams of three and four characters within words, rows of unit length."""
    return HashingVectorizer(analyzer="char_wb", ngram_range=(3, 4), n_features=FEATURES).transform(texts)


def _texts(X: Any) -> list[list[str]]:
    columns = X.columns if hasattr(X, "column_names") else np.asarray(X, dtype=object).T
    return [["" if v is None or v != v else str(v) for v in np.asarray(c, dtype=object)] for c in columns]
