"""How well coordinates predict the labels of held-out rows: two classifiers or regressions, by cross-validation."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.errors import LowlandError, Stopped
from lowland.math.neighbors.search import NearestAmong
from lowland.math.statistics.intervals import student_quantile
from lowland.methods.base.traits import traits_of
from lowland.quality.class_separation import held_out_interval, nearest_neighbor_accuracy, neighborhood_hit, silhouette
from lowland.trial.records import Score

NEIGHBORS = 5
MAX_ROWS = 10_000  # rows used; above that, a sample stratified by class
FOLDS = 5  # rows a class needs to be present in every fold
MAX_WORK = 2e8  # rows times columns times classes up to which logistic regression is fitted

ACCURACY, BALANCED, AUC = "downstream accuracy", "balanced accuracy", "AUC"
LINEAR_ACCURACY, LINEAR_BALANCED, LINEAR_AUC = "linear accuracy", "linear balanced accuracy", "linear AUC"
R2, LINEAR_R2 = "downstream R²", "linear R²"
OF_CLASSES, OF_NUMBERS = (ACCURACY, LINEAR_ACCURACY), (R2, LINEAR_R2)  # what the advice compares
COMPANIONS = {ACCURACY: (BALANCED, AUC), LINEAR_ACCURACY: (LINEAR_BALANCED, LINEAR_AUC)}
NEAREST, MEAN_OF_NEAREST = f"{NEIGHBORS} nearest neighbors", f"the mean of the {NEIGHBORS} nearest neighbors"
LOGISTIC, RIDGE, OWN = "logistic regression", "ridge regression", "its own classifier"


@dataclass(frozen=True, eq=False)
class PredictionTest:
    """The rows of the cross-validation and their folds, chosen once, so that every trial is tested on the same rows."""

    rows: np.ndarray  # (m,) labeled rows in classes that are large enough, or a sample of them
    y: np.ndarray  # (m,) their class codes, or numbers
    fold: np.ndarray  # (m,) the fold in which a row is held out; empty if there are too few rows
    n_classes: int | None  # None: the labels are numbers
    remark: str = ""  # about rows that are excluded

    @classmethod
    def for_classes(cls, codes: np.ndarray, seed: int) -> Self:
        """Choose rows by their class codes, (n,); -1: no label."""
        # One rare class would reduce the number of folds for all. If fewer than two classes are large enough to be in
        # every fold, two rows per class suffice.
        counts = np.bincount(codes[codes >= 0], minlength=1)
        enough = counts >= (FOLDS if np.sum(counts >= FOLDS) > 1 else 2)
        common = enough[codes] & (codes >= 0)
        rows = _sample(np.flatnonzero(common), codes, seed)
        rare = int(np.sum(~common & (codes >= 0)))
        remark = f"; {rare} row{'s' * (rare > 1)} in classes too small for cross-validation excluded" if rare else ""
        y = codes[rows]
        return cls(rows, y, _stratified(y, seed), int(codes.max(initial=0)) + 1, remark + _unlabeled(codes < 0))

    @classmethod
    def for_numbers(cls, targets: np.ndarray, seed: int) -> Self:
        """Choose rows by their numeric labels, (n,); NaN: no label."""
        known = np.isfinite(targets)
        rows = _sample(np.flatnonzero(known), targets, seed)
        fold = np.arange(len(rows)) % FOLDS
        fold = np.random.default_rng(seed).permutation(fold) if len(rows) >= 2 * FOLDS else fold[:0]
        return cls(rows, targets[rows].astype(np.float64), fold, None, _unlabeled(~known))

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two scores that the advice compares: of nearest neighbors, and of a linear model."""
        return OF_NUMBERS if self.n_classes is None else OF_CLASSES

    @property
    def majority_class_fraction(self) -> float:
        """The fraction of rows in the largest class: the accuracy of the majority-class baseline."""
        if self.n_classes is None or not len(self.rows):
            return 0.0
        return float(np.bincount(self.y).max() / len(self.rows))

    def scores(self, Z: np.ndarray, only: str | None = None, *, standardized: bool = False) -> dict[str, Score]:
        """Return the scores of coordinates, (n, k), of both models, or only of one; none if they cannot be computed.

        The linear model standardizes the columns, unless they are standardized already.
        """
        C = np.asarray(Z[self.rows], dtype=np.float64)
        return self.scores_of_folds([C if standardized else _in_unit_range(C)] * self.n_folds, only, standardized)

    def scores_of_folds(
        self, Zs: list[np.ndarray], only: str | None = None, standardized: bool = False, how: str = ""
    ) -> dict[str, Score]:
        """Return the scores of coordinates of the tested rows, (m, k), one array for each fold."""
        if not len(self.fold):
            return {}
        present = np.logical_and.reduce([np.isfinite(Z).all(axis=1) for Z in Zs])
        folds = self._folds(present)
        found: dict[str, Score] = {}
        try:
            if only != self.names[1]:
                P = np.zeros(len(self.y) if self.n_classes is None else (len(self.y), self.n_classes))
                for Z, (train, test) in zip(Zs, folds, strict=True):
                    if self.n_classes is None:
                        P[test] = self.y[train][_nearest(Z, train, test)].mean(axis=1)
                    else:
                        P[test] = _votes(Z, self.y, self.n_classes, train, test)
                by = MEAN_OF_NEAREST if self.n_classes is None else NEAREST
                found |= self._scores(self.names[0], P, present, by, how)
            if only != self.names[0] and Zs[0].size * (self.n_classes or 1) <= MAX_WORK:
                Zs = Zs if present.all() else [np.where(present[:, None], Z, 0.0) for Z in Zs]
                if self.n_classes is None:
                    P = held_out_predictions(Zs, self.y, folds, standardized)
                    found |= self._scores(LINEAR_R2, P, present, RIDGE, how)
                else:
                    P = held_out_probabilities(Zs, self.y, self.n_classes, folds, standardized)
                    found |= self._scores(LINEAR_ACCURACY, P, present, LOGISTIC, how)
        except Stopped:
            raise
        except (LowlandError, ValueError):  # such as fewer training rows than neighbors, or of a single class
            return {}
        return found

    def refitted(self, est: Any, X: Any, y: np.ndarray | None = None) -> list[tuple[Any, np.ndarray]]:
        """Return, for each fold, the method fitted without the held-out rows, and its coordinates of the tested rows.

        ``X`` (n, d) is an array or an Arrow table. ``y`` are the labels of the tested rows, for a supervised method.
        """
        from sklearn.base import clone

        C, found = _rows(X, self.rows), []
        for train, _ in self._folds(np.ones(len(self.y), dtype=bool)):
            model = clone(est).fit(_rows(C, train), None if y is None else y[train])
            found.append((model, _in_unit_range(np.asarray(to_numpy(model.transform(C)), dtype=np.float64))))
        return found

    def scores_when_refitted(self, est: Any, X: Any) -> dict[str, Score]:
        """Return the scores of a method that is fitted again in each fold without the held-out rows, and places them.

        If the method classifies by itself and all of its dimensions are kept, its own classifier is the linear model.
        """
        from sklearn.base import clone

        est, traits = clone(est), traits_of(est)
        own, labels = False, self.y if traits.learns_labels_in_study else None
        if labels is not None and traits.width_parameter is not None and traits.study.max_components is not None:
            most = traits.study.max_components(X.shape[1], len(np.unique(self.y)))  # as these classes allow
            width = getattr(est, traits.width_parameter)
            if width is None or width >= most:
                est.set_params(**{traits.width_parameter: most})
                own = hasattr(est, "predict_proba")
        fits = self.refitted(est, X, labels)
        how = ", with the method fitted without the held-out rows"
        found = self.scores_of_folds([Z for _, Z in fits], self.names[0] if own else None, how=how)
        if own and fits:
            P, C = np.zeros((len(self.y), self.n_classes or 0)), _rows(X, self.rows)
            everything = np.ones(len(self.y), dtype=bool)
            for (model, _), (_, test) in zip(fits, self._folds(everything), strict=True):
                seen = np.asarray(model.classes_).astype(np.int64)
                P[np.ix_(test, seen)] = to_numpy(model.predict_proba(_rows(C, test)))
            found |= self._scores(LINEAR_ACCURACY, P, everything, OWN, how)
        if labels is not None and self.n_classes is not None:
            found |= self._separation([Z for _, Z in fits])
        return {name: replace(score, held_out=True) for name, score in found.items()}

    def _separation(self, Zs: list[np.ndarray]) -> dict[str, Score]:
        """How well a supervised map separates classes it has not seen: of held-out rows, in the map of each fold."""
        folds = self._folds(np.ones(len(self.y), dtype=bool))
        least = min((len(test) for _, test in folds), default=0)
        if least <= NEIGHBORS:
            return {}
        measured = [
            [measure(Z[test], self.y[test]) for measure in (neighborhood_hit, nearest_neighbor_accuracy, silhouette)]
            for Z, (_, test) in zip(Zs, folds, strict=True)
        ]
        how = "Of held-out rows, placed by the method fitted without them, mean over folds."
        return {
            each[0].name: _of_folds([one.value for one in each], f"{each[0].about} {how}", least=-1.0)
            for each in zip(*measured, strict=True)
        }

    @property
    def n_folds(self) -> int:
        """The number of folds; 0 if there are too few rows."""
        return int(self.fold.max(initial=-1)) + 1

    def _folds(self, present: np.ndarray) -> list[Fold]:
        return [
            (np.flatnonzero((self.fold != f) & present), np.flatnonzero((self.fold == f) & present))
            for f in range(self.n_folds)
        ]

    def _scores(self, name: str, P: np.ndarray, tested: np.ndarray, by: str, how: str = "") -> dict[str, Score]:
        """Accuracy, balanced accuracy and AUC from class probabilities, (m, C); R² from predicted numbers, (m,)."""
        if self.n_classes is None:
            about = f"R² on held-out rows by {by}: 1 is perfect, 0 is the mean of the labels{how}{self.remark}."
            mean = float(self.y[tested].mean())

            def r2(f: np.ndarray) -> float:
                return 1 - float(((self.y[f] - P[f]) ** 2).sum() / max(((self.y[f] - mean) ** 2).sum(), 1e-300))

            return {name: r2_of_folds([r2((self.fold == f) & tested) for f in range(FOLDS)], about)}
        right = P.argmax(axis=1) == self.y
        how += self.remark
        folds = [self.fold[tested] == f for f in range(self.n_folds)]
        y, P, good = self.y[tested], P[tested], right[tested]
        about = f"Fraction of held-out rows classified correctly by {by}{how}."
        balanced, auc = COMPANIONS[name]

        def of_classes(f: np.ndarray) -> float:
            counts = np.bincount(y[f])
            return float((np.bincount(y[f], weights=good[f])[counts > 0] / counts[counts > 0]).mean())

        return {
            name: accuracy_of_rows(right, np.where(tested, self.fold, np.nan), about),
            balanced: _of_folds(
                [of_classes(f) for f in folds], f"Mean over classes of the fraction of held-out rows "
                f"classified correctly by {by}{how}.",
            ),
            auc: _of_folds(
                [_auc(y[f], P[f]) for f in folds], f"Area under the ROC curve of held-out rows by {by}, each class "
                f"against the others, mean over classes{how}.",
            ),
        }  # fmt: skip


