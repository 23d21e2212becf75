"""Out-of-sample extension by distances to, or kernel values with, the training points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from sklearn.utils import Tags

from lowland.arrays.namespace import Array, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.distances.metrics import allows_nan
from lowland.math.distances.to_points import DistancesTo, in_slabs
from lowland.methods.base.as_fitted import as_fitted
from lowland.methods.base.estimator import Reducer
from lowland.methods.base.parameters import check_saved

SKIP_MISSING = (  # for an error of NaN
    "Set `metric='nan_euclidean'` to compare rows by the columns that both have, or `metric='gower'`, which also takes "
    "categories."
)


class PointMap(Reducer):
    """A method that maps new rows by their distances to, or kernel values with, the training rows it keeps.

    A subclass writes ``_placing`` and sets ``embedding_``, the coordinates of the training rows. Its ``metric`` or
    ``kernel`` may be "precomputed": X is then a matrix of distances or kernel values.
    """

    if TYPE_CHECKING:
        embedding_: Array
        metric: Any
        metric_params: dict[str, Any] | None

    def _placing(self) -> Callable[[Array], Array]:
        """The map from a slab of rows to coordinates; it can be pickled and sent to a worker."""
        raise NotImplementedError

    def _encoding(self) -> Callable[[Array], Array]:
        """The same, after checks of the slab."""
        return self._placing()

    def _kept_points(self) -> int:
        """How many training rows were kept: the map needs that many numbers per new row."""
        return int(self.embedding_.shape[0])

    def _distances_to(self, points: Array | None) -> DistancesTo | None:
        """Distances of new rows to the points that were kept; None if distances are given."""
        if points is None:
            return None
        check_saved(self, "metric")
        return DistancesTo.of(points, *self._measure())

    def _measure(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters; for Gower's dissimilarity, those that the columns of the table give it."""
        metric, params = self._chosen_metric()
        columns = vars(self).get("metric_columns_")
        return metric, params if metric != "gower" or columns is None else dict(columns)

    def _chosen_metric(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters, as they were chosen."""
        return getattr(self, "metric", None), dict(getattr(self, "metric_params", None) or {})

    def _pair_values(self) -> str:
        """What X holds if it is a matrix of pairs: distances, affinities or kernel values; empty for rows."""
        for name, words in (("affinity", "affinities"), ("kernel", "kernel values")):
            if isinstance(given := getattr(self, name, None), str) and given == "precomputed":
                return words
        return "distances" if self._chosen_metric()[0] == "precomputed" else ""

    @property
    def _handles_missing(self) -> bool:
        """Whether the metric skips missing values."""
        return allows_nan(self._chosen_metric()[0])

    def _admit_missing(self, rows: Rows) -> None:
        super()._admit_missing(rows)
        rows.allow_nan = rows.allow_nan and not rows.is_sparse
        rows.pair_values = self._pair_values()
        points = next((vars(self)[name] for name in ("points_", "X_fit_") if name in vars(self)), None)
        rows.compared_with = None if points is None or not rows.allow_nan else to_numpy(points)

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        n = getattr(self, "n_features_in_", None)
        if not reset and rows.d != n and hasattr(self, "metric") and self._measure()[0] == "precomputed":
            raise DataError(
                f"transform with metric='precomputed' needs the distances of the new rows to the {n} training rows: "
                f"an (m, {n}) array, one row per new row. X has {rows.d} columns."
            )
        super()._check_rows(rows, reset=reset, least=least)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = "precomputed" in (self._chosen_metric()[0], getattr(self, "kernel", None))
        return tags

    def _encoding_width(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to the rows of X and return their coordinates, (n, k)."""
        return self.fit(X, y)._returned_embedding(X)

    def _returned_embedding(self, X: Any) -> Any:
        """The coordinates of the training rows, as a copy: a caller who changes them must not change the model."""
        return self._present(xp_of(self.embedding_).asarray(self.embedding_, copy=True), X)

    @as_fitted
    def transform(self, X: Any) -> Any:
        """Return the coordinates of new rows, (n, k): out-of-sample extension.

        With "precomputed" distances or kernel values, X holds those between the new rows and the training rows.
        """
        rows, run = self._rows_to_map(X)
        rows = in_slabs(rows, self._kept_points())
        return self._present(run.gather(self._encoding(), rows, self._encoding_width(), name="embedding new rows"), X)

    @as_fitted
    def transform_chunks(self, X: Any) -> Iterator[Array]:
        """Yield the coordinates chunk by chunk, in order: for results larger than memory."""
        rows, run = self._rows_to_map(X)
        return run.map_rows(self._encoding(), in_slabs(rows, self._kept_points()), name="embedding new rows")
