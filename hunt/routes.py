"""Independent routes: each checks a fitted method against a formula in numpy or against scikit-learn.

A route gets the estimator, its result Z and the table A, which is float64 and divided by a power of two ``unit``. So
nothing overflows, and Z / unit are the coordinates of A. ``eps`` is the precision of the data. Routes compare what is
unique (variances, Gram matrices, residuals), not signs or directions of equal eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hunt.cases import Wrong


@dataclass(frozen=True)
class Fitted:
    """A fitted method and what is needed to check it."""

    est: Any
    Z: np.ndarray  # the result, float64
    A: np.ndarray  # the table divided by ``unit``
    y: Any
    unit: float
    eps: float
    kind: str

    @property
    def noise(self) -> float:
        """The size of rounding errors in A - mean, in one number; subnormal numbers have fewer digits."""
        kind = np.float32 if self.eps > 1e-10 else np.float64
        eps = max(self.eps, float(np.finfo(kind).smallest_subnormal) / self.unit)
        return float(50 * eps * np.abs(self.A).max() * np.sqrt(self.A.size))


def check(good: bool, text: str) -> None:
    """Raise Wrong unless good; a NaN comparison is not good."""
    if not good:
        raise Wrong(text)


def close(a: Any, b: Any, tol: float, what: str) -> None:
    """Two arrays agree within ``tol``, absolutely."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    check(a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}")
    worst = float(np.abs(a - b).max(initial=0.0))
    check(worst <= tol, f"{what}: differs by {worst:.3g}, allowed {tol:.3g}")


def _centered(f: Fitted) -> np.ndarray:
    return f.A - f.A.mean(axis=0)


def _norms(f: Fitted, matrix: np.ndarray, Z: np.ndarray, what: str) -> None:
    """The columns of Z have the leading singular values of the matrix as their norms."""
    s = np.linalg.svd(matrix, compute_uv=False)
    k = min(Z.shape[1], len(s))
    tol = 1e3 * f.eps * s[0] + f.noise
    if k == 0:
        check(s[0] <= tol, f"{what}: no components, but the largest singular value is {s[0]:.3g}")
        return
    norms = np.sort(np.linalg.norm(Z / f.unit, axis=0))[::-1]
    # squares of small singular values are lost against the first: only the sum of squares is promised to that precision
    close(np.linalg.norm(norms[:k]), np.linalg.norm(s[:k]), max(tol, 1e-7 * s[0]), f"{what}: norm of the coordinates")
    close(norms[0], s[0], max(tol, 1e-7 * s[0]), f"{what}: largest singular value")


def pca(f: Fitted) -> None:
    """PCA: orthonormal axes, coordinates X Vᵀ, and the singular values of numpy."""
    C = _centered(f)
    V = np.asarray(f.est.components_, float)
    close(V @ V.T, np.eye(len(V)), 1e4 * f.eps, "PCA: axes are not orthonormal")
    _norms(f, C, f.Z, "PCA")
    tol = 1e3 * f.eps * np.abs(C).max(initial=0.0) * np.sqrt(C.shape[1]) + f.noise
    close(f.Z / f.unit, C @ V.T, tol, "PCA: coordinates are not projections")
    total = float((C**2).sum())
    ratio = np.asarray(f.est.explained_variance_ratio_, float)
    check(bool(np.isfinite(ratio).all()), "PCA: explained_variance_ratio_ is not finite")
    check(bool(np.isfinite(np.asarray(f.est.explained_variance_)).all()), "PCA: explained_variance_ is not finite")
    if total > 1e3 * f.noise**2:
        s2 = np.linalg.svd(C, compute_uv=False) ** 2
        close(ratio, s2[: len(ratio)] / total, 1e-4 if f.eps > 1e-10 else 1e-7, "PCA: explained variance ratio")


def truncated_svd(f: Fitted) -> None:
    """Truncated SVD: the singular values of numpy, and coordinates X Vᵀ."""
    V = np.asarray(f.est.components_, float)
    _norms(f, f.A, f.Z, "TruncatedSVD")
    close(f.Z / f.unit, f.A @ V.T, 1e3 * f.eps * np.abs(f.A).max() * f.A.shape[1] + f.noise, "TruncatedSVD: projection")


