"""Whitening matrices: W with W S W' = I on the span of the data, chosen by what else is wanted (Kessy et al. 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lowland.arrays.namespace import Array, xp_of
from lowland.blocks.spectra.leading import leading_eigenpairs
from lowland.run.run import Run

Kind = Literal["pca", "zca", "cholesky", "pca-cor", "zca-cor"]


@dataclass(frozen=True)
class Whitener:
    """W maps centered rows to white ones, ``back`` the other way; rank is the number of directions that vary."""

    W: Array  # (k, d)
    back: Array  # (d, k)
    rank: int
    values: Array  # eigenvalues of the covariance, or of the correlation for the -cor kinds


def whitener(S: Array, variances: Array, kind: Kind, k: int | None, run: Run, tolerance: float) -> Whitener:
    """Return the whitening matrix of covariance S; directions below ``tolerance`` times the largest are left out.

    ``variances`` are those of the columns, zero where one is constant.
    With S = UΛU' and r directions that vary: pca is Λ^-1/2 U', zca turns it back by U to stay close to the data,
    cholesky is triangular (column j of the result uses the first j columns only), and the -cor kinds do the same to the
    correlation after dividing by the deviations.
    """
    xp = xp_of(S)
    d = S.shape[0]
    divided = variances > (0 if kind.endswith("-cor") else float("inf"))
    deviations = xp.sqrt(xp.where(divided, variances, xp.ones_like(variances)))
    pairs = leading_eigenpairs(S / (deviations[:, None] * deviations[None, :]), d, run=run, solver="eigh")
    rank = (
        int(xp.sum(xp.astype(pairs.values > tolerance * float(pairs.values[0]), xp.int64)))
        if float(pairs.values[0]) > 0
        else 0
    )
    kept = rank if k is None else min(k, rank)
    U, roots = pairs.vectors[:, :kept], xp.sqrt(pairs.values[:kept])
    W, back = U.T / roots[:, None], U * roots[None, :]
    if kind.startswith("zca"):
        W, back = U @ W, back @ U.T
    elif kind == "cholesky":
        # Factor Λ^-1/2 U' = QL with L lower triangular: L = chol(S)^-1, and exists for a singular S as well.
        Q, R = xp.linalg.qr(xp.flip(W, axis=1))
        signs = xp.where(xp.linalg.diagonal(R) < 0, -1.0, 1.0)
        W = xp.flip(R * signs[:, None], axis=(0, 1))
        back = back @ xp.flip(Q * signs[None, :], axis=1)
    return Whitener(W / deviations[None, :], deviations[:, None] * back, rank, pairs.values)
