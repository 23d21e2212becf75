"""Independent component analysis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from lowland.arrays.namespace import like, to_numpy, xp_of
from lowland.arrays.precision import result_dtype
from lowland.blocks.nongaussian.contrasts import Contrast, as_contrast
from lowland.blocks.nongaussian.ica import Unmixing, unmixing_matrix
from lowland.blocks.nongaussian.negentropy import ShapeOf, count_gaussian, mutual_information, negentropies
from lowland.blocks.nongaussian.whitened_rows import WhitenedRows, already_white, whitened
from lowland.blocks.spectra.leading import fix_signs
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.linear_map import Affine, LinearMap
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run


class FastICA(LinearMap, verb="fast-ica", streams=True, tolerance=1e-6):
    """Independent component analysis: sources as independent as can be, of which the columns are mixtures.

    Problem: x = A s with independent, not normal sources s and unknown A. Find W with y = W K(x - mean), K whitening,
    W orthogonal, that maximises the sum of the negentropies J(y_i), which is to minimise the mutual information of y.

    1. Whiten: the principal axes of the rows at unit variance (``blocks.nongaussian.whitened_rows``); directions
       without variance are left out.
    2. Turn the white rows until a contrast E G(y_i) is at its extreme (``blocks.nongaussian.contrasts``,
       ``blocks.nongaussian.ica``): all components at once (parallel), one by one (deflation), or by a guarded
       quasi-Newton method (picard).
    3. Estimate the negentropy of each component, and its mutual information with the others
       (``blocks.nongaussian.negentropy``).
    4. Largest negentropy first; each source is positive in the column with its largest weight. Sources are y, and
       x = mean + A y.

    Cost: one pass to whiten, n d², then n k² a step; the white rows are held where the budget allows, read again
    otherwise; from a million white numbers on, the search begins in float32. Prefer ``PCA`` where variance is what
    matters: normal data have no independent components to find.

    Attributes: ``components_`` (k, d), ``mixing_`` (d, k), ``mean_``, ``whitening_`` (k, d), ``n_iter_``,
    ``converged_``, ``stopped_because_``, ``trace_`` (what was compared with tol, step by step),
    ``negentropy_`` (k,) and ``mutual_information_`` (k,) in nats, ``n_gaussian_`` (components that may be normal),
    ``choice_`` (how many components and why), ``n_samples_``.

    Reference: Hyvärinen and Oja 2000, doi:10.1016/S0893-6080(00)00026-5; Hyvärinen 1999, doi:10.1109/72.761722;
    Ablin, Cardoso and Gramfort 2018, doi:10.1109/ICASSP.2018.8461662 (picard).

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

    n_components: int | None = param(
        None, "How many sources; None: as many as there are directions that vary.", at_least=1, positional=True
    )
    algorithm: Literal["parallel", "deflation", "picard"] = param(
        "parallel", "All components at once, one by one, or a quasi-Newton method that also converges on hard data."
    )
    whiten: Literal["unit-variance", "arbitrary-variance"] | bool = param(
        "unit-variance",
        "Scale of the sources: variance 1, or 1/n as scikit-learn leaves it; False takes the rows as white already.",
    )
    fun: Literal["logcosh", "exp", "cube"] | Callable[..., Any] = param(
        "logcosh", "The contrast, or a function that returns its derivative g(x) and the mean of g'(x)."
    )
    fun_args: dict[str, Any] | None = param(None, "Arguments of the contrast: alpha of 'logcosh', from 1 to 2.")
    max_iter: int = param(200, "Steps after which the search stops.", at_least=1)
    tol: float = param(
        1e-4, "When to stop: 1 - cos of the largest turn in a step; for 'picard' the largest gradient.", at_least=0
    )
    w_init: Any | None = param(None, "The first W, (k, k), for white rows; None draws it.")
    whiten_solver: Literal["svd", "eigh"] = param(
        "svd", "'eigh' whitens by the covariance; 'svd' too, but factors the rows where squares would cost digits."
    )
    random_state: RandomState = param(None, "Seed of the first W.", at_least=0)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """White rows, the rotation that unmixes them, and what its components are like."""
        contrast = self._contrast()
        found = self._white_rows(rows, run)
        unmixing = self._unmix(found, contrast, self._initial_w(found.k))
        self._keep(found, unmixing, rows)
        self._warn_of_doubts(unmixing)

    def _contrast(self) -> Contrast:
        try:
            return as_contrast(self.fun, self.fun_args)
        except ParameterError as error:
            raise ParameterError(f"fun_args={self.fun_args!r}: {error}") from error

    def _unmix(self, found: WhitenedRows, contrast: Contrast, W: np.ndarray) -> Unmixing:
        how = {"algorithm": self.algorithm, "tol": self.tol, "max_iter": self.max_iter}
        try:
            with blas_on_one_thread():  # k x k problems at every step: waking threads costs more than they save
                return unmixing_matrix(found.white, contrast, start=W, **how)
        except DataError as error:
            raise DataError(
                f"{error} Choose fun='logcosh', which is bounded, or rescale rows that are passed with whiten=False."
            ) from error

    def _white_rows(self, rows: Rows, run: Run) -> WhitenedRows:
        k = self.n_components
        if not self.whiten:
            if k is not None:
                warn("Ignoring n_components with whiten=False.", UserWarning)
            run.require(4 * 8 * rows.d**2, f"The {rows.d} x {rows.d} covariance", "Reduce the columns first with PCA")
            return already_white(rows, run)
        if k is not None and k > rows.d:
            raise ParameterError(
                f"FastICA(n_components={k}): the data has {rows.d} columns, and at most {rows.d} sources can be "
                f"separated from {rows.d} columns. Choose at most {rows.d}."
            )
        found = whitened(rows, run, k, exact=self.whiten_solver == "svd")
        if k is None and found.k < rows.d:
            warn(
                f"FastICA looks for {found.k} sources in {rows.d} columns: {found.choice.reason}.",
                DataWarning,
            )
        return found

    def _initial_w(self, k: int) -> np.ndarray:
        """The first W."""
        if self.w_init is None:
            return self._generator().standard_normal((k, k))
        try:
            W = np.asarray(to_numpy(self.w_init), dtype=np.float64)
        except (TypeError, ValueError):
            W = np.empty(0)
        if W.shape != (k, k) or not np.isfinite(W).all() or np.linalg.matrix_rank(W) < k:
            raise ParameterError(
                f"w_init has invalid shape or values -- should be {(k, k)}: give a {k} x {k} matrix of full rank."
            )
        return W

    def _keep(self, found: WhitenedRows, unmixing: Unmixing, rows: Rows) -> None:
        """Judge and order the components; set the fitted attributes in the precision of the data."""
        B, shift = found.standardized(unmixing.W)
        white = found.white.single or found.white  # the functions are bounded: float32 is enough for their means
        shape = white.run.fold(white.rows, ShapeOf(B, shift, white.whiten), name="judging components")
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
        self.n_iter_, self.converged_ = unmixing.outcome.iterations, unmixing.outcome.converged
        self.stopped_because_, self.trace_ = unmixing.outcome.stopped_because, unmixing.outcome.trace
        self.n_gaussian_ = count_gaussian(J, found.n)

    def _warn_of_doubts(self, unmixing: Unmixing) -> None:
        """Warn where the search stopped early, and where there was nothing to find."""
        if not unmixing.outcome.converged:
            other = 'Try algorithm="picard", which also converges where the fixed-point iteration circles, or raise'
            remedy = "Raise" if self.algorithm == "picard" else other
            warn(
                f"FastICA did not converge: {self.stopped_because_} (now at {self.trace_[-1]:.1e}). "
                f"{remedy} max_iter or tol, or pass fewer n_components.",
                ConvergenceWarning,
            )
        if self.n_gaussian_ > 1:
            warn(
                f"{self.n_gaussian_} of {self.negentropy_.shape[0]} components cannot be told from normal ones with "
                f"{self.n_samples_} rows. Normal sources cannot be separated: any rotation of these components is as "
                "good. Do not read meaning into them; pass fewer n_components, or more rows.",
                DataWarning,
            )

    def transform(self, X: Any, copy: bool = True) -> Any:
        """Return the sources of the rows of X, (n, k); ``copy`` has no effect: the input is never written to."""
        return super().transform(X)

    def inverse_transform(self, X: Any, copy: bool = True) -> Any:
        """Return the rows that sources mix to, (n, d); ``copy`` has no effect."""
        return super().inverse_transform(X)

    def _encoding(self) -> Affine:
        return Affine(self.components_.T, vars(self).get("mean_"))

    def _decoding(self) -> Affine:
        return Affine(self.mixing_.T, None, vars(self).get("mean_"))

    def _facts(self) -> dict[str, Any]:
        return {
            "negentropy": self.negentropy_,
            "mutual information": self.mutual_information_,
            "may be normal": f"{self.n_gaussian_} of {len(self.negentropy_)} components",
        }