def classical_mds(f: Fitted) -> None:
    """Classical MDS of Euclidean distances is PCA."""
    _norms(f, _centered(f), f.Z, type(f.est).__name__)


def kernel_pca(f: Fitted) -> None:
    """Linear kernel PCA is PCA."""
    if f.est.get_params()["kernel"] == "linear":
        _norms(f, _centered(f), f.Z, "KernelPCA")


def whitening(f: Fitted) -> None:
    """The covariance matrix of whitened rows is a projection of the rank that was found."""
    n = len(f.Z)
    S = np.cov(f.Z.T, ddof=1).reshape(f.Z.shape[1], -1)
    values = np.linalg.eigvalsh(S)
    ones = int(f.est.rank_)
    check(0 <= ones <= min(n - 1, f.A.shape[1]), f"Whitening: rank {ones} of {f.A.shape}")
    ones = min(ones, f.Z.shape[1])
    spectrum = np.linalg.svd(_centered(f), compute_uv=False)
    if spectrum[0] and spectrum[min(ones, len(spectrum)) - 1] > 1e4 * (f.noise + np.sqrt(f.eps) * spectrum[0]):
        expected = np.r_[np.zeros(len(values) - ones), np.ones(ones)]
        close(values, expected, 1e-3, "Whitening: eigenvalues of the covariance")


def fast_ica(f: Fitted) -> None:
    """Sources are uncorrelated and of unit variance."""
    if f.est.get_params()["whiten"] == "unit-variance" and f.kind in ("normal", "two clusters", "rolled sheet"):
        close(np.cov(f.Z.T, ddof=0), np.eye(f.Z.shape[1]), 1e-3, "FastICA: covariance of the sources")


def factor_analysis(f: Fitted) -> None:
    """At a maximum of the likelihood, the model reproduces the variances of the columns."""
    e = f.est
    if not e.converged_ or e.heywood_ or e.constant_ or f.kind not in ("normal", "rolled sheet"):
        return
    W = np.asarray(e.components_, float)
    model = ((W.T @ np.asarray(e.factor_correlation_, float) @ W).diagonal() + e.noise_variance_) / f.unit**2
    close(model / f.A.var(axis=0), np.ones(len(model)), 1e-2, "FactorAnalysis: variances of the columns, reproduced")


def lda(f: Fitted) -> None:
    """The coordinates of scikit-learn, up to a rotation."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    if f.kind not in ("normal", "rolled sheet") or len(np.unique(f.y)) != 3 or f.est.get_params()["solver"] != "svd":
        return
    if np.bincount(np.unique(f.y, return_inverse=True)[1]).min() < 3:
        return
    theirs = LinearDiscriminantAnalysis().fit(f.A, f.y).transform(f.A)
    tol = 1e-2 if f.eps > 1e-10 else 1e-6
    if theirs.shape == f.Z.shape:
        close(f.Z @ f.Z.T, theirs @ theirs.T, tol * np.abs(theirs @ theirs.T).max(), "LDA against scikit-learn")


def _distances(A: np.ndarray) -> np.ndarray:
    return np.linalg.norm(A[:, None] - A[None], axis=2)


def mds(f: Fitted) -> None:
    """The raw stress, recomputed."""
    if not f.est.get_params()["metric_mds"] or f.est.get_params()["normalized_stress"] is True:
        return
    upper = np.triu_indices(len(f.A), 1)
    D = _distances(f.A)[upper]
    E = _distances(np.asarray(f.est.embedding_, float) / f.unit)[upper]
    stress = float(((D - E) ** 2).sum())
    scale = float((D**2).sum())
    with np.errstate(all="ignore"):
        ours = float(f.est.stress_) / f.unit / f.unit
    if np.isfinite(ours) and f.est.stress_ > 1e-300:  # smaller squares are subnormal numbers and have few digits
        close(ours, stress, (1e-3 if f.eps > 1e-10 else 1e-6) * scale, "MDS: stress")
    check(stress <= scale * 1.01, f"MDS: stress {stress:.3g} is larger than that of a single point, {scale:.3g}")


def sammon(f: Fitted) -> None:
    """Sammon's stress, recomputed; duplicate rows count once."""
    upper = np.triu_indices(len(f.A), 1)
    D = _distances(f.A)[upper]
    if (1e-6 * D.max(initial=0.0) > D).any() or not D.max(initial=0.0):
        return
    E = _distances(np.asarray(f.est.embedding_, float) / f.unit)[upper]
    close(f.est.stress_, ((D - E) ** 2 / D).sum() / D.sum(), 1e-3 if f.eps > 1e-10 else 1e-6, "Sammon: stress")


