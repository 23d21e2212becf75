"""Functions that scikit-learn offers in addition to its classes, with the same arguments, defaults and results.

Each calls the class or the measure of Lowland that does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.arrays.random import generator
from lowland.errors import ParameterError, warn
from lowland.math.distances.to_points import distance_matrix
from lowland.math.scaling.majorization import stress_majorization
from lowland.methods.registry import load_method
from lowland.quality import neighborhoods
from lowland.run.run import Run


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

    The parameters are those of ``FastICA``, and the result is that of scikit-learn's function of this name.

    Parameters
    ----------
    return_X_mean : bool
        Whether to return the mean of the columns as well.
    compute_sources : bool
        Whether to compute the sources, which are None otherwise.
    return_n_iter : bool
        Whether to return the number of iterations as well.

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

    Examples
    --------
    >>> import numpy as np
    >>> import lowland
    >>> S = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> K, W, sources = lowland.fastica(S @ np.array([[1.0, 0.5], [0.3, 1.0]]), random_state=0)
    >>> bool((np.abs(np.corrcoef(S.T, sources.T)[:2, 2:]).max(axis=0) > 0.99).all())
    True
    """
    ica = load_method("FastICA")(
        n_components=n_components, algorithm=algorithm, whiten=whiten, fun=fun, fun_args=fun_args, max_iter=max_iter,
        tol=tol, w_init=w_init, whiten_solver=whiten_solver, random_state=random_state,
    )  # fmt: skip
    ica.fit(X)
    K, W = vars(ica).get("whitening_"), ica.components_
    if K is not None:  # W with components_ = W K, (k, k)
        W = like(np.linalg.lstsq(to_numpy(K).T, to_numpy(W).T, rcond=None)[0].T, W, W.dtype)
    found = [K, W, ica.transform(X) if compute_sources else None]
    return found + [vars(ica).get("mean_")] * return_X_mean + [ica.n_iter_] * return_n_iter


def smacof(
    dissimilarities: Any,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: Any = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int | bool = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: bool | Literal["auto"] = "auto",
) -> tuple[Any, ...]:
    """Return a configuration of least stress and its stress, by plain SMACOF of a dissimilarity matrix, (n, n).

    ``MDS`` accelerates the iteration and rotates the result to its principal axes. The initial configurations are
    random, unless ``init`` (n, k) is passed. Then ``n_init`` has no effect, and k is the number of dimensions.
    Non-metric: zeros off the diagonal are missing, and the first step is metric, as in scikit-learn. ``return_n_iter``:
    return the number of iterations too.

    Examples
    --------
    >>> import numpy as np
    >>> import lowland
    >>> D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    >>> Z, stress = lowland.smacof(D, random_state=0, eps=1e-12, max_iter=2000)
    >>> Z.shape, bool(stress < 1e-6)
    ((3, 2), True)
    """
    if init is not None:
        init = np.asarray(init)
        n_components = init.shape[1]
        if n_init != 1:
            warn(
                f"Explicit initial positions passed: performing only one init of the MDS instead of {n_init}.",
                UserWarning,
            )
    options: dict[str, Any] = {
        "metric_mds": metric, "init": "random", "max_iter": max_iter, "verbose": verbose, "eps": eps, "n_jobs": n_jobs,
        "metric": "precomputed", "normalized_stress": normalized_stress, "accelerate": False, "ties": "secondary",
    }  # fmt: skip
    mds = load_method("MDS")
    if metric:
        n_init = n_init if init is None else 1
        model = mds(n_components, n_init=n_init, random_state=random_state, **options)
        model._fit(dissimilarities, init=init, turned=False)
    else:
        D, rng = np.asarray(dissimilarities, dtype=np.float64), generator(random_state)
        D = np.where((D == 0) & (np.eye(*D.shape) == 0), np.nan, D)  # zeros off the diagonal are missing
        starts = [init] if init is not None else [rng.uniform(size=(len(D), n_components)) for _ in range(n_init)]
        steps = [stress_majorization(D, init=Z, max_iter=1, accelerate=False, turned=False).Z for Z in starts]
        models = [mds(n_components, **options)._fit(D, init=Z, turned=False) for Z in steps]
        model = min(models, key=lambda model: model.stress_)
    found = (model.embedding_, model.stress_)
    return (*found, model.n_iter_) if return_n_iter else found


def spectral_embedding(
    adjacency: Any,
    *,
    n_components: int = 8,
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = None,
    random_state: Any = None,
    eigen_tol: float | Literal["auto"] = "auto",
    norm_laplacian: bool = True,
    drop_first: bool = True,
) -> Array:
    """Return the eigenvectors of the graph Laplacian, (n, k): ``SpectralEmbedding`` of an affinity matrix, (n, n).

    Examples
    --------
    >>> import numpy as np
    >>> import lowland
    >>> path = np.eye(6, k=1) + np.eye(6, k=-1)
    >>> Z = lowland.spectral_embedding(path, n_components=1)
    >>> bool((np.diff(Z[:, 0]) > 0).all() or (np.diff(Z[:, 0]) < 0).all())  # in the order of the path
    True
    """
    model = load_method("SpectralEmbedding")(
        n_components, affinity="precomputed", eigen_solver=eigen_solver, random_state=random_state,
        eigen_tol=eigen_tol, laplacian="normalized" if norm_laplacian else "unnormalized", drop_first=drop_first,
    )  # fmt: skip
    return model.fit(adjacency).embedding_


def locally_linear_embedding(
    X: Any,
    *,
    n_neighbors: int,
    n_components: int,
    reg: float = 1e-3,
    eigen_solver: Literal["auto", "arpack", "dense"] = "auto",
    tol: float = 1e-6,
    max_iter: int = 100,
    method: Literal["standard", "hessian", "modified", "ltsa"] = "standard",
    hessian_tol: float = 1e-4,
    modified_tol: float = 1e-12,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[Array, float]:
    """Return the coordinates, (n, k), and their reconstruction error: ``LocallyLinearEmbedding`` of the rows of X.

    X may also be a fitted NearestNeighbors of scikit-learn.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.s_curve(300).X
    >>> Z, error = lowland.locally_linear_embedding(X, n_neighbors=10, n_components=2)
    >>> Z.shape
    (300, 2)
    """
    model = load_method("LocallyLinearEmbedding")(
        n_components, n_neighbors=n_neighbors, reg=reg, eigen_solver=eigen_solver, tol=tol, max_iter=max_iter,
        method=method, hessian_tol=hessian_tol, modified_tol=modified_tol, random_state=random_state, n_jobs=n_jobs,
    ).fit(getattr(X, "_fit_X", X))  # fmt: skip
    return model.embedding_, model.reconstruction_error_


def trustworthiness(
    X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: str | Callable[..., float] = "euclidean"
) -> float:
    """Return whether the neighbors in the embedding are also near in the data, from 0 to 1, over all points.

    ``lowland.quality.trustworthiness`` can sample the points and return a value for each.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> bool(lowland.trustworthiness(X, lowland.PCA(2).fit_transform(X)) > 0.97)
    True
    """
    n = len(X_embedded)
    if n_neighbors >= n / 2:
        raise ParameterError(
            f"`n_neighbors` ({n_neighbors}) should be less than n_samples / 2 ({n / 2}). Choose at most {(n - 1) // 2}."
        )
    if is_sparse(X) and metric != "precomputed":
        X, metric = distance_matrix(X, Run(), metric), "precomputed"
    return float(neighborhoods.trustworthiness(X, X_embedded, n_neighbors, metric=metric, sample=None).value)
