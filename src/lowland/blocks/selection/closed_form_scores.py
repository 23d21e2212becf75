"""Scores of subsets of columns in closed form: the present fit is updated by one column instead of fitted again.

Let A be the scatter of the training rows, S the columns so far and j one more. With K the inverse of A_SS and
B = K A_Sj, what j has beyond S is u_j = x_j - B'x_S, of scatter s = A_jj - A_jS B. Adding j moves a least-squares fit
along u_j alone, and the scores of a discriminant by u_j u_j'/s; removing j moves them along X_S K_j. So all candidates
of a step cost one inverse and a few products. Where A is nearly singular the model is fitted again, so that both routes
agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from lowland.blocks.statistics.fold_moments import Folds
from lowland.blocks.statistics.rescaling import power_of_two

_LEAST = 1e-7  # share of a column's variance that must be its own, or its weight is not known well enough
_NONE = 1e-15  # share of the squares below which what is left is rounding
_FLAT = 1e-13  # share of the largest singular value below which a direction does not vary
_MOST_NUMBERS = 2**22  # held at a time
TIE = 1e-10  # scores of least squares nearer than this are one: rounding must not choose


class Refit(Protocol):
    """The long way: fits the model to each subset."""

    def many(self, subsets: Any) -> np.ndarray:
        """Return the scores of subsets."""


@dataclass
class Tally:
    """Counts the subsets that were scored, and shows progress."""

    advance: Callable[[float], Any] = field(default=lambda _: None)
    n: int = 0
    failures: list[str] = field(default_factory=list)  # what was said by models that could not be fitted

    def __call__(self, n: int) -> None:
        """Count n more."""
        self.n += n
        self.advance(n)


@dataclass(frozen=True)
class LeastSquaresScores:
    """Cross-validated scores of least squares, with a ridge or without, from the moments of the folds alone."""

    A: np.ndarray  # (F, d, d) scatter of the training rows, the ridge on its diagonal
    b: np.ndarray  # (F, d) their products with y
    T: np.ndarray  # (F, d, d) squares and products of the test rows, seen from the training means
    t: np.ndarray  # (F, d)
    squares: np.ndarray  # (F,) of y in the test rows, seen from the training mean
    total: np.ndarray  # (F,) of y in the test rows, seen from their own mean
    rows: np.ndarray  # (F,) test rows
    scale: np.ndarray  # (d,) what the columns were divided by, as a share of the largest
    cutoff: float  # share of the largest singular value below which the model's own solver drops a direction
    metric: str
    ridge: bool
    refit: Refit
    tally: Tally
    unit: float = 1.0
    tie: float = TIE

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        y: np.ndarray,
        folds: Folds,
        *,
        intercept: bool,
        alpha: float,
        cutoff: float,
        metric: str,
        refit: Refit,
        tally: Tally,
        unit: float = 1.0,
    ) -> LeastSquaresScores:
        """Sum the moments of each fold; columns are divided by their deviations, which changes no fit."""
        X, size = of_order_one(X)
        scale = np.sqrt(np.mean((X - X.mean(axis=0) * intercept) ** 2, axis=0))
        scale[scale == 0] = 1.0
        Z = np.column_stack([X / scale, y])  # (n, d + 1)
        scale = scale * size
        train, test = (np.empty((len(folds), Z.shape[1], Z.shape[1])) for _ in range(2))
        total = np.empty(len(folds))
        for f, (first, second) in enumerate(folds):
            C, D = Z[first], Z[second]
            if intercept:
                constant = np.ptp(C, axis=0) == 0  # its weight is zero, whatever it does in the test rows
                mean = C.mean(axis=0)
                C, D = C - mean, D - mean
                C[:, constant[:-1].nonzero()[0]] = D[:, constant[:-1].nonzero()[0]] = 0.0
            train[f], test[f] = C.T @ C, D.T @ D
            total[f] = np.sum((y[second] - y[second].mean()) ** 2)
        if alpha:
            train[:, range(X.shape[1]), range(X.shape[1])] += alpha / np.clip(scale, 1e-100, 1e100) ** 2
        rows = np.array([len(second) for _, second in folds], dtype=np.float64)
        return cls(
            train[:, :-1, :-1], train[:, :-1, -1], test[:, :-1, :-1], test[:, :-1, -1], test[:, -1, -1], total, rows,
            np.maximum(scale / scale.max(), 1e-100), cutoff, metric, alpha > 0, refit, tally, unit,
        )  # fmt: skip

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.A.shape[1]

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        kept = self._independent(S)
        if kept is None:
            return self.refit.many([sorted((*S, j)) for j in J])
        w, squares = self._fit(kept)
        B, own = beyond(self.A, kept, J)  # (F, k, m), (F, m)
        T_S = self.T[:, kept[:, None], kept]
        T_J = self.T[:, kept[:, None], J]
        left = self.t[:, kept] - _dot(T_S, w)  # what the residuals have in common with the columns of S
        e = self.t[:, J] - _dot(T_J.mT, w) - _dot(B.mT, left)  # and with u_j
        uu = self.T[:, J, J] + np.sum(B * (T_S @ B - 2 * T_J), axis=1)
        thin = own <= _LEAST * self.A[:, J, J]
        own = np.where(thin, np.inf, own)
        g = (self.b[:, J] - _dot(self.A[:, kept[:, None], J].mT, w)) / own
        values = self._scores(squares[:, None] - 2 * g * e + g * g * uu)
        inverse = self._sizes(self._inverse(kept), kept)[:, None]
        inverse = inverse + (np.sum((B / self.scale[kept, None]) ** 2, axis=1) + self.scale[J] ** -2.0) / own
        subsets = np.column_stack([np.tile(kept, (len(J), 1)), J])
        refit: Any = (thin & ~self._is_nothing(uu, J)) | self._is_cut(inverse, subsets)
        return self._amended(values, refit.any(axis=0), [(*S, j) for j in J])

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        others = [S[:i] + S[i + 1 :] for i in range(len(S))]
        kept = np.asarray(S, dtype=int)
        if not _is_regular(self.A[:, None, kept[:, None], kept])[0]:
            return self.refit.many(others)
        K = self._inverse(kept)
        w, squares = self._fit(kept)
        T_S = self.T[:, kept[:, None], kept]
        h = w / np.diagonal(K, axis1=1, axis2=2)
        e = _dot(K, self.t[:, kept] - _dot(T_S, w))
        uu = np.sum(K * (T_S @ K), axis=1)
        values = self._scores(squares[:, None] + 2 * h * e + h * h * uu)
        own = np.diagonal(K, axis1=1, axis2=2)
        inverse = self._sizes(K, kept)[:, None] - np.sum((K / self.scale[kept, None]) ** 2, axis=1) / own
        return self._amended(values, self._is_cut(inverse, np.array(others, dtype=int)).any(axis=0), others)

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        subsets = np.asarray(subsets)
        B, k = subsets.shape
        step = max(1, _MOST_NUMBERS // (len(self.A) * max(k, 1) ** 2))
        if step < B:
            return np.concatenate([self.many(subsets[i : i + step]) for i in range(0, B, step)])
        A = self.A[:, subsets[:, :, None], subsets[:, None, :]]  # (F, B, k, k)
        fine = _is_regular(A)
        w = np.zeros((len(A), B, k))
        w[:, fine] = np.linalg.solve(A[:, fine], self.b[:, subsets[fine]][..., None])[..., 0]
        T = self.T[:, subsets[:, :, None], subsets[:, None, :]]
        squares = self.squares[:, None] + np.sum(w * (_dot(T, w) - 2 * self.t[:, subsets]), axis=-1)
        values = self._scores(squares)
        inverse = np.zeros((len(A), B))
        inverse[:, fine] = self._sizes(np.linalg.inv(A[:, fine]), subsets[fine])
        cut = self._is_cut(inverse, subsets).any(axis=0)
        for i in np.flatnonzero(~fine):  # columns that add nothing are left out
            kept = self._independent(subsets[i])
            if kept is not None:
                values[:, i] = self._scores(self._fit(kept)[1][:, None])[:, 0]
                inverse = self._sizes(self._inverse(kept), kept)[:, None]
                fine[i] = not self._is_cut(inverse, kept[None]).any()
        return self._amended(values, ~fine | cut, subsets)

    def _inverse(self, S: np.ndarray) -> np.ndarray:
        return np.linalg.inv(self.A[:, S[:, None], S])

    def _sizes(self, K: np.ndarray, S: np.ndarray) -> np.ndarray:
        """The sums over the inverse's diagonal, of columns in their own units."""
        return np.sum(np.diagonal(K, axis1=-2, axis2=-1) / self.scale[S] ** 2, axis=-1)

    def _is_cut(self, inverse: np.ndarray, subsets: np.ndarray) -> Any:
        """Whether a direction may be too small for the model's own solver, (F, m).

        The squares of the smallest and the largest singular value are at least 1/tr A⁻¹ and at most tr A.
        """
        size = np.sum(self.A[:, subsets, subsets] * self.scale[subsets] ** 2, axis=-1)
        return (4 * self.cutoff) ** 2 * inverse * size >= 1

    def _fit(self, S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weights, (F, k), and the squared residuals of the test rows, (F,)."""
        w = np.linalg.solve(self.A[:, S[:, None], S], self.b[:, S, None])[..., 0]
        T = self.T[:, S[:, None], S]
        return w, self.squares + np.sum(w * (_dot(T, w) - 2 * self.t[:, S]), axis=1)

    def _is_nothing(self, uu: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Whether columns without anything of their own in training have none in the test rows either."""
        return (uu <= _NONE * self.T[:, J, J]) & (not self.ridge)

    def _independent(self, S: Any) -> np.ndarray | None:
        """The columns of S less those that add nothing; None where only refitting tells the score."""
        S = np.asarray(S, dtype=int)
        if _is_regular(self.A[:, None, S[:, None], S])[0]:
            return S
        kept = np.empty(0, dtype=int)
        for j in S:
            J = np.array([j])
            B, own = beyond(self.A, kept, J)
            T_J = self.T[:, kept[:, None], J]
            uu = self.T[:, J, J] + np.sum(B * (self.T[:, kept[:, None], kept] @ B - 2 * T_J), axis=1)
            thin = own <= _LEAST * self.A[:, J, J]
            if not thin.any():
                kept = np.append(kept, j)
            elif not (thin & self._is_nothing(uu, J)).all():
                return None
        return kept

    def _scores(self, squares: np.ndarray) -> np.ndarray:
        """The metric of squared residuals, (F, m)."""
        squares = np.maximum(squares, 0.0)
        if self.metric != "r2":
            mean = squares / self.rows[:, None]
            return -np.sqrt(mean) if self.metric == "neg_root_mean_squared_error" else -mean
        total = np.where(self.rows < 2, np.nan, self.total)[:, None]
        flat = np.where(squares > 0, 0.0, 1.0)  # what scikit-learn's R² is where y does not vary
        return np.where(total == 0, flat, 1 - squares / np.where(total == 0, 1.0, total))

    def _amended(self, values: np.ndarray, refit: np.ndarray, subsets: Any) -> np.ndarray:
        """The means over the folds, those that are marked from refitting."""
        means = _mean(values)
        if refit.any():
            means[refit] = self.refit.many([sorted(subsets[i]) for i in np.flatnonzero(refit)])
        self.tally(int(np.sum(~refit)))
        return means


@dataclass(frozen=True)
class FoldOfClasses:
    """A fold: what the training rows say of the classes, and the test rows, seen from the mean of the former."""

    W: np.ndarray  # (d, d) covariance within the classes
    means: np.ndarray  # (C, d)
    logs: np.ndarray  # (C,) of the priors
    X: np.ndarray  # (m, d) test rows
    y: np.ndarray  # (m,) the number of their class

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, C: int) -> FoldOfClasses:
        """Sum the classes of the training rows."""
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
    """Cross-validated accuracy of linear discriminant analysis: each row's scores are updated for every candidate."""

    folds: tuple[FoldOfClasses, ...]
    least: float  # share of a column's variance within classes that must be its own
    refit: Refit
    tally: Tally
    tie: float = 0.0  # shares of rows are exact
    unit: float = 1.0

    @classmethod
    def of(
        cls, X: np.ndarray, y: np.ndarray, folds: Folds, classes: int, *, tol: float, refit: Refit, tally: Tally
    ) -> DiscriminantScores:
        """Sum the classes of each fold; ``tol`` is the deviation that the model's own solver takes for none."""
        X, _ = of_order_one(X)
        scale = X.std(axis=0)
        scale[scale == 0] = 1.0
        Z = X / scale
        found = tuple(FoldOfClasses.of(Z, y, train, test, classes) for train, test in folds)
        return cls(found, max(_LEAST, 1e3 * tol**2), refit, tally)

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.folds[0].X.shape[1]

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        kept = self._independent(S)
        if kept is None:
            return self.refit.many([sorted((*S, j)) for j in J])
        shares, refit = np.empty((len(J), len(self.folds))), np.zeros(len(J), dtype=bool)
        for f, fold in enumerate(self.folds):
            B, own = (part[0] for part in beyond(fold.W[None], kept, J))
            M = fold.means[:, J] - fold.means[:, kept] @ B  # (C, m)
            U = fold.X[:, J] - fold.X[:, kept] @ B  # (rows, m)
            thin = own <= self.least * fold.W[J, J]
            refit |= thin & (fold.W[J, J] > 0)
            shares[:, f] = _right(fold, kept, U, M, np.where(thin, 0.0, 1 / np.where(thin, 1.0, own)))
        return self._amended(shares, refit, [(*S, j) for j in J])

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        kept, others = self._independent(S), [S[:i] + S[i + 1 :] for i in range(len(S))]
        if kept is None:
            return self.refit.many(others)
        if len(kept) < len(S) or len(S) == 1:
            return self.many(np.array(others))
        shares = np.empty((len(S), len(self.folds)))
        for f, fold in enumerate(self.folds):
            K = np.linalg.inv(fold.W[kept[:, None], kept])
            shares[:, f] = _right(fold, kept, fold.X[:, kept] @ K, fold.means[:, kept] @ K, -1 / np.diagonal(K))
        return self._amended(shares, np.zeros(len(S), dtype=bool), ())

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        subsets = np.asarray(subsets)
        shares, refit = np.empty((len(subsets), len(self.folds))), np.zeros(len(subsets), dtype=bool)
        for i, S in enumerate(subsets):
            kept = self._independent(S)
            refit[i] = kept is None
            for f, fold in enumerate(self.folds if kept is not None else ()):
                U, M = np.zeros((len(fold.X), 1)), np.zeros((len(fold.means), 1))  # no update
                shares[i, f] = _right(fold, kept, U, M, np.zeros(1))[0]
        return self._amended(shares, refit, subsets)

    def _independent(self, S: Any) -> np.ndarray | None:
        """The columns of S less those that are constant; None where only refitting tells the score."""
        S = np.asarray(S, dtype=int)
        varies = np.array([np.diagonal(fold.W)[S] > 0 for fold in self.folds])  # (F, k)
        if (varies.any(axis=0) != varies.all(axis=0)).any():
            return None
        S = S[varies.all(axis=0)]
        W = np.stack([fold.W[S[:, None], S] for fold in self.folds])
        return S if _is_regular(W[:, None], self.least)[0] else None

    def _amended(self, shares: np.ndarray, refit: np.ndarray, subsets: Any) -> np.ndarray:
        means = shares.mean(axis=1)
        if refit.any():
            means[refit] = self.refit.many([sorted(subsets[i]) for i in np.flatnonzero(refit)])
        self.tally(int(np.sum(~refit)))
        return means


