"""Fit a method to a table: the coordinates of all rows, and what the fitted model measures."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.reader import holds_numbers
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, Stopped, marked_text
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.base.traits import traits_of
from lowland.quality.reconstruction import has_inverse_transform, reconstruction_measures
from lowland.run.processes import error_text
from lowland.trial.parameters import Planned
from lowland.trial.prediction import PredictionTest
from lowland.trial.records import Curve, Score


@dataclass(frozen=True, eq=False)
class SharedInputs:
    """The inputs that all trials share, computed once."""

    X: np.ndarray  # (n, d)
    y: np.ndarray | None = None  # (n,) class codes; -1: no label
    graph: NeighborGraph | None = None  # nearest neighbors of every row, as many as any trial needs
    D: np.ndarray | None = None  # (n, n) distances, if there are few rows
    seed: int = 0
    classes: np.ndarray | None = None  # (c,) names of the classes
    names: np.ndarray | None = None  # (d,) names of the columns
    mixed: Any = None  # an Arrow table of the columns as they are, for methods that read categories or counts
    targets: np.ndarray | None = None  # (n,) numbers to predict; NaN: no label

    @cached_property
    def test(self) -> PredictionTest | None:
        """The rows and folds for predictions of the labels. None means there are no labels."""
        if self.targets is not None:
            return PredictionTest.for_numbers(self.targets, self.seed)
        return None if self.y is None else PredictionTest.for_classes(self.y, self.seed)

    def columns_of(self, est: Any) -> Any:
        """The columns that a method reads: prepared numbers, or categories or counts as they are."""
        return columns_for(est, self.mixed) if self.reads_as_given(est) else self.X

    def reads_as_given(self, est: Any) -> bool:
        """Whether a method is fitted to the columns as they are."""
        if self.mixed is None:
            return False
        has_categories = not all(holds_numbers(field.type) for field in self.mixed.schema)
        return traits_of(est).reads_text if has_categories else traits_of(est).reads == "counts"

    def part(self, rows: np.ndarray) -> SharedInputs:
        """The inputs for some of the rows, without what was computed from all."""
        y, targets = (None if each is None else each[rows] for each in (self.y, self.targets))
        mixed = None if self.mixed is None else self.mixed.take(rows)
        return replace(self, X=self.X[rows], y=y, targets=targets, mixed=mixed, graph=None, D=None)

    def as_given(self, labeled: np.ndarray | None = None) -> tuple[np.ndarray | Rows, np.ndarray | None]:
        """Rows and labels for a fit, with the column and class names that warnings show; ``labeled``: only these."""
        X, y = (self.X, self.y) if labeled is None or self.y is None else (self.X[labeled], self.y[labeled])
        rows = X if self.names is None else ArrayRows(X, tuple(map(str, self.names)))
        return rows, y if y is None or self.classes is None else self.classes[y]


def fitted_coordinates(
    est: Any, planned: Planned, shared: SharedInputs, *, callback: Callable[[Any], Any] | None = None,
    weights: np.ndarray | None = None, start: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Fit, and return the coordinates of all rows, (n, k).

    ``callback`` receives snapshots of a method that makes some, ``weights`` go to a method that accepts them.
    ``start``, (n, k), is where a method that descends begins.
    """
    if planned.rows is not None:
        placed = fitted_coordinates(est, replace(planned, rows=None), shared.part(planned.rows))
        every = np.full((len(shared.X), placed.shape[1]), np.nan, dtype=placed.dtype)
        every[planned.rows] = placed
        return every
    if planned.estimator is not None:
        return _checked(_coordinates_of_other(est, shared), len(shared.X))
    taken = inspect.signature(est.fit).parameters
    given: dict[str, Any] = {"callback": callback} if callback is not None and "callback" in taken else {}
    if planned.fitted_rows is not None:
        return _placed_among_a_sample(est, planned.fitted_rows, shared, given.get("callback"))
    given |= {"sample_weight": weights} if weights is not None and "sample_weight" in taken else {}
    if start is not None and "init" in taken:
        given["init"] = start
    elif start is not None:
        est.set_params(init=start)
    X, y = shared.as_given()
    if shared.reads_as_given(est):
        X = columns_for(est, shared.mixed)
    if not traits_of(est).learns_labels_in_study:
        y = None
    if y is not None and shared.y is not None and (shared.y < 0).any():
        Z = est.fit(*shared.as_given(shared.y >= 0)).transform(X)
    else:
        if shared.graph is not None and planned.shared_neighbors is not None:
            est.fit(X, y, graph=shared.graph.nearest(planned.shared_neighbors).matrix(), **given)
        elif shared.D is not None and planned.takes_distances and "metric" not in planned.parameters:
            est.set_params(metric="precomputed").fit(shared.D)
        else:
            est.fit(X, y, **given)
        Z = est.embedding_ if hasattr(est, "embedding_") else est.transform(X)
    return _checked(Z, len(shared.X))


def warning_texts(caught: Sequence[Any]) -> tuple[str, ...]:
    """The warnings of a fit, each once. It was given a graph, so the remedy for users is n_neighbors."""
    texts = (" ".join(marked_text(each.message).split()) for each in caught)
    return tuple(dict.fromkeys(text.replace("Add edges to the graph", "Raise `n_neighbors`") for text in texts))


