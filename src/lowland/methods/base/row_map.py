"""Maps of single rows: ``transform``, ``inverse_transform`` and their versions in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array
from lowland.data.open import open_rows, opened_once
from lowland.data.rows import DaskRows, Rows, SlicedRows, slab_rows
from lowland.errors import DataError
from lowland.methods.base.as_fitted import as_fitted
from lowland.methods.base.estimator import Reducer
from lowland.run.run import Run, run_for


class InverseMap(Reducer):
    """A method that maps coordinates back to rows. A subclass writes ``_encoding_width`` and ``_decoding``."""

    def _decoding(self) -> Callable[[Any], Array]:
        """The map from coordinates back to rows."""
        raise NotImplementedError

    @as_fitted
    def inverse_transform(self, X: Any) -> Any:
        """Return the rows reconstructed from coordinates, (n, d). The argument is named X, as in scikit-learn."""
        rows, run = self._rows_to_decode(X)
        return run.gather(self._decoding(), rows, self.n_features_in_, name="reconstructing rows")

    @as_fitted
    def inverse_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the reconstructed rows in chunks, in order: for results larger than memory."""
        rows, run = self._rows_to_decode(X)
        return run.map_rows(self._decoding(), rows, name="reconstructing rows")

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        check_is_fitted(self)
        rows = open_rows(Z)
        k = self._encoding_width()
        if rows.d != k:
            raise DataError(
                f"`X` has {rows.d} columns, but {type(self).__name__} has {k} components. Use "
                "coordinates of `transform`."
            )
        most = slab_rows(max(k, self.n_features_in_), rows.dtype.itemsize)
        if most < rows.slab and not isinstance(rows, DaskRows) and self.n_features_in_ > k:
            rows = SlicedRows(rows, most)  # the output is wider than the input
        return rows, run_for(rows)


class EncodingMap(Reducer):
    """A method that maps each row by itself. A subclass writes ``_encoding`` and ``_encoding_width``."""

    def _encoding(self) -> Callable[[Any], Array]:
        """The map from a slab of rows to coordinates, as an object that can be sent to a worker."""
        raise NotImplementedError

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k). A file or an iterable is opened once."""
        return super().fit_transform(opened_once(X), y, **fit_params)

    @as_fitted
    def transform(self, X: Any) -> Any:
        """Return the coordinates of the rows of X, (n, k), in the array library of X; lazy for Dask arrays."""
        rows, run = self._rows_to_map(X)
        return self._present(run.gather(self._encoding(), rows, self._encoding_width(), name="transforming rows"), X)

    @as_fitted
    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the coordinates in chunks, in order: for results larger than memory."""
        rows, run = self._rows_to_map(X)
        return run.map_rows(self._encoding(), rows, name="transforming rows")


class RowMap(EncodingMap, InverseMap):
    """A method that maps each row by itself, and coordinates back to rows."""
