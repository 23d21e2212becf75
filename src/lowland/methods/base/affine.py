"""Linear maps: rows are centered and multiplied by a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lowland.arrays.namespace import Array, is_sparse, like
from lowland.math.spectra.operators import centered_product


@dataclass(frozen=True)
class Affine:
    """The map x -> (x - shift) A + offset, as an object that can be pickled and sent to a worker."""

    A: Array  # (d, k)
    shift: Array | None = None  # (d,)
    offset: Array | None = None  # (k,)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return int(self.A.shape[1])

    def __call__(self, X: Any) -> Array:
        """Map one slab of rows."""
        A = like(self.A, X.data if is_sparse(X) else X)
        Z = centered_product(X, self.shift, A)
        if self.offset is not None:
            Z += like(self.offset, Z)[None, :]
        return Z
