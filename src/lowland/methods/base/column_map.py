"""What feature selection methods share: ``transform`` keeps the selected columns, the inverse fills in zeros."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, take, xp_of
from lowland.data.open import is_frame
from lowland.data.rows import ArrayRows, Rows, StreamRows
from lowland.math.selection.subset_search import Step, path_table
from lowland.methods.base.choices import refusal
from lowland.methods.base.method import InvertibleMethod, Method, attribute
from lowland.run.run import all_finite
from lowland.run.settings import settings


@dataclass(frozen=True)
class TakeColumns:
    """Some columns of a chunk, in order; an object, so that it can be sent to a worker."""

    columns: np.ndarray  # (k,)
    keep_nan: bool = False

    def __call__(self, X: Any) -> Array:
        """Return the columns of one chunk; NaN or infinity in any other column makes the row NaN, which is refused."""
        if is_sparse(X):  # chunks of a result that is written or joined, which is dense
            Z = X[:, self.columns].toarray()
            return Z if self.keep_nan or all_finite(X) else np.full_like(Z, np.nan)
        Z = take(X, self.columns, axis=1)
        return Z if self.keep_nan or all_finite(X) else Z + xp_of(X).sum(X * 0, axis=1)[:, None]


@dataclass(frozen=True)
class PutColumns:
    """The selected columns in their original positions, zeros in the others."""

    columns: np.ndarray  # (k,)
    width: int

    def __call__(self, Z: Array) -> Array:
        """Return the full-width rows of one chunk."""
        Z = Z.toarray() if is_sparse(Z) else Z
        source = np.full(self.width, len(self.columns))  # the appended column of zeros, unless selected
        source[self.columns] = np.arange(len(self.columns))
        with_zeros = xp_of(Z).concat([Z, xp_of(Z).zeros_like(Z[:, :1])], axis=1)
        return take(with_zeros, source, axis=1)


_FOR_SPARSE = (
    "or select columns with FeatureFilter, or with a SequentialFeatureSelector whose estimator accepts sparse rows, "
    "such as 'linear' or 'logistic'"
)


def integer_table(rows: Rows) -> np.ndarray | None:
    """Return the rows as they are where all columns hold integers or booleans, in memory on the host; None otherwise.

    Integers may be codes of categories: an estimator may treat them unlike numbers.
    """
    if isinstance(rows, ArrayRows):
        return rows.X if isinstance(rows.X, np.ndarray) and rows.X.dtype.kind in "iub" else None
    if not isinstance(rows, StreamRows) or not rows.in_memory or not rows.n:
        return None
    columns = [column.to_numpy() for column in next(iter(rows.read(rows.n))).columns]
    return np.column_stack(columns) if all(column.dtype.kind in "iub" for column in columns) else None


class ColumnMap(Method, SelectorMixin, selects_columns=True, scale_free=True, sparse_remedy=_FOR_SPARSE):
    """Rows keep some of their columns. A method sets ``support_`` and, where the search has steps, ``path_``."""

    support_: np.ndarray = attribute("True for each selected column.", "(n_features_in_,)")
    path_: tuple[Step, ...] = attribute(
        "Steps of the search: number, action, feature, name, score, size and features after the step."
    )
    classes_: np.ndarray | None = attribute("Class labels, sorted, or None where y holds numbers.", "(n_classes,)")

    @property
    def n_features_to_select_(self) -> int:
        """Number of selected columns."""
        return int(np.sum(self.support_))

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, (n, k): sparse for sparse, tensors for tensors, lazy for Dask arrays."""
        rows, run = self._rows_to_map(X)
        columns = self.get_support(indices=True)
        if is_sparse(X):
            whole = rows.to_array() if self._keeps_nan else run.to_array(rows, type(self).__name__)
            return whole[:, columns]
        integers = integer_table(rows)
        if integers is not None:
            return self._present(integers[:, columns], X)
        if self._keeps_nan:
            chunks = list(self.transform_chunks(rows))
            return self._present(xp_of(chunks[0]).concat(chunks, axis=0), X)
        return self._present(run.gather(self._encoding(), rows, len(columns), name="transforming rows"), X)

    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the selected columns in chunks, in order: for results larger than memory."""
        if not self._keeps_nan:
            return super().transform_chunks(X)
        rows, _ = self._rows_to_map(X)
        return map(self._encoding(), rows.chunks())

    @property
    def _keeps_nan(self) -> bool:
        return bool(vars(self._params).get("allow_nan"))

    def _present(self, Z: Array, X: Any) -> Any:
        """The columns of a pandas frame as they are, of any type, where a pandas frame is to be returned."""
        own = vars(self).get("_sklearn_output_config", {})
        wanted = own.get("transform", get_config()["transform_output"])
        if is_frame(X) and hasattr(X, "iloc") and (wanted == "pandas" or settings().output == "frame"):
            names = vars(self).get("feature_names_in_")
            places = self.get_support(indices=True)
            return X.iloc[:, places] if names is None else X[list(names[places])]
        return super()._present(Z, X)

    def inverse_transform(self, X: Any) -> Any:
        """Return rows with the selected columns in their original positions and zeros in the others, (n, d)."""
        rows, run = self._rows_to_decode(X)
        if not is_sparse(X):
            integers = integer_table(rows)
            return InvertibleMethod.inverse_transform(self, X) if integers is None else self._decoding()(integers)
        Z = run.to_array(rows, type(self).__name__)
        places = self.get_support(indices=True)[Z.indices]
        return type(Z)((Z.data, places, Z.indptr), shape=(Z.shape[0], self.n_features_in_))

    inverse_chunks = InvertibleMethod.inverse_chunks
    _rows_to_decode = InvertibleMethod._rows_to_decode

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return the mask of the selected columns, (d,) bool, or with ``indices`` their indices."""
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_.copy()

    def _get_support_mask(self) -> np.ndarray:
        return self.get_support()

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected columns."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.support_]

    def path_table(self) -> str:
        """Return the path as a text table: step, column added or removed, score, number of columns after the step."""
        return path_table(self.path_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.array_api_support = False  # columns are selected on the host, and support_ stays there
        return tags

    def _facts(self) -> dict[str, Any]:
        """The selected columns, and the path where there is one; a step that finds a whole subset names no column."""
        facts: dict[str, Any] = {"selected columns": [str(name) for name in self.get_feature_names_out()]}
        if "path_" in vars(self):
            facts["path"] = [
                {"action": s.action, "column": None if s.feature is None else s.name, "score": s.score, "size": s.size}
                for s in self.path_
            ]
        return facts

    def _names(self, rows: Rows) -> list[str]:
        """The names of the columns; x0, x1, … where the data has none."""
        return [str(name) for name in rows.names] if rows.names else [f"x{j}" for j in range(rows.d)]

    def _check_count(self, k: float, d: int) -> int:
        """Return the number of columns that an integer or a fraction of d asks for."""
        whole = isinstance(k, numbers.Integral)
        if whole and not 1 <= k <= d:
            reason, remedy = f"the data has {d} columns (`n_features={d}`).", f"Choose at least 1 and at most {d}."
        elif not whole and not 0 < k <= 1:
            reason = "a fraction must be above 0 and at most 1."
            remedy = "To ask for a number of columns, pass an integer."
        else:
            return int(k) if whole else max(1, int(d * k + 1e-9))  # 0.58 of 50 is 29
        raise refusal(self, reason, remedy, "n_features_to_select")

    def _encoding(self) -> TakeColumns:
        return TakeColumns(self.get_support(indices=True), self._keeps_nan)

    def _decoding(self) -> PutColumns:
        return PutColumns(self.get_support(indices=True), self.n_features_in_)

    def _encoding_width(self) -> int:
        return int(np.sum(self.support_))