def isomap(f: Fitted) -> None:
    """With all rows as neighbors, geodesic distances are Euclidean: classical MDS."""
    if f.est.get_params()["n_neighbors"] == len(f.A) - 1 and f.est.n_connected_components_ == 1:
        classical_mds(f)


def spectral_embedding(f: Fitted) -> None:
    """Eigenvalues and eigenvectors of the Laplacian of the graph that the model reports.

    Equal rows are moved to one place, their mean, so the coordinates are eigenvectors only if no rows are equal.
    """
    W = f.est.affinity_matrix_
    W = W.toarray() if hasattr(W, "toarray") else np.asarray(W)
    W = W.astype(float)
    if W.shape[0] != len(f.Z) or f.est.n_connected_components_ != 1:
        return
    np.fill_diagonal(W, 0)
    degree = W.sum(axis=1)
    if (degree <= 0).any():
        return
    L = np.eye(len(W)) - W / np.sqrt(np.outer(degree, degree))
    lam = np.linalg.eigvalsh(L)
    tolerance = 1e-5 if f.eps < 1e-10 else 1e-3
    found = np.asarray(f.est.eigenvalues_, float)
    close(found, lam[1 : 1 + len(found)], tolerance, "SpectralEmbedding: eigenvalues")
    if len(np.unique(f.A, axis=0)) < len(f.A):
        return
    V = np.asarray(f.est.embedding_, float) * np.sqrt(degree)[:, None]
    norms = np.linalg.norm(V, axis=0)
    if not norms.all():
        return
    V = V / norms
    rayleigh = (L @ V * V).sum(axis=0)
    close(np.sort(rayleigh), lam[1 : 1 + V.shape[1]], tolerance, "SpectralEmbedding: Rayleigh quotients")


def vector_quantizer(f: Fitted) -> None:
    """The distortion, recomputed from the code vectors."""
    C = np.asarray(f.est.cluster_centers_, float) / f.unit
    d2 = ((f.A[:, None] - C[None]) ** 2).sum(axis=2).min(axis=1)
    total = float((_centered(f) ** 2).sum())
    with np.errstate(all="ignore"):
        ours = float(f.est.inertia_) / f.unit / f.unit
    tol = (1e-3 if f.eps > 1e-10 else 1e-7) * total + f.noise**2
    if np.isfinite(ours) and f.est.inertia_ > 1e-300:  # as above
        close(ours, d2.sum(), tol, "VectorQuantizer: distortion")
    check(float(d2.sum()) <= total * 1.001 + f.noise**2, "VectorQuantizer: worse than the mean alone")


def som(f: Fitted) -> None:
    """The quantization error, recomputed from the prototypes."""
    P = np.asarray(f.est.prototypes_, float).reshape(-1, f.A.shape[1]) / f.unit
    d = np.sqrt(((f.A[:, None] - P[None]) ** 2).sum(axis=2)).min(axis=1)
    size = float(np.abs(_centered(f)).max(initial=0.0))
    close(
        f.est.quantization_error_ / f.unit, d.mean(), (1e-3 if f.eps > 1e-10 else 1e-6) * size + f.noise, "SOM: error"
    )


def agglomeration(f: Fitted) -> None:
    """Each coordinate is the mean of the columns of its cluster."""
    labels = np.asarray(f.est.labels_)
    if f.est.get_params()["pooling_func"] is np.mean:
        means = np.column_stack([f.A[:, labels == k].mean(axis=1) for k in range(f.Z.shape[1])])
        close(f.Z / f.unit, means, f.noise + 1e-300, "FeatureAgglomeration: means")


