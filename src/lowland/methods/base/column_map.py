"""What methods that choose columns share: rows keep the chosen ones, and go back with zeros in the others."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, xp_of
from lowland.data.rows import Rows
from lowland.errors import ParameterError
from lowland.methods.base.row_map import RowMap
from lowland.run.run import all_finite

if TYPE_CHECKING:
    from lowland.blocks.selection.subset_search import Step


@dataclass(frozen=True)
class TakeColumns:
    """Some columns of a slab, in order; an object, so that it can travel to a worker."""

    columns: np.ndarray  # (k,)

    def __call__(self, X: Any) -> Array:
        """Of one slab; NaN or infinity in a column that is not kept marks its row, and is told as elsewhere."""
        if is_sparse(X):  # slabs of a result that is written or joined, which is dense
            Z = X[:, self.columns].toarray()
            return Z if all_finite(X) else np.full_like(Z, np.nan)
        xp = xp_of(X)
        Z = xp.take(X, like(self.columns, X, xp.int64), axis=1)
        return Z if all_finite(X) else Z + xp.sum(X * 0, axis=1)[:, None]


@dataclass(frozen=True)
class PutColumns:
    """Columns back in their places, zeros in the others."""

    columns: np.ndarray  # (k,)
    width: int

    def __call__(self, Z: Array) -> Array:
        """Of one slab."""
        Z = Z.toarray() if is_sparse(Z) else Z
        back = np.full(self.width, len(self.columns))
        back[self.columns] = np.arange(len(self.columns))
        xp = xp_of(Z)
        with_zeros = xp.concat([Z, xp.zeros_like(Z[:, :1])], axis=1)
        return xp.take(with_zeros, like(back, Z, xp.int64), axis=1)


_FOR_SPARSE = (
    "or choose columns with FeatureFilter, or with a SequentialFeatureSelector whose estimator takes sparse rows, "
    "such as 'linear' or 'logistic'"
)


class ColumnMap(RowMap, selects_columns=True, sparse_remedy=_FOR_SPARSE):
    """Rows keep some of their columns. A method sets ``support_``, (d,) bool."""

    if TYPE_CHECKING:
        support_: np.ndarray
        path_: tuple[Step, ...]

    @property
    def n_features_to_select_(self) -> int:
        """How many columns were chosen."""
        return int(np.sum(self.support_))

    def transform(self, X: Any) -> Any:
        """Return the chosen columns of X, (n, k): sparse for sparse, tensors for tensors, lazy for Dask arrays."""
        if not is_sparse(X):
            return super().transform(X)
        rows, run = self._rows_to_map(X)
        return run.to_array(rows, type(self).__name__)[:, self.get_support(indices=True)]

    def inverse_transform(self, X: Any) -> Any:
        """Return rows with the chosen columns in their places and zeros in the others, (n, d)."""
        if not is_sparse(X):
            return super().inverse_transform(X)
        rows, run = self._rows_to_decode(X)
        Z = run.to_array(rows, type(self).__name__)
        places = self.get_support(indices=True)[Z.indices]
        return type(Z)((Z.data, places, Z.indptr), shape=(Z.shape[0], self.n_features_in_))

    def get_support(self, indices: bool = False) -> np.ndarray:
        """Return which columns were chosen, (d,) bool, or their places."""
        check_is_fitted(self)
        return np.flatnonzero(self.support_) if indices else self.support_

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the chosen columns."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        return _check_feature_names_in(self, input_features)[self.support_]

    def _facts(self) -> dict[str, Any]:
        """The columns that were kept, and the path to them where there is one; a step that finds many names none."""
        told: dict[str, Any] = {"kept": [str(name) for name in self.get_feature_names_out()]}
        if "path_" in vars(self):
            told["path"] = [
                {"action": s.action, "column": None if s.feature is None else s.name, "score": s.score, "size": s.size}
                for s in self.path_
            ]
        return told

    def _names(self, rows: Rows) -> list[str]:
        """The names of the columns, made up where they have none."""
        return [str(name) for name in rows.names] if rows.names else [f"x{j}" for j in range(rows.d)]

    def _number_of(self, k: float, d: int) -> int:
        """How many of d columns a whole number or a share asks for."""
        asked = f"{type(self).__name__}(n_features_to_select={k})"
        if isinstance(k, numbers.Integral):
            if not 1 <= k <= d:
                raise ParameterError(f"{asked}: n_features={d}. Choose at least 1 and at most {d}.")
            return int(k)
        if not 0 < k <= 1:
            raise ParameterError(
                f"{asked}: a share lies above 0 and is at most 1. For a number of columns give a whole number."
            )
        return max(1, int(d * k + 1e-9))  # 0.58 of 50 is 29

    def _encoding(self) -> TakeColumns:
        return TakeColumns(self.get_support(indices=True))

    def _decoding(self) -> PutColumns:
        return PutColumns(self.get_support(indices=True), self.n_features_in_)

    def _encoding_width(self) -> int:
        return int(np.sum(self.support_))
