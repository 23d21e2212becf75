"""Wilks' lambda of subsets of columns: 1 - Λ never decreases when a column is added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lowland.math.selection.column_updates import MIN_UNEXPLAINED, is_regular, of_order_one, residual_scatter
from lowland.math.selection.subset_scores import TIE, Tally

_FLAT = 1e-13  # fraction of the largest singular value below which a direction has no variance


@dataclass(frozen=True)
class Wilks:
    """1 - Wilks' Λ = 1 - det W/det T on all rows: R² for least squares, the separation of the means for classes.

    It never decreases when a column is added, which makes branch and bound possible.
    """

    W: np.ndarray  # (d, d) residual scatter, or scatter within classes
    T: np.ndarray  # (d, d) total scatter; both for columns of unit standard deviation
    R: np.ndarray  # (r, d) the columns in an orthonormal basis
    G: np.ndarray  # (c, r) the span of y or of the classes, in the same basis
    tally: Tally = field(default_factory=Tally)
    tie: float = TIE
    unit: float = 1.0

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
    def d(self) -> int:
        """The number of columns."""
        return self.T.shape[0]

    @property
    def is_regular(self) -> bool:
        """Whether both scatters of all columns can be inverted."""
        return bool(is_regular(self.T[None, None])[0] and is_regular(self.W[None, None])[0])

    def with_each(self, S: tuple[int, ...], J: np.ndarray) -> np.ndarray:
        """Return the scores of S with each column of J."""
        kept = np.asarray(S, dtype=int)
        parts = [part[None, None, kept[:, None], kept] for part in (self.W, self.T)]
        if not all(is_regular(part)[0] for part in parts):
            return self.many(np.array([sorted((*S, j)) for j in J]))
        left, total = (residual_scatter(part[None], kept, J)[1][0] for part in (self.W, self.T))
        thin = total <= MIN_UNEXPLAINED * self.T[J, J]
        self.tally(len(J))
        fraction = np.maximum(left, 0.0) / np.where(thin, 1.0, total)
        values = 1 - self.ratio(S) * np.minimum(fraction, 1.0)
        values[thin] = [self.value((*S, int(j))) for j in J[thin]]
        return values

    def without_each(self, S: tuple[int, ...]) -> np.ndarray:
        """Return the scores of S without each of its columns."""
        kept = np.asarray(S, dtype=int)
        parts = [part[kept[:, None], kept] for part in (self.W, self.T)]
        if not all(is_regular(part[None, None])[0] for part in parts):
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
        """Return Λ of a subset: Π (1 - ρ²) over its canonical correlations ρ with y or the classes."""
        kept = np.asarray(S, dtype=int)
        if not len(kept):
            return 1.0
        U, values, _ = np.linalg.svd(self.R[:, kept], full_matrices=False)
        correlations = np.linalg.svd(self.G @ U[:, values > _FLAT * values[0]], compute_uv=False)
        return float(np.prod(np.clip(1 - correlations**2, 0.0, 1.0)))
