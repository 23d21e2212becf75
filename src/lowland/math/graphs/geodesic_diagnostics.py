"""Diagnostics of Isomap: residual variances by dimension, and strain."""

from __future__ import annotations

import numpy as np

from lowland.data.rows import ArrayRows
from lowland.math.scaling.classical import formed
from lowland.math.spectra.component_rules import ANY, Knee, Spectrum
from lowland.math.spectra.leading import Solver, leading_eigenpairs
from lowland.math.spectra.operators import DoubleCentered
from lowland.math.statistics.rescaling import unit_of
from lowland.math.statistics.sampling import evenly_spread
from lowland.run.run import run_for

SAMPLE = 1000  # points sampled where all pairs are compared
_ONE_DIMENSIONAL = 1e-3  # residual variance below which one dimension is enough
_FEW, _TOL = 400, 1e-7  # points up to which all eigenpairs are computed; tolerance of the leading ones above


def residual_variances(D: np.ndarray, most: int = 10) -> np.ndarray:
    """Return 1 - r² between geodesic and Euclidean distances for embeddings of 1 to at most ``most`` dimensions.

    The embedding is classical scaling of D, (s, s). Dimensions without a positive eigenvalue add nothing.
    """
    s, D = len(D), D / D.dtype.type(unit_of(D))  # correlations do not depend on the unit
    run = run_for(ArrayRows(D))
    B = formed(DoubleCentered(ArrayRows(D), run, True), D)
    solver: Solver = "eigh" if s <= _FEW else "krylov"
    pairs = leading_eigenpairs(B, min(most, s - 1), run=run, definite=False, solver=solver, tol=_TOL)
    Z = pairs.vectors * np.sqrt(np.maximum(pairs.values, 0))[None, :]
    below = np.tril_indices(s, -1)
    given = D[below].astype(np.float64)
    squares, left = np.zeros(len(given)), []
    for z in Z.T:
        squares += (z[below[0]] - z[below[1]]) ** 2
        left.append(1 - _correlation(given, np.sqrt(squares)) ** 2)
    return np.array(left)


def elbow(left: np.ndarray, n: int) -> int:
    """Return the elbow of residual variances, (k,), of n points: an estimate of the intrinsic dimension."""
    if left[0] < _ONE_DIMENSIONAL or left[0] <= left[-1] or len(left) < 3:
        return 1
    choice = Knee().decide(Spectrum(left, float(left.sum()), len(left), n, len(left), ANY))
    assert choice is not None  # the rule has the whole spectrum
    return choice.n_components + 1  # the rule counts the dimensions before the elbow


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    return float(a @ b) / size if size > 0 else 0.0


def strain(D: np.ndarray, means: np.ndarray, kept: np.ndarray) -> float:
    """Return |B - ZZ'| / n with B = -½ J(D∘D)J; ``kept`` are the eigenvalues of ZZ', ``means`` the row means of D∘D."""
    unit = unit_of(D)
    means, kept = means / unit / unit, kept.astype(np.float64) / unit / unit
    total, overall = 0.0, means.mean()
    step = max(1, 2**22 // len(D))
    for first in range(0, len(D), step):
        part = D[first : first + step].astype(np.float64) / unit
        part = (part * part - means[None, :] - (means[first : first + step] - overall)[:, None]) / -2
        total += float(np.sum(part * part))
    return max(0.0, total - float(np.sum(kept * kept))) ** 0.5 / len(D) * unit * unit


def sampled(n: int, most: int = SAMPLE) -> np.ndarray:
    """Return the indices of all points, or of ``most`` spread evenly over them."""
    return np.arange(n) if n <= most else np.flatnonzero(evenly_spread(n, most, np.random.default_rng(0)))
