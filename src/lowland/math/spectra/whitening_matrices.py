"""Whitening matrices: W with W S W' = I on the range of S, by five criteria (Kessy et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lowland.arrays.namespace import Array, rounding_in, xp_of
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.leading import leading_eigenpairs
from lowland.run.run import Run

Kind = Literal["pca", "zca", "cholesky", "pca-cor", "zca-cor"]


@dataclass(frozen=True)
class WhiteningMatrix:
    """The whitening matrix W, its pseudo-inverse, and the rank of the covariance."""

    W: Array  # (k, d)
    inverse: Array  # (d, k)
    rank: int
    values: Array  # eigenvalues of the covariance, or of the correlation for the -cor kinds
    outcome: Outcome


def whitening_matrix(
    S: Array,
    kind: Kind = "pca",
    k: int | None = None,
    *,
    variances: Array | None = None,
    tol: float | None = None,
    run: Run | None = None,
) -> WhiteningMatrix:
    """Return the whitening matrix of a covariance: W S W' = I on the range of S.

    With S = UΛU' of rank r: pca is Λ^-1/2 U', zca is U Λ^-1/2 U', which stays closest to the data, cholesky is
    triangular (coordinate j uses only the first j columns), and the -cor kinds apply pca and zca to the correlation
    matrix after dividing by the standard deviations.

    Parameters
    ----------
    S
        The covariance, (d, d).
    kind
        "pca", "zca", "cholesky", "pca-cor" or "zca-cor".
    k
        Number of leading directions to keep. None keeps all of nonzero variance.
    variances
        Variances of the columns, (d,), zero for a constant one. None means the diagonal of S.
    tol
        Directions below this fraction of the largest eigenvalue are dropped. None means rounding error.
    run
        Shows progress and can be canceled.

    Returns
    -------
    WhiteningMatrix
        ``W`` (k, d), ``inverse`` (d, k), ``rank`` r, and the eigenvalues ``values``.

    Examples
    --------
    >>> import numpy as np
    >>> whitening_matrix(np.array([[4.0, 0.0], [0.0, 1.0]]), "zca").W.round(12)
    array([[0.5, 0. ],
           [0. , 1. ]])
    """
    xp = xp_of(S)
    d = S.shape[0]
    variances = xp.linalg.diagonal(S) if variances is None else variances
    tol = rounding_in(S) if tol is None else tol
    divided = variances > (0 if kind.endswith("-cor") else float("inf"))
    deviations = xp.sqrt(xp.where(divided, variances, xp.ones_like(variances)))
    R = S / (deviations[:, None] * deviations[None, :])
    pairs = leading_eigenpairs(R, d, run=Run() if run is None else run, solver="eigh")
    first = float(pairs.values[0])
    rank = int(xp.sum(xp.astype(pairs.values > tol * first, xp.int64))) if first > 0 else 0
    kept = rank if k is None else min(k, rank)
    U, roots = pairs.vectors[:, :kept], xp.sqrt(pairs.values[:kept])
    W, inverse = U.T / roots[:, None], U * roots[None, :]
    if kind.startswith("zca"):
        W, inverse = U @ W, inverse @ U.T
    elif kind == "cholesky":
        # Factor Λ^-1/2 U' = QL with L lower triangular: L = chol(S)^-1, and exists for a singular S as well.
        Q, R = xp.linalg.qr(xp.flip(W, axis=1))
        signs = xp.where(xp.linalg.diagonal(R) < 0, -1.0, 1.0)
        W = xp.flip(R * signs[:, None], axis=(0, 1))
        inverse = inverse @ xp.flip(Q * signs[None, :], axis=1)
    W = W / deviations[None, :]
    outcome = Outcome("eigh", "all eigenpairs of the covariance")
    return WhiteningMatrix(W, deviations[:, None] * inverse, rank, pairs.values, outcome)
