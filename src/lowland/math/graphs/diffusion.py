"""Diffusion maps: the leading eigenvectors of a random walk on affinities, and the diffusion time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.data.rows import ArrayRows
from lowland.math.graphs.graph_affinities import affinity_components
from lowland.math.graphs.laplacian import Laplacian, coordinates, slowest_modes
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.operators import times_rows
from lowland.run.local import LocalRun
from lowland.run.run import Run


@dataclass(frozen=True)
class DiffusionCoordinates:
    """Coordinates whose Euclidean distances are diffusion distances."""

    Z: np.ndarray  # (n, k) λ^t ψ
    eigenvalues: np.ndarray  # (k,) λ of the random walk, after the first, which is 1
    time: float
    stationary: np.ndarray  # (n,) π, the stationary distribution of the random walk
    density: Array  # (n,) q^-α, by which rows and columns of the affinities were multiplied
    outcome: Outcome
    n_weak: int = 0  # coordinates that only indicate points with almost no affinity to the others


def diffusion_coordinates(
    W: Any,
    k: int,
    t: float | Literal["auto"] = 1.0,
    run: Run | None = None,
    *,
    alpha: float = 1.0,
    labels: np.ndarray | None = None,
    rng: np.random.Generator | None = None,
) -> DiffusionCoordinates:
    """Return k coordinates in which Euclidean distances are diffusion distances (Coifman and Lafon 2006).

    With q = W1, K_ij = W_ij / (q_i q_j)^α, D = diag(K1) and P = D^(-1)K, the coordinates are λ^t ψ of Pψ = λψ, the
    largest λ after 1 first, where sum_i π_i ψ_i² = 1 and π = K1 / sum(K1).

    Parameters
    ----------
    W : (n, n) sparse matrix or array
        Symmetric nonnegative affinities; the diagonal counts.
    k : int
        The number of coordinates.
    t : float or "auto"
        Diffusion time, the number of steps of the random walk; "auto": the smallest integer with
        (λ_(k+1) / λ_1)^t at most 0.1.
    run : Run, optional
        Threads, progress and memory budget; by default those of this machine.
    alpha : float
        Density normalization: 0 none, 1 full.
    labels : (n,) array of int, optional
        The connected component of each point, 0 for the largest; by default computed from W.
    rng : Generator, optional
        Initialization of an iterative solver; by default a fixed seed.

    Returns
    -------
    DiffusionCoordinates
        ``Z`` (n, k), ``eigenvalues`` (k,), ``time``, ``stationary`` (n,), ``density`` (n,) and the ``outcome``.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland.math.graphs.diffusion import diffusion_coordinates
    >>> found = diffusion_coordinates(np.array([[3.0, 1], [1, 3]]), 1)  # stays with 3/4, moves with 1/4
    >>> found.eigenvalues.round(4).tolist(), found.Z[:, 0].round(4).tolist()
    ([0.5], [0.5, -0.5])
    """
    run, rng = run or LocalRun(), rng or np.random.default_rng(0)
    labels = affinity_components(W, loops=True) if labels is None else labels
    g = inverse_density(W, alpha, run)
    L = Laplacian.of(W, run, loops=True, density=g)  # I - D^(-1/2) K D^(-1/2)
    more = int(t == "auto" and k < W.shape[0] - 1)  # also the first one that is left out
    modes = slowest_modes(L, k + more, run, label=labels, rng=rng)
    values, Y, degree = 1 - modes.values, coordinates(modes, L.root), to_numpy(L.degree)
    time = diffusion_time(values, k) if t == "auto" else float(t)
    Psi = Y[:, :k] * np.sqrt(degree.sum())  # sum_i π_i ψ_i² = 1
    Z = Psi * eigenvalue_powers(values[:k], time)
    return DiffusionCoordinates(Z, values[:k], time, degree / degree.sum(), g, modes.outcome, modes.n_weak)


def inverse_density(W: Any, alpha: float, run: Run) -> Array:
    """Return the density normalization q^-α with q = W1, (n,)."""
    if is_sparse(W):
        return (W @ np.ones(W.shape[0])) ** -alpha
    ones = xp_of(W).ones_like(as_double(W[:, :1]))
    return times_rows(ArrayRows(W), ones, run)[:, 0] ** -alpha


def diffusion_time(eigenvalues: np.ndarray, k: int, delta: float = 0.1) -> float:
    """Return the smallest integer t with (λ_(k+1) / λ_1)^t <= ``delta``.

    At this time, k coordinates give diffusion distances to the relative accuracy δ of Coifman and Lafon 2006.
    """
    if len(eigenvalues) <= k or eigenvalues[k] <= 0:
        return 1.0
    ratio = float(eigenvalues[k] / eigenvalues[0])
    return float(max(1, math.ceil(math.log(delta) / math.log(ratio)))) if ratio < 1 - 1e-9 else 1.0


def eigenvalue_powers(eigenvalues: np.ndarray, t: float) -> np.ndarray:
    """Return λ^t; for a t that is not an integer, negative λ count as zero."""
    if float(t).is_integer():
        return eigenvalues**t
    return np.maximum(eigenvalues, 0.0) ** t