def selector(f: Fitted) -> None:
    """The selected columns are columns of the data, bit by bit."""
    support = np.asarray(f.est.get_support())
    close(f.Z / f.unit, f.A[:, support], 0.0, f"{type(f.est).__name__}: selected columns")


def feature_filter(f: Fitted) -> None:
    """The F statistics and correlations of scikit-learn."""
    from sklearn.feature_selection import f_classif, r_regression

    selector(f)
    if f.kind not in ("normal", "rolled sheet", "two clusters"):
        return
    ours, tol = np.asarray(f.est.scores_, float), 1e-2 if f.eps > 1e-10 else 1e-6
    if f.est.statistic_ == "anova":
        theirs = f_classif(f.A, f.y)[0]
        close(ours / theirs, np.ones(len(ours)), tol, "FeatureFilter against scikit-learn: F")
    elif f.est.statistic_ == "pearson" and np.asarray(f.y).dtype.kind == "f":
        size = np.abs(f.y).max()  # scikit-learn squares the target
        close(ours, r_regression(f.A, f.y / size), tol, "FeatureFilter against scikit-learn: correlation")


def lle(f: Fitted) -> None:
    """Standard LLE: the Rayleigh quotients of the weight matrix computed here are its smallest eigenvalues."""
    e = f.est
    p = e.get_params()
    if p["method"] != "standard" or f.kind not in ("normal", "rolled sheet") or e.n_connected_components_ != 1:
        return
    n, k = len(f.A), p["n_neighbors"]
    if n != len(f.Z) or f.eps > 1e-10:
        return
    D = _distances(f.A)
    np.fill_diagonal(D, np.inf)
    M = np.eye(n)
    for i in range(n):
        near = np.argsort(D[i], kind="stable")[:k]
        G = (f.A[near] - f.A[i]) @ (f.A[near] - f.A[i]).T
        w = np.linalg.solve(G + p["reg"] * np.trace(G) * np.eye(k), np.ones(k))
        M[i, near] -= w / w.sum()
    M = M.T @ M
    lam = np.linalg.eigvalsh(M)
    V = np.asarray(e.embedding_, float)
    close(V.mean(axis=0), np.zeros(V.shape[1]), 1e-6 * np.abs(V).max(), "LLE: centered")
    rayleigh = ((M @ V) * V).sum(axis=0) / (V * V).sum(axis=0)
    close(np.sort(rayleigh), lam[1 : 1 + V.shape[1]], 1e-7 * lam[-1], "LLE: eigenvalues")


def diffusion_map(f: Fitted) -> None:
    """The eigenvalues of the random walk, from a dense matrix."""
    e, p = f.est, f.est.get_params()
    if (
        p["n_neighbors"] is not None
        or f.kind not in ("normal", "rolled sheet")
        or e.n_excluded_
        or p["metric"] != "euclidean"
    ):
        return
    K = np.exp(-(_distances(f.A) ** 2) / (e.epsilon_ / f.unit / f.unit))
    q = K.sum(axis=1) ** -p["alpha"]
    K = K * np.outer(q, q)
    root = np.sqrt(K.sum(axis=1))
    lam = np.linalg.eigvalsh(K / np.outer(root, root))[::-1]
    close(
        e.eigenvalues_, lam[1 : 1 + len(e.eigenvalues_)], 1e-3 if f.eps > 1e-10 else 1e-6, "DiffusionMap: eigenvalues"
    )


def linear_autoencoder(f: Fitted) -> None:
    """No code of k columns keeps more variance than PCA; the reconstruction is finite."""
    C = _centered(f)
    s = np.linalg.svd(C, compute_uv=False)
    back = np.asarray(f.est.inverse_transform(f.Z.astype(f.est.mean_.dtype)), float) / f.unit
    lost = float(np.linalg.norm(f.A - back))
    best = float(np.linalg.norm(s[f.Z.shape[1] :]))
    check(lost >= best * (1 - 1e-6) - f.noise, "LinearAutoencoder: better than the optimum")
    if f.kind in ("normal", "rolled sheet", "two clusters") and f.est.converged_:
        check(lost <= best * 1.05 + 1e-2 * s[0] + f.noise, f"LinearAutoencoder: error {lost:.3g}, optimum {best:.3g}")


