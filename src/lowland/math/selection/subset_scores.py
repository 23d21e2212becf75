"""Scores of subsets of columns: by refitting a model, or in closed form, updated one column at a time.

Let A be the scatter matrix of the training rows, S the columns so far and j another column. With K the inverse of A_SS
and B = K A_Sj, the residual of j on S is u_j = x_j - B'x_S, with scatter s = A_jj - A_jS B. Adding j changes a
least-squares fit along u_j alone, and the scores of a discriminant by u_j u_j'/s. Removing j changes them along
X_S K_j. So all candidates of a step cost one inverse and a few products. Where A is nearly singular the model is
refitted, so that both routes agree.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from lowland.errors import DataError
from lowland.math.selection.cross_validation import Folds, cause_of, score_of
from lowland.math.statistics.rescaling import power_of_two

TIE = 1e-10  # scores of least squares closer than this are tied: rounding must not decide
_MIN_UNEXPLAINED = 1e-7  # fraction of a column's variance not explained by the others, below which a model is refitted
_MOST_NUMBERS = 2**22  # in memory at a time
_FLAT = 1e-13  # fraction of the largest singular value below which a direction has no variance


@dataclass
class Tally:
    """Counts the scored subsets, and reports progress."""

    advance: Callable[[float], Any] = field(default=lambda _: None)
    n: int = 0
    failures: list[str] = field(default_factory=list)  # messages of models that could not be fitted

    def __call__(self, n: int) -> None:
        """Count n more."""
        self.n += n
        self.advance(n)


class SubsetScores:
    """A scorer of subsets of columns; higher is better."""

    d: int  # number of columns
    tie: float = 0.0  # scores closer than this are tied, and the first column is selected
    unit: float = 1.0  # divisor of the scores, so that they are of order one whatever the unit of y

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        raise NotImplementedError

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        return self.many([sorted((*S, int(j))) for j in J])

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        return self.many(_removals(S))


def _removals(S: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [S[:i] + S[i + 1 :] for i in range(len(S))]


def of_order_one(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns divided by powers of two, so that no square overflows or underflows, and these, (d,)."""
    size = power_of_two(np.abs(X).max(axis=0))
    return X / size, size


# --- refitting ---


