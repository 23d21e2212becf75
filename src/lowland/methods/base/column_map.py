"""What feature selection methods share: ``transform`` keeps the selected columns, the inverse fills in zeros."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, xp_of
from lowland.blocks.selection.selection_path import Step, path_table
from lowland.data.rows import Rows
from lowland.errors import ParameterError
from lowland.methods.base.estimator import attribute
from lowland.methods.base.row_map import RowMap
from lowland.run.run import all_finite


@dataclass(frozen=True)
class TakeColumns:
    """Some columns of a chunk, in order; an object, so that it can be sent to a worker."""

    columns: np.ndarray  # (k,)

    def __call__(self, X: Any) -> Array:
        """Return the columns of one chunk; NaN or infinity in any other column makes the row NaN, which is refused."""
        if is_sparse(X):  # chunks of a result that is written or joined, which is dense
            Z = X[:, self.columns].toarray()
            return Z if all_finite(X) else np.full_like(Z, np.nan)
        xp = xp_of(X)
        Z = xp.take(X, like(self.columns, X, xp.int64), axis=1)
        return Z if all_finite(X) else Z + xp.sum(X * 0, axis=1)[:, None]


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
        xp = xp_of(Z)
        with_zeros = xp.concat([Z, xp.zeros_like(Z[:, :1])], axis=1)
        return xp.take(with_zeros, like(source, Z, xp.int64), axis=1)


_FOR_SPARSE = (
    "or select columns with FeatureFilter, or with a SequentialFeatureSelector whose estimator accepts sparse rows, "
    "such as 'linear' or 'logistic'"
)


class ColumnMap(RowMap, selects_columns=True, sparse_remedy=_FOR_SPARSE):
    """Rows keep some of their columns. A method sets ``support_`` and, where the search has steps, ``path_``."""

    support_: np.ndarray = attribute("True for each selected column.", "(n_features_in_,)")
    path_: tuple[Step, ...] = attribute(
        "Steps of the search: number, action, feature, name, score, size and features after the step."
    )
    n_samples_: int = attribute("Number of training rows.")
    classes_: np.ndarray | None = attribute("Class labels, sorted; None where y holds numbers.", "(n_classes,)")

    @property
    def n_features_to_select_(self) -> int:
        """Number of selected columns."""
        return int(np.sum(self.support_))

    def transform(self, X: Any) -> Any:
        """Return the selected columns of X, (n, k): sparse for sparse, tensors for tensors, lazy for Dask arrays."""
        if not is_sparse(X):
            return super().transform(X)
        rows, run = self._rows_to_map(X)
        return run.to_array(rows, type(self).__name__)[:, self.get_support(indices=True)]

    def inverse_transform(self, X: Any) -> Any:
        """Return rows with the selected columns in their original positions and zeros in the others, (n, d)."""
        if not is_sparse(X):
            return super().inverse_transform(X)
        rows, run = self._rows_to_decode(X)
        Z = run.to_array(rows, type(self).__name__)
        places = self.get_support(indices=True)[Z.indices]
        return type(Z)((Z.data, places, Z.indptr), shape=(Z.shape[0], self.n_features_in_))

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return the mask of the selected columns, (d,) bool, or with ``indices`` their indices."""
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the selected columns."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.support_]

    def path_table(self) -> str:
        """Return the path as a text table: step, column added or removed, score, number of columns after the step."""
        return path_table(self.path_)

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
        asked = f"{type(self).__name__}(n_features_to_select={k})"
        if isinstance(k, numbers.Integral):
            if not 1 <= k <= d:
                raise ParameterError(
                    f"{asked}: the data has {d} columns (n_features={d}). Choose at least 1 and at most {d}."
                )
            return int(k)
        if not 0 < k <= 1:
            raise ParameterError(
                f"{asked}: a fraction must be above 0 and at most 1. To ask for a number of columns, pass an integer."
            )
        return max(1, int(d * k + 1e-9))  # 0.58 of 50 is 29

    def _encoding(self) -> TakeColumns:
        return TakeColumns(self.get_support(indices=True))

    def _decoding(self) -> PutColumns:
        return PutColumns(self.get_support(indices=True), self.n_features_in_)

    def _encoding_width(self) -> int:
        return int(np.sum(self.support_))
