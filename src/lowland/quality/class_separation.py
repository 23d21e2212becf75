"""Separation of labeled classes in an embedding: by neighbors, by silhouette, by a classifier."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowland.arrays.namespace import slices
from lowland.docstrings import with_parameters
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet
from lowland.math.statistics.intervals import student_quantile, wilson_interval
from lowland.math.statistics.labels import shown
from lowland.quality.inputs import (
    SEARCHED,
    SHARED,
    EvaluatedRows,
    Sample,
    check_neighbors,
    class_labels,
    open_coordinates,
    open_points,
    sample_rows,
)
from lowland.quality.measure import Measure
from lowland.quality.neighborhoods import COUNTED
from lowland.quality.original_space import ORDERED, PAIRED, OriginalSpace
from lowland.run.run import Run

LABELED = """
Z : array-like of shape (n, k)
    Coordinates, or the original data for comparison. Points with NaN are left out and counted in ``left_out``.
n_neighbors : int, default 5
    Number of neighbors k, at most n - 1.
metric : str or function, default "euclidean"
    Distance metric. With "precomputed", Z contains the distances, shape (n, n).
"""
_BLOCK = 1 << 20  # distances per thread


@with_parameters(SHARED, LABELED, SEARCHED)
def neighborhood_hit(
    Z: Any, y: Any, n_neighbors: int = 5, *, per_row: bool = False, sample: Sample = "auto", random_state: Any = None
) -> Measure:
    """Return the mean fraction of the k nearest neighbors of a point that have its label.

    Parameters
    ----------
    Z : array-like of shape (n, k)
        Coordinates of the same points, in the same order. Points with NaN are left out and counted in ``left_out``.

    Returns
    -------
    Measure
        Value in [0, 1], higher is better. By chance: the sum of the squared class fractions.

    References
    ----------
    Paulovich, Nonato, Minghim and Levkowitz 2008, *Least square projection*, doi:10.1109/TVCG.2007.70443.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> iris = data.load_dataset("iris")
    >>> round(quality.neighborhood_hit(PCA(2).fit_transform(iris.X), iris.y).value, 3)
    0.951
    """
    return _NearestLabels.of(Z, y, n_neighbors, "euclidean", sample, random_state).hit(per_row)


@with_parameters(SHARED, LABELED, SEARCHED)
def nearest_neighbor_accuracy(
    Z: Any, y: Any, n_neighbors: int = 5, *, metric: Metric = "euclidean", per_row: bool = False,
    sample: Sample = "auto", random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the leave-one-out accuracy of a k-nearest-neighbor classifier.

    Each point is classified by a majority vote of its k nearest neighbors. The nearest one decides a tie. Compare with
    the accuracy in the data, ``nearest_neighbor_accuracy(X, y)``.

    Returns
    -------
    Measure
        Value in [0, 1], higher is better. Baseline: the fraction of the largest class.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> iris = data.load_dataset("iris")
    >>> Z = PCA(2).fit_transform(iris.X)
    >>> [round(quality.nearest_neighbor_accuracy(A, iris.y).value, 3) for A in (Z, iris.X)]
    [0.967, 0.967]
    """
    return _NearestLabels.of(Z, y, n_neighbors, metric, sample, random_state).accuracy("", per_row)


