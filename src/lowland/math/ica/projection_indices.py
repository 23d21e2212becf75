"""Projection indices, which measure the deviation of a projection from a Gaussian, with their gradients.

A projection is given by the coordinates P of n whitened rows on k axes, in batches (N, k, n). In formulas, z are the
coordinates of a row, E is the mean over rows, ν a standard normal. The method's page says what each index detects.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammainc, gammaln, ndtr

LOGCOSH_OF_NORMAL = 0.3745672074910889  # E log cosh ν
_ENTROPY_OF_NORMAL = 0.5 * math.log(2 * math.pi * math.e)
_FINEST = 0.08  # of m/n standard deviations, about a fiftieth of a gap in noise: lower bound of a gap
_FACTORS = 8  # gaps multiplied before each logarithm, which is the most expensive step


@dataclass(frozen=True)
class Index:
    """A projection index with k axes; ``order`` is the highest degree of polynomial expansions."""

    k: int = 1
    order: int = 6

    by_axes: ClassVar[bool] = False  # whether it is a sum over the axes
    turns: ClassVar[bool] = True  # whether it is invariant to rotation within the projection
    smooth: ClassVar[bool] = True  # whether its gradient is continuous, so that gradient ascent converges

    def value(self, P: np.ndarray) -> np.ndarray:
        """Return the index of each projection of a batch, (N,)."""
        raise NotImplementedError

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the indices, (N,), and their derivatives by the coordinates, (N, k, n)."""
        raise NotImplementedError


class _Kurtosis(Index):
    """(E|z|⁴ - k(k + 2))²: Mardia's kurtosis less that of a normal, squared, so that both signs count."""

    def value(self, P: np.ndarray) -> np.ndarray:
        return self._excess(np.square(P).sum(axis=1)) ** 2

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        squares = np.square(P).sum(axis=1)  # (N, n)
        excess = self._excess(squares)
        return excess**2, (8 / P.shape[2]) * excess[:, None, None] * squares[:, None, :] * P

    def _excess(self, squares: np.ndarray) -> np.ndarray:
        return np.square(squares).mean(axis=1) - self.k * (self.k + 2)


