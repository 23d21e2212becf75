"""Folds on a Dask cluster: each worker computes the statistic of its blocks; only statistics are sent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.rows import DaskRows, Rows, as_floats
from lowland.errors import DataError, MissingExtra
from lowland.run.local import Run, all_finite

FAN_IN = 8  # statistics merged by one task: few enough to fit into memory with the data


class DaskRun(Run):
    """Runs over the blocks of a Dask array, on the active scheduler or cluster; other tasks run on this machine."""

    def fold(self, rows: Rows, of: Callable[..., Any], *aligned: np.ndarray | None, name: str = "reading rows") -> Any:
        dask = _dask()
        assert isinstance(rows, DaskRows)
        slices = _aligned_blocks(rows, aligned)
        blocks = rows.X.to_delayed().ravel()
        work = dask.delayed(_statistic_of, pure=False)
        parts = [work(block, of, rows.dtype, *mine) for block, mine in zip(blocks, slices, strict=True)]
        merge = dask.delayed(_merged, pure=False)
        while len(parts) > 1:
            parts = [merge(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        with self.stage(name, None) as stage:
            total = parts[0].compute() if len(parts) else None
            stage.advance()
        if total is None:
            raise DataError(
                "The Dask array has no rows (`Found array with 0 sample(s) while a minimum of 1 is required`). "
                "Check its source."
            )
        if not total.is_finite():
            raise rows.non_finite_error()
        return total

    def map_rows(
        self, f: Callable[[Array], Array], rows: Rows, name: str = "mapping rows", *, at_rest: bool = True
    ) -> Iterator[Array]:
        return (f(chunk) for chunk in rows.chunks())

    def gather(
        self,
        f: Callable[[Array], Array],
        rows: Rows,
        width: int,
        name: str = "mapping rows",
        dtype: np.dtype | None = None,
    ) -> Array:
        assert isinstance(rows, DaskRows)
        dtype = np.dtype(dtype or rows.dtype)
        return rows.X.map_blocks(
            _mapped,
            f,
            rows.dtype,
            dtype=dtype,
            chunks=(rows.X.chunks[0], (width,)),
            meta=np.empty((0, 0), dtype),
        )


def _dask() -> Any:
    try:
        import dask
    except ImportError as error:
        raise MissingExtra("dask", "dask") from error
    return dask


def _statistic_of(block: Array, of: Callable[..., Any], dtype: np.dtype, *aligned: np.ndarray | None) -> Any:
    return of(as_floats(block, dtype), *aligned) if block.shape[0] else None


def _merged(parts: list[Any]) -> Any:
    total = None
    for part in parts:
        if part is not None:
            total = part if total is None else total + part
    return total


def _mapped(block: Array, f: Callable[[Array], Array], dtype: np.dtype) -> Array:
    mapped = f(as_floats(block, dtype))
    if not all_finite(mapped):
        raise DataError(
            "Input `X` contains NaN or infinity in a block of the Dask array. Drop those rows, or impute the missing "
            "values."
        )
    return mapped


def _aligned_blocks(rows: DaskRows, aligned: tuple[np.ndarray | None, ...]) -> list[tuple[Any, ...]]:
    """Split the aligned vectors at the boundaries of the blocks."""
    heights = rows.X.chunks[0]
    if all(a is None for a in aligned):
        return [tuple(aligned)] * len(heights)
    if any(h != h for h in heights):
        raise DataError(
            "The chunk sizes of the Dask array are unknown, so labels and weights cannot be matched to its rows. "
            "Call compute_chunk_sizes() first."
        )
    borders = np.cumsum([0, *heights])
    return [tuple(None if a is None else a[start:stop] for a in aligned) for start, stop in itertools.pairwise(borders)]