def steps_of_model(name: str, *, standardized: bool = False) -> list[Any]:
    """Return the steps of a scikit-learn pipeline that end in one of the models, as it is tested here.

    ``standardized``: the columns are standardized already, or levels of categories. "its own classifier" has no steps.
    """
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.preprocessing import StandardScaler

    if name == OWN:
        return []
    scaler = [] if standardized else [StandardScaler()]
    return {
        NEAREST: [KNeighborsClassifier(NEIGHBORS)],
        MEAN_OF_NEAREST: [KNeighborsRegressor(NEIGHBORS)],
        LOGISTIC: [*scaler, LogisticRegression(C=1 / PENALTY, max_iter=1000)],
        RIDGE: [*scaler, Ridge(PENALTY)],
    }[name]


def r2_of_folds(by_fold: Sequence[float], about: str) -> Score:
    """Return the R² of folds as one score."""
    return replace(_of_folds(by_fold, about, least=-math.inf), by_fold=tuple(by_fold))


def _of_folds(by_fold: Sequence[float], about: str, least: float = 0.0) -> Score:
    """The mean over folds, with the confidence interval of Nadeau and Bengio."""
    f, value = len(by_fold), float(np.mean(by_fold))
    half = student_quantile(f - 1) * float(np.std(by_fold, ddof=1)) * math.sqrt(1 / f + 1 / (f - 1))
    return Score(value, "higher", about, max(least, value - half), min(1.0, value + half))


