"""Rows are mapped one by one, and back: ``transform``, ``inverse_transform`` and their chunked forms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array
from lowland.data.open import open_rows
from lowland.data.rows import DaskRows, Rows, SlicedRows, slab_rows
from lowland.errors import DataError
from lowland.methods.base.estimator import Reducer
from lowland.run.run import Run, run_for


class RowMap(Reducer):
    """Rows are mapped one by one, and back. A method gives ``_encoding``, ``_encoding_width`` and ``_decoding``."""

    def _encoding(self) -> Callable[[Any], Array]:
        """The map from a slab of rows to coordinates; an object that can travel to a worker."""
        raise NotImplementedError

    def _decoding(self) -> Callable[[Any], Array]:
        """The map from coordinates back to rows."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """Return the coordinates of the rows of X, (n, k): tensors for tensors, lazy Dask arrays for Dask arrays."""
        rows, run = self._rows_to_map(X)
        return self._present(run.gather(self._encoding(), rows, self._encoding_width(), name="transforming rows"), X)

    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the coordinates slab by slab, in order: for results larger than memory."""
        rows, run = self._rows_to_map(X)
        return run.map_rows(self._encoding(), rows, name="transforming rows")

    def inverse_transform(self, X: Any) -> Any:
        """Return the rows that coordinates stand for, (n, d). The argument is called X, as in scikit-learn."""
        rows, run = self._rows_to_decode(X)
        return run.gather(self._decoding(), rows, self.n_features_in_, name="decoding rows")

    def inverse_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the rows that coordinates stand for slab by slab, in order."""
        rows, run = self._rows_to_decode(X)
        return run.map_rows(self._decoding(), rows, name="decoding rows")

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        check_is_fitted(self)
        rows = open_rows(Z)
        k = self._encoding_width()
        if rows.d != k:
            raise DataError(
                f"Z has {rows.d} columns, but {type(self).__name__} has {k} components. Pass what transform returned."
            )
        most = slab_rows(max(k, self.n_features_in_), rows.dtype.itemsize)
        if most < rows.slab and not isinstance(rows, DaskRows) and self.n_features_in_ > k:
            rows = SlicedRows(rows, most)  # what comes out is wider than what goes in
        return rows, run_for(rows)
