"""What methods that choose columns share: rows keep the chosen ones, and go back with zeros in the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, xp_of
from lowland.methods.maps import RowMap
from lowland.run.run import all_finite

if TYPE_CHECKING:
    from lowland.blocks.selection import Step


@dataclass(frozen=True)
class TakeColumns:
    """Some columns of a slab, in order; an object, so that it can travel to a worker."""

    columns: np.ndarray  # (k,)

    def __call__(self, X: Any) -> Array:
        """Of one slab; NaN or infinity in a column that is not kept marks its row, and is told as elsewhere."""
        if is_sparse(X):
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
        back = np.full(self.width, len(self.columns))
        back[self.columns] = np.arange(len(self.columns))
        xp = xp_of(Z)
        with_zeros = xp.concat([Z, xp.zeros_like(Z[:, :1])], axis=1)
        return xp.take(with_zeros, like(back, Z, xp.int64), axis=1)


class ColumnMap(RowMap):
    """Rows keep some of their columns. A method sets ``support_``, (d,) bool."""

    keeps_columns: ClassVar[bool] = True

    if TYPE_CHECKING:
        support_: np.ndarray
        path_: tuple[Step, ...]

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

    def _encoding(self) -> TakeColumns:
        return TakeColumns(self.get_support(indices=True))

    def _decoding(self) -> PutColumns:
        return PutColumns(self.get_support(indices=True), self.n_features_in_)

    def _encoding_width(self) -> int:
        return int(np.sum(self.support_))