def _right(fold: FoldOfClasses, S: np.ndarray | None, U: np.ndarray, M: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The share of test rows whose class is found, (m,), after each update of the scores by U M' times a weight."""
    Y = np.linalg.solve(fold.W[S[:, None], S], fold.means[:, S].T)  # type: ignore[index]  # (k, C)
    base = fold.X[:, S] @ Y - np.sum(fold.means[:, S].T * Y, axis=0) / 2 + fold.logs  # (rows, C)
    step = max(1, _MOST_NUMBERS // len(base))
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


@dataclass(frozen=True)
class Wilks:
    """1 - Wilks' Λ = 1 - det W/det T of all rows: for least squares their R², for classes how far the means lie apart.

    It never falls when a column is added, which branch and bound lives on.
    """

    W: np.ndarray  # (d, d) scatter that is left: of the residuals, or within the classes
    T: np.ndarray  # (d, d) scatter in total; both divided by the deviations of the columns
    R: np.ndarray  # (r, d) the columns as they lie in an orthonormal basis
    G: np.ndarray  # (c, r) what y or the classes span, in the same basis
    tally: Tally
    tie: float = TIE
    unit: float = 1.0

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, classes: int | None, tally: Tally) -> Wilks:
        """Sum the scatters; ``classes`` is how many there are, None where y holds numbers."""
        X, _ = of_order_one(X)
        C = X - X.mean(axis=0)
        C[:, np.ptp(X, axis=0) == 0] = 0.0
        C /= np.maximum(np.sqrt(np.sum(C**2, axis=0)), np.finfo(np.float64).tiny)
        G = (y - y.mean())[:, None] if classes is None else (y[:, None] == np.arange(classes)) + 0.0  # (n, c)
        G /= np.sqrt(np.sum(G**2, axis=0))
        left = C - G @ (G.T @ C)
        Q, R = np.linalg.qr(C)
        return cls(left.T @ left, C.T @ C, R, G.T @ Q, tally)

    @property
    def d(self) -> int:
        """The number of columns."""
        return self.T.shape[0]

    @property
    def is_regular(self) -> bool:
        """Whether both scatters of all columns can be inverted."""
        return bool(_is_regular(self.T[None, None])[0] and _is_regular(self.W[None, None])[0])

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        kept = np.asarray(S, dtype=int)
        parts = [part[None, None, kept[:, None], kept] for part in (self.W, self.T)]
        if not all(_is_regular(part)[0] for part in parts):
            return self.many(np.array([sorted((*S, j)) for j in J]))
        left, total = (beyond(part[None], kept, J)[1][0] for part in (self.W, self.T))
        thin = total <= _LEAST * self.T[J, J]
        self.tally(len(J))
        share = np.maximum(left, 0.0) / np.where(thin, 1.0, total)
        values = 1 - self.ratio(S) * np.minimum(share, 1.0)
        values[thin] = [self.value((*S, int(j))) for j in J[thin]]
        return values

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        kept = np.asarray(S, dtype=int)
        parts = [part[kept[:, None], kept] for part in (self.W, self.T)]
        if not all(_is_regular(part[None, None])[0] for part in parts):
            return self.many(np.array([S[:i] + S[i + 1 :] for i in range(len(S))]))
        KW, KT = (np.diagonal(np.linalg.inv(part)) for part in parts)
        self.tally(len(S))
        return 1 - self.ratio(S) * (KW / KT)

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        self.tally(len(subsets))
        return np.array([self.value(tuple(S)) for S in np.asarray(subsets).tolist()])

    def value(self, S: tuple[int, ...]) -> float:
        """Return the score of one subset."""
        return 1 - self.ratio(S)

    def ratio(self, S: Sequence[int]) -> float:
        """Return Λ of a subset, on the directions that vary: Π (1 - ρ²) over its correlations ρ with what y spans."""
        kept = np.asarray(S, dtype=int)
        if not len(kept):
            return 1.0
        U, values, _ = np.linalg.svd(self.R[:, kept], full_matrices=False)
        correlations = np.linalg.svd(self.G @ U[:, values > _FLAT * values[0]], compute_uv=False)
        return float(np.prod(np.clip(1 - correlations**2, 0.0, 1.0)))


def of_order_one(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns divided by powers of two, so that no square is too large or too small, and these, (d,)."""
    size = power_of_two(np.abs(X).max(axis=0))
    return X / size, size


def beyond(A: np.ndarray, S: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return B = A_SS⁻¹ A_SJ, (F, k, m), and what the columns J have beyond S, A_jj - A_jS B, (F, m)."""
    A_SJ = A[:, S[:, None], J]
    B = np.linalg.solve(A[:, S[:, None], S], A_SJ)
    return B, A[:, J, J] - np.sum(A_SJ * B, axis=1)


def _is_regular(A: np.ndarray, least: float = _LEAST) -> Any:
    """Whether every column of the matrices, (F, B, k, k), has enough of its own in all folds, (B,)."""
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


def _mean(values: np.ndarray) -> np.ndarray:
    """The means over the folds, summed in scikit-learn's order."""
    return np.ascontiguousarray(values.T).mean(axis=1)
