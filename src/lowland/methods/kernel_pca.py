"""Kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError

from lowland.arrays.namespace import Array, as_double, is_sparse, to_numpy, xp_of
from lowland.data.open import opened_once
from lowland.data.rows import Rows, in_slabs, own_array
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.math.distances.kernel_functions import KernelWith, median_gamma
from lowland.math.spectra.kernel_axes import (
    FeatureCoordinates,
    FeatureSpaceRequest,
    KernelAxes,
    axes_of_rows,
    check_range,
    kernel_axes,
    landmark_axes,
    linear_axes,
)
from lowland.math.spectra.preimages import FixedPointPreImages, RidgePreImages, ridge_coefficients
from lowland.math.statistics.sampling import SelectedRows, count_rows
from lowland.methods.base import costs
from lowland.methods.base.choices import choose_landmarks, ignored, positional, refusal
from lowland.methods.base.method import InvertibleMethod, Method, RandomState, attribute, param
from lowland.methods.base.metric import Metric
from lowland.methods.base.traits import ALL_PAIRS, StudyHints
from lowland.run.run import Run


class LearnedInverse:
    """A method that exists only with ``fit_inverse_transform``; otherwise it raises scikit-learn's error."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        if not model._params.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True, so the inverse transform was not learned. "
                f"Fit {type(model).__name__}(fit_inverse_transform=True)."
            )
        return MethodType(self.method, model)


