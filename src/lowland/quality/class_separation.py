"""Whether an embedding keeps labelled classes apart: among neighbours, by silhouettes, for a classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowland.arrays.slices import slices
from lowland.blocks.distances.metrics import Metric
from lowland.blocks.neighbors.ranks import PointSet
from lowland.blocks.statistics.labels import shown
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.quality.inputs import (
    EvaluatedRows,
    Sample,
    check_neighbors,
    class_labels,
    open_coordinates,
    open_points,
    sample_rows,
)
from lowland.quality.measure import Measure, student_quantile, wilson_interval
from lowland.quality.neighborhoods.nearest import COUNTED
from lowland.quality.original_space import ORDERED, OriginalSpace
from lowland.run.local import LocalRun

_BLOCK = 1 << 20  # distances that a thread has in hand


def neighborhood_hit(
    Z: Any, y: Any, n_neighbors: int = 5, *, per_row: bool = False, sample: Sample = "auto", random_state: Any = None
) -> Measure:
    """Return the share of the k nearest of a row that have its label, on average.

    Parameters
    ----------
    Z : (n, k) coordinates; rows of NaN are left out, and counted.
    y : a label for each row, whole numbers or texts.
    n_neighbors : how many neighbours are asked.
    per_row : whether to give the value of each row as well.
    sample : how many rows are asked for their neighbours among all; "auto": all of up to 30,000; None: all.
    random_state : seed of what is drawn; None draws the same each time.

    Reference: Paulovich et al. 2008, doi:10.1109/TVCG.2007.70443.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> round(quality.neighborhood_hit(PCA(2).fit_transform(iris.X), iris.y).value, 3)
    0.951
    """
    near = _NearestLabels.of(Z, y, n_neighbors, "euclidean", sample, random_state)
    return near.hit(per_row)


def nearest_neighbor_accuracy(
    Z: Any,
    y: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return the share of rows whose label the k nearest others name by majority; of a tie, that with the nearest.

    The accuracy of the rows themselves, ``nearest_neighbor_accuracy(X, y)``, is what there was to keep.

    Parameters
    ----------
    Z, y, n_neighbors, per_row, sample, random_state : as of ``neighborhood_hit``; Z may also be the rows.
    metric : how rows are compared; "precomputed": Z are their distances, (n, n).

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> Z = PCA(2).fit_transform(iris.X)
    >>> [round(quality.nearest_neighbor_accuracy(A, iris.y).value, 3) for A in (Z, iris.X)]
    [0.967, 0.967]
    """
    return _NearestLabels.of(Z, y, n_neighbors, metric, sample, random_state).accuracy("", per_row)


