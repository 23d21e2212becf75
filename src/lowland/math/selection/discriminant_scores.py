"""Cross-validated accuracy of linear discriminant analysis in closed form, fold by fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.math.selection.column_updates import (
    MIN_UNEXPLAINED,
    MOST_NUMBERS,
    is_regular,
    of_order_one,
    residual_scatter,
)
from lowland.math.selection.subset_scores import Refit, Tally
from lowland.math.statistics.fold_moments import Folds


@dataclass(frozen=True)
class FoldOfClasses:
    """A fold: the class statistics of the training rows, and the test rows centered at the training mean."""

    W: np.ndarray  # (d, d) covariance within the classes
    means: np.ndarray  # (C, d)
    logs: np.ndarray  # (C,) log priors
    X: np.ndarray  # (m, d) test rows
    y: np.ndarray  # (m,) their class indices

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, C: int) -> FoldOfClasses:
        """Compute the class statistics of the training rows."""
        R, codes = X[train], y[train]
        n = np.bincount(codes, minlength=C)
        mean = R.mean(axis=0)
        R, D = R - mean, X[test] - mean
        constant = np.flatnonzero(np.ptp(X[train], axis=0) == 0)
        R[:, constant] = D[:, constant] = 0.0  # its weight is zero
        means = np.stack([R[codes == c].mean(axis=0) for c in range(C)])
        R -= means[codes]
        return cls(R.T @ R / len(R), means, np.log(n / n.sum()), D, y[test])


@dataclass(frozen=True)
class DiscriminantScores:
    """Cross-validated accuracy of linear discriminant analysis; the scores of rows are updated for every candidate."""

    folds: tuple[FoldOfClasses, ...]
    least: float  # smallest residual fraction of a column's variance within classes
    refit: Refit
    tally: Tally
    tie: float = 0.0  # fractions of rows are exact
    unit: float = 1.0

    @classmethod
    def of(
        cls, X: np.ndarray, y: np.ndarray, folds: Folds, classes: int, *, tol: float, refit: Refit, tally: Tally
    ) -> DiscriminantScores:
        """Compute the class statistics of each fold; ``tol`` is the tolerance of the model's own solver."""
        X, _ = of_order_one(X)
        scale = X.std(axis=0)
        scale[scale == 0] = 1.0
        Z = X / scale
        found = tuple(FoldOfClasses.of(Z, y, train, test, classes) for train, test in folds)
        return cls(found, max(MIN_UNEXPLAINED, 1e3 * tol**2), refit, tally)

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.folds[0].X.shape[1]

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        kept = self._independent(S)
        if kept is None:
            return self.refit.many([sorted((*S, j)) for j in J])
        accuracies, refit = np.empty((len(J), len(self.folds))), np.zeros(len(J), dtype=bool)
        for f, fold in enumerate(self.folds):
            B, own = (part[0] for part in residual_scatter(fold.W[None], kept, J))
            M = fold.means[:, J] - fold.means[:, kept] @ B  # (C, m)
            U = fold.X[:, J] - fold.X[:, kept] @ B  # (rows, m)
            thin = own <= self.least * fold.W[J, J]
            refit |= thin & (fold.W[J, J] > 0)
            accuracies[:, f] = _accuracy(fold, kept, U, M, np.where(thin, 0.0, 1 / np.where(thin, 1.0, own)))
        return self._with_refits(accuracies, refit, [(*S, j) for j in J])

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        kept, others = self._independent(S), [S[:i] + S[i + 1 :] for i in range(len(S))]
        if kept is None:
            return self.refit.many(others)
        if len(kept) < len(S) or len(S) == 1:
            return self.many(np.array(others))
        accuracies = np.empty((len(S), len(self.folds)))
        for f, fold in enumerate(self.folds):
            K = np.linalg.inv(fold.W[kept[:, None], kept])
            accuracies[:, f] = _accuracy(fold, kept, fold.X[:, kept] @ K, fold.means[:, kept] @ K, -1 / np.diagonal(K))
        return self._with_refits(accuracies, np.zeros(len(S), dtype=bool), ())

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        subsets = np.asarray(subsets)
        accuracies, refit = np.empty((len(subsets), len(self.folds))), np.zeros(len(subsets), dtype=bool)
        for i, S in enumerate(subsets):
            kept = self._independent(S)
            refit[i] = kept is None
            for f, fold in enumerate(self.folds if kept is not None else ()):
                U, M = np.zeros((len(fold.X), 1)), np.zeros((len(fold.means), 1))  # no update
                accuracies[i, f] = _accuracy(fold, kept, U, M, np.zeros(1))[0]
        return self._with_refits(accuracies, refit, subsets)

    def _independent(self, S: Any) -> np.ndarray | None:
        """The columns of S without constant ones; None where the score needs a refit."""
        S = np.asarray(S, dtype=int)
        varies = np.array([np.diagonal(fold.W)[S] > 0 for fold in self.folds])  # (F, k)
        if (varies.any(axis=0) != varies.all(axis=0)).any():
            return None
        S = S[varies.all(axis=0)]
        W = np.stack([fold.W[S[:, None], S] for fold in self.folds])
        return S if is_regular(W[:, None], self.least)[0] else None

    def _with_refits(self, accuracies: np.ndarray, refit: np.ndarray, subsets: Any) -> np.ndarray:
        means = accuracies.mean(axis=1)
        if refit.any():
            means[refit] = self.refit.many([sorted(subsets[i]) for i in np.flatnonzero(refit)])
        self.tally(int(np.sum(~refit)))
        return means


def _accuracy(
    fold: FoldOfClasses, S: np.ndarray | None, U: np.ndarray, M: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The fraction of test rows classified correctly, (m,), after each update of the scores by U M' times a weight."""
    Y = np.linalg.solve(fold.W[S[:, None], S], fold.means[:, S].T)  # type: ignore[index]  # (k, C)
    base = fold.X[:, S] @ Y - np.sum(fold.means[:, S].T * Y, axis=0) / 2 + fold.logs  # (rows, C)
    step = max(1, MOST_NUMBERS // len(base))
    found = []
    for i in range(0, len(weights), step):
        part = slice(i, i + step)
        top = np.full((len(base), len(weights[part])), -np.inf)
        winner = np.zeros(top.shape, dtype=np.intp)
        for c in range(len(fold.logs)):
            scores = base[:, c, None] + (U[:, part] - M[c, part] / 2) * (M[c, part] * weights[part])
            winner[scores > top] = c
            np.maximum(top, scores, out=top)
        found.append(np.mean(winner == fold.y[:, None], axis=0))
    return np.concatenate(found)
