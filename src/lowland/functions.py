"""scikit-learn's functions beside its classes, computed by Lowland's methods."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy
from lowland.methods.fast_ica import FastICA


def fastica(
    X: Any,
    n_components: int | None = None,
    *,
    algorithm: Literal["parallel", "deflation", "picard"] = "parallel",
    whiten: Literal["unit-variance", "arbitrary-variance"] | bool = "unit-variance",
    fun: Literal["logcosh", "exp", "cube"] | Callable[..., Any] = "logcosh",
    fun_args: dict[str, Any] | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    w_init: Any | None = None,
    whiten_solver: Literal["svd", "eigh"] = "svd",
    random_state: Any = None,
    return_X_mean: bool = False,
    compute_sources: bool = True,
    return_n_iter: bool = False,
) -> list[Any]:
    """Independent component analysis by ``FastICA``: whitening, unmixing matrix and sources.

    The parameters are those of ``FastICA``; the result is that of scikit-learn's function of this name.

    Parameters
    ----------
    return_X_mean : bool
        Whether to return the mean of the columns, too.
    compute_sources : bool
        Whether to compute the sources; None stands for them otherwise.
    return_n_iter : bool
        Whether to return the number of iterations, too.

    Returns
    -------
    K : array of shape (k, d), or None with ``whiten=False``
        Whitening matrix.
    W : array of shape (k, k)
        Unmixing matrix of the whitened rows: the sources are (X - mean) K' W'.
    S : array of shape (n, k), or None
        Sources.
    X_mean : array of shape (d,), or None with ``whiten=False``
        Mean of each column.
    n_iter : int
        Number of iterations.
    """
    ica = FastICA(
        n_components=n_components, algorithm=algorithm, whiten=whiten, fun=fun, fun_args=fun_args, max_iter=max_iter,
        tol=tol, w_init=w_init, whiten_solver=whiten_solver, random_state=random_state,
    )  # fmt: skip
    ica.fit(X)
    K = vars(ica).get("whitening_")
    found = [K, _unmixing(ica, K), ica.transform(X) if compute_sources else None]
    return found + [vars(ica).get("mean_")] * return_X_mean + [ica.n_iter_] * return_n_iter


def _unmixing(ica: FastICA, K: Array | None) -> Array:
    """The matrix W with components_ = W K; without whitening, components_ itself."""
    if K is None:
        return ica.components_
    W = np.linalg.lstsq(to_numpy(K).T, to_numpy(ica.components_).T, rcond=None)[0].T  # (k, k)
    return like(W, ica.components_, ica.components_.dtype)