def _coordinates_of_other(est: Any, shared: SharedInputs) -> Any:
    """Coordinates of an estimator of the user, which gets the labels only if it requires them."""
    if not traits_of(est).needs_y:
        return est.fit_transform(shared.X)
    labels = shared.targets if shared.y is None else shared.y
    missing = labels is None or (np.isnan(labels).any() if shared.y is None else labels.min() < 0)
    if missing:
        raise DataError("This estimator requires a label for each row. Pass labels without missing values.")
    return est.fit_transform(shared.X, labels)


LEADING = 3  # columns that are named with an axis


def axes_of(est: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the name of each axis of a map, its part of the variance, and the columns with the largest weights.

    A column of negative weight begins with a minus. The list is empty for methods whose axes have no meaning.
    """
    traits = traits_of(est)
    shares = np.atleast_1d(to_numpy(getattr(est, "explained_variance_ratio_", ()))).tolist()
    weights = to_numpy(getattr(est, "components_", np.empty((0, 0)))) if traits.linear else np.empty((0, 0))
    if weights.ndim != 2 or weights.shape[1] != len(names):
        weights = np.empty((0, 0))
    found = []
    for j in range(max(len(shares), len(weights))):
        own = weights[j] if j < len(weights) else np.empty(0)
        leading = [i for i in np.argsort(-np.abs(own), kind="stable")[:LEADING] if own[i]]
        columns = [f"{'−' if own[i] < 0 else ''}{names[i]}" for i in leading]
        share = shares[j] if j < len(shares) else None
        found.append({"name": f"{traits.axis}{j + 1}", "share": share, "columns": columns})
    return found


def columns_for(est: Any, mixed: Any) -> Any:
    """Return the columns that such a method reads: all, or only the categories. A missing category is a level."""
    if traits_of(est).reads == "categories":
        mixed = mixed.select([f.name for f in mixed.schema if not holds_numbers(f.type)])
    if any(column.null_count for column in mixed.columns):
        est.set_params(missing="category")
    return mixed


def _placed_among_a_sample(est: Any, m: int, shared: SharedInputs, callback: Callable[[Any], Any] | None) -> np.ndarray:
    """Fit evenly spaced rows, and place the others among them."""
    chosen = evenly_spread(len(shared.X), m, np.random.default_rng(shared.seed))

    def shown(shot: Any) -> Any:
        """Show the rows of the sample; the others have no place yet."""
        assert callback is not None
        every = np.full((len(chosen), shot.embedding.shape[1]), np.nan)
        every[chosen] = to_numpy(shot.embedding)
        return callback(replace(shot, embedding=every))

    est.fit(shared.X[chosen], **({} if callback is None else {"callback": shown}))
    found = _checked(est.embedding_, m)
    Z = np.empty((len(shared.X), found.shape[1]), dtype=found.dtype)
    Z[chosen], Z[~chosen] = found, to_numpy(est.transform(shared.X[~chosen]))
    return Z


def _checked(Z: Any, n: int) -> np.ndarray:
    Z = to_numpy(Z)
    if Z.ndim != 2 or len(Z) != n or not Z.shape[1]:
        raise DataError(f"The coordinates have shape {Z.shape}, expected ({n}, k).")
    if np.isinf(Z).any():
        raise DataError("Some coordinates are infinite. Rescale the columns.")
    return Z


def model_measures(
    est: Any, shared: SharedInputs, Z: np.ndarray | None = None, to_beat: float | None = None
) -> tuple[dict[str, Score], dict[str, Curve], tuple[str, ...]]:
    """The scores and curves that need the model, not only the coordinates, and warnings about those that failed.

    A supervised method is fitted again without the held-out rows. So is another one, if its coordinates Z predict the
    labels better than the score ``to_beat``.
    """
    traits = traits_of(est)
    scores: dict[str, Score] = {}
    curves: dict[str, Curve] = {}
    missing = []

    def reconstruction() -> None:
        if shared.reads_as_given(est):
            return  # it reconstructs categories or counts, not the prepared columns
        if not hasattr(est, "_traits") or traits.selects_columns:
            return
        if traits.study.reconstructs and has_inverse_transform(est):
            found = reconstruction_measures(est, shared.as_given()[0])
            scores.update({m.name: Score(m.value, m.better, m.about) for m in found})

    def held_out() -> None:
        test = shared.test
        if test is None:
            return
        if not hasattr(est, "transform"):
            return  # it cannot place held-out rows
        is_promising = traits.learns_labels_in_study and shared.y is not None
        if to_beat is not None and Z is not None and not is_promising:
            is_promising = to_beat == -np.inf
            if not is_promising:
                scores.update(test.scores(Z))
                is_promising = any(scores[name].value > to_beat for name in test.names if name in scores)
        if is_promising:
            scores.update(test.scores_when_refitted(est, shared.columns_of(est)))

    def residual_variance() -> None:
        if hasattr(type(est), "residual_variances_"):
            left = np.asarray(est.residual_variances_)
            of_k = Curve(np.arange(1, len(left) + 1), left, "number of dimensions", "residual variance")
            curves["residual variance"] = of_k

    for what, measure in (
        ("The reconstruction error", reconstruction),
        ("The accuracy on held-out rows", held_out),
        ("The residual variance by number of dimensions", residual_variance),
    ):
        try:
            measure()
        except Stopped:
            raise
        except Exception as error:  # the coordinates are valid all the same
            missing.append(f"{what} could not be computed: {error_text(error, marked_text)}")
    return scores, curves, tuple(missing)
