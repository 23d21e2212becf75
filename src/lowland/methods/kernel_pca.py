"""Kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.distances.kernel_functions import KernelWith, median_gamma, rows_of
from lowland.blocks.distances.to_points import in_slabs
from lowland.blocks.kernel_pca.feature_space_axes import (
    FeatureCoordinates,
    KernelAxes,
    axes_of_rows,
    check_range,
    kernel_axes,
    linear_axes,
)
from lowland.blocks.kernel_pca.landmark_axes import landmark_axes
from lowland.blocks.kernel_pca.positive_eigenvalues import FeatureSpaceRequest
from lowland.blocks.kernel_pca.preimages import FixedPointPreImages, RidgePreImages, require_ridge, ridge_coefficients
from lowland.blocks.statistics.sampling import Picked, count_rows
from lowland.data.open import open_rows
from lowland.data.rows import ArrayRows, Rows, own_array
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.landmarks import choose_landmarks
from lowland.methods.base.learned_inverse import LearnedInverse
from lowland.methods.base.parameters import check_saved
from lowland.methods.base.point_map import PointMap
from lowland.methods.base.traits import ALL_PAIRS, StudyHints
from lowland.run.run import Run, run_for


class KernelPCA(
    PointMap,
    verb="kernel-pca",
    takes_sparse=True,
    streams_with_landmarks=True,
    study=StudyHints(parameters={"kernel": "rbf", "gamma": "median"}, all_pairs_up_to=ALL_PAIRS),
):
    """Kernel principal component analysis: the components of features that a kernel compares without computing them.

    Problem: over orthonormal u_1 … u_k in the feature space of the kernel k(x, y) = φ(x)'φ(y), maximise the variance
    of the projections u'(φ(x) - mean). The answer: u = sum_i a_i φ(x_i), with the vectors a of J K J a = λ a, where
    K_ij = k(x_i, x_j) and J = I - 11'/n.

    1. Compute the kernel matrix of the rows, held if it fits the memory budget, else slab by slab whenever it is
       multiplied (``blocks.distances.kernel_functions``). The linear kernel needs none; landmarks need only theirs.
    2. Find the leading eigenpairs of the matrix, centered without being formed
       (``blocks.kernel_pca.feature_space_axes``). Landmarks: of the scatter of the features (J K_mm J)^(-1/2) k_m(x),
       summed in one pass over the rows (``blocks.kernel_pca.landmark_axes``).
    3. Coordinates are z = (k(x) - means)'A, with A = a/√λ; for the rows fitted, √λ a.
    4. On request, learn the way back (``blocks.kernel_pca.preimages``).

    Cost: n² (d + 20 k) operations and 8 n² bytes, or none of these bytes at a few times the time; with m landmarks
    n m (d + m), 32 m² + 24 m d bytes, and two passes over rows that are never held whole. Sparse rows stay sparse.
    Prefer ``PCA`` where straight axes will do: its components can be read.

    Attributes: ``eigenvalues_`` of the centered kernel matrix, ``eigenvectors_`` (n, k), ``X_fit_`` (not for a
    precomputed kernel), ``gamma_``, ``coefficients_`` (p, k) A, ``kernel_means_`` (p,), ``landmarks_`` (m, d) with
    ``n_landmarks`` (then without ``eigenvectors_`` and ``X_fit_``), ``dual_coef_``, ``X_transformed_fit_`` and
    ``mean_weights_`` of the way back, ``solver_`` (which and why), ``n_iter_``, ``n_samples_``.

    Reference: Schölkopf, Smola and Müller 1998, doi:10.1162/089976698300017467; landmarks: Williams and Seeger 2001,
    Advances in Neural Information Processing Systems 13; pre-images: Mika et al. 1998, the same, 11.

    Examples
    --------
    >>> from lowland import KernelPCA
    >>> from lowland.data import load_dataset
    >>> rings = load_dataset("concentric_circles")
    >>> z = KernelPCA(3, kernel="rbf", gamma="median").fit_transform(rings.X)[:, 2]  # the third: how far out
    >>> bool(z[rings.y == 0].max() < z[rings.y == 1].min()), bool(z[rings.y == 1].max() < z[rings.y == 2].min())
    (True, True)
    """

    n_components: int | None = param(
        None, "How many to keep; None keeps all of a positive eigenvalue.", at_least=1, positional=True
    )
    kernel: Literal["linear", "poly", "rbf", "sigmoid", "laplacian", "cosine", "precomputed"] | Callable[..., float] = (
        param("linear", "How rows are compared; 'precomputed': the rows hold kernel values.")
    )
    gamma: float | Literal["median"] | None = param(
        None,
        "Factor within rbf, laplacian, poly, sigmoid; None: 1 / columns; 'median': 1 / the median (squared) distance.",
        at_least=0,
    )
    degree: int | float = param(3, "Power of the poly kernel.", at_least=0)
    coef0: int | float = param(1, "Number added within poly and sigmoid.")
    kernel_params: dict | None = param(None, "Further arguments of a kernel that is a function.")
    alpha: float = param(1.0, "Ridge of the regression that learns the way back.", at_least=0)
    fit_inverse_transform: bool = param(False, "Learn the way back from coordinates to rows.")
    eigen_solver: Literal["auto", "dense", "arpack", "randomized"] = param(
        "auto", "How the eigenpairs are found; 'auto' takes the cheapest and says why in solver_."
    )
    tol: float = param(0.0, "Residual at which an iterative solver stops; 0 takes the solver's own.", at_least=0)
    max_iter: int | None = param(None, "Most steps of an iterative solver; None takes the solver's own.", at_least=1)
    iterated_power: int | Literal["auto"] = param(
        "auto", "Power steps of the randomized solver; 'auto' goes on until the residuals are small.", at_least=0
    )
    remove_zero_eig: bool = param(False, "Keep fewer than n_components where no more eigenvalues are positive.")
    random_state: RandomState = param(None, "Seed of the landmarks and of the solvers' first block.", at_least=0)
    copy_X: bool = param(True, "Keep a copy of the rows: the caller may write to them later.")  # noqa: N815  its name
    n_jobs: int | None = param(None, "Accepted as in scikit-learn; lowland.config(threads=...) sets the threads.")
    n_landmarks: int | None = param(
        None, "Rows that stand for all (Nystrom): for very many rows, read in slabs. None: all rows.", at_least=2
    )
    preimage: Literal["ridge", "fixed-point"] = param(
        "ridge", "The way back: ridge regression as in scikit-learn, or for rbf the nearest row by a fixed point."
    )

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """The kernel, its axes, pre-images."""
        self._check_choices(rows)
        keep = self._landmarks(rows, run)  # (n,) bool, or None: all rows
        if keep is None:
            X = run.to_array(rows, "KernelPCA without n_landmarks")
        else:
            m = int(keep.sum())
            run.require(
                8 * m * (4 * m + 3 * rows.d), f"The kernel of {m} landmarks and its features", "Lower n_landmarks"
            )
            X = self.landmarks_ = run.fold(rows, Picked.of, keep, name="choosing landmarks").rows
        self.gamma_ = self._gamma(X)
        kernel, wanted = self._kernel_with(X), self._wanted()
        with self._components_remedy():
            if keep is None:
                axes = self._exact(X, kernel, wanted, run_for(rows_of(X)))
            else:
                axes = landmark_axes(rows, kernel, run, wanted)
        self._keep(axes, X)
        if keep is None and self.kernel != "precomputed":
            self.X_fit_ = X if not self.copy_X else own_array(rows, X)

    def _exact(self, X: Array, kernel: KernelWith, wanted: FeatureSpaceRequest, run: Run) -> KernelAxes:
        """The axes of all rows, by the route that suits the kernel."""
        n = X.shape[0]
        if self.fit_inverse_transform and self.preimage == "ridge":
            require_ridge(n, run)
        if self.kernel == "linear":
            k = min(X.shape) if self.n_components is None else self.n_components
            run.require(3 * 8 * n * k, f"The {k} coordinates of {n} rows", "Ask for fewer components, or use PCA")
            return linear_axes(X, run, wanted)
        if self.kernel == "precomputed":
            return kernel_axes(X, wanted.k, wanted=wanted, run=run)
        return axes_of_rows(X, kernel, run, wanted)

    def _keep(self, axes: KernelAxes, X: Array) -> None:
        """Set the fitted attributes, in the precision of the data; learn pre-images."""
        check_range(axes.values, X.dtype)
        self._warn_of(axes.concerns)
        xp = xp_of(axes.values)
        self.eigenvalues_, self.coefficients_ = (xp.astype(a, X.dtype) for a in (axes.values, axes.coefficients))
        self.kernel_means_ = axes.means
        if axes.vectors is not None:
            self.eigenvectors_ = xp.astype(axes.vectors, X.dtype)
        self.n_samples_ = axes.n
        self._record_convergence(axes.outcome)
        if not self.fit_inverse_transform:
            return
        run = run_for(ArrayRows(X))
        Z = self._embedding() if axes.vectors is not None else self._placing()(X)
        self.X_transformed_fit_ = Z
        if self.preimage == "ridge":
            self.dual_coef_ = xp.astype(ridge_coefficients(self._kernel_with(Z), X, self.alpha, run), X.dtype)
        else:
            self.mean_weights_ = axes.mean_weights

    # --- choices ---

    def _check_choices(self, rows: Rows) -> None:
        if rows.is_sparse and (self.kernel == "precomputed" or self.fit_inverse_transform):
            what = "fit_inverse_transform" if self.fit_inverse_transform else "kernel='precomputed'"
            raise DataError(f"KernelPCA({what}) does not take sparse data. Pass X.toarray() if it fits in memory.")
        if self.kernel == "precomputed" and (self.fit_inverse_transform or self.n_landmarks is not None):
            what = "fit_inverse_transform" if self.fit_inverse_transform else "n_landmarks"
            raise ParameterError(f"KernelPCA({what}): a precomputed kernel tells no rows. Pass rows and name a kernel.")
        if self.fit_inverse_transform and self.preimage == "fixed-point" and self.kernel != "rbf":
            raise ParameterError("KernelPCA(preimage='fixed-point') is for kernel='rbf'. Choose preimage='ridge'.")

    @contextmanager
    def _components_remedy(self) -> Iterator[None]:
        """Add what to do where fewer eigenvalues are positive than components were asked for."""
        try:
            yield
        except ParameterError as error:
            raise ParameterError(
                f"KernelPCA(n_components={self.n_components}): {error} Or set remove_zero_eig=True to keep as many as "
                "there are."
            ) from error

    def _warn_of(self, concerns: tuple[str, ...]) -> None:
        for concern in concerns:
            if self.kernel == "sigmoid":
                remedy = "Components of positive eigenvalues are kept; a lower gamma, or 'rbf', avoids negative ones."
                warn(f"{concern} {remedy}", DataWarning)
            else:
                given = f"KernelPCA(kernel={self.kernel!r}): with gamma={self.gamma_:g}"
                warn(f"{given} {concern} Lower gamma, or take gamma='median'.", DataWarning)

    def _landmarks(self, rows: Rows, run: Run) -> np.ndarray | None:
        """Mark the rows that are landmarks; none are where all rows would be, or none were asked for."""
        if self.n_landmarks is None:
            return None
        return choose_landmarks(
            count_rows(rows, run), self.n_landmarks, self._generator, "KernelPCA", "all of them are used"
        )

    def _gamma(self, X: Array) -> float:
        if self.gamma == "median":
            return median_gamma(X, self.kernel)
        return 1 / X.shape[1] if self.gamma is None else float(self.gamma)

    def _kernel_with(self, points: Array) -> KernelWith:
        check_saved(self, "kernel")
        if self.kernel == "precomputed":
            return KernelWith(None, "precomputed")
        return KernelWith(points, self.kernel, self.gamma_, self.degree, self.coef0, self.kernel_params or {})

    def _wanted(self) -> FeatureSpaceRequest:
        steps = None if self.iterated_power == "auto" else int(self.iterated_power)
        k = None if self.n_components is None else int(self.n_components)
        solver, fewer = self.eigen_solver, self.remove_zero_eig
        return FeatureSpaceRequest(k, solver, fewer, self.tol, self.max_iter, steps, self._generator())

    # --- maps ---

    def _points(self) -> Array:
        return self.landmarks_ if hasattr(self, "landmarks_") else getattr(self, "X_fit_", None)

    def _facts(self) -> dict[str, Any]:
        landmarks = len(self.landmarks_) if hasattr(self, "landmarks_") else None
        gamma = None if self.kernel in ("linear", "cosine", "precomputed") else self.gamma_
        return {"landmarks": landmarks, "eigenvalues": self.eigenvalues_[:10], "gamma": gamma}

    def _placing(self) -> FeatureCoordinates:
        of_rows = self.kernel == "linear" and not is_sparse(getattr(self, "landmarks_", None))
        kernel = KernelWith(None) if of_rows else self._kernel_with(self._points())
        return FeatureCoordinates(kernel, self.kernel_means_, self.coefficients_)

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        if not reset and self.kernel == "precomputed" and rows.d != self.n_features_in_:
            n = self.n_features_in_
            raise DataError(
                f"X has {rows.d} columns, and KernelPCA was fitted to the kernel of {n} rows. Pass the kernel values "
                f"of each new row with these {n}, in their order."
            )
        super()._check_rows(rows, reset=reset, least=least)

    def _kept_points(self) -> int:
        return int(self.coefficients_.shape[0])

    def _encoding_width(self) -> int:
        return int(self.eigenvalues_.shape[0])

    def _embedding(self) -> Array:
        """The coordinates of the rows that were fitted, (n, k)."""
        return self.eigenvectors_ * xp_of(self.eigenvalues_).sqrt(self.eigenvalues_)[None, :]

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit to the rows of X and return their coordinates, (n, k)."""
        self.fit(X, y)
        return self.transform(X) if hasattr(self, "landmarks_") else self._present(self._embedding(), X)

    def _decoding(self) -> Callable[[Array], Array]:
        Z = self.X_transformed_fit_
        if self.preimage == "ridge":
            return RidgePreImages(self._kernel_with(Z), self.dual_coef_)
        A = as_double(self.coefficients_)
        return FixedPointPreImages(self._kernel_with(self._points()), Z, A, self.mean_weights_)

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        rows = open_rows(Z)
        k = self._encoding_width()
        if rows.d != k:
            raise DataError(f"Z has {rows.d} columns, but KernelPCA has {k} components. Pass what transform returned.")
        rows = in_slabs(rows, max(int(self.X_transformed_fit_.shape[0]), self.n_features_in_))
        return rows, run_for(rows)

    @LearnedInverse
    def inverse_transform(self, X: Any) -> Any:
        """Return rows that coordinates may stand for, (n, d); with ``fit_inverse_transform`` only."""
        self._check_fitted()
        rows, run = self._rows_to_decode(X)
        return run.gather(self._decoding(), rows, self.n_features_in_, name="decoding rows")

    @LearnedInverse
    def inverse_chunks(self, X: Any) -> Iterator[Array]:
        """Yield rows that coordinates may stand for slab by slab, in order."""
        self._check_fitted()
        rows, run = self._rows_to_decode(X)
        return run.map_rows(self._decoding(), rows, name="decoding rows")

    def _check_fitted(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "X_transformed_fit_"):
            raise NotFittedError("fit_inverse_transform was set after the fit. Fit the model again.")
