"""A smooth surface of one column over a map: a thin plate regression spline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_KNOTS = 500  # points that define the spline, at most
_GRID = np.logspace(-8, 8, 81)  # smoothing parameters, relative to the median curvature


@dataclass(frozen=True, eq=False)
class Surface:
    """A smooth surface of one column over two axes of a map.

    Attributes
    ----------
    name : str
        The column.
    fitted : array of shape (n,)
        Height of the surface at each point.
    r2 : float
        Fraction of the column's variance that the surface explains.
    p_value : float
        Fraction of permuted columns whose own surface explains as much.
    degrees : float
        Effective degrees of freedom. 3 is a plane.
    """

    name: str
    fitted: np.ndarray
    r2: float
    p_value: float
    degrees: float
    spline: ThinPlate
    coefficients: np.ndarray

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the height of the surface at other points, (m,), from (m, 2)."""
        return self.spline.basis(np.asarray(Z, dtype=np.float64)) @ self.coefficients


@dataclass(frozen=True, eq=False)
class ThinPlate:
    """The basis of a thin plate regression spline over points in the plane (Wood 2003, doi:10.1111/1467-9868.00374).

    A thin plate spline bends least among the surfaces through given heights. Its k - 3 bending directions of the
    largest eigenvalues, and the plane, span the basis. In this basis the least squares problem and the bending are both
    diagonal: column j of ``U`` is orthonormal and bends by ``bending[j]``, which is 0 for the plane.
    """

    knots: np.ndarray  # (m, 2)
    center: np.ndarray
    scale: float
    turn: np.ndarray  # (m, k - 3): from kernel values to bending directions
    mix: np.ndarray  # (k, k): to the diagonal basis
    U: np.ndarray  # (n, k)
    bending: np.ndarray  # (k,)

    @classmethod
    def over(cls, Z: np.ndarray, k: int, rng: np.random.Generator) -> ThinPlate:
        """The spline of dimension k over points (n, 2)."""
        center = Z.mean(axis=0)
        scale = float(np.sqrt(((Z - center) ** 2).sum(axis=1).mean())) or 1.0
        knots = np.unique((Z - center) / scale, axis=0)
        if len(knots) > _KNOTS:
            knots = knots[np.sort(rng.permutation(len(knots))[:_KNOTS])]
        k = min(k, len(knots))
        values, vectors = np.linalg.eigh(_kernel(knots, knots))
        first = np.argsort(-np.abs(values), kind="stable")[:k]
        values, vectors = values[first], vectors[:, first]
        plane = np.column_stack([np.ones(len(knots)), knots])
        free = np.linalg.qr((plane.T @ vectors).T, mode="complete")[0][:, 3:]  # no plane among the bending directions
        turn = vectors @ free
        bending = free.T @ (values[:, None] * free)
        spline = cls(knots, center, scale, turn, np.eye(k), np.empty(0), np.empty(0))
        Q, R = np.linalg.qr(spline.basis(Z))
        penalty = np.zeros((k, k))
        penalty[: k - 3, : k - 3] = bending
        inverse = np.linalg.pinv(R)
        curved = inverse.T @ penalty @ inverse
        s, V = np.linalg.eigh((curved + curved.T) / 2)
        s[:3] = 0  # the plane does not bend
        s = np.maximum(s, 0)
        return cls(knots, center, scale, turn, inverse @ V, Q @ V, s)

    def basis(self, Z: np.ndarray) -> np.ndarray:
        """The values of the basis at points, (m, k)."""
        at = (Z - self.center) / self.scale
        parts = [_kernel(part, self.knots) @ self.turn for part in np.array_split(at, max(1, len(at) // 4096))]
        return np.column_stack([np.concatenate(parts), np.ones(len(at)), at]) @ self.mix

    def fit(self, name: str, y: np.ndarray, permutations: int, rng: np.random.Generator) -> Surface:
        """The surface of a column, smoothed by restricted maximum likelihood, and its permutation p-value."""
        mean = y.mean()
        centered = y - mean
        total = float(centered @ centered)
        c = self.U.T @ centered[:, None]
        weight, explained = self._smooth(c, total)
        shrunk = (weight * c)[:, 0]
        as_good = 0
        for part in np.array_split(np.arange(permutations), max(1, permutations * len(y) // 2**22)):
            drawn = np.stack([rng.permutation(centered) for _ in part], axis=1) if len(part) else np.empty((len(y), 0))
            as_good += int((self._smooth(self.U.T @ drawn, total)[1] >= explained[0] - 1e-12).sum())
        constant = np.linalg.lstsq(self.U, np.ones(len(y)), rcond=None)[0]  # the plane contains it
        return Surface(
            name, self.U @ shrunk + mean, float(explained[0]), (1 + as_good) / (1 + permutations), float(weight.sum()),
            self, shrunk + mean * constant,
        )  # fmt: skip

    def _smooth(self, c: np.ndarray, total: float) -> tuple[np.ndarray, np.ndarray]:
        """How far smoothing shrinks the coefficients c (k, p) of columns, (k, p), and the explained fractions, (p,).

        The restricted likelihood of a smoothing parameter λ is, up to constants, (n - 3) log(RSS + λ bending) + the sum
        of log((1 + λ s) / (λ s)) over the bending directions. It is minimized on a grid, and by a parabola there.
        """
        n, s = len(self.U), self.bending
        curved = s > 0
        unit = float(np.median(1 / s[curved])) if curved.any() else 1.0
        rows = _GRID[:, None] * unit * s[None, :]  # (g, k): λ s
        penalized = total - (1 / (1 + rows)) @ c**2  # (g, p)
        volume = np.log1p(1 / rows[:, curved]).sum(axis=1)
        criterion = (n - 3) * np.log(np.maximum(penalized, 1e-300)) + volume[:, None]
        best = np.argmin(criterion, axis=0)
        at = np.clip(best, 1, len(_GRID) - 2)
        low, middle, high = (criterion[at + i, np.arange(c.shape[1])] for i in (-1, 0, 1))
        bend = low - 2 * middle + high
        shift = np.where((best == at) & (bend > 0), (low - high) / np.where(bend > 0, 2 * bend, 1), 0)  # of a parabola
        chosen = unit * _GRID[best] * (_GRID[1] / _GRID[0]) ** shift
        weight = 1 / (1 + chosen[:, None] * s[None, :])  # (p, k)
        return weight.T, ((2 * weight - weight**2).T * c**2).sum(axis=0) / total


def _kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """r² log r of the distances between points of the plane."""
    from scipy.spatial.distance import cdist

    squares = cdist(a, b, "sqeuclidean")
    return 0.5 * squares * np.log(np.where(squares > 0, squares, 1.0))