def silhouette(
    Z: Any,
    y: Any,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return the mean of (b - a)/max(a, b), a the mean distance to the own class and b to the nearest other one.

    1: classes are tight and far apart; 0: they overlap; below: rows lie among another class. It favours round classes
    of one size. A row alone in its class counts 0.

    Parameters
    ----------
    Z, y, metric, per_row, random_state : as of ``nearest_neighbor_accuracy``.
    sample : how many rows are compared with all others; "auto": all of up to 4,096; None: all.

    Reference: Rousseeuw 1987, doi:10.1016/0377-0427(87)90125-7; agrees with scikit-learn's.
    """
    side, kept = open_points(Z, metric)
    classes, codes = class_labels(y, kept)
    evaluated = EvaluatedRows(kept, sample_rows(side, sample, ORDERED, random_state, codes))
    return silhouette_of(side, codes, len(classes), evaluated, per_row=per_row)


def silhouette_of(
    side: PointSet, codes: np.ndarray, classes: int, evaluated: EvaluatedRows, *, per_row: bool = False
) -> Measure:
    """The silhouette of points that have been opened."""
    rows = np.arange(side.n) if evaluated.rows is None else evaluated.rows
    sizes = np.bincount(codes, minlength=classes)  # none is empty
    by_class, starts = np.argsort(codes, kind="stable"), np.cumsum(sizes) - sizes
    values = np.empty(len(rows))

    def work(block: slice) -> None:
        own = codes[rows[block]]
        sums = np.add.reduceat(side.distances(rows[block])[:, by_class], starts, axis=1)  # (b, classes)
        place = np.arange(len(own))
        a = sums[place, own] / np.maximum(sizes[own] - 1, 1)
        means = sums / sizes
        means[place, own] = np.inf
        b = means.min(axis=1)
        top = np.maximum(a, b)
        values[block] = np.where((sizes[own] > 1) & (top > 0), (b - a) / np.where(top > 0, top, 1.0), 0.0)

    run = side.threads(LocalRun())
    run.each("comparing classes", slices(len(rows), max(1, _BLOCK // side.n)), work)
    about = f"How much nearer the {classes} classes lie to themselves than to the next one."
    return evaluated.mean("silhouette", values, "higher", about, ends=(-1.0, 1.0), per_row=per_row)


def downstream_accuracy(
    Z: Any, y: Any, classifier: Any = None, *, folds: int = 5, per_row: bool = False, random_state: Any = None
) -> Measure:
    """Return the accuracy of a classifier that learns from the coordinates, on rows it has not seen.

    Parameters
    ----------
    Z, y : as of ``neighborhood_hit``.
    classifier : any of scikit-learn's manner; None: the five nearest neighbours.
    folds : parts of the cross-validation, each with its share of every class; fewer where a class is smaller.
    per_row : whether to say for each row if it was named rightly, 1 or 0.
    random_state : seed of the folds; None takes the same each time.

    The value is the share of all rows that were named rightly when held out; ``folds`` has that of each fold. The
    interval is that of Nadeau and Bengio 2003, doi:10.1023/A:1024068626366: folds share what they learn from; it is no
    narrower than chance in so many rows makes it.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> round(quality.downstream_accuracy(PCA(2).fit_transform(iris.X), iris.y).value, 2)
    0.96
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    C, kept = open_coordinates(Z)
    classes, codes = class_labels(y, kept)
    smallest = int(np.argmin(np.bincount(codes)))
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise ParameterError(f"folds={folds!r}: give a whole number of at least 2.")
    if np.bincount(codes)[smallest] < 2:
        raise DataError(
            f"Only one row has the label {shown(classes[smallest])}: nothing can be learnt of it and then tested. "
            "Leave it out, or join it to another class."
        )
    folds = min(int(folds), int(np.bincount(codes)[smallest]))
    model = _classifier(classifier, len(C))
    if classifier is None:
        C = PointSet.of(C).X  # for the nearest the unit does not matter, and squares of astronomic numbers would
    labels, right, scores = classes[codes], np.empty(len(C)), []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=_seed(random_state)).split(C, codes):
        named = np.asarray(clone(model).fit(C[train], labels[train]).predict(C[test]))
        right[test] = named.reshape(len(test)) == labels[test]
        scores.append(right[test].mean())
    value = float(right.mean())
    low, high = _held_out_interval(value, np.array(scores), len(C))
    about = f"Accuracy of {type(model).__name__} by cross-validation in {folds} folds."
    evaluated = EvaluatedRows(kept)
    each = evaluated.spread(right) if per_row else None
    return Measure("downstream accuracy", value, each, "higher", about, low, high, left_out=evaluated.left_out)


