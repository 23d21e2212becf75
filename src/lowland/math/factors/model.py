"""The factor model: x = Wy + mean + noise, cov y = Φ, noise with diagonal covariance Ψ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, as_double, is_sparse, like, xp_of
from lowland.math.factors.correlations import Correlations
from lowland.math.factors.maximum_likelihood import factor_loadings
from lowland.math.factors.rotations import Rotation
from lowland.math.statistics.latent_gaussian import LatentModel
from lowland.math.statistics.moments import Moments
from lowland.run.run import Run

NO_NOISE = 1e-12  # noise variance of a constant column, as in scikit-learn
_LITTLE_NOISE = 0.01  # uniqueness below which the matrix inversion lemma subtracts nearly equal numbers


@dataclass(frozen=True)
class FactorModel:
    """Loadings, noise variances and correlations of the factors."""

    W: np.ndarray  # (d, k)
    psi: np.ndarray  # (d,)
    phi: np.ndarray  # (k, k)

    @property
    def covariance(self) -> np.ndarray:
        """WΦW' + Ψ, (d, d)."""
        return self.W @ self.phi @ self.W.T + np.diag(self.psi)

    @property
    def communalities(self) -> np.ndarray:
        """The variance of each column that the factors explain, (d,)."""
        return np.sum((self.W @ self.phi) * self.W, axis=1)

    @property
    def _weighted(self) -> np.ndarray:
        """Ψ^-1 W, (d, k)."""
        return self.W / self.psi[:, None]

    @property
    def _root(self) -> np.ndarray:
        """(d, k) with root root' = Ψ^-1 W (Φ^-1 + W'Ψ^-1 W)^-1 W'Ψ^-1: only k x k is inverted."""
        C = np.linalg.cholesky(np.linalg.inv(self.phi) + self.W.T @ self._weighted)
        return np.linalg.solve(C, self._weighted.T).T

    @property
    def precision(self) -> np.ndarray:
        """The inverse of the covariance: by the matrix inversion lemma or, where that would cancel digits, directly."""
        S = self.covariance
        variances = np.diagonal(S)
        if np.min(self.psi / variances) > _LITTLE_NOISE:
            return np.diag(1 / self.psi) - self._root @ self._root.T
        units = np.sqrt(variances[:, None] * variances[None, :])
        P = np.linalg.inv(S / units) / units
        return (P + P.T) / 2

    def score_weights(self, kind: Literal["regression", "bartlett"]) -> np.ndarray:
        """Return the matrix (k, d) that maps centered rows to scores.

        Regression (Thurstone 1935) is the conditional mean of the factors, (Φ^-1 + W'Ψ^-1 W)^-1 W'Ψ^-1. Bartlett (1937)
        fits the row by generalized least squares, (W'Ψ^-1 W)^-1 W'Ψ^-1: unbiased, with larger variance. A factor
        without loadings has the score zero.
        """
        information = self.W.T @ self._weighted  # (k, k)
        if kind == "regression":
            return np.linalg.solve(np.linalg.inv(self.phi) + information, self._weighted.T)
        return np.linalg.pinv(information, rcond=1e-13, hermitian=True) @ self._weighted.T

    def log_density(self, mean: Array) -> LogDensity:
        """Return the function that gives each row's log-likelihood."""
        k = self.W.shape[1]
        log_det = float(np.sum(np.log(self.psi))) + float(
            np.linalg.slogdet(np.eye(k) + self.phi @ self.W.T @ self._weighted)[1]
        )
        constant = -(log_det + len(self.psi) * math.log(2 * math.pi)) / 2
        return LogDensity(mean, 1 / self.psi, self._root, constant)


def in_units(
    rotation: Rotation, uniquenesses: np.ndarray, variances: np.ndarray, k: int
) -> tuple[FactorModel, FactorModel]:
    """Return the model of standardized columns and that of the columns in their units, both of k factors.

    Constant columns have zero loadings and a tiny noise variance; factors beyond the rank have zero loadings.
    """
    varying, d, most = variances > 0, len(variances), rotation.loadings.shape[1]
    loadings, phi, psi = np.zeros((d, k)), np.eye(k), np.ones(d)
    loadings[varying, :most], phi[:most, :most], psi[varying] = rotation.loadings, rotation.phi, uniquenesses
    noise = np.where(varying, psi * variances, NO_NOISE)
    return FactorModel(loadings, psi, phi), FactorModel(loadings * np.sqrt(variances)[:, None], noise, phi)


@dataclass(frozen=True)
class LogDensity:
    """Rows to their log-likelihoods, (m, 1) float64; picklable, so that it can be sent to a worker."""

    mean: Array  # (d,)
    weight: np.ndarray  # (d,)
    root: np.ndarray  # (d, k)
    constant: float

    def __call__(self, X: Any) -> Array:
        """Return the log-likelihoods of one slab."""
        C = as_double(X.toarray() if is_sparse(X) else X)
        xp = xp_of(C)
        C = C - like(self.mean, C)[None, :]
        far = (C * C) @ like(self.weight, C) - xp.sum((C @ like(self.root, C)) ** 2, axis=1)
        return (self.constant - far / 2)[:, None]


class FitFactors:
    """Fits k factors; each fit starts from the uniquenesses of the one before."""

    def __init__(self, k: int, lower: float, max_iter: int, run: Run) -> None:
        self.k, self.lower, self.max_iter, self.run = k, lower, max_iter, run
        self.first: np.ndarray | None = None

    def __call__(self, moments: Moments) -> LatentModel:
        """Return the model of greatest likelihood."""
        correlations = Correlations.of(moments)
        varying, v = correlations.varying, len(correlations.R)
        first = self.first if self.first is not None and len(self.first) == v else None
        found = factor_loadings(
            correlations.root, min(self.k, v), lower=self.lower, first=first, max_iter=self.max_iter, run=self.run
        )
        self.first = found.uniquenesses
        unit, L = np.full(len(varying), np.sqrt(NO_NOISE)), np.zeros((len(varying), found.loadings.shape[1]))
        unit[varying] = np.sqrt(found.uniquenesses * correlations.variances[varying])
        L[varying] = found.loadings / np.sqrt(found.uniquenesses)[:, None]
        return LatentModel(moments.mean, unit, L)