class KernelPCA(
    Method,
    verb="kernel-pca",
    title="kernel PCA",
    group="Manifolds",
    cost=costs.kernel,
    takes_sparse=True,
    streams_with_landmarks=True,
    all_rows=(lambda p: p.n_landmarks is None, "without landmarks"),
    study=StudyHints(parameters={"kernel": "rbf", "gamma": "median"}, all_pairs_up_to=ALL_PAIRS),
):
    """Kernel principal component analysis: PCA in the feature space of a kernel, which gives nonlinear components.

    Problem: over orthonormal u_1 … u_k in the feature space of the kernel k(x, y) = φ(x)'φ(y), maximize the variance
    of the projections u'(φ(x) - mean). Solution: u = sum_i a_i φ(x_i) with the eigenvectors J K J a = λ a, where
    K_ij = k(x_i, x_j) and J = I - 11'/n.

    1. Compute the kernel matrix. It is kept if it fits the memory budget, and otherwise computed in chunks for each
       product. The linear kernel needs no matrix, and with landmarks only that of the landmarks is needed.
    2. Find the leading eigenpairs of the centered kernel matrix, which is not formed. With landmarks: those of the
       scatter of the Nyström features (J K_mm J)^(-1/2) k_m(x), summed in one pass over the data.
    3. Coordinates are z = (k(x) - means)'A with A = a/√λ, or for the training points √λ a.
    4. On request, learn the inverse transform.

    See Also
    --------
    PCA : the same with the linear kernel.
    SpectralEmbedding : eigenvectors of a neighbor graph.

    Notes
    -----
    With landmarks, the points need not fit in memory. Sparse data stays sparse.

    Prefer ``PCA`` where linear components suffice: its components can be interpreted.

    References
    ----------
    Schölkopf, Smola and Müller 1998, Nonlinear component analysis as a kernel eigenvalue problem, Neural Computation
    10, doi:10.1162/089976698300017467.

    Williams and Seeger 2001, Using the Nyström method to speed up kernel machines, Advances in Neural Information
    Processing Systems 13 (landmarks).

    Mika et al. 1999, Kernel PCA and de-noising in feature spaces, Advances in Neural Information Processing Systems 11
    (pre-images).

    Examples
    --------
    >>> from lowland import KernelPCA
    >>> from lowland.data import load_dataset
    >>> rings = load_dataset("concentric_circles")
    >>> z = KernelPCA(3, kernel="rbf", gamma="median").fit_transform(rings.X)[:, 2]  # the third follows the radius
    >>> bool(z[rings.y == 0].max() < z[rings.y == 1].min()), bool(z[rings.y == 1].max() < z[rings.y == 2].min())
    (True, True)
    """

    n_components: int | None = positional(
        None, "Number of components. None means all with a positive eigenvalue.", at_least=1
    )
    kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"] | Callable[..., float] = (
        param("linear", "Kernel function, or 'precomputed': X is a kernel matrix.")
    )
    gamma: float | Literal["median"] | None = param(
        None,
        "Coefficient of rbf, laplacian, poly and sigmoid. A larger one makes the kernel more local. None means 1 "
        "/ columns, 'median' means 1 / median (squared) distance.",
        at_least=0,
    )
    degree: int | float = param(3, "Degree of the poly kernel. A higher one bends the components more.", at_least=0)
    coef0: int | float = param(1, "Constant term of poly and sigmoid.")
    kernel_params: dict | None = param(None, "Keyword arguments of a kernel function.")
    alpha: float = param(
        1.0,
        "Ridge penalty of the regression that learns the inverse transform. A larger one is smoother and less "
        "accurate.",
        at_least=0,
    )
    fit_inverse_transform: bool = param(False, "Learn the inverse transform, from coordinates to points.")
    eigen_solver: Literal["auto", "dense", "arpack", "randomized"] = param(
        "auto", "Eigenvalue solver. 'auto' chooses the cheapest and reports the reason."
    )
    tol: float = param(
        0.0, "Tolerance of an iterative solver (relative residual). 0 means the solver's default.", at_least=0
    )
    max_iter: int | None = param(
        None, "Maximum number of iterations of an iterative solver. None means the solver's default.", at_least=1
    )
    iterated_power: int | Literal["auto"] = param(
        "auto", "Power iterations of the randomized solver. 'auto' iterates until the residuals are small.", at_least=0
    )
    remove_zero_eig: bool = param(
        False, "Drop the components beyond the positive eigenvalues, which are zero otherwise."
    )
    random_state: RandomState = param(None, "Seed of the landmarks and of the iterative solvers.", at_least=0)
    copy_X: bool = param(True, "Keep a copy of the training points, in case the caller modifies them later.")  # noqa: N815  its name
    n_jobs: int | None = ignored(None, "set lowland.config(threads=...) instead")
    n_landmarks: int | None = param(
        None,
        "Number of landmark points (Nyström approximation), for data larger than memory. More are more accurate "
        "and slower. None uses all points.",
        at_least=2,
    )
    preimage: Literal["ridge", "fixed-point"] = param(
        "ridge",
        "Inverse transform by kernel ridge regression ('ridge'), or for rbf by a fixed-point iteration for the "
        "nearest pre-image ('fixed-point').",
    )

    eigenvalues_: Array = attribute("Leading eigenvalues of the centered kernel matrix.", "(k,)")
    eigenvectors_: Array = attribute(
        "Eigenvectors of the centered kernel matrix, or zero where the eigenvalue is.",
        "(n_samples_, k)",
        when="without landmarks",
    )
    coefficients_: Array = attribute(
        "Matrix A from centered kernel values to coordinates, with a row for each training point or landmark.", "(p, k)"
    )
    kernel_means_: Array = attribute("Column means of the kernel matrix.", "(p,)")
    gamma_: float = attribute("Value of gamma in use.")
    X_fit_: Array = attribute(
        "Training points.",
        "(n_samples_, n_features_in_)",
        when="without landmarks and with a kernel other than 'precomputed'",
    )
    landmarks_: Array = attribute("Landmark points.", "(n_landmarks, n_features_in_)", when="with n_landmarks")
    X_transformed_fit_: Array = attribute(
        "Coordinates of the training points or landmarks.", "(p, k)", when="with fit_inverse_transform"
    )
    dual_coef_: Array = attribute(
        "Coefficients of the inverse transform by ridge regression.",
        "(p, n_features_in_)",
        when="with fit_inverse_transform and preimage='ridge'",
    )
    mean_weights_: Array = attribute(
        "Weights of the mean in feature space.", "(p,)", when="with fit_inverse_transform and preimage='fixed-point'"
    )
    n_iter_: int = attribute("Number of iterations of the solver, or 0 for a direct one.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        self._check_choices(rows)
        keep = choose_landmarks(self, lambda: count_rows(rows, run), "all rows are used")  # (n,) bool, or None
        if keep is None:
            X = run.to_array(rows, "KernelPCA without n_landmarks")
        else:
            X = self.landmarks_ = run.fold(rows, SelectedRows.of, keep, name="choosing landmarks").rows
        if self.gamma == "median":
            self.gamma_ = median_gamma(X, self.kernel)
        else:
            self.gamma_ = 1 / X.shape[1] if self.gamma is None else float(self.gamma)
        kernel, wanted = self._kernel_with(X), self._wanted()
        axes = self._exact(X, kernel, wanted, Run()) if keep is None else landmark_axes(rows, kernel, run, wanted)
        self._keep(axes, X)
        if keep is None and self.kernel != "precomputed":
            self.X_fit_ = X if not self.copy_X else own_array(rows, X)

    def _exact(self, X: Array, kernel: KernelWith, wanted: FeatureSpaceRequest, run: Run) -> KernelAxes:
        """Return the axes of all rows, with the algorithm that suits the kernel."""
        if self.kernel == "linear":
            return linear_axes(X, run, wanted)
        if self.kernel == "precomputed":
            return kernel_axes(X, wanted.k, wanted=wanted, run=run)
        return axes_of_rows(X, kernel, run, wanted)

    def _keep(self, axes: KernelAxes, X: Array) -> None:
        """Set the fitted attributes, in the precision of the data; learn pre-images."""
        check_range(axes.values, X.dtype)
        self._warn_of(axes)
        xp = xp_of(axes.values)
        self.eigenvalues_, self.coefficients_ = (xp.astype(a, X.dtype) for a in (axes.values, axes.coefficients))
        self.kernel_means_ = axes.means
        if axes.vectors is not None:
            self.eigenvectors_ = xp.astype(axes.vectors, X.dtype)
        self.n_samples_ = axes.n
        self._record_convergence(axes.outcome)
        if not self.fit_inverse_transform:
            return
        run = Run()
        Z = self._embedding() if axes.vectors is not None else self._encoding()(X)
        self.X_transformed_fit_ = Z
        if self.preimage == "ridge":
            self.dual_coef_ = xp.astype(ridge_coefficients(self._kernel_with(Z), X, self.alpha, run), X.dtype)
        else:
            self.mean_weights_ = axes.mean_weights

    # --- choices ---

    def _check_choices(self, rows: Rows) -> None:
        if rows.is_sparse and (self.kernel == "precomputed" or self.fit_inverse_transform):
            what = "fit_inverse_transform=True" if self.fit_inverse_transform else "kernel='precomputed'"
            raise DataError(
                f"KernelPCA({what}) does not take sparse data. Make it dense if it fits in memory (`X.toarray()`)."
            )
        if self.kernel == "precomputed" and (self.fit_inverse_transform or self.n_landmarks is not None):
            what = "fit_inverse_transform" if self.fit_inverse_transform else "use n_landmarks"
            raise ParameterError(
                f"KernelPCA: Cannot {what} with a precomputed kernel, which has no rows. Pass rows and choose another "
                "kernel."
            )
        if self.fit_inverse_transform and self.preimage == "fixed-point" and self.kernel != "rbf":
            raise refusal(self, "it needs `kernel='rbf'`.", "Choose `preimage='ridge'`.", "preimage")

    def _warn_of(self, axes: KernelAxes) -> None:
        """Warn of a kernel that is no inner product, of rows that are alike or all apart, and of zero columns."""
        for concern in axes.concerns:
            if self.kernel in ("rbf", "laplacian"):
                given = f"KernelPCA(kernel={self.kernel!r}): with gamma={self.gamma_:g}"
                warn(f"{given} {concern} Lower `gamma`, or set `gamma='median'`.", DataWarning)
            else:
                remedy = "Lower `gamma`, or use" if self.kernel == "sigmoid" else "Use"
                warn(f"{concern} {remedy} a kernel of inner products, such as 'rbf'.", DataWarning)
        positive, k = int(to_numpy(axes.values > 0).sum()), int(axes.values.shape[0])
        if axes.identical:
            warn(
                f"`KernelPCA(kernel={self.kernel!r})`: no eigenvalue of the centered kernel matrix is positive: all "
                "rows are identical in the feature space of the kernel. Check the data and `gamma`.",
                DataWarning,
            )
        elif positive < k:
            warn(
                f"`KernelPCA(n_components={self.n_components})`: the centered kernel matrix has {positive} positive "
                f"eigenvalue{'s' * (positive != 1)}, so the other components are zero. Choose at most {positive}, or "
                "set `remove_zero_eig=True`.",
                DataWarning,
            )

    def _kernel_with(self, points: Array) -> KernelWith:
        p = self._params
        if p.kernel == "precomputed":
            return KernelWith(None, "precomputed")
        return KernelWith(points, p.kernel, self.gamma_, p.degree, p.coef0, p.kernel_params or {})

    def _wanted(self) -> FeatureSpaceRequest:
        steps = None if self.iterated_power == "auto" else int(self.iterated_power)
        k = None if self.n_components is None else int(self.n_components)
        solver, fewer = self.eigen_solver, self.remove_zero_eig
        draws = steps is not None or solver == "randomized"  # the others iterate until the draw is forgotten
        rng = self._generator() if draws else self._start_generator()
        return FeatureSpaceRequest(k, solver, fewer, self.tol, self.max_iter, steps, rng)

    # --- maps ---

    def _points(self) -> Array:
        return vars(self).get("landmarks_", vars(self).get("X_fit_"))

    def _facts(self) -> dict[str, Any]:
        landmarks = len(self.landmarks_) if "landmarks_" in vars(self) else None
        gamma = None if self._params.kernel in ("linear", "cosine", "precomputed") else self.gamma_
        return {"landmarks": landmarks, "eigenvalues": self.eigenvalues_[:10], "gamma": gamma}

    def _encoding(self) -> FeatureCoordinates:
        of_rows = self._params.kernel == "linear" and not is_sparse(vars(self).get("landmarks_"))
        kernel = KernelWith(None) if of_rows else self._kernel_with(self._points())
        return FeatureCoordinates(kernel, self.kernel_means_, self.coefficients_)

    def _metric(self) -> Metric | None:
        """No metric; a given kernel matrix is a matrix of pairs."""
        given = self._params.kernel == "precomputed"
        return Metric("precomputed", pairs="kernel values") if given else None

    def _working_width(self) -> int:
        return int(self.coefficients_.shape[0])

    def _encoding_width(self) -> int:
        return int(self.eigenvalues_.shape[0])

    def _embedding(self) -> Array:
        return self.eigenvectors_ * xp_of(self.eigenvalues_).sqrt(self.eigenvalues_)[None, :]

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]
        """Fit to the rows of X and return their coordinates, (n, k)."""
        X = opened_once(X)
        self.fit(X, y)
        return self.transform(X) if "landmarks_" in vars(self) else self._present(self._embedding(), X)

    def _decoding(self) -> Callable[[Array], Array]:
        Z = self.X_transformed_fit_
        if self._params.preimage == "ridge":
            return RidgePreImages(self._kernel_with(Z), self.dual_coef_)
        A = as_double(self.coefficients_)
        return FixedPointPreImages(self._kernel_with(self._points()), Z, A, self.mean_weights_)

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        rows, run = InvertibleMethod._rows_to_decode(self, Z)
        return in_slabs(rows, int(self.X_transformed_fit_.shape[0])), run

    inverse_transform = LearnedInverse(InvertibleMethod.inverse_transform)
    inverse_chunks = LearnedInverse(InvertibleMethod.inverse_chunks)