def tsne(f: Fitted) -> None:
    """The divergence of two distributions is not negative."""
    check(f.est.kl_divergence_ > -1e-6, f"TSNE: the KL divergence is {f.est.kl_divergence_:.3g}")


def umap(f: Fitted) -> None:
    """The fuzzy graph is symmetric, with weights in (0, 1]."""
    W = f.est.graph_
    check(bool((W.data > 0).all() and (W.data <= 1).all()), "UMAP: a weight of the graph is not in (0, 1]")
    check(abs(W - W.T).sum() == 0, "UMAP: the graph is not symmetric")


def _inertias(f: Fitted, table: np.ndarray, what: str) -> None:
    """The weighted squares of the coordinates are the squared singular values of the standardized residuals."""
    P = table / table.sum()
    r, c = P.sum(axis=1), P.sum(axis=0)
    if not (r > 0).all() or not (c > 0).all():
        return
    s2 = np.linalg.svd((P - np.outer(r, c)) / np.sqrt(np.outer(r, c)), compute_uv=False) ** 2
    k = f.Z.shape[1]
    tol = (1e-4 if f.eps > 1e-10 else 1e-8) + 100 * f.eps / np.sqrt(r.min() * c.min())  # of rare cells
    close((r[:, None] * f.Z**2).sum(axis=0), s2[:k], tol, f"{what}: inertias")


def correspondence_analysis(f: Fitted) -> None:
    """The principal inertias of numpy."""
    _inertias(f, f.A, "CorrespondenceAnalysis")


def multiple_correspondence_analysis(f: Fitted) -> None:
    """Correspondence analysis of the indicators of all levels."""
    levels = [column[:, None] == np.unique(column)[None, :] for column in f.A.T]
    _inertias(f, np.hstack(levels).astype(float), "MultipleCorrespondenceAnalysis")


def factor_analysis_of_mixed_data(f: Fitted) -> None:
    """Of numbers alone: PCA of standardized columns."""
    if f.kind in ("normal", "rolled sheet", "two clusters") and len(f.est.numeric_columns_) == f.A.shape[1]:
        values = np.linalg.eigvalsh(np.corrcoef(f.A.T))[::-1]
        k = f.Z.shape[1]
        close((f.Z**2).mean(axis=0), values[:k], 1e-4 if f.eps > 1e-10 else 1e-8, "FactorAnalysisOfMixedData: inertias")


ROUTES: dict[str, Callable[[Fitted], None]] = {
    "TSNE": tsne,
    "UMAP": umap,
    "CorrespondenceAnalysis": correspondence_analysis,
    "MultipleCorrespondenceAnalysis": multiple_correspondence_analysis,
    "FactorAnalysisOfMixedData": factor_analysis_of_mixed_data,
    "PCA": pca,
    "IncrementalPCA": pca,
    "TruncatedSVD": truncated_svd,
    "ClassicalMDS": classical_mds,
    "KernelPCA": kernel_pca,
    "Whitening": whitening,
    "FastICA": fast_ica,
    "FactorAnalysis": factor_analysis,
    "LinearDiscriminantAnalysis": lda,
    "MDS": mds,
    "SammonMapping": sammon,
    "Isomap": isomap,
    "SpectralEmbedding": spectral_embedding,
    "VectorQuantizer": vector_quantizer,
    "SelfOrganizingMap": som,
    "FeatureAgglomeration": agglomeration,
    "FeatureFilter": feature_filter,
    "L1Selector": selector,
    "TreeSelector": selector,
    "SequentialFeatureSelector": selector,
    "LocallyLinearEmbedding": lle,
    "DiffusionMap": diffusion_map,
    "LinearAutoencoder": linear_autoencoder,
}
