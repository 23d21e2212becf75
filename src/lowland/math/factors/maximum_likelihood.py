"""Factor analysis of a correlation matrix, R ≈ LL' + Ψ with loadings L and uniquenesses Ψ, by maximum likelihood.

The objective is the deviance log|Σ| + tr Σ^-1 R, Σ = LL' + Ψ: minus twice the mean log-likelihood, minus d log 2π.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.linalg

from lowland.arrays.linalg import eigh
from lowland.math.factors.likelihood_searches import FactorEstimate, Root, by_em, by_leading_pairs
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import ComponentChoice
from lowland.run.run import Run

_BETTER = 1e-9  # by which a later initialization must be better, so that rounding does not decide
_PATIENCE = 5  # numbers of factors tried beyond the smallest BIC
_SINGULAR = 1e-10  # an eigenvalue of a correlation matrix below this is zero


# --- counting ---------------------------------------------------------------------------------------------------------


def degrees_of_freedom(d: int, k: int) -> int:
    """Return the degrees of freedom, the number of (co)variances minus free parameters, ((d - k)² - (d + k)) / 2."""
    return ((d - k) ** 2 - (d + k)) // 2


def most_factors(d: int) -> int:
    """Return the largest k whose degrees of freedom are not negative (Ledermann 1937)."""
    return int((2 * d + 1 - math.sqrt(8 * d + 1)) / 2 + 1e-9)


def free_parameters(d: int, k: int) -> int:
    """Return the number of means, uniquenesses and loadings, minus the rotations that change nothing."""
    return 2 * d + d * k - k * (k - 1) // 2


# --- the maximum of the likelihood ------------------------------------------------------------------------------------


def factor_loadings(
    R: np.ndarray | Root,
    k: int,
    *,
    method: Literal["uniqueness", "em"] = "uniqueness",
    lower: float = 1e-6,
    first: np.ndarray | None = None,
    n_starts: int = 1,
    rng: np.random.Generator | None = None,
    tol: float = 1e-10,
    max_iter: int = 1000,
    run: Run | None = None,
) -> FactorEstimate:
    """Return the maximum likelihood loadings and uniquenesses of a correlation matrix: R ≈ LL' + Ψ, Ψ diagonal.

    Parameters
    ----------
    R
        A correlation matrix, (d, d), or a ``Root``, which also holds a root of low rank.
    k
        The number of factors, at most d.
    method
        L-BFGS on the uniquenesses, or expectation-maximization.
    lower
        Lower bound of the uniquenesses.
    first
        Initial uniquenesses, (d,). None means those of Jöreskog, or with many columns the variances that k principal
        components do not explain.
    n_starts
        Number of initializations, of which all but the first are random. The smallest deviance is kept.
    rng
        Draws the random initializations.
    tol
        Decrease of the deviance at which an iteration has converged. For fewer than 400 columns, L-BFGS goes on to
        the maximum.
    max_iter
        Maximum number of iterations per initialization.
    run
        Shows progress and can be canceled.

    Returns
    -------
    FactorEstimate
        ``loadings`` (d, k) L with L'Ψ^-1 L diagonal, ``uniquenesses`` (d,) the diagonal of Ψ, ``deviance``
        log|Σ| + tr Σ^-1 R with Σ = LL' + Ψ, ``outcome``.

    Examples
    --------
    >>> import numpy as np
    >>> loadings = np.array([0.9, 0.8, 0.7])
    >>> R = np.outer(loadings, loadings) + np.diag(1 - loadings**2)
    >>> factor_loadings(R, 1).loadings[:, 0].round(6)
    array([0.9, 0.8, 0.7])
    """
    root = R if isinstance(R, Root) else Root(np.asarray(R, dtype=np.float64))
    run = Run() if run is None else run
    d, rng = len(root.R), rng if rng is not None else np.random.default_rng(0)
    if k == 0:  # Σ = Ψ = I
        outcome = Outcome("none", "", 1, True, (float(d),))
        return FactorEstimate(np.zeros((d, 0)), np.ones(d), outcome, (float(d),))
    if first is None:
        first = root.first(k, lower, run) if root.is_large(k) else first_uniquenesses(root.R, k, lower)
    found = []
    for i in range(1 if k == d else n_starts):  # with as many factors as columns every start gives the same fit
        psi = rng.uniform(max(lower, 0.005), 1.0, d) if i else first
        if method == "em":
            found.append(by_em(root, k, psi, lower, tol, max_iter, run))
        else:
            enough = tol if root.is_large(k) else 0.0
            found.append(by_leading_pairs(root, k, psi, lower, enough, max_iter, run))
    best = found[0]
    for other in found[1:]:
        if other.deviance < best.deviance - _BETTER:
            best = other
    return replace(best, start_deviances=tuple(one.deviance for one in found))


def first_uniquenesses(R: np.ndarray, k: int, lower: float) -> np.ndarray:
    """Return Jöreskog's initial uniquenesses, (1 - k/2d) / diag R^-1, a fraction of the unpredicted variances.

    With as many factors as columns every small enough Ψ fits exactly; half of the largest such multiple is taken.
    """
    d = len(R)
    inverse = inverse_of(R)
    if inverse is None:  # shrink toward the identity first
        inverse = inverse_of(0.9 * R + 0.1 * np.eye(d))
    assert inverse is not None  # no eigenvalue is below 0.1 but for rounding
    unpredicted = 1 / np.diagonal(inverse)
    if k < d:
        return np.clip((1 - k / (2 * d)) * unpredicted, lower, 1.0)
    s = 1 / np.sqrt(unpredicted)
    return np.clip(eigh(R * np.outer(s, s))[0][0] / 2 * unpredicted, lower, 1.0)


def inverse_of(R: np.ndarray) -> np.ndarray | None:
    """Return the inverse of a correlation matrix by its Cholesky factor; None where it is nearly singular."""
    C, failed = scipy.linalg.lapack.dpotrf(R)
    if failed:
        return None
    inverse, failed = scipy.linalg.lapack.dpotri(C, overwrite_c=True)
    if failed or not float(np.trace(inverse)) < 1 / _SINGULAR:  # the trace is at least 1 / the least eigenvalue
        return None
    inverse = np.triu(inverse)
    return inverse + np.triu(inverse, 1).T


def fewest_by_bic(
    R: np.ndarray, n: float, fit: Callable[[int], FactorEstimate]
) -> tuple[ComponentChoice, FactorEstimate]:
    """Return the number of factors with the smallest BIC, and its fit; stops where BIC keeps increasing."""
    d, found, values = len(R), [], []
    for k in range(1, max(most_factors(d), 1) + 1):
        found.append(fit(k))
        values.append(n * found[-1].deviance + math.log(n) * free_parameters(d, k))
        if k - 1 - int(np.argmin(values)) >= _PATIENCE:
            break
    k = int(np.argmin(values)) + 1
    reason = f"{k} factor{'s' * (k != 1)}: smallest BIC among 1 to {len(values)}"
    return ComponentChoice(k, "bic", reason, {"bic": np.array(values)}), found[k - 1]
