"""Linear maps: rows are centered and multiplied by a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lowland.arrays.namespace import Array, is_sparse, like
from lowland.math.spectra.operators import centered_product
from lowland.methods.base.row_map import RowMap


@dataclass(frozen=True)
class Affine:
    """The map x -> (x - shift) A + offset, as an object that can be pickled and sent to a worker."""

    A: Array  # (d, k)
    shift: Array | None = None  # (d,)
    offset: Array | None = None  # (k,)

    def __call__(self, X: Any) -> Array:
        """Map one slab of rows."""
        A = like(self.A, X.data if is_sparse(X) else X)
        Z = centered_product(X, self.shift, A)
        if self.offset is not None:
            Z += like(self.offset, Z)[None, :]
        return Z


class LinearMap(RowMap):
    """A method whose transform is a linear map of the centered rows."""

    def _encoding(self) -> Affine:
        """The map from rows to coordinates."""
        raise NotImplementedError

    def _decoding(self) -> Affine:
        """The map from coordinates back to rows."""
        raise NotImplementedError

    def _encoding_width(self) -> int:
        return int(self._encoding().A.shape[1])
