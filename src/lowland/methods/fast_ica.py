"""Independent component analysis."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.arrays.namespace import Array, like, result_dtype, to_numpy, xp_of
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, shown, warn
from lowland.math.ica.ica import Unmixing, unmixing_matrix
from lowland.math.ica.negentropy import count_gaussian, mutual_information, negentropies, shape_sums
from lowland.math.ica.whitened_rows import Contrast, WhitenedRows, already_white, as_contrast, whitened
from lowland.math.spectra.component_rules import ComponentChoice
from lowland.math.spectra.leading import fix_signs
from lowland.math.spectra.operators import Affine
from lowland.methods.base import costs
from lowland.methods.base.choices import positional
from lowland.methods.base.method import InvertibleMethod, RandomState, attribute, param
from lowland.run.run import Run


class FastICA(
    InvertibleMethod,
    verb="fast-ica",
    group="Linear",
    cost=costs.sources,
    axis="IC",
    scale_free=True,
    linear=True,
    streams=True,
    tolerance=1e-6,
):
    """Independent component analysis: columns as linear mixtures of statistically independent, non-Gaussian sources.

    Problem: x = A s with independent, non-Gaussian sources s and an unknown mixing matrix A. Find y = W K(x - mean),
    where K whitens the points and W is orthogonal, that maximizes the sum of the negentropies J(y_i). This minimizes
    the mutual information of y.

    1. Whiten: project to the principal axes and scale to unit variance. Directions without variance are dropped.
    2. Rotate the whitened points to an extremum of a contrast E G(y_i): all components at once (parallel), one by one
       (deflation), or by a quasi-Newton method with a line search (picard).
    3. Estimate the negentropy of each component, and its mutual information with the others.
    4. Sort the components by negentropy, largest first, and make the largest weight of each source positive. The
       sources are y, and x = mean + A y.

    See Also
    --------
    PCA : uncorrelated components.
    ProjectionPursuit : a few non-Gaussian directions, with a p-value.

    Notes
    -----
    Prefer ``PCA`` to describe variance. Gaussian data has no independent components to find: every rotation of it is
    equally independent.

    References
    ----------
    Hyvärinen and Oja 2000, Independent component analysis: algorithms and applications, Neural Networks 13,
    doi:10.1016/S0893-6080(00)00026-5.

    Hyvärinen 1999, Fast and robust fixed-point algorithms for independent component analysis, IEEE Transactions on
    Neural Networks 10, doi:10.1109/72.761722.

    Ablin, Cardoso and Gramfort 2018, Faster ICA under orthogonal constraint, ICASSP,
    doi:10.1109/ICASSP.2018.8461662 (picard).

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import FastICA, quality
    >>> sources = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> mixing = np.array([[1.0, 0.6], [0.4, 1.0]])
    >>> ica = FastICA(random_state=0).fit(sources @ mixing.T)
    >>> quality.amari_distance(ica.components_, mixing).value < 0.05
    True
    """

    n_components: int | None = positional(
        None,
        "Number of sources. Fewer keep only the leading principal components. None means the rank of the centered "
        "data.",
        at_least=1,
    )
    algorithm: Literal["parallel", "deflation", "picard"] = param(
        "parallel",
        "'parallel' finds all components at once, 'deflation' one by one. 'picard' is a quasi-Newton method, the "
        "most robust.",
    )
    whiten: Literal["unit-variance", "arbitrary-variance"] | bool = param(
        "unit-variance",
        "Variance of the sources: 1, or 1/n ('arbitrary-variance', as in scikit-learn). False means that X is "
        "already white.",
    )
    fun: Literal["logcosh", "exp", "cube"] | Callable[..., Any] = param(
        "logcosh", "Contrast function, or a function that returns its derivative g(x) and the mean of g'(x)."
    )
    fun_args: dict[str, Any] | None = param(None, "Arguments of the contrast: alpha of 'logcosh', between 1 and 2.")
    max_iter: int = param(200, "Maximum number of iterations.", at_least=1)
    tol: float = param(
        1e-4,
        "Tolerance: 1 - |cosine| between successive components, or for 'picard' the largest entry of the "
        "gradient. A smaller one takes more iterations.",
        at_least=0,
    )
    w_init: Any | None = param(None, "Initial W for the whitened points, (k, k). None means random.")
    whiten_solver: Literal["svd", "eigh"] = param(
        "svd",
        "'eigh' whitens by the covariance. 'svd' does the same, but factors the data where squaring would lose "
        "precision.",
    )
    random_state: RandomState = param(None, "Seed of the initial W.", at_least=0)

    components_: Array = attribute("Unmixing matrix: sources are components_ @ (x - mean_).", "(k, n_features_in_)")
    mixing_: Array = attribute("Mixing matrix: the pseudo-inverse of components_.", "(n_features_in_, k)")
    mean_: Array = attribute("Mean of each column, in float64.", "(n_features_in_,)", when="where whiten is not False")
    whitening_: Array = attribute(
        "Whitening matrix, scaled as in scikit-learn.", "(k, n_features_in_)", when="where whiten is not False"
    )
    negentropy_: Array = attribute("Negentropy of each component, in nats. A Gaussian component has 0.", "(k,)")
    mutual_information_: Array = attribute(
        "Mutual information of each component with all others, in nats. NaN with too few points.", "(k,)"
    )
    n_gaussian_: int = attribute("Number of components that are not significantly non-Gaussian.")
    choice_: ComponentChoice = attribute("Number of components and how it was chosen.")
    n_iter_: int = attribute("Number of iterations.")
    converged_: bool = attribute("Whether the search converged.")
    stopped_because_: str = attribute("Why the search stopped.")
    trace_: tuple[float, ...] = attribute("The value compared with tol, after each iteration.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        try:
            contrast = as_contrast(self.fun, self.fun_args)
        except ParameterError as error:
            raise ParameterError(f"`fun_args={shown(self.fun_args)}`: {error}") from error
        found = self._white_rows(rows, run)
        unmixing = self._unmix(found, contrast, self._initial_w(found.k))
        self._keep(found, unmixing, rows)
        self._warn_of_doubts(unmixing)

    def _unmix(self, found: WhitenedRows, contrast: Contrast, W: np.ndarray) -> Unmixing:
        try:
            with blas_on_one_thread():  # k x k problems in every iteration: starting threads costs more than they save
                return unmixing_matrix(
                    found.white, contrast, algorithm=self.algorithm, start=W, tol=self.tol, max_iter=self.max_iter
                )
        except DataError as error:
            raise DataError(
                f"{error.marked} Choose `fun='logcosh'`, whose derivative is bounded. With `whiten=False`, rescale "
                "the rows."
            ) from error

    def _white_rows(self, rows: Rows, run: Run) -> WhitenedRows:
        k = self.n_components
        if not self.whiten:
            if k is not None:
                warn(
                    "Ignoring `n_components` with `whiten=False`. Set `whiten='unit-variance'` to reduce the "
                    "dimension.",
                    UserWarning,
                )
            return already_white(rows, run)
        found = whitened(rows, run, None if k is None else min(k, rows.d), exact=self.whiten_solver == "svd")
        if k is not None and found.k < k:
            why = found.choice.reason if found.k < min(k, rows.d) else f"the data has {rows.d} columns"
            warn(
                f"`FastICA(n_components={k})`: `n_components` is too large: it will be set to {found.k}, since {why}.",
                UserWarning,
            )
        elif k is None and found.k < rows.d:
            warn(
                f"FastICA searches for {found.k} sources in {rows.d} columns, since {found.choice.reason}. There are "
                f"some small singular values. Set `n_components={found.k}` if this is intended.",
                DataWarning,
            )
        return found

    def _initial_w(self, k: int) -> np.ndarray:
        """Return the initial W."""
        if self.w_init is None:
            return self._generator().standard_normal((k, k))
        try:
            W = np.asarray(to_numpy(self.w_init), dtype=np.float64)
        except (TypeError, ValueError):
            W = np.empty(0)
        if W.shape != (k, k) or not np.isfinite(W).all() or np.linalg.matrix_rank(W) < k:
            raise ParameterError(
                f"`w_init` has invalid shape or values -- should be {(k, k)}. Pass a {k} x {k} matrix of full rank."
            )
        return W

    def _keep(self, found: WhitenedRows, unmixing: Unmixing, rows: Rows) -> None:
        """Describe and sort the components; set the fitted attributes in the precision of the data."""
        B, shift = found.standardized(unmixing.W)
        white = found.white
        shape = white.run.fold(white.rows, partial(shape_sums, B, shift, white.whiten), name="evaluating components")
        J = to_numpy(negentropies(shape))
        order = np.argsort(-J, kind="stable")
        W, J = unmixing.W[order], J[order]
        mixing = found.inverse @ W.T  # (d, k)
        signs = np.where(np.sum(fix_signs(mixing) * mixing, axis=0) < 0, -1.0, 1.0)
        W, mixing = signs[:, None] * W, mixing * signs[None, :]
        unit = 1.0 if self.whiten != "arbitrary-variance" else math.sqrt(found.n)

        xp = xp_of(found.sample)
        kind = result_dtype(xp, rows.dtype)
        self.components_ = like(W @ found.K / unit, found.sample, kind)  # (k, d)
        self.mixing_ = like(mixing * unit, found.sample, kind)  # (d, k)
        self.negentropy_ = like(J, found.sample, kind)
        self.mutual_information_ = like(mutual_information(shape)[order], found.sample, kind)
        if self.whiten:
            self.mean_ = found.mean
            self.whitening_ = like(found.K / math.sqrt(found.n), found.sample, kind)  # as scikit-learn scales it
        self.choice_, self.n_samples_ = found.choice, found.n
        self.converged_ = unmixing.outcome.converged
        self.stopped_because_, self.trace_ = unmixing.outcome.stopped_because, unmixing.outcome.trace
        self.n_gaussian_ = count_gaussian(J, found.n)

    def _warn_of_doubts(self, unmixing: Unmixing) -> None:
        """Warn where the search did not converge, and where components look Gaussian."""
        other = 'Try algorithm="picard", which also converges where the fixed-point iteration oscillates, or raise'
        remedy = "Raise" if self.algorithm == "picard" else other
        self._record_convergence(
            unmixing.outcome,
            f"{remedy} `max_iter` or `tol`, or reduce `n_components`.",
            problem="FastICA did not converge. Consider increasing tolerance or the maximum number of iterations. "
            f"The search ended because {self.stopped_because_} (last change {self.trace_[-1]:.1e}).",
        )
        if self.n_gaussian_ > 1:
            warn(
                f"{self.n_gaussian_} of {self.negentropy_.shape[0]} components are not significantly different from "
                f"Gaussian with {self.n_samples_} rows. Gaussian sources cannot be separated: any rotation of these "
                "components fits equally well. Do not interpret them. Reduce `n_components`, or pass more rows.",
                DataWarning,
            )

    def transform(self, X: Any, copy: bool = True) -> Any:
        """Return the sources of the rows of X, (n, k). ``copy`` has no effect, since the input is never modified."""
        return super().transform(X)

    def inverse_transform(self, X: Any, copy: bool = True) -> Any:
        """Return the mixtures of the sources X, (n, d). ``copy`` has no effect."""
        return super().inverse_transform(X)

    def _encoding(self) -> Affine:
        return Affine(self.components_.T, vars(self).get("mean_"))

    def _decoding(self) -> Affine:
        return Affine(self.mixing_.T, None, vars(self).get("mean_"))

    def _facts(self) -> dict[str, Any]:
        return {
            "negentropy": self.negentropy_,
            "mutual information": self.mutual_information_,
            "possibly Gaussian": f"{self.n_gaussian_} of {len(self.negentropy_)} components",
        }