def accuracy_of_rows(correct: np.ndarray, fold: np.ndarray, about: str) -> Score:
    """Return the accuracy on held-out rows, (m,), as a score; ``fold``: the fold in which each is held out, or NaN."""
    tested = np.isfinite(fold)
    good = correct[tested].astype(np.float64)
    value, folds = float(good.mean()), [good[fold[tested] == f] for f in np.unique(fold[tested])]
    low, high = held_out_interval(value, np.array([each.mean() for each in folds]), len(good))
    return Score(value, "higher", about, low, high, len(good), np.packbits(correct & tested).tobytes().hex())


def _auc(y: np.ndarray, P: np.ndarray) -> float:
    """Mean over classes of the probability that a row of the class has a higher score than another row."""
    from scipy.stats import rankdata

    counts = np.bincount(y, minlength=P.shape[1])
    some = np.flatnonzero((counts > 0) & (counts < len(y)))
    if not len(some):
        return 0.5
    if len(some) == 2:
        some = some[1:]  # the other is its mirror image
    ranks = rankdata(P[:, some], axis=0)
    sums = ((y[:, None] == some) * ranks).sum(axis=0)
    inside = counts[some]
    return float(((sums - inside * (inside + 1) / 2) / (inside * (len(y) - inside))).mean())


def _rows(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array or an Arrow table."""
    return X[rows] if isinstance(X, np.ndarray) else X.take(rows)


def _in_unit_range(Z: np.ndarray) -> np.ndarray:
    """Coordinates of at most 1 in size, whose squares cannot overflow. Nearest neighbors stay the same."""
    top = float(np.abs(np.where(np.isfinite(Z), Z, 0.0)).max(initial=0.0))
    return Z / top if top > 0 else Z


def _nearest(C: np.ndarray, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The nearest training rows of each held-out row, (t, 5), as indices among the training rows."""
    return NearestAmong(np.ascontiguousarray(C[train]), min(NEIGHBORS, len(train)))(np.ascontiguousarray(C[test]))[0]


def _votes(C: np.ndarray, y: np.ndarray, n_classes: int, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """The fraction of the nearest training rows in each class, (t, C)."""
    near = y[train][_nearest(C, train, test)]  # (t, 5)
    places = np.arange(len(test))[:, None] * n_classes + near
    votes = np.bincount(places.ravel(), minlength=len(test) * n_classes)
    return votes.reshape(len(test), n_classes) / near.shape[1]


# --- rows and folds ---


def _unlabeled(missing: np.ndarray) -> str:
    count = int(missing.sum())
    return f"; {count:,} row{'s' * (count > 1)} without a label excluded" if count else ""


def _stratified(y: np.ndarray, seed: int) -> np.ndarray:
    """The fold in which each row is held out, (m,): every class in every fold; empty if there are too few rows."""
    from sklearn.model_selection import StratifiedKFold

    counts = np.bincount(y) if len(y) else np.zeros(0)
    counts = counts[counts > 0]
    if len(counts) < 2 or counts.min() < 2:
        return np.zeros(0, dtype=np.int64)
    fold = np.empty(len(y), dtype=np.int64)
    splitter = StratifiedKFold(min(FOLDS, int(counts.min())), shuffle=True, random_state=seed)
    for f, (_, test) in enumerate(splitter.split(y, y)):
        fold[test] = f
    return fold


def _sample(rows: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    if len(rows) <= MAX_ROWS:
        return rows
    rng = np.random.default_rng(seed)
    order = rows[np.lexsort((rng.random(len(rows)), y[rows]))]  # by class, in random order within each
    return np.sort(order[np.floor((rng.random() + np.arange(MAX_ROWS)) * (len(rows) / MAX_ROWS)).astype(np.int64)])


Fold = tuple[np.ndarray, np.ndarray]  # indices of the training rows and of the held-out rows

MAX_ITER = 100  # of logistic regression
PENALTY = 1.0


def _designs(Zs: list[np.ndarray], folds: list[Fold], standardized: bool = False) -> list[np.ndarray]:
    """The rows of each fold, standardized by its training rows, (n, p).

    More columns than rows are standardized once, and rotated to as many columns as rows: a rotation changes neither the
    penalty nor the predictions.
    """
    if Zs[0].shape[1] <= len(Zs[0]):
        return [Z if standardized else _scaled(Z, train) for Z, (train, _) in zip(Zs, folds, strict=True)]
    U, s, _ = np.linalg.svd(Zs[0] if standardized else _scaled(Zs[0], np.arange(len(Zs[0]))), full_matrices=False)
    return [U * s] * len(folds)


def held_out_probabilities(
    Zs: list[np.ndarray], y: np.ndarray, n_classes: int, folds: list[Fold], standardized: bool = False
) -> np.ndarray:
    """Return the class probabilities of the held-out rows, (n, C), by logistic regression on the rows of each fold."""
    from sklearn.linear_model import LogisticRegression

    found = np.zeros((len(y), n_classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the accuracy hardly changes in the last iterations
        for A, (train, test) in zip(_designs(Zs, folds, standardized), folds, strict=True):
            model = LogisticRegression(C=1 / PENALTY, max_iter=MAX_ITER).fit(A[train], y[train])
            found[np.ix_(test, model.classes_)] = model.predict_proba(A[test])
    return found


def _scaled(Z: np.ndarray, train: np.ndarray) -> np.ndarray:
    """All rows, standardized by the means and standard deviations of the training rows."""
    mean, spread = Z[train].mean(axis=0), Z[train].std(axis=0)
    return (Z - mean) / np.where(spread > 0, spread, 1.0)


def held_out_predictions(
    Zs: list[np.ndarray], y: np.ndarray, folds: list[Fold], standardized: bool = False
) -> np.ndarray:
    """Return the predictions for the held-out rows, (n,), by ridge regression on the rows of each fold."""
    found = np.empty(len(y))
    for A, (train, test) in zip(_designs(Zs, folds, standardized), folds, strict=True):
        mean = y[train].mean()
        G = A[train].T @ A[train]
        G[np.diag_indices_from(G)] += PENALTY
        found[test] = mean + A[test] @ np.linalg.solve(G, A[train].T @ (y[train] - mean))
    return found