@with_parameters(SHARED, LABELED)
def silhouette(
    Z: Any, y: Any, *, metric: Metric = "euclidean", per_row: bool = False, sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:  # fmt: skip
    """Return the mean silhouette coefficient of the classes.

    The silhouette of a point is (b - a)/max(a, b), where a is the mean distance to the other points of its class and b
    the mean distance to the points of the nearest other class. 1: compact classes, far apart. 0: overlapping classes.
    Below 0: points lie among another class. The silhouette of the only point of a class is 0.

    Returns
    -------
    Measure
        Value in [-1, 1], higher is better.

    Notes
    -----
    The silhouette favors round classes of equal size. Equals ``sklearn.metrics.silhouette_score``.

    References
    ----------
    Rousseeuw 1987, *Silhouettes: a graphical aid to the interpretation and validation of cluster analysis*,
    doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> iris = data.load_dataset("iris")
    >>> round(quality.silhouette(PCA(2).fit_transform(iris.X), iris.y).value, 3)
    0.534
    """
    side, kept = open_points(Z, metric)
    classes, codes = class_labels(y, kept)
    evaluated = EvaluatedRows(kept, sample_rows(side, sample, ORDERED, random_state, codes, most=PAIRED))
    return silhouette_of(side, codes, len(classes), evaluated, per_row=per_row)


def silhouette_of(
    side: PointSet, codes: np.ndarray, classes: int, evaluated: EvaluatedRows, *, per_row: bool = False
) -> Measure:
    """The silhouette of points that are already opened."""
    rows = evaluated.places
    sizes = np.bincount(codes, minlength=classes)  # no class is empty
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

    run = side.threads(Run())
    run.each("computing silhouettes", slices(len(rows), max(1, _BLOCK // side.n)), work)
    about = f"How much nearer points are to their own class than to the nearest other class, of {classes} classes."
    return evaluated.mean("silhouette", values, "higher", about, ends=(-1.0, 1.0), per_row=per_row)


@with_parameters(SHARED, LABELED)
def downstream_accuracy(
    Z: Any, y: Any, classifier: Any = None, *, folds: int = 5, per_row: bool = False, random_state: Any = None
) -> Measure:
    """Return the cross-validated accuracy of a classifier that is trained on the coordinates.

    Parameters
    ----------
    Z : array-like of shape (n, k)
        Coordinates of the same points, in the same order. Points with NaN are left out and counted in ``left_out``.
    classifier : scikit-learn classifier or None, default None
        Classifier to train, not fitted. None means k-nearest neighbors with k = 5.
    folds : int, default 5
        Number of stratified folds. Fewer if the smallest class has fewer points.
    per_row : bool, default False
        Also return for each point whether it was classified correctly, 1 or 0.
    random_state : int, Generator or None, default None
        Seed of the folds. None uses the same folds every time.

    Returns
    -------
    Measure
        Fraction of all points that were classified correctly when held out, higher is better. Baseline: the fraction of
        the largest class.

    Notes
    -----
    The confidence interval is corrected for the overlap of the training folds (Nadeau and Bengio), and is never
    narrower than Wilson's interval of a fraction of n points. A supervised method such as LDA has seen the labels of
    the held-out points. Evaluate it on other points, or use ``lowland.compare``, which refits it in each fold.

    References
    ----------
    Nadeau and Bengio 2003, *Inference for the generalization error*, doi:10.1023/A:1024068626366.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> iris = data.load_dataset("iris")
    >>> round(quality.downstream_accuracy(PCA(2).fit_transform(iris.X), iris.y).value, 2)
    0.96
    """
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    C, kept = open_coordinates(Z)
    classes, codes = class_labels(y, kept)
    smallest = int(np.argmin(np.bincount(codes)))
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise ParameterError(f"`folds={folds!r}`: choose an integer of at least 2.")
    if np.bincount(codes)[smallest] < 2:
        raise DataError(
            f"Only one row has the label {shown(classes[smallest])}, so the class cannot be in both training and test "
            "folds. Remove the row, or merge its class with another."
        )
    folds = min(int(folds), int(np.bincount(codes)[smallest]))
    model = _classifier(classifier, len(C))
    if classifier is None:
        C = PointSet.of(C).X  # rescaled: nearest neighbors stay the same, and squares cannot overflow
    labels, right, scores = classes[codes], np.empty(len(C)), []
    seed = 0 if random_state is None else random_state
    if isinstance(seed, np.random.Generator):  # which scikit-learn does not accept
        seed = int(seed.integers(2**31))
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(C, codes):
        predicted = np.asarray(clone(model).fit(C[train], labels[train]).predict(C[test]))
        right[test] = predicted.reshape(len(test)) == labels[test]
        scores.append(right[test].mean())
    value = float(right.mean())
    low, high = held_out_interval(value, np.array(scores), len(C))
    about = f"Accuracy of {type(model).__name__} trained on the coordinates, by {folds}-fold cross-validation."
    evaluated = EvaluatedRows(kept)
    each = evaluated.spread(right) if per_row else None
    return Measure("downstream accuracy", value, each, "higher", about, low, high, left_out=evaluated.left_out)


def _classifier(classifier: Any, n: int) -> Any:
    """The classifier to use; raise an error if the object is not a classifier."""
    from sklearn.base import is_clusterer, is_outlier_detector, is_regressor
    from sklearn.neighbors import KNeighborsClassifier

    if classifier is None:
        return KNeighborsClassifier(min(5, n // 2))
    if isinstance(classifier, type):
        raise DataTypeError(f"classifier={classifier.__name__} is a class. Pass an instance: {classifier.__name__}().")
    name = type(classifier).__name__
    if not hasattr(classifier, "predict"):
        raise DataTypeError(f"{name} has no predict method. Pass a classifier, such as LogisticRegression().")
    if not hasattr(classifier, "get_params"):
        raise DataTypeError(
            f"{name} has no get_params method, so it cannot be cloned for each fold. Pass a scikit-learn classifier."
        )
    kinds = {"numbers": is_regressor, "clusters": is_clusterer, "outliers": is_outlier_detector}
    for what, holds in kinds.items():
        if hasattr(classifier, "__sklearn_tags__") and holds(classifier):
            raise DataTypeError(
                f"{name} predicts {what}, not classes. Pass a classifier, such as LogisticRegression()."
            )
    return classifier


def held_out_interval(value: float, scores: np.ndarray, n: int) -> tuple[float, float]:
    """The confidence interval of a cross-validated accuracy, at least as wide as Wilson's for n points."""
    f = len(scores)
    half = student_quantile(f - 1) * float(scores.std(ddof=1)) * math.sqrt(1 / f + 1 / (f - 1))
    low, high = wilson_interval(value, n)
    return max(0.0, min(value - half, low)), min(1.0, max(value + half, high))


class _NearestLabels:
    """The labels of the nearest neighbors of each point, and its own."""

    def __init__(self, near: np.ndarray, codes: np.ndarray, evaluated: EvaluatedRows) -> None:
        self.evaluated, self.k = evaluated, near.shape[1]
        self.own = codes[evaluated.places]  # (m,)
        self.near = codes[near]  # (m, k)

    @classmethod
    def of(cls, Z: Any, y: Any, k: int, metric: Metric, sample: Sample, random_state: Any) -> _NearestLabels:
        side, kept = open_points(Z, metric)
        _, codes = class_labels(y, kept)
        check_neighbors(k, side.n, half=False)
        evaluated = EvaluatedRows(kept, sample_rows(side, sample, COUNTED, random_state, codes))
        return cls(side.nearest(k, Run(), evaluated.rows), codes, evaluated)

    def hit(self, per_row: bool = False) -> Measure:
        about = f"Mean fraction of the {self.k} nearest neighbors in the embedding that have the label of the point."
        values = (self.near == self.own[:, None]).mean(axis=1)
        return self.evaluated.mean("neighborhood hit", values, "higher", about, per_row=per_row)

    def accuracy(self, where: str = "", per_row: bool = False) -> Measure:
        about = (
            f"Fraction of points classified correctly by a majority vote of their {self.k} nearest neighbors{where}."
        )
        right = (self._majority() == self.own).astype(np.float64)
        return self.evaluated.mean(f"nearest-neighbor accuracy{where}", right, "higher", about, per_row=per_row)

    def _majority(self) -> np.ndarray:
        """The most frequent label among the nearest neighbors; of a tie, that of the nearest.

        Equal labels of a point are grouped by sorting, since a table of points by classes could be too large.
        """
        m, k = self.near.shape
        order = np.argsort(self.near, axis=1, kind="stable")
        labels = np.take_along_axis(self.near, order, axis=1)
        begins = np.ones((m, k), dtype=bool)
        begins[:, 1:] = labels[:, 1:] != labels[:, :-1]
        runs = np.flatnonzero(begins)  # the nearest neighbor of each label
        votes = np.diff(runs, append=m * k)
        rank = votes * k - order.ravel()[runs]
        first = np.searchsorted(runs, np.arange(m) * k)  # first run of each row
        best = np.repeat(np.maximum.reduceat(rank, first), np.diff(first, append=len(runs)))
        winners: np.ndarray = labels.ravel()[runs[rank == best]]  # unique: no two runs tie in votes and in the nearest
        return winners


def label_measures(
    high: OriginalSpace, Z: PointSet, codes: np.ndarray, k: int, differ: tuple[bool, bool] = (True, True)
) -> tuple[Measure, ...]:
    """Every measure of class separation in the embedding, and the nearest-neighbor accuracy in the data.

    If all distances are equal, in the data or in the embedding, measures that need nearest neighbors there are left
    out.
    """
    evaluated, found = high.evaluated, []
    if differ[1]:
        near = _NearestLabels(Z.nearest(k, high.run, evaluated.rows), codes, evaluated)
        found += [near.hit(), near.accuracy()]
    if differ[0]:
        found.append(_NearestLabels(high.nearest(k), codes, evaluated).accuracy(" in the data"))
    return (*found, silhouette_of(Z, codes, int(codes.max()) + 1, evaluated))
