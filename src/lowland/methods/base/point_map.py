"""New rows are placed by their distances to, or kernel values with, the fitted points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sklearn.utils import Tags

from lowland.arrays.namespace import Array
from lowland.blocks.distances.to_points import DistancesTo, in_slabs
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.methods.base.estimator import Reducer
from lowland.methods.base.parameters import check_saved


class PointMap(Reducer):
    """New rows are placed by their distances to, or kernel values with, rows that were kept.

    A method gives ``_placing`` and sets ``embedding_``, the coordinates of the rows it was fitted to. Its ``metric`` or
    ``kernel`` may be "precomputed": then every pair of rows has been compared already.
    """

    if TYPE_CHECKING:
        embedding_: Array
        metric: Any
        metric_params: dict[str, Any] | None

    def _placing(self) -> Callable[[Array], Array]:
        """The map from a slab of rows to coordinates; an object that can travel to a worker."""
        raise NotImplementedError

    def _encoding(self) -> Callable[[Array], Array]:
        """The same, with what is to be checked of a slab before."""
        return self._placing()

    def _kept_points(self) -> int:
        """How many rows were kept: a slab makes as many numbers for each of its rows."""
        return int(self.embedding_.shape[0])

    def _distances_to(self, points: Array | None) -> DistancesTo | None:
        """What measures rows against the points that were kept; None where their distances are given."""
        if points is None:
            return None
        check_saved(self, "metric")
        return DistancesTo.of(points, *self._measure())

    def _measure(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters."""
        return self.metric, self.metric_params or {}

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        n = getattr(self, "n_features_in_", None)
        if not reset and rows.d != n and getattr(self, "metric", None) == "precomputed":
            raise DataError(
                f"transform wants the distances of the new points to the {n} fitted points: an (m, {n}) array, a row "
                f"for each new point. X has {rows.d} columns."
            )
        super()._check_rows(rows, reset=reset, least=least)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        compared_by = (getattr(self, name, None) for name in ("metric", "kernel"))
        tags.input_tags.pairwise = "precomputed" in compared_by
        return tags

    def _encoding_width(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to the rows of X and return their coordinates, (n, k)."""
        return self._present(self.fit(X, y).embedding_, X)

    def transform(self, X: Any) -> Any:
        """Place the rows of X among those the method was fitted to, (n, k); precomputed: their distances to these."""
        rows, run = self._rows_to_map(X)
        rows = in_slabs(rows, self._kept_points())
        return self._present(run.gather(self._encoding(), rows, self._encoding_width(), name="placing rows"), X)

    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the coordinates slab by slab, in order: for results larger than memory."""
        rows, run = self._rows_to_map(X)
        return run.map_rows(self._encoding(), in_slabs(rows, self._kept_points()), name="placing rows")
