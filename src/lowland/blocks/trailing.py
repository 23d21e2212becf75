"""The bottom of the spectrum: the smallest eigenpairs of a sparse positive semi-definite matrix, residuals checked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from lowland.blocks.spectral import Eigenpairs, fix_signs
from lowland.errors import DataError, ParameterError
from lowland.run.run import Run

Solver = Literal["auto", "dense", "arpack", "lobpcg", "amg", "flip"]

_DENSE_UP_TO = 1000
_SHIFT = 1e-13


def trailing_eigenpairs(
    A: Any,
    k: int,
    run: Run,
    *,
    rng: np.random.Generator,
    skip: int = 0,
    largest: float | None = None,
    solver: Solver = "auto",
    tol: float | None = None,
    max_iter: int | None = None,
) -> Eigenpairs:
    """Return the k smallest eigenvalues after ``skip`` of a symmetric positive semi-definite A, ascending."""
    import scipy.sparse as sparse

    n = A.shape[0]
    if not 1 <= k <= n - skip:
        raise ParameterError(f"{k + skip} eigenpairs were asked of a matrix of size {n}. Ask for at most {n - skip}.")
    m = k + skip
    if solver == "auto":
        solver = "dense" if n <= _DENSE_UP_TO or not sparse.issparse(A) else "arpack" if largest is None else "flip"
    if m >= n - 1:
        solver = "dense"
    pairs = {"dense": _dense, "flip": _flip}.get(solver, _arpack)(A, m, run, rng, largest, tol, max_iter)
    AV = A @ pairs.vectors
    residuals = np.linalg.norm(AV - pairs.vectors * pairs.values, axis=0)
    if residuals.max() > 1e-6 * _norm(A):
        raise DataError("The smallest eigenvectors were not found. Use more neighbours, a larger reg or another solver.")
    pairs = replace(pairs, residuals=residuals)
    return Eigenpairs(
        np.maximum(pairs.values[skip:], 0.0), fix_signs(pairs.vectors[:, skip:]), residuals[skip:], pairs.solver,
        pairs.iterations, pairs.converged, pairs.trace,
    )  # fmt: skip


def _norm(A: Any) -> float:
    return float(abs(A).sum(axis=1).max())


def _dense(A: Any, m: int, run: Run, *_: Any) -> Eigenpairs:
    import scipy.linalg
    import scipy.sparse as sparse

    n = A.shape[0]
    run.require(3 * 8 * n * n, f"The {n} x {n} matrix as a dense one", 'Use eigen_solver="arpack"')
    D = A.toarray() if sparse.issparse(A) else A
    values, vectors = scipy.linalg.eigh(D, subset_by_index=(0, m - 1), check_finite=False)
    return Eigenpairs(values, vectors, np.zeros(m), "dense")


def _arpack(A: Any, m: int, run: Run, rng: Any, largest: Any, tol: float | None, max_iter: int | None) -> Eigenpairs:
    from scipy import sparse
    from scipy.sparse.linalg import LinearOperator, eigsh, splu

    n = A.shape[0]
    shift = _SHIFT * _norm(A)
    with run.stage("factorising"):
        factor = splu(
            (sparse.csr_array(A) + shift * sparse.eye_array(n)).tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    inverse = LinearOperator((n, n), matvec=factor.solve, dtype=np.float64)
    values, vectors = eigsh(
        A, m, sigma=-shift, OPinv=inverse, v0=rng.uniform(-1, 1, n), tol=tol or 0.0, maxiter=max_iter
    )
    order = np.argsort(values)
    return Eigenpairs(values[order], vectors[:, order], np.zeros(m), "arpack")


def _flip(A: Any, m: int, run: Run, rng: Any, largest: Any, tol: float | None, max_iter: int | None) -> Eigenpairs:
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = A.shape[0]
    top = _norm(A) if largest is None else largest
    flipped = LinearOperator((n, n), matvec=lambda v: top * v - A @ v, dtype=np.float64)
    values, vectors = eigsh(
        flipped, m, which="LA", v0=rng.uniform(-1, 1, n), tol=tol or 0.0, maxiter=max_iter, ncv=min(n - 1, 2 * m + 20)
    )
    order = np.argsort(values)[::-1]
    return Eigenpairs(top - values[order], vectors[:, order], np.zeros(m), "flip")
