"""Initial configurations: classical scaling, random points, or given ones; and the rotation of the result."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from lowland.arrays.linalg import eigh
from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.arrays.random import standard_normal
from lowland.data.rows import ArrayRows, Rows, SlicedRows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.scaling.targets import PAIRS, row_sums
from lowland.math.spectra.leading import fix_signs, leading_eigenpairs
from lowland.math.spectra.operators import DoubleCentered
from lowland.math.statistics.rescaling import power_of_two
from lowland.run.run import Run, all_finite

_NEGLIGIBLE = 1e-12  # fraction of the first eigenvalue below which a direction counts as zero
_TOL = 1e-4  # residual of the eigenvectors: they are only an initialization
_FORMED = 1200  # points up to which a direct solver is used
_DISPROPORTIONATE = 1e6  # ratio of the extents of init and dissimilarities beyond which init is rescaled
_FLAT = 1e-9  # fraction of its largest extent below which a configuration is flat along a direction


def starting_configurations(
    D: Array, k: int, run: Run, *, init: Any, n_init: int, size: float, rng: np.random.Generator, missing: bool = False
) -> Iterator[Array]:
    """Yield ``n_init`` configurations, (n, k) float64: that of ``init`` first, then random ones of root mean square
    distance ``size``. ``init`` is "classical_mds", "random" or an array.
    """
    n = D.shape[0]
    if not isinstance(init, str):
        yield given_start(init, D, rng, size)
    else:
        check_dimensions(k, n)
        if init == "classical_mds":
            yield classical_start(D, k, run, missing=missing)
        else:
            yield random_start(n, k, size, rng, D)
    for _ in range(n_init - 1):
        yield random_start(n, k, size, rng, D)


def check_dimensions(k: int, n: int) -> None:
    """Raise an error for more dimensions than n points can span."""
    if k > max(1, n - 1):
        raise ParameterError(
            f"{n} points span at most {max(1, n - 1)} dimensions.", f"Choose at most {max(1, n - 1)}.", n_components=k
        )


def given_start(init: Any, D: Array, rng: np.random.Generator, size: float = 0.0) -> Array:
    """Return a user's initial configuration, (n, k) float64, in the unit of D, checked.

    One that is larger or smaller than the dissimilarities, of root mean square ``size``, by many orders of magnitude
    is rescaled to them: their differences would be lost in rounding error.

    A configuration that spans fewer dimensions than requested is a saddle point of the stress: the gradient is zero
    along the others. It is perturbed at random by a tenth of its extent, with a warning.
    """
    n = D.shape[0]
    if init.shape[0] != n or not all_finite(init):
        raise DataError(
            f"init has shape {tuple(init.shape)}. It must have one row of finite coordinates for each of the {n} "
            "points."
        )
    Z = like(init, D, xp_of(D).float64)
    Z = _of_similar_size(Z, size) if size > 0 and n > 1 else Z
    extents = np.linalg.svd(to_numpy(Z - xp_of(Z).mean(Z, axis=0)[None, :]), compute_uv=False)  # (k,) descending
    if n > 1 and not extents[0] > 0:
        raise ParameterError(
            "The initial configuration has all points in one place, where the gradient is zero. Pass distinct points, "
            "or choose a random initialization."
        )
    rank, full = int(np.sum(extents > _FLAT * extents[0])), min(Z.shape[1], n - 1)
    if rank >= full:
        return Z
    warn(
        f"init spans {rank} of {full} dimensions, and the gradient is zero along the others. The points are perturbed "
        "at random by a tenth of their extent. Pass points that span all dimensions.",
        DataWarning,
    )
    return Z + random_start(n, Z.shape[1], 0.1 * float(extents[0]) * (2 / n) ** 0.5, rng, D)


def _of_similar_size(Z: Array, size: float) -> Array:
    """The configuration, multiplied by a power of two if its extent is out of proportion to a size."""
    xp = xp_of(Z)
    unit = float(power_of_two(float(xp.max(xp.abs(Z)))))
    C = Z / unit - xp.mean(Z / unit, axis=0)[None, :]  # squares must not overflow
    ratio = float(xp.linalg.vector_norm(C)) * math.sqrt(2 / Z.shape[0]) * unit / size
    if ratio == 0 or 1 / _DISPROPORTIONATE < ratio < _DISPROPORTIONATE:
        return Z
    return C * (unit / float(power_of_two(ratio))) if math.isfinite(ratio) else C * size


def random_start(n: int, k: int, size: float, rng: np.random.Generator, beside: Array) -> Array:
    """Return normally distributed coordinates, (n, k) float64, with root mean square distance ``size``."""
    xp = xp_of(beside)
    Z = standard_normal((n, k), rng, xp.astype(beside[:1, :1], xp.float64))
    return Z * (size / (2 * k) ** 0.5)


def classical_start(D: Array, k: int, run: Run, *, missing: bool = False) -> Array:
    """Return the coordinates of classical scaling, (n, k) float64: the leading eigenvectors of -½ J (D∘D) J.

    A missing distance is imputed by the mean of the known distances of its two points. A direction with a negative
    eigenvalue, which has no real coordinates, gets a tenth of its size: at zero extent the gradient would be zero.
    """
    host = isinstance(D, np.ndarray) and D.shape[0] > _FORMED
    held = ArrayRows(D, most_rows=max(1, PAIRS // D.shape[0]) if host else None)
    rows: Rows = _FilledRows(held, run) if missing else held
    if D.shape[0] <= _FORMED:
        pairs = leading_eigenpairs(_centered_squares(rows), k, run=run, solver="eigh", definite=False)
    else:
        operator = DoubleCentered(rows, run, distances=True)
        pairs = leading_eigenpairs(operator, k, run=run, like_array=D, definite=False, tol=_TOL)
    xp = xp_of(pairs.values)
    sizes = xp.abs(pairs.values)
    sizes = xp.where(pairs.values > 0, sizes, sizes / 100)
    sizes = xp.where(sizes > _NEGLIGIBLE * xp.max(sizes), sizes, xp.zeros_like(sizes))
    return pairs.vectors * xp.sqrt(sizes)[None, :]


def _centered_squares(rows: Rows) -> Array:
    """-½ J (D∘D) J, formed, (n, n) float64."""
    chunks = list(rows.chunks())
    xp = xp_of(chunks[0])
    S = as_double(xp.concat(chunks, axis=0)) ** 2
    means = xp.mean(S, axis=0)
    return (S - means[:, None] - means[None, :] + xp.mean(means)) / -2


class _FilledRows(SlicedRows):
    """The rows of a distance matrix with imputed values for missing ones."""

    def __init__(self, rows: Rows, run: Run) -> None:
        super().__init__(rows, rows.slab)
        self.means = run.gather(_mean_known, rows, 1, name="imputing distances", dtype=np.dtype(np.float64))[:, 0]

    def prepare(self, piece: Array) -> Array:
        xp = xp_of(piece)
        estimate = (_mean_known(piece) + like(self.means, piece, xp.float64)[None, :]) / 2
        return xp.where(xp.isnan(piece), xp.astype(estimate, piece.dtype), piece)


def _mean_known(D: Array) -> Array:
    """The mean of the known distances of each point, (m, 1)."""
    xp = xp_of(D)
    known = ~xp.isnan(D)
    sums = row_sums(xp.where(known, D, xp.zeros_like(D)))
    return (sums / row_sums(xp.astype(known, xp.float64)))[:, None]


def in_principal_axes(Z: Array) -> Array:
    """Return the configuration centered and rotated to its principal axes, with fixed signs; the stress is the same."""
    xp = xp_of(Z)
    C = Z - xp.mean(Z, axis=0)[None, :]
    _, V = eigh(C.T @ C)
    return fix_signs(C @ xp.flip(V, axis=1))
