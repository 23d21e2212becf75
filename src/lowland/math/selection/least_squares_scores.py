"""Cross-validated scores of least squares in closed form, from the moments of the folds."""

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
from lowland.math.selection.subset_scores import TIE, Refit, Tally
from lowland.math.statistics.fold_moments import Folds

_NONE = 1e-15  # fraction of the squares below which a residual is rounding error


@dataclass(frozen=True)
class LeastSquaresScores:
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
        """Compute the moments of each fold; columns are scaled to unit standard deviation, which changes no fit."""
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
                constant = np.ptp(C, axis=0) == 0  # its coefficient is zero, whatever its test values
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
        B, own = residual_scatter(self.A, kept, J)  # (F, k, m), (F, m)
        T_S = self.T[:, kept[:, None], kept]
        T_J = self.T[:, kept[:, None], J]
        left = self.t[:, kept] - _dot(T_S, w)  # products of the residuals with the columns of S
        e = self.t[:, J] - _dot(T_J.mT, w) - _dot(B.mT, left)  # and with u_j
        uu = self.T[:, J, J] + np.sum(B * (T_S @ B - 2 * T_J), axis=1)
        thin = own <= MIN_UNEXPLAINED * self.A[:, J, J]
        own = np.where(thin, np.inf, own)
        g = (self.b[:, J] - _dot(self.A[:, kept[:, None], J].mT, w)) / own
        values = self._scores(squares[:, None] - 2 * g * e + g * g * uu)
        inverse = self._sizes(self._inverse(kept), kept)[:, None]
        inverse = inverse + (np.sum((B / self.scale[kept, None]) ** 2, axis=1) + self.scale[J] ** -2.0) / own
        subsets = np.column_stack([np.tile(kept, (len(J), 1)), J])
        refit: Any = (thin & ~self._is_nothing(uu, J)) | self._is_cut(inverse, subsets)
        return self._with_refits(values, refit.any(axis=0), [(*S, j) for j in J])

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        others = [S[:i] + S[i + 1 :] for i in range(len(S))]
        kept = np.asarray(S, dtype=int)
        if not is_regular(self.A[:, None, kept[:, None], kept])[0]:
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
        return self._with_refits(values, self._is_cut(inverse, np.array(others, dtype=int)).any(axis=0), others)

    def many(self, subsets: np.ndarray) -> np.ndarray:
        """Return the scores of subsets of one size, (B, k)."""
        subsets = np.asarray(subsets)
        B, k = subsets.shape
        step = max(1, MOST_NUMBERS // (len(self.A) * max(k, 1) ** 2))
        if step < B:
            return np.concatenate([self.many(subsets[i : i + step]) for i in range(0, B, step)])
        A = self.A[:, subsets[:, :, None], subsets[:, None, :]]  # (F, B, k, k)
        fine = is_regular(A)
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
        return self._with_refits(values, ~fine | cut, subsets)

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

    def _is_nothing(self, uu: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Whether columns without residual variance in the training rows have none in the test rows either."""
        return (uu <= _NONE * self.T[:, J, J]) & (not self.ridge)

    def _independent(self, S: Any) -> np.ndarray | None:
        """The columns of S without those that add nothing; None where the score needs a refit."""
        S = np.asarray(S, dtype=int)
        if is_regular(self.A[:, None, S[:, None], S])[0]:
            return S
        kept = np.empty(0, dtype=int)
        for j in S:
            J = np.array([j])
            B, own = residual_scatter(self.A, kept, J)
            T_J = self.T[:, kept[:, None], J]
            uu = self.T[:, J, J] + np.sum(B * (self.T[:, kept[:, None], kept] @ B - 2 * T_J), axis=1)
            thin = own <= MIN_UNEXPLAINED * self.A[:, J, J]
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
        flat = np.where(squares > 0, 0.0, 1.0)  # scikit-learn's R² where y is constant
        return np.where(total == 0, flat, 1 - squares / np.where(total == 0, 1.0, total))

    def _with_refits(self, values: np.ndarray, refit: np.ndarray, subsets: Any) -> np.ndarray:
        """The means over the folds; marked subsets are refitted."""
        means = _mean(values)
        if refit.any():
            means[refit] = self.refit.many([sorted(subsets[i]) for i in np.flatnonzero(refit)])
        self.tally(int(np.sum(~refit)))
        return means


def _dot(A: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A v, matrix by matrix."""
    return (A @ v[..., None])[..., 0]


def _mean(values: np.ndarray) -> np.ndarray:
    """The means over the folds, summed in scikit-learn's order."""
    return np.ascontiguousarray(values.T).mean(axis=1)