def _classifier(classifier: Any, n: int) -> Any:
    """What is asked, or refuse what cannot name classes."""
    from sklearn.base import is_clusterer, is_outlier_detector, is_regressor
    from sklearn.neighbors import KNeighborsClassifier

    if classifier is None:
        return KNeighborsClassifier(min(5, n // 2))
    if isinstance(classifier, type):
        raise DataTypeError(f"{classifier.__name__} is a class. Pass a classifier made of it: {classifier.__name__}().")
    name = type(classifier).__name__
    if not hasattr(classifier, "predict"):
        raise DataTypeError(f"A {name} does not predict. Pass a classifier, such as LogisticRegression().")
    if not hasattr(classifier, "get_params"):
        raise DataTypeError(f"A {name} cannot be copied for every fold: it has no get_params, as scikit-learn's have.")
    kinds = {"numbers": is_regressor, "clusters": is_clusterer, "outliers": is_outlier_detector}
    for what, holds in kinds.items():
        if hasattr(classifier, "__sklearn_tags__") and holds(classifier):
            raise DataTypeError(
                f"A {name} predicts {what}, not classes. Pass a classifier, such as LogisticRegression()."
            )
    return classifier


def _seed(random_state: Any) -> Any:
    """A seed as scikit-learn takes it, which knows no Generator; None takes the same each time."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    return 0 if random_state is None else random_state


def _held_out_interval(value: float, scores: np.ndarray, n: int) -> tuple[float, float]:
    """The interval of an accuracy in folds, no narrower than chance in n rows makes it: folds may happen to agree."""
    f = len(scores)
    half = student_quantile(f - 1) * float(scores.std(ddof=1)) * math.sqrt(1 / f + 1 / (f - 1))
    low, high = wilson_interval(value, n)
    return max(0.0, min(value - half, low)), min(1.0, max(value + half, high))


class _NearestLabels:
    """The labels of the nearest of each row, beside its own."""

    def __init__(self, near: np.ndarray, codes: np.ndarray, evaluated: EvaluatedRows) -> None:
        self.evaluated, self.k = evaluated, near.shape[1]
        self.own = codes if evaluated.rows is None else codes[evaluated.rows]  # (m,)
        self.near = codes[near]  # (m, k)

    @classmethod
    def of(cls, Z: Any, y: Any, k: int, metric: Metric, sample: Sample, random_state: Any) -> _NearestLabels:
        side, kept = open_points(Z, metric)
        _, codes = class_labels(y, kept)
        check_neighbors(k, side.n, half=False)
        evaluated = EvaluatedRows(kept, sample_rows(side, sample, COUNTED, random_state, codes))
        return cls(side.nearest(k, LocalRun(), evaluated.rows), codes, evaluated)

    def hit(self, per_row: bool = False) -> Measure:
        about = f"Share of the {self.k} nearest in the embedding that have the label of the row."
        values = (self.near == self.own[:, None]).mean(axis=1)
        return self.evaluated.mean("neighbourhood hit", values, "higher", about, per_row=per_row)

    def accuracy(self, where: str = "", per_row: bool = False) -> Measure:
        about = f"Share of rows whose label their {self.k} nearest{where} name, the row itself left out."
        right = (self._named() == self.own).astype(np.float64)
        return self.evaluated.mean(f"nearest-neighbour accuracy{where}", right, "higher", about, per_row=per_row)

    def _named(self) -> np.ndarray:
        """The label most of the nearest have; of a tie, that of the nearest among them.

        Equal labels of a row are brought together: there may be more classes than could be counted side by side.
        """
        m, k = self.near.shape
        order = np.argsort(self.near, axis=1, kind="stable")
        labels = np.take_along_axis(self.near, order, axis=1)
        begins = np.ones((m, k), dtype=bool)
        begins[:, 1:] = labels[:, 1:] != labels[:, :-1]
        runs = np.flatnonzero(begins)  # the nearest of each label
        votes = np.diff(runs, append=m * k)
        rank = votes * k - order.ravel()[runs]
        first = np.searchsorted(runs, np.arange(m) * k)  # of the runs of each row
        best = np.repeat(np.maximum.reduceat(rank, first), np.diff(first, append=len(runs)))
        named: np.ndarray = labels.ravel()[
            runs[rank == best]
        ]  # of no two runs are both the votes and the nearest equal
        return named


def label_measures(
    high: OriginalSpace, Z: PointSet, codes: np.ndarray, k: int, differ: tuple[bool, bool] = (True, True)
) -> tuple[Measure, ...]:
    """Every measure of labels of a few rows among all, and the accuracy there was in the data.

    Where distances do not differ, in the data or in the embedding, no row has nearest ones to be asked.
    """
    evaluated, found = high.evaluated, []
    if differ[1]:
        near = _NearestLabels(Z.nearest(k, high.run, evaluated.rows), codes, evaluated)
        found += [near.hit(), near.accuracy()]
    if differ[0]:
        found.append(_NearestLabels(high.nearest(k), codes, evaluated).accuracy(" in the data"))
    return (*found, silhouette_of(Z, codes, int(codes.max()) + 1, evaluated))
