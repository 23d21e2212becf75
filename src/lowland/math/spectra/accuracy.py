"""Checks of eigenvalue and singular value decompositions: what they promise, measured with a few products.

A random combination of all eigenvectors stands for all of them: its residual is their root mean square residual, and
its length differs from one if they are not orthonormal. This takes one product with the matrix, whatever their number.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, like, xp_of
from lowland.arrays.precision import ROUNDINGS, rounding_in
from lowland.math.optimize.outcome import Accuracy, Promise

UNIT = ROUNDINGS * float(np.finfo(np.float64).eps)  # times the size of the matrix: the bound of a direct solver

DIRECT = Promise(
    "residual ‖Av − λv‖/‖A‖ and orthogonality of the eigenvectors, of a random combination",
    f"{ROUNDINGS} eps n, n the size of the matrix",
    "2 products of a matrix and a vector",
)
ITERATED = Promise(
    "largest residual of an eigenpair ‖Av − λv‖/λ", "tol, or the default of the solver", "none: the solver computes it"
)
LANCZOS = Promise(
    "largest residual of an eigenpair ‖Av − λv‖/‖A‖",
    f"the largest of tol, {ROUNDINGS} eps n, and the rounding error of the products",
    "k products, which the solver computes",
)
FIXED_STEPS = Promise(
    "largest residual of an eigenpair ‖Av − λv‖/λ after the given number of power iterations",
    "none: the number of iterations was given",
    "none: the solver computes it",
)
FACTOR = Promise(
    "residual ‖Rv − su‖/‖R‖ and orthogonality of the singular vectors, of a random combination",
    f"{ROUNDINGS} eps n, n the longer side of the matrix",
    "3 products of a matrix and a vector",
)


def of_eigenvectors(A: Any, values: Array, V: Array, *, definite: bool = True) -> Accuracy:
    """Return the accuracy of eigenpairs, AV = VΛ with V'V = I, of a matrix, largest eigenvalues first.

    ``definite``: the first eigenvalue is the norm; otherwise the largest entry is a lower bound of it.
    """
    found = DIRECT.checked(eigen_error(A, values, V, definite=definite), unit_of(V) * V.shape[0])
    if found.met:
        return found
    return replace(found, value=eigen_error(as_read(A), values, V, definite=definite))


def eigen_error(A: Any, values: Array, V: Array, *, definite: bool = True) -> float:
    """Return the residual and the loss of orthogonality of a random combination of eigenvectors."""
    c, norm = random_signs(values.shape[0]), float(values[0])
    if not definite:
        xp = xp_of(V)
        norm = max(abs(norm), float(xp.max(xp.abs(A))))
    if isinstance(V, np.ndarray):  # dot has the least overhead: a small table is fitted in 200 µs
        x = V.dot(c)
        off, r = abs(1.0 - float(x.dot(x))), A.dot(x) - V.dot(values * c)
    else:
        c = like(c, V)
        x = V @ c
        off, r = abs(1.0 - float(x @ x)), A @ x - V @ (values * c)
    if not norm > 0:  # the zero matrix: every orthonormal basis is exact
        return off
    r = r / norm
    return max(math.sqrt(float(r @ r)), off)


def of_factor(R: Array, U: Array, s: Array, Vt: Array) -> Accuracy:
    """Return the accuracy of a singular value decomposition, R = U diag(s) V'."""
    return FACTOR.checked(factor_error(R, U, s, Vt), unit_of(Vt) * max(R.shape))


def factor_error(R: Array, U: Array, s: Array, Vt: Array) -> float:
    """Return the residual and the loss of orthogonality of a random combination of singular vectors."""
    if s.shape[0] == 0:
        return 0.0
    c = like(random_signs(s.shape[0]), s)
    x, u = c @ Vt, U @ c
    off = max(abs(1.0 - float(x @ x)), abs(1.0 - float(u @ u)))
    norm = float(s[0])
    if not norm > 0:
        return off
    r = (R @ x - U @ (s * c)) / norm
    return max(math.sqrt(float(r @ r)), off)


def as_read(A: Array) -> Array:
    """Return the symmetric matrix that LAPACK reads, which is the lower triangle: sums of float32 differ above it."""
    xp = xp_of(A)
    return xp.tril(A) + xp.tril(A, k=-1).T


def unit_of(V: Array) -> float:
    """Return the bound of a direct solver per row, in the precision of its result."""
    double = np.float64 if isinstance(V, np.ndarray) else xp_of(V).float64
    return UNIT if V.dtype == double else rounding_in(V)


@cache
def random_signs(k: int) -> np.ndarray:
    """Return a fixed vector of random signs and unit length, (k,)."""
    signs: np.ndarray = np.random.default_rng(0).choice([-1.0, 1.0], k) / math.sqrt(k)
    return signs
