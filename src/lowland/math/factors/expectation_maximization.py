"""Maximum likelihood factors by expectation-maximization, from the correlations alone."""

from __future__ import annotations

import numpy as np

from lowland.math.factors.estimate import FactorEstimate
from lowland.math.factors.uniqueness_search import FullProfile
from lowland.math.factors.wide_tables import Leading, Root
from lowland.math.optimize.outcome import Outcome, iteration_limit
from lowland.math.spectra.leading import fix_signs
from lowland.run.run import Run


def by_em(root: Root, k: int, psi: np.ndarray, lower: float, tol: float, max_iter: int, run: Run) -> FactorEstimate:
    """Minimize the deviance by expectation-maximization (Rubin and Thayer 1982), from the correlations alone.

    E: the factors given a row have mean β(x - μ), β = GL'Ψ^-1, and covariance G = (I + L'Ψ^-1 L)^-1.
    M: L = Rβ' (G + βRβ')^-1 and ψ = diag(R - LβR). It stops where the deviance decreases by less than ``tol``.
    """
    R, psi = root.R, np.clip(psi, lower, None)
    x = np.log(psi)
    L = (Leading.at(x, root, k, run) if root.suits(k) else FullProfile.at(x, R, k)).loadings(k)
    trace: list[float] = []
    converged = False
    for _ in run.iterate("expectation-maximization", max_iter):
        B = L / psi[:, None]  # Ψ^-1 L
        G = np.linalg.inv(np.eye(k) + L.T @ B)  # (k, k)
        Rb = R @ B @ G  # Rβ', (d, k)
        log_det = float(np.sum(np.log(psi))) - float(np.linalg.slogdet(G)[1])
        trace.append(log_det + float(np.sum(np.diagonal(R) / psi)) - float(np.sum(B * Rb)))
        if len(trace) > 1 and trace[-2] - trace[-1] < tol:
            converged = True
            break
        if len(trace) == max_iter:
            break
        L = np.linalg.solve(G + G @ B.T @ Rb, Rb.T).T
        psi = np.maximum(np.diagonal(R) - np.sum(L * Rb, axis=1), lower)
    reason = "the log-likelihood increased by less than tol" if converged else iteration_limit(max_iter)
    outcome = Outcome("em", "", len(trace), converged, tuple(trace), reason)
    return FactorEstimate(canonical(L, psi), psi, outcome)


def canonical(L: np.ndarray, psi: np.ndarray) -> np.ndarray:
    """Rotate loadings so that L'Ψ^-1 L is diagonal with decreasing entries, as both solvers return them."""
    _, _, Vt = np.linalg.svd(L / np.sqrt(psi)[:, None], full_matrices=False)
    return fix_signs(L @ Vt.T)