@dataclass(frozen=True)
class Metadata:
    """Arguments for the splitter, the fit of the model and the scorer, such as groups and sample weights."""

    split: Mapping[str, Any] = field(default_factory=dict)
    fit: Mapping[str, Any] = field(default_factory=dict)
    score: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RefitScores(SubsetScores):
    """The mean score over the folds of a model fitted to the columns of a subset."""

    estimator: Any
    scorer: Any
    X: Any  # (n, d), dense or sparse by columns
    y: np.ndarray | None
    folds: Folds
    n_jobs: int | None
    tally: Tally
    tie: float = 0.0
    unit: float = 1.0
    metadata: Metadata = Metadata()

    @property
    def d(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return self.X.shape[1]

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets."""
        work = (self.estimator, self.scorer, self.X, self.y, self.folds, self.metadata)
        found: Iterator[float | str] = (mean_score(*work, S) for S in subsets)
        if self.n_jobs is not None and self.n_jobs != 1:
            run = Parallel(n_jobs=min(self.n_jobs, os.cpu_count() or 1), return_as="generator")  # more start in vain
            found = run(delayed(mean_score)(*work, S) for S in subsets)
        scores, failures = [], []
        for score in found:
            failures += [score] if isinstance(score, str) else []
            scores.append(math.nan if isinstance(score, str) else score)
            self.tally(1)
        if failures and len(failures) == len(scores):
            raise DataError(failures[0])
        self.tally.failures.extend(failures)
        return np.array(scores)


def mean_score(
    estimator: Any, scorer: Any, X: Any, y: np.ndarray | None, folds: Folds, metadata: Metadata, S: Sequence[int]
) -> float | str:
    """Return the mean score over the folds of the model fitted to the columns S, or why it could not be fitted."""
    columns = X[:, np.asarray(S)]
    columns = columns.tocsr() if hasattr(columns, "tocsr") else columns
    scores = []
    for train, test in folds:
        try:
            given = _metadata_of_rows(metadata.fit, train, X.shape[0])
            fitted = clone(estimator).fit(columns[train], *(() if y is None else (y[train],)), **given)
        except Exception as error:
            return (
                f"{type(estimator).__name__} could not be fitted to {len(train)} rows and {columns.shape[1]} of the "
                f"columns: {cause_of(error)} Fit it alone to find the cause, or choose another estimator or fewer "
                "folds."
            )
        given = _metadata_of_rows(metadata.score, test, X.shape[0])
        scores.append(score_of(fitted, scorer, columns[test], None if y is None else y[test], given))
    return float(np.mean(scores))


def _metadata_of_rows(metadata: Mapping[str, Any], rows: np.ndarray, n: int) -> dict[str, Any]:
    """Metadata of some rows: what has one value for each of the n rows is cut, all else is passed on."""
    found = dict(metadata)
    for name, values in metadata.items():
        if hasattr(values, "__len__") and not isinstance(values, str | dict) and len(values) == n:
            found[name] = np.asarray(values)[rows]
    return found


def _with_refits(means: np.ndarray, refit: np.ndarray, subsets: Any, scores: RefitScores) -> np.ndarray:
    """Replace the scores of the marked subsets by those of refitted models."""
    if refit.any():
        means[refit] = scores.many([sorted(subsets[i]) for i in np.flatnonzero(refit)])
    scores.tally(int(np.sum(~refit)))
    return means


# --- updates by one column ---


def _residual_scatter(A: np.ndarray, S: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B = A_SS⁻¹ A_SJ, (F, k, m), and the residual scatter of the columns J on S, A_jj - A_jS B, (F, m)."""
    A_SJ = A[:, S[:, None], J]
    B = np.linalg.solve(A[:, S[:, None], S], A_SJ)
    return B, A[:, J, J] - np.sum(A_SJ * B, axis=1)


def is_regular(A: np.ndarray, least: float = _MIN_UNEXPLAINED) -> Any:
    """Whether every column of the matrices, (F, B, k, k), has enough residual variance in all folds, (B,)."""
    size = np.diagonal(A, axis1=-2, axis2=-1)  # (F, B, k)
    fine = (size > 0).all(axis=(0, 2))
    root = np.sqrt(np.where(size > 0, size, 1.0))
    R = A / (root[..., :, None] * root[..., None, :])
    if not R.size:
        return fine
    fine &= (np.linalg.eigvalsh(R)[..., 0] > np.finfo(np.float64).eps * A.shape[-1]).all(axis=0)
    own = 1 / np.diagonal(np.linalg.inv(R[:, fine]), axis1=-2, axis2=-1)
    fine[fine] = (own > least).all(axis=(0, 2))
    return fine


def _dot(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A v, matrix by matrix."""
    return (A @ v[..., None])[..., 0]


# --- least squares ---


@dataclass(frozen=True)
class LeastSquaresScores(SubsetScores):
    """Cross-validated scores of least squares, with or without a ridge penalty, from the moments of the folds."""

    A: np.ndarray  # (F, d, d) scatter of the training rows, with the ridge penalty on its diagonal
    b: np.ndarray  # (F, d) their products with y
    T: np.ndarray  # (F, d, d) squares and products of the test rows, centered at the training means
    t: np.ndarray  # (F, d)
    squares: np.ndarray  # (F,) of y in the test rows, centered at the training mean
    total: np.ndarray  # (F,) of y in the test rows, centered at their own mean
    rows: np.ndarray  # (F,) number of test rows
    scale: np.ndarray  # (d,) divisors of the columns, as fractions of the largest
    cutoff: float  # fraction of the largest singular value below which the model's own solver drops a direction
    metric: str
    refit: RefitScores
    d: int
    unit: float
    tie: float = TIE

    @classmethod
    def of(cls, refit: RefitScores, *, intercept: bool, alpha: float, cutoff: float, metric: str) -> LeastSquaresScores:
        """Compute the moments of each fold; columns are scaled to unit standard deviation, which changes no fit."""
        y, folds = refit.y, refit.folds
        assert y is not None
        X, size = of_order_one(refit.X.astype(np.float64, copy=False))
        scale = np.sqrt(np.mean((X - X.mean(axis=0) * intercept) ** 2, axis=0))
        scale[scale == 0] = 1.0
        Z = np.column_stack([X / scale, y])  # (n, d + 1)
        scale = scale * size
        train, test = (np.empty((len(folds), Z.shape[1], Z.shape[1])) for _ in range(2))
        total = np.empty(len(folds))
        for f, (first, second) in enumerate(folds):
            C, D = Z[first], Z[second]
            if intercept:
                constant = np.flatnonzero(np.ptp(C[:, :-1], axis=0) == 0)  # coefficient zero, whatever the test values
                mean = C.mean(axis=0)
                C, D = C - mean, D - mean
                C[:, constant] = D[:, constant] = 0.0
            train[f], test[f] = C.T @ C, D.T @ D
            total[f] = np.sum((y[second] - y[second].mean()) ** 2)
        d = X.shape[1]
        if alpha:
            train[:, range(d), range(d)] += alpha / np.clip(scale, 1e-100, 1e100) ** 2
        rows = np.array([len(second) for _, second in folds], dtype=np.float64)
        scale = np.maximum(scale / scale.max(), 1e-100)
        return cls(
            train[:, :-1, :-1], train[:, :-1, -1], test[:, :-1, :-1], test[:, :-1, -1], test[:, -1, -1], total, rows,
            scale, cutoff, metric, refit, d, refit.unit,
        )  # fmt: skip

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        kept = np.asarray(S, dtype=int)
        if not is_regular(self.A[:, None, kept[:, None], kept])[0]:
            return self.refit.with_each(S, J)
        w, squares = self._fit(kept)
        B, own = _residual_scatter(self.A, kept, J)  # (F, k, m), (F, m)
        T_S = self.T[:, kept[:, None], kept]
        T_J = self.T[:, kept[:, None], J]
        left = self.t[:, kept] - _dot(T_S, w)  # products of the residuals with the columns of S
        e = self.t[:, J] - _dot(T_J.mT, w) - _dot(B.mT, left)  # and with u_j
        uu = self.T[:, J, J] + np.sum(B * (T_S @ B - 2 * T_J), axis=1)
        thin = own <= _MIN_UNEXPLAINED * self.A[:, J, J]
        own = np.where(thin, np.inf, own)
        g = (self.b[:, J] - _dot(self.A[:, kept[:, None], J].mT, w)) / own
        inverse = self._sizes(self._inverse(kept), kept)[:, None]
        inverse = inverse + (np.sum((B / self.scale[kept, None]) ** 2, axis=1) + self.scale[J] ** -2.0) / own
        subsets = np.column_stack([np.tile(kept, (len(J), 1)), J])
        refit = thin | self._is_cut(inverse, subsets)
        means = self._means(squares[:, None] - 2 * g * e + g * g * uu)
        return _with_refits(means, refit.any(axis=0), [(*S, j) for j in J], self.refit)

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        kept, others = np.asarray(S, dtype=int), _removals(S)
        if not is_regular(self.A[:, None, kept[:, None], kept])[0]:
            return self.refit.many(others)
        K = self._inverse(kept)
        w, squares = self._fit(kept)
        T_S = self.T[:, kept[:, None], kept]
        own = np.diagonal(K, axis1=1, axis2=2)
        h = w / own
        e = _dot(K, self.t[:, kept] - _dot(T_S, w))
        uu = np.sum(K * (T_S @ K), axis=1)
        inverse = self._sizes(K, kept)[:, None] - np.sum((K / self.scale[kept, None]) ** 2, axis=1) / own
        refit = self._is_cut(inverse, np.array(others, dtype=int)).any(axis=0)
        return _with_refits(self._means(squares[:, None] + 2 * h * e + h * h * uu), refit, others, self.refit)

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        subsets = np.asarray(subsets)
        B, k = subsets.shape
        step = max(1, _MOST_NUMBERS // (len(self.A) * max(k, 1) ** 2))
        if step < B:
            return np.concatenate([self.many(subsets[i : i + step]) for i in range(0, B, step)])
        A = self.A[:, subsets[:, :, None], subsets[:, None, :]]  # (F, B, k, k)
        fine = is_regular(A)
        w, inverse = np.zeros((len(A), B, k)), np.zeros((len(A), B))
        w[:, fine] = np.linalg.solve(A[:, fine], self.b[:, subsets[fine]][..., None])[..., 0]
        inverse[:, fine] = self._sizes(np.linalg.inv(A[:, fine]), subsets[fine])
        cut = self._is_cut(inverse, subsets).any(axis=0)
        T = self.T[:, subsets[:, :, None], subsets[:, None, :]]
        means = self._means(self.squares[:, None] + np.sum(w * (_dot(T, w) - 2 * self.t[:, subsets]), axis=-1))
        return _with_refits(means, ~fine | cut, subsets, self.refit)

    def _inverse(self, S: np.ndarray) -> np.ndarray:
        return np.linalg.inv(self.A[:, S[:, None], S])

    def _sizes(self, K: np.ndarray, S: np.ndarray) -> np.ndarray:
        """The traces of the inverses, in the original units of the columns."""
        return np.sum(np.diagonal(K, axis1=-2, axis2=-1) / self.scale[S] ** 2, axis=-1)

    def _is_cut(self, inverse: np.ndarray, subsets: np.ndarray) -> Any:
        """Whether the model's own solver may drop a direction, (F, m).

        The squares of the smallest and the largest singular value are at least 1/tr A⁻¹ and at most tr A.
        """
        size = np.sum(self.A[:, subsets, subsets] * self.scale[subsets] ** 2, axis=-1)
        return (4 * self.cutoff) ** 2 * inverse * size >= 1

    def _fit(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The coefficients, (F, k), and the squared residuals of the test rows, (F,)."""
        w = np.linalg.solve(self.A[:, S[:, None], S], self.b[:, S, None])[..., 0]
        T = self.T[:, S[:, None], S]
        return w, self.squares + np.sum(w * (_dot(T, w) - 2 * self.t[:, S]), axis=1)

    def _means(self, squares: np.ndarray) -> np.ndarray:
        """The metric of squared residuals, (F, m), averaged over the folds in scikit-learn's order."""
        squares = np.maximum(squares, 0.0)
        if self.metric == "r2":
            total = np.where(self.rows < 2, np.nan, self.total)[:, None]
            flat = np.where(squares > 0, 0.0, 1.0)  # scikit-learn's R² where y is constant
            values = np.where(total == 0, flat, 1 - squares / np.where(total == 0, 1.0, total))
        else:
            values = -squares / self.rows[:, None]
            if self.metric == "neg_root_mean_squared_error":
                values = -np.sqrt(-values)
        return np.ascontiguousarray(values.T).mean(axis=1)


# --- linear discriminants ---


@dataclass(frozen=True)
class _FoldOfClasses:
    """A fold: the class statistics of the training rows, and the test rows centered at the training mean."""

    W: np.ndarray  # (d, d) covariance within the classes
    means: np.ndarray  # (C, d)
    logs: np.ndarray  # (C,) log priors
    X: np.ndarray  # (m, d) test rows
    y: np.ndarray  # (m,) their class indices

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, C: int, lost: int) -> _FoldOfClasses:
        R, codes = X[train], y[train]
        n = np.bincount(codes, minlength=C)
        mean = R.mean(axis=0)
        R, D = R - mean, X[test] - mean
        constant = np.flatnonzero(np.ptp(X[train], axis=0) == 0)
        R[:, constant] = D[:, constant] = 0.0  # its weight is zero
        means = np.stack([R[codes == c].mean(axis=0) for c in range(C)])
        R -= means[codes]
        return cls(R.T @ R / (len(R) - lost), means, np.log(n / n.sum()), D, y[test])

    def accuracy(self, S: np.ndarray, U: np.ndarray, M: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The fraction of test rows classified correctly, (m,), after each update of the scores by U M' weights."""
        Y = np.linalg.solve(self.W[S[:, None], S], self.means[:, S].T)  # (k, C)
        base = self.X[:, S] @ Y - np.sum(self.means[:, S].T * Y, axis=0) / 2 + self.logs  # (rows, C)
        step = max(1, _MOST_NUMBERS // len(base))
        found = []
        for i in range(0, len(weights), step):
            part = slice(i, i + step)
            top = np.full((len(base), len(weights[part])), -np.inf)
            winner = np.zeros(top.shape, dtype=np.intp)
            for c in range(len(self.logs)):
                scores = base[:, c, None] + (U[:, part] - M[c, part] / 2) * (M[c, part] * weights[part])
                winner[scores > top] = c
                np.maximum(top, scores, out=top)
            found.append(np.mean(winner == self.y[:, None], axis=0))
        return np.concatenate(found)


@dataclass(frozen=True)
class DiscriminantScores(SubsetScores):
    """Cross-validated accuracy of linear discriminant analysis; the scores of rows are updated for every candidate."""

    folds: tuple[_FoldOfClasses, ...]
    least: float  # smallest residual fraction of a column's variance within classes
    refit: RefitScores
    d: int

    @classmethod
    def of(cls, refit: RefitScores, codes: np.ndarray, classes: int, tol: float, lost: int) -> DiscriminantScores:
        """Compute the class statistics of each fold.

        ``tol`` is the tolerance of the model's own solver. Its covariance has the divisor n - ``lost``.
        """
        X, _ = of_order_one(refit.X.astype(np.float64, copy=False))
        scale = X.std(axis=0)
        scale[scale == 0] = 1.0
        Z = X / scale
        found = tuple(_FoldOfClasses.of(Z, codes, train, test, classes, lost) for train, test in refit.folds)
        return cls(found, max(_MIN_UNEXPLAINED, 1e3 * tol**2), refit, refit.d)

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        accuracies = np.full((len(J), len(self.folds)), np.nan)
        for f, (fold, kept) in enumerate(zip(self.folds, self._independent(S), strict=True)):
            if kept is None:
                continue
            B, own = (part[0] for part in _residual_scatter(fold.W[None], kept, J))
            M = fold.means[:, J] - fold.means[:, kept] @ B  # (C, m)
            U = fold.X[:, J] - fold.X[:, kept] @ B  # (rows, m)
            thin = own <= self.least * fold.W[J, J]
            accuracies[:, f] = fold.accuracy(kept, U, M, np.where(thin, 0.0, 1 / np.where(thin, 1.0, own)))
            accuracies[thin & (fold.W[J, J] > 0), f] = np.nan
        return self._means(accuracies, [(*S, j) for j in J])

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        found, whole = self._independent(S), np.asarray(S, dtype=int)
        if len(S) == 1 or any(kept is not None and len(kept) < len(S) for kept in found):
            return self.many(_removals(S))
        accuracies = np.full((len(S), len(self.folds)), np.nan)
        for f, (fold, kept) in enumerate(zip(self.folds, found, strict=True)):
            if kept is not None:
                K = np.linalg.inv(fold.W[whole[:, None], whole])
                U, M = fold.X[:, whole] @ K, fold.means[:, whole] @ K
                accuracies[:, f] = fold.accuracy(whole, U, M, -1 / np.diagonal(K))
        return self._means(accuracies, _removals(S))

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        accuracies = np.full((len(subsets), len(self.folds)), np.nan)
        for i, S in enumerate(subsets):
            for f, (fold, kept) in enumerate(zip(self.folds, self._independent(S), strict=True)):
                if kept is not None:
                    U, M = np.zeros((len(fold.X), 1)), np.zeros((len(fold.means), 1))  # no update
                    accuracies[i, f] = fold.accuracy(kept, U, M, np.zeros(1))[0]
        return self._means(accuracies, subsets)

    def _independent(self, S: Any) -> list[np.ndarray | None]:
        """For each fold, the columns of S that vary within its classes; None where the model must be refitted."""
        S = np.asarray(S, dtype=int)
        found = [S[np.diagonal(fold.W)[S] > 0] for fold in self.folds]
        matrices = (fold.W[None, None, kept[:, None], kept] for fold, kept in zip(self.folds, found, strict=True))
        return [kept if is_regular(W, self.least)[0] else None for kept, W in zip(found, matrices, strict=True)]

    def _means(self, accuracies: np.ndarray, subsets: Any) -> np.ndarray:
        """The means over the folds, (B,), after the models are refitted where the accuracy is not known, (B, F)."""
        for f, fold in enumerate(self.refit.folds):
            unknown = np.flatnonzero(np.isnan(accuracies[:, f]))
            if len(unknown):
                refit = replace(self.refit, folds=[fold], tally=Tally(failures=self.refit.tally.failures))
                accuracies[unknown, f] = refit.many([sorted(subsets[i]) for i in unknown])
        self.refit.tally(len(subsets))
        return accuracies.mean(axis=1)


# --- Wilks' lambda ---


@dataclass(frozen=True)
class Wilks(SubsetScores):
    """1 - Wilks' Λ = 1 - det W/det T on all rows: R² for least squares, the separation of the means for classes.

    It never decreases when a column is added, which makes branch and bound possible.
    """

    W: np.ndarray  # (d, d) residual scatter, or scatter within classes
    T: np.ndarray  # (d, d) total scatter; both for columns of unit standard deviation
    R: np.ndarray  # (r, d) the columns in an orthonormal basis
    G: np.ndarray  # (c, r) the span of y or of the classes, in the same basis
    tally: Tally = field(default_factory=Tally)
    tie: float = TIE

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, classes: int | None, tally: Tally) -> Wilks:
        """Compute the scatter matrices; ``classes`` is the number of classes, None where y holds numbers."""
        X, _ = of_order_one(X)
        C = X - X.mean(axis=0)
        C[:, np.ptp(X, axis=0) == 0] = 0.0
        C /= np.maximum(np.sqrt(np.sum(C**2, axis=0)), np.finfo(np.float64).tiny)
        G = (y - y.mean())[:, None] if classes is None else (y[:, None] == np.arange(classes)) + 0.0  # (n, c)
        G /= np.sqrt(np.sum(G**2, axis=0))
        left = C - G @ (G.T @ C)
        Q, R = np.linalg.qr(C)
        return cls(left.T @ left, C.T @ C, R, G.T @ Q, tally)

    @classmethod
    def of_covariances(cls, G: np.ndarray, q: np.ndarray, y_squares: float = 1.0) -> Wilks:
        """Return the criterion from the covariances of the columns, (d, d), with y, (d,), and the variance of y."""
        size = np.sqrt(np.diagonal(G))
        T, r = G / size[:, None] / size[None, :], q / size / np.sqrt(y_squares)
        values, V = np.linalg.eigh(T)
        varies = values > _FLAT**2 * values[-1]
        root = np.sqrt(values[varies])
        return cls(T - np.outer(r, r), T, root[:, None] * V[:, varies].T, (r @ V[:, varies] / root)[None, :])

    @property
    def d(self) -> int:  # type: ignore[override]
        """The number of columns."""
        return self.T.shape[0]

    @property
    def is_regular(self) -> bool:
        """Whether both scatters of all columns can be inverted."""
        return self._is_regular(np.arange(self.d))

    def _is_regular(self, S: np.ndarray) -> bool:
        return all(is_regular(part[None, None, S[:, None], S])[0] for part in (self.W, self.T))

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        kept = np.asarray(S, dtype=int)
        if not self._is_regular(kept):
            return super().with_each(S, J)
        left, total = (_residual_scatter(part[None], kept, J)[1][0] for part in (self.W, self.T))
        thin = total <= _MIN_UNEXPLAINED * self.T[J, J]
        self.tally(len(J))
        fraction = np.maximum(left, 0.0) / np.where(thin, 1.0, total)
        values = 1 - self.ratio(S) * np.minimum(fraction, 1.0)
        values[thin] = [self.value((*S, int(j))) for j in J[thin]]
        return values

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        kept = np.asarray(S, dtype=int)
        if not self._is_regular(kept):
            return super().without_each(S)
        KW, KT = (np.diagonal(np.linalg.inv(part[kept[:, None], kept])) for part in (self.W, self.T))
        self.tally(len(S))
        return 1 - self.ratio(S) * (KW / KT)

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets."""
        self.tally(len(subsets))
        return np.array([self.value(S) for S in subsets])

    def value(self, S: Sequence[int]) -> float:
        """Return the score of one subset."""
        return 1 - self.ratio(S)

    def ratio(self, S: Any) -> float:
        """Return Λ of a subset: Π (1 - ρ²) over its canonical correlations ρ with y or the classes."""
        kept = np.asarray(S, dtype=int)
        if not len(kept):
            return 1.0
        U, values, _ = np.linalg.svd(self.R[:, kept], full_matrices=False)
        correlations = np.linalg.svd(self.G @ U[:, values > _FLAT * values[0]], compute_uv=False)
        return float(np.prod(np.clip(1 - correlations**2, 0.0, 1.0)))
