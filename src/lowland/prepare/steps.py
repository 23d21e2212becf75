"""Steps of a pipeline: dates and short texts as numbers, counts as weights, missing values as expectations."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import to_numpy
from lowland.data.open import open_rows
from lowland.data.rows import MappedRows, Rows
from lowland.errors import DataError
from lowland.math.spectra.component_rules import ParallelAnalysis
from lowland.math.statistics.latent_gaussian import ImputeRows
from lowland.methods.registry import load_method

PARTS = ("year", "month", "day of week", "hour", "elapsed days")
_DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")  # microseconds
COLLINEAR = 0.95  # correlation with the elapsed days above which a part of a date adds nothing
LEAST_DATES = 10  # rows from which on a correlation says something
FEATURES = 2**14  # hashed n-grams


class DateParts(TransformerMixin, BaseEstimator):
    """The parts of each date that differ among the training rows; days elapse since the first training date.

    A part that follows the elapsed days, as the year does over many years, is left out. A missing date is NaN in every
    part.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the first date of each column, and the parts that vary."""
        D = _dates(X)
        self.n_features_in_ = D.shape[1]
        self.feature_names_in_ = _names(X, D.shape[1])
        first = np.fmin.reduce(D, axis=0)  # without missing dates
        self.origins_ = np.where(np.isnat(first), np.datetime64("1970-01-01", "us"), first)
        parts = self._all_parts(D).reshape(len(D), -1, len(PARTS))
        self.kept_ = np.concatenate(
            [_differing(of_column[~np.isnan(of_column[:, 0])]) for of_column in parts.swapaxes(0, 1)]
        )
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the parts as floats, (n, number of parts)."""
        check_is_fitted(self)
        return self._all_parts(_dates(X))[:, self.kept_]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns and their parts."""
        return np.asarray([f"{name} {part}" for name, part in self.kept_parts()], dtype=object)

    def kept_parts(self) -> list[tuple[str, str]]:
        """Return column and part of each number."""
        pairs = [(name, part) for name in self.feature_names_in_ for part in PARTS]
        return [pair for pair, kept in zip(pairs, self.kept_, strict=True) if kept]

    def _all_parts(self, D: np.ndarray) -> np.ndarray:
        """The five parts of each column of dates, NaN where a date is missing."""
        columns = []
        for dates, origin in zip(D.T, self.origins_, strict=True):
            days, months, years = (dates.astype(f"datetime64[{unit}]") for unit in "DMY")
            parts = [
                years.astype(np.int64) + 1970.0,
                months.astype(np.int64) % 12 + 1.0,
                (days.astype(np.int64) + 3.0) % 7,  # Monday is 0; the first of January 1970 was a Thursday
                (dates - days).astype(np.float64) * 24 / _DAY,
                (dates - origin).astype(np.float64) / _DAY,
            ]
            columns += [np.where(np.isnat(dates), np.nan, part) for part in parts]
        return np.column_stack(columns)


def _differing(parts: np.ndarray) -> np.ndarray:
    """Which of the parts of one column, (n, 5), differ among the rows, and do not follow the last one."""
    differ = np.array([np.unique(part).size > 1 for part in parts.T])
    for j in np.flatnonzero(differ[:-1]) if len(parts) >= LEAST_DATES else ():
        differ[j] = abs(np.corrcoef(parts[:, j], parts[:, -1])[0, 1]) <= COLLINEAR
    return differ


def _names(X: Any, d: int) -> np.ndarray:
    return np.asarray(getattr(X, "column_names", [f"x{j}" for j in range(d)]), dtype=object)


def _dates(X: Any) -> np.ndarray:
    """The columns of a table of dates, (n, d)."""
    columns = X.columns if hasattr(X, "column_names") else np.asarray(X).T
    return np.column_stack([np.asarray(column).astype("datetime64[us]") for column in columns])


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
        self.feature_names_in_ = _names(X, len(columns))
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


class CountWeights(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Turn counts of words, species or events into TF-IDF weights, rows of unit length.

    Euclidean distances of such rows order neighbors as cosine distances do. A count x becomes 1 + log x, times the
    inverse document frequency, as in scikit-learn's ``TfidfTransformer(sublinear_tf=True)``; the fit reads the rows in
    chunks. A sparse matrix stays sparse unless ``dense`` is True.
    """

    def __init__(self, *, dense: bool = False) -> None:
        self.dense = dense

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count in how many rows each column occurs."""
        rows = open_rows(X)
        n, seen = 0, np.zeros(rows.d)
        for chunk in rows.chunks():
            if chunk.shape[0] and chunk.min() < 0:
                raise DataError("TF-IDF weights need counts, and some values are negative. Use other weights.")
            n, seen = n + chunk.shape[0], seen + np.asarray((chunk != 0).sum(axis=0)).ravel()
        self.n_features_in_ = rows.d
        if rows.names is not None:
            self.feature_names_in_ = np.asarray(rows.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.idf_ = np.log((1 + n) / (1 + seen)) + 1
        return self

    def transform(self, X: Any) -> Any:
        """Return the weights, (n, d)."""
        check_is_fitted(self)
        return self._weights(open_rows(X).to_array())

    def open_rows(self, X: Any) -> Rows:
        """Return the weights as Rows, in chunks."""
        check_is_fitted(self)
        return MappedRows(open_rows(X), self._weights)

    def _weights(self, X: Any) -> Any:
        if hasattr(X, "tocsr"):
            W = X.tocsr(copy=True)
            W.eliminate_zeros()
            W.data = ((1 + np.log(W.data)) * self.idf_[W.indices]).astype(W.data.dtype, copy=False)
        else:
            X = to_numpy(X)
            W = np.where(X > 0, (1 + np.log(np.where(X > 0, X, 1))) * self.idf_, 0).astype(X.dtype, copy=False)
        W = normalize(W, copy=False)
        return W.toarray() if self.dense and hasattr(W, "toarray") else W

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: sparse matrices are accepted, negative numbers are not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        return tags


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
        rows, _ = self.pca_._rows_to_map(X)
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
