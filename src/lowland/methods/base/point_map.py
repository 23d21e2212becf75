"""Out-of-sample extension by distances to, or kernel values with, the training points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sklearn.utils import Tags

from lowland.arrays.namespace import Array, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.distances.metrics import allows_nan
from lowland.math.distances.to_points import DistancesTo, in_slabs
from lowland.methods.base.method import Method
from lowland.run.run import Run

SKIP_MISSING = (  # for an error of NaN
    "Set metric='nan_euclidean' to compare rows by the columns that both have, or metric='gower', which also takes "
    "categories."
)


class PointMap(Method):
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
        return DistancesTo.of(points, *self._measure())

    def _measure(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters; for Gower's dissimilarity, those that the columns of the table give it."""
        metric, params = self._chosen_metric()
        columns = vars(self).get("metric_columns_")
        return metric, params if metric != "gower" or columns is None else dict(columns)

    def _chosen_metric(self) -> tuple[Any, dict[str, Any]]:
        """The metric and its parameters, as they were chosen."""
        return vars(self._params).get("metric"), dict(vars(self._params).get("metric_params") or {})

    def _pair_values(self) -> str:
        """What X holds if it is a matrix of pairs: distances, affinities or kernel values; empty for rows."""
        for name, words in (("affinity", "affinities"), ("kernel", "kernel values")):
            if isinstance(given := vars(self._params).get(name), str) and given == "precomputed":
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
        n = vars(self).get("n_features_in_")
        if not reset and rows.d != n and "metric" in vars(self) and self._measure()[0] == "precomputed":
            raise DataError(
                f"transform with metric='precomputed' needs the distances of the new rows to the {n} training rows: "
                f"an (m, {n}) array, one row per new row. X has {rows.d} columns."
            )
        super()._check_rows(rows, reset=reset, least=least)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = "precomputed" in (self._chosen_metric()[0], vars(self).get("kernel"))
        return tags

    def _encoding_width(self) -> int:
        return int(self.embedding_.shape[1])

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to the rows of X and return their coordinates, (n, k)."""
        return self.fit(X, y)._returned_embedding(X)

    def _returned_embedding(self, X: Any) -> Any:
        """The coordinates of the training rows, as a copy: a caller who changes them must not change the model."""
        return self._present(xp_of(self.embedding_).asarray(self.embedding_, copy=True), X)

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        """The rows in slabs that leave room for a number per training point."""
        rows, run = super()._rows_to_map(X)
        return in_slabs(rows, self._kept_points()), run
