"""Projection pursuit."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, as_double, like, rounding_of, to_numpy
from lowland.data.rows import Rows
from lowland.errors import DataError
from lowland.math.ica.projection_indices import INDICES
from lowland.math.ica.pursuit import (
    Projection,
    PursuitSearch,
    Sphered,
    gaussianized,
    noise_indices,
    pursue,
    sorted_rows,
    sphered,
    unit_rows,
)
from lowland.math.spectra.leading import fix_signs
from lowland.math.spectra.operators import Affine
from lowland.math.statistics.moments import Moments
from lowland.math.statistics.sampling import SelectedRows, evenly_spread
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, positional
from lowland.methods.base.method import InvertibleMethod, RandomState, attribute, param
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run


class ProjectionPursuit(
    InvertibleMethod,
    verb="projection-pursuit",
    title="projection pursuit",
    group="Linear",
    cost=costs.pursuit,
    scale_free=True,
    linear=True,
    streams=True,
    quick={"n_starts": 200, "n_null": 1},
    study=StudyHints(parameters={"n_null": 0}),  # a study asks for no p-value
):
    """Projection pursuit: linear projections to one, two or three dimensions that deviate most from a Gaussian.

    Problem: over k axes on which the points have unit variance and are uncorrelated, maximize an index I(z) of the
    coordinates z = A(x - mean) that is small for Gaussian data. Most projections of most data sets are nearly Gaussian
    (Diaconis and Freedman 1984), so the exceptions are interesting.

    1. Sample up to ``max_samples`` points, evenly spread over the data.
    2. Whiten (sphere) them, so that variances and correlations do not influence the index.
    3. Evaluate many random projections and a few informative ones, keep the best, and refine these.
    4. Transform the points to Gaussian within the projection that was found, and search for the next one (Friedman
       1987).
    5. Run the same search on Gaussian noise. The p-value is the fraction of noise tables with an index at least as
       large.

    See Also
    --------
    FastICA : all independent components.
    PCA : largest variance.

    Notes
    -----
    Prefer ``PCA`` to describe variance, and ``FastICA`` to separate sources that were mixed.

    References
    ----------
    Friedman and Tukey 1974, A projection pursuit algorithm for exploratory data analysis, IEEE Transactions on
    Computers C-23, doi:10.1109/T-C.1974.224051.

    Friedman 1987, Exploratory projection pursuit, Journal of the American Statistical Association 82,
    doi:10.2307/2289161.

    Huber 1985, Projection pursuit, Annals of Statistics 13, doi:10.1214/aos/1176349519.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import ProjectionPursuit
    >>> from lowland.data import load_dataset
    >>> found = ProjectionPursuit(1, random_state=0).fit(load_dataset("randu").X)
    >>> np.round(found.directions_[0] * 118**0.5, 2)  # the triples lie on planes 9x - 6y + z = integer
    array([ 9., -6.,  1.])
    """

    n_components: int = positional(2, "Number of dimensions of each projection.", at_least=1, at_most=3)
    index: Literal[
        "spacing",
        "kurtosis",
        "skewness",
        "negentropy",
        "friedman-tukey",
        "legendre",
        "hermite",
        "holes",
        "central-mass",
    ] = param(
        "spacing",
        "Projection index. 'spacing' is sensitive to any deviation from a Gaussian, especially to thin stripes.",
    )
    n_projections: int = param(
        1, "Number of projections. The structure found by earlier ones is removed before each search.", at_least=1
    )
    n_starts: int | None = param(
        None,
        "Number of random projections evaluated before refinement. More projections are less likely to miss a thin "
        "structure. None means 200, or for 'spacing' 500 to 4000 depending on the columns.",
        at_least=1,
    )
    n_null: int = param(
        19,
        "Number m of simulated Gaussian tables for the p-value, which is at least 1/(1 + m). With 0 there is no "
        "p-value.",
        at_least=0,
    )
    max_iter: int = param(500, "Maximum number of refinement steps.", at_least=1)
    tol: float = param(1e-4, "Step, in radians, at which a refinement has converged.", above=0)
    max_samples: int = param(
        1000, "Maximum number of sampled points. More points show finer structure and take longer.", at_least=10
    )
    order: int = param(
        6,
        "Highest polynomial degree of the 'legendre' and 'hermite' indices. A higher one responds to finer "
        "structure, and to noise.",
        at_least=1,
        at_most=20,
    )
    random_state: RandomState = param(None, "Seed of the random projections, the sample and the noise.", at_least=0)

    components_: Array = attribute(
        "Axes of all projections: coordinates are components_ @ (x - mean_), with unit variance.",
        "(n_projections * n_components, n_features_in_)",
    )
    projections_: Array = attribute(
        "The same axes, grouped by projection.", "(n_projections, n_components, n_features_in_)"
    )
    directions_: Array = attribute(
        "The same axes, scaled to unit length.", "(n_projections * n_components, n_features_in_)"
    )
    loadings_: Array = attribute("Matrix of the inverse transform.", "(n_features_in_, n_projections * n_components)")
    mean_: Array = attribute("Mean of each column, in float64.", "(n_features_in_,)")
    index_: Array = attribute("Projection index of each projection.", "(n_projections,)")
    p_value_: Array = attribute("p-value of each projection, or NaN with n_null=0.", "(n_projections,)")
    null_index_: Array = attribute("Indices that the same search found in Gaussian noise.", "(n_null,)")
    trace_: list[np.ndarray] = attribute("Index after each refinement step, for each projection.")
    n_iter_: int = attribute("Largest number of refinement steps.")
    converged_: bool = attribute("Whether all refinements converged.")
    rank_: int = attribute("Rank of the centered data.")
    n_searched_: int = attribute("Number of sampled points in the search.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        picking, looking, chance = (np.random.default_rng(s) for s in self._generator().integers(2**63, size=3))
        check_most(self, "n_components", rows.d, f"the data has {rows.d} columns (`n_features={rows.d}`).")
        picked, moments = self._gather(rows, run, picking)
        X, origin = sorted_rows(picked), picked[:0, :]  # (n, d) on the CPU
        white = sphered(X, rounding_of(rows.dtype))
        self._check_rank(len(white.W), rows.d)
        search = PursuitSearch(
            INDICES[self.index](self.n_components, self.order),
            self.n_starts,
            unit_rows(white.inverse),
            self.max_iter,
            self.tol,
        )
        found = self._search(white, search, looking, run)
        noise = noise_indices(len(X), len(white.W), search, self.n_null, chance, run)
        self._keep_indices([projection for _, projection in found], noise, origin)
        self.rank_, self.n_searched_ = len(white.W), len(X)
        self.n_samples_ = len(X) if moments is None else moments.rows
        mean = X.mean(axis=0) if moments is None else to_numpy(moments.mean)
        S = None if moments is None else to_numpy(moments.covariance)
        self._keep([A for A, _ in found], white, mean, S, origin)

    def _check_rank(self, rank: int, d: int) -> None:
        if rank == 0:
            raise DataError("All columns are constant, so there are no projections to search. Check the data.")
        if rank < self.n_components:
            raise DataError(
                f"`ProjectionPursuit(n_components={self.n_components})`: the data has {d} columns but rank {rank}. "
                f"Choose at most {rank}, or pass more rows or columns."
            )

    def _gather(self, rows: Rows, run: Run, rng: np.random.Generator) -> tuple[Array, Moments | None]:
        """Return the sampled rows; where these are not all rows, also the moments of all."""
        n, moments = rows.n, None
        if n is None or n > self.max_samples:
            moments = run.fold(rows, Moments.of, name="summing moments")
            n = moments.rows
        m = min(n, self.max_samples)
        if m == n:
            return run.fold(rows, SelectedRows.of, name="sampling rows").rows, None
        return run.fold(rows, SelectedRows.of, evenly_spread(n, m, rng), name="sampling rows").rows, moments

    def _search(
        self, white: Sphered, search: PursuitSearch, rng: np.random.Generator, run: Run
    ) -> list[tuple[np.ndarray, Projection]]:
        """Return the projections, each with its axes in the whitened columns, A; A white.W are those in the data."""
        Y, T, found = white.Y, np.eye(len(white.Y)), []  # T: from the whitened columns to those searched now
        for last in range(1 - self.n_projections, 1):
            projection = pursue(Y, search, rng, run.iterate)
            found.append((projection.A @ T, projection))
            if last < 0:
                again = sphered(gaussianized(Y, projection.A, rng).T)
                Y, T = again.Y, again.W @ T
        return found

    def _keep_indices(self, found: list[Projection], noise: np.ndarray, origin: Array) -> None:
        indices = np.array([projection.index for projection in found])
        beaten = (noise[None, :] >= indices[:, None]).sum(axis=1)
        p_values = (1 + beaten) / (1 + len(noise)) if len(noise) else np.full(len(found), np.nan)
        self.index_, self.null_index_, self.p_value_ = (like(M, as_double(origin)) for M in (indices, noise, p_values))
        outcomes = [projection.outcome for projection in found]
        self.trace_ = [np.array(outcome.trace) for outcome in outcomes]
        self.converged_ = all(outcome.converged for outcome in outcomes)
        worst = next((outcome for outcome in outcomes if not outcome.converged), outcomes[0])
        iterations = max(max(outcome.iterations for outcome in outcomes), 1)
        problem = f"ProjectionPursuit did not converge: a refinement stopped after max_iter={self.max_iter} steps"
        self._record_convergence(
            replace(worst, iterations=iterations, converged=self.converged_),
            "Raise `max_iter` or `tol`.",
            problem=f"{problem}, before a step was below tol={self.tol:g} radians.",
        )

    def _keep(
        self, axes: list[np.ndarray], white: Sphered, mean: np.ndarray, S: np.ndarray | None, origin: Array
    ) -> None:
        """Set the map; the axes of each projection are orthonormalized in order, in the covariance of all rows."""
        k, d = self.n_components, len(mean)
        S_times = partial(np.matmul, S) if S is not None else lambda M: white.inverse @ (white.inverse.T @ M)
        projections = np.empty((len(axes), k, d))
        for projection, A in zip(projections, axes, strict=True):
            C = A @ white.W
            C = np.linalg.solve(np.linalg.cholesky(C @ S_times(C.T)), C)
            projection[:] = fix_signs(C.T).T
        C = projections.reshape(-1, d)
        loadings = S_times(C.T) @ np.linalg.pinv(C @ S_times(C.T), hermitian=True)  # (d, n_projections k)
        self.mean_ = like(mean, as_double(origin))
        self.projections_, self.components_, self.directions_, self.loadings_ = (
            like(np.ascontiguousarray(M), origin) for M in (projections, C, unit_rows(C), loadings)
        )

    def _encoding(self) -> Affine:
        return Affine(self.components_.T, self.mean_)

    def _decoding(self) -> Affine:
        return Affine(self.loadings_.T, None, self.mean_)

    def _facts(self) -> dict[str, Any]:
        noise = to_numpy(self.null_index_)
        return {
            "index of projections": self.index_,
            "p-value of projections": self.p_value_,
            "largest index in noise": noise.max() if len(noise) else None,
            "rows searched": self.n_searched_,
        }