class _Skewness(Index):
    """|E z⊗z⊗z|²: Mardia's skewness, the sum of all squared third moments."""

    def value(self, P: np.ndarray) -> np.ndarray:
        return np.square(self._thirds(P)[0]).sum(axis=(1, 2))

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T, pairs = self._thirds(P)
        return np.square(T).sum(axis=(1, 2)), (6 / P.shape[2]) * (T @ pairs)

    def _thirds(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Third moments, (N, k, k²), and the products of two coordinates they are made of, (N, k², n)."""
        N, k, n = P.shape
        pairs = (P[:, :, None, :] * P[:, None, :, :]).reshape(N, k * k, n)
        return P @ pairs.transpose(0, 2, 1) / n, pairs


class _Negentropy(Index):
    """Σ_axes (E log cosh z - E log cosh ν)²: Hyvärinen's approximation of the negentropy of each axis."""

    by_axes: ClassVar[bool] = True
    turns: ClassVar[bool] = False

    def value(self, P: np.ndarray) -> np.ndarray:
        return np.square(self._excess(P)).sum(axis=1)

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        excess = self._excess(P)
        return np.square(excess).sum(axis=1), (2 / P.shape[2]) * excess[:, :, None] * np.tanh(P)

    def _excess(self, P: np.ndarray) -> np.ndarray:
        size = np.abs(P)
        return (size + np.log1p(np.exp(-2 * size))).mean(axis=2) - math.log(2) - LOGCOSH_OF_NORMAL


class _Holes(Index):
    """(1 - E exp(-|z|²/2)) / (1 - exp(-k/2)): large where the center is empty, at most 1."""

    sign: ClassVar[float] = 1.0

    def value(self, P: np.ndarray) -> np.ndarray:
        return self._scaled(np.exp(-np.square(P).sum(axis=1) / 2).mean(axis=1))

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        bumps = np.exp(-np.square(P).sum(axis=1) / 2)  # (N, n)
        steepness = self.sign / (P.shape[2] * (1 - math.exp(-self.k / 2)))
        return self._scaled(bumps.mean(axis=1)), steepness * bumps[:, None, :] * P

    def _scaled(self, inside: np.ndarray) -> np.ndarray:
        hollow = (1 - inside) / (1 - math.exp(-self.k / 2))
        return hollow if self.sign > 0 else 1 - hollow


class _CentralMass(_Holes):
    """1 - holes: large where the center is dense and a few rows are far from it."""

    sign: ClassVar[float] = -1.0


class _FriedmanTukey(Index):
    """Mean of a triweight kernel over all pairs, which estimates ∫f², less its mean for a normal."""

    def value(self, P: np.ndarray) -> np.ndarray:
        from lowland.kernels.triweight import add_triweights

        sums = np.array([add_triweights(np.ascontiguousarray(view), self.width(P.shape[2])) for view in P])
        return self._scaled(sums, P.shape[2])

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        from lowland.kernels.triweight import add_triweight_slopes

        n = P.shape[2]
        G = np.zeros_like(P)
        sums = [add_triweight_slopes(np.ascontiguousarray(p), self.width(n), g) for p, g in zip(P, G, strict=True)]
        return self._scaled(np.array(sums), n), G * self._weight_of_pair(n)

    def width(self, n: int) -> float:
        """The width of the kernel, by the rule of thumb for a normal density."""
        return 3.15 * n ** (-1 / (self.k + 4))

    def _weight_of_pair(self, n: int) -> float:
        """The weight of a pair: one over the number of pairs times the volume under the kernel."""
        log_volume = self.k / 2 * math.log(math.pi) + gammaln(4) - gammaln(self.k / 2 + 4)
        return 2 / (n * (n - 1)) / (math.exp(log_volume) * self.width(n) ** self.k)

    def _scaled(self, sums: np.ndarray, n: int) -> np.ndarray:
        # |z - z'|²/2 of two normal rows is χ² with k degrees: E (1 - 2s/h²)³ over s < h²/2, term by term
        h2, half = self.width(n) ** 2, self.k / 2
        terms = [
            math.comb(3, j) * (-4 / h2) ** j * math.exp(gammaln(half + j) - gammaln(half)) * gammainc(half + j, h2 / 4)
            for j in range(4)
        ]
        return (sums - n * (n - 1) / 2 * sum(terms)) * self._weight_of_pair(n)


class _Expansion(Index):
    """Σ_α (E B_α(z) - E B_α(ν))² over products B_α of one basis function per axis, of total degree up to ``order``."""

    def _basis(self, P: np.ndarray) -> np.ndarray:
        """The functions of each coordinate, (N, k, order + 1, n)."""
        raise NotImplementedError

    def _slopes(self, P: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Their derivatives, (N, k, order + 1, n)."""
        raise NotImplementedError

    def _of_normal(self) -> np.ndarray:
        """The mean of each function of a normal, (order + 1,)."""
        raise NotImplementedError

    def value(self, P: np.ndarray) -> np.ndarray:
        return np.square(self._beyond(self._basis(P), 0)[0]).sum(axis=(1, 2))

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        B, G = self._basis(P), np.empty_like(P)
        D = self._slopes(P, B)
        for axis in range(self.k):
            beyond, others = self._beyond(B, axis)
            G[:, axis] = (2 / P.shape[2]) * (D[:, axis] * (beyond @ others)).sum(axis=1)
        return np.square(beyond).sum(axis=(1, 2)), G

    def _beyond(self, B: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """E B_α(z) - E B_α(ν), (N, order + 1, q), and the q products of functions of all other axes, (N, q, n)."""
        rest, means = [a for a in range(self.k) if a != axis], self._of_normal()
        degrees = [q for q in itertools.product(range(self.order + 1), repeat=self.k - 1) if sum(q) <= self.order]
        others = np.ones((len(B), len(degrees), B.shape[3]))
        for place, q in enumerate(degrees):
            for a, j in zip(rest, q, strict=True):
                others[:, place] *= B[:, a, j]
        normal = np.outer(means, [math.prod(means[j] for j in q) for q in degrees])
        wanted = np.add.outer(np.arange(self.order + 1), [sum(q) for q in degrees]) <= self.order
        return np.where(wanted, B[:, axis] @ others.transpose(0, 2, 1) / B.shape[3] - normal, 0.0), others


class _Legendre(_Expansion):
    """∫(p - uniform)² over the cube, p the density of R = 2Φ(z) - 1, which is uniform for a normal z."""

    turns: ClassVar[bool] = False

    def _basis(self, P: np.ndarray) -> np.ndarray:
        R = 2 * ndtr(P) - 1
        L = [np.ones_like(R), R]
        for j in range(1, self.order):
            L.append(((2 * j + 1) * R * L[j] - j * L[j - 1]) / (j + 1))
        return np.stack([math.sqrt(j + 0.5) * L[j] for j in range(self.order + 1)], axis=2)

    def _slopes(self, P: np.ndarray, B: np.ndarray) -> np.ndarray:
        D = np.zeros_like(B)  # P'_j+1 = (2j + 1) P_j + P'_j-1, and dR/dz = 2φ(z)
        for j in range(self.order):
            D[:, :, j + 1] = math.sqrt((j + 0.5) * (j + 1.5)) * 2 * B[:, :, j]
            if j:
                D[:, :, j + 1] += math.sqrt((j + 1.5) / (j - 0.5)) * D[:, :, j - 1]
        return D * (math.sqrt(2 / math.pi) * np.exp(-np.square(P) / 2))[:, :, None]

    def _of_normal(self) -> np.ndarray:
        means = np.zeros(self.order + 1)
        means[0] = math.sqrt(0.5)
        return means


class _Hermite(_Expansion):
    """∫(f - φ)²φ, f the density of the projection and φ the normal one, both expanded in Hermite polynomials."""

    def _basis(self, P: np.ndarray) -> np.ndarray:
        return np.stack(self._functions(P, self.order), axis=2)

    def _slopes(self, P: np.ndarray, B: np.ndarray) -> np.ndarray:
        H = self._functions(P, self.order + 1)
        return np.stack([-math.sqrt(j + 1) * H[j + 1] for j in range(self.order + 1)], axis=2)

    def _functions(self, P: np.ndarray, order: int) -> list[np.ndarray]:
        """h_j φ for j up to ``order``, with polynomials h_j of unit length under φ."""
        H = [np.exp(-np.square(P) / 2) / math.sqrt(2 * math.pi)]
        for j in range(order):
            lower = math.sqrt(j) * H[j - 1] if j else 0.0
            H.append((P * H[j] - lower) / math.sqrt(j + 1))
        return H

    def _of_normal(self) -> np.ndarray:
        means = np.zeros(self.order + 1)
        for j in range(self.order // 2 + 1):
            log_size = gammaln(2 * j + 1) / 2 - gammaln(j + 1) - (2 * j + 1) * math.log(2) - math.log(math.pi) / 2
            means[2 * j] = (-1) ** j * math.exp(log_size)
        return means


class _Spacing(Index):
    """Σ_axes (H(ν) - H(z)), the entropy H estimated from m-spacings, the gaps between order statistics m apart.

    Rows on parallel lines have tiny gaps: without the lower bound of a gap the index would be unbounded.
    """

    by_axes: ClassVar[bool] = True
    turns: ClassVar[bool] = False
    smooth: ClassVar[bool] = False

    def value(self, P: np.ndarray) -> np.ndarray:
        n = P.shape[2]
        m, S = places(n), np.sort(P, axis=2)
        gaps = S[:, :, m:] - S[:, :, :-m]
        gaps += _FINEST * m / n
        q = (n - m) // _FACTORS
        products, rest = gaps[:, :, :q].copy(), gaps[:, :, _FACTORS * q :]
        for f in range(1, _FACTORS):
            products *= gaps[:, :, f * q : (f + 1) * q]
        logs = np.log(products).sum(axis=2) + np.log(rest).sum(axis=2)
        return self._beyond(logs.sum(axis=1), n, m)

    def slope(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # discontinuous where two rows change order
        n = P.shape[2]
        m, order = places(n), np.argsort(P, axis=2, kind="stable")
        S = np.take_along_axis(P, order, axis=2)
        gaps = S[:, :, m:] - S[:, :, :-m] + _FINEST * m / n
        pulls = np.zeros_like(P)
        pulls[:, :, m:] -= 1 / gaps
        pulls[:, :, :-m] += 1 / gaps
        G = np.empty_like(P)
        np.put_along_axis(G, order, pulls / (n - m), axis=2)
        return self._beyond(np.log(gaps).sum(axis=(1, 2)), n, m), G

    def _beyond(self, logs: np.ndarray, n: int, m: int) -> np.ndarray:
        # the mean logarithm of a gap among n even values on [0, 1] is ψ(m) - ψ(n + 1)
        return self.k * (_ENTROPY_OF_NORMAL + float(digamma(m) - digamma(n + 1))) - logs / (n - m)


def places(n: int) -> int:
    """Return m of the m-spacings: small, to detect thin lines, but larger for more rows."""
    return min(max(1, round(math.sqrt(n) / 4)), n - 1)


INDICES: dict[str, type[Index]] = {
    "spacing": _Spacing,
    "kurtosis": _Kurtosis,
    "skewness": _Skewness,
    "negentropy": _Negentropy,
    "friedman-tukey": _FriedmanTukey,
    "legendre": _Legendre,
    "hermite": _Hermite,
    "holes": _Holes,
    "central-mass": _CentralMass,
}
