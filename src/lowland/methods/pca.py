"""Principal component analysis."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from lowland.arrays.namespace import Array, like, to_numpy, xp_of
from lowland.arrays.precision import as_double
from lowland.blocks.optimize.outcome import Outcome
from lowland.blocks.spectra.component_rules import Downstream, Rule, as_rule
from lowland.blocks.spectra.principal_axes import (
    AxesRequest,
    SolverOptions,
    axes_of_moments,
    principal_axes,
)
from lowland.blocks.statistics.moments import Moments
from lowland.data.open import as_vector
from lowland.data.rows import Rows
from lowland.errors import DataError, ParameterError
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.principal_map import PrincipalMap
from lowland.run.run import Run


class Storage(NamedTuple):
    """Numbers kept before and after compression."""

    before: int
    after: int

    @property
    def ratio(self) -> float:
        """How many times smaller."""
        return self.before / self.after


class PCA(PrincipalMap, verb="pca", streams=True, takes_sparse=True):
    """Principal component analysis: the few directions along which the rows vary most.

    Problem: over orthonormal u_1 … u_k, maximise the variance of the projections, sum_i u_i' S u_i, which is to
    minimise the squared error of keeping only them; S is the covariance of the rows. The answer: S u_i = λ_i u_i.

    1. Sum the moments of the rows: count, mean, scatter (``blocks.statistics.moments``). Or keep a triangular factor,
       or none.
    2. Find the leading eigenpairs of the covariance (``blocks.spectra.principal_axes``).
    3. Decide how many to keep (``blocks.spectra.component_rules``).
    4. Coordinates are z = U'(x - mean); the way back is x = mean + Uz.

    Cost: one pass over the rows and n d² + d³ operations (n² d + n³ when rows are fewer); memory d², never the table.
    Prefer ``TruncatedSVD`` for sparse text, ``Whitening`` to keep all directions at equal variance.

    Attributes: ``components_`` (k, d), ``explained_variance_``, ``explained_variance_ratio_``, ``singular_values_``,
    ``mean_`` (in float64), ``scale_``, ``noise_variance_``, ``total_variance_``, ``discarded_variance_`` (of all that
    was not kept), ``n_components_``, ``n_samples_``, ``n_effective_`` (the sum of the weights), ``solver_`` (which and
    why), ``choice_`` (how many and why), ``n_iter_``, ``n_features_in_``, ``feature_names_in_``.

    Reference: Pearson 1901, doi:10.1080/14786440109462720; Hotelling 1933, doi:10.1037/h0071325.

    Examples
    --------
    >>> from lowland import PCA
    >>> from lowland.data import load_dataset
    >>> pca = PCA(n_components=0.95).fit(load_dataset("iris").X)
    >>> pca.n_components_, pca.choice_.reason
    (2, '2 components explain 97.8% of the variance')
    """

    n_components: int | float | Literal["mle"] | Rule | None = param(
        None,
        "How many to keep: a number, a share of the variance, 'mle', a rule such as Kaiser(), or None for all.",
        above=0,
        positional=True,
        wanted="a whole number of at least 1, a share between 0 and 1, 'mle', None, or a rule such as Kaiser()",
    )
    copy: bool = param(True, "Accepted as in scikit-learn; the input is never written to.")
    whiten: bool = param(False, "Divide each coordinate by its standard deviation.")
    svd_solver: Literal["auto", "full", "covariance_eigh", "power", "arpack", "randomized"] = param(
        "auto",
        "How the eigenpairs are found; 'auto' takes the cheapest that fits the memory budget and says why in solver_.",
    )
    tol: float = param(0.0, "Residual at which an iterative solver stops; 0 takes the solver's own.", at_least=0)
    iterated_power: int | Literal["auto"] = param(
        "auto", "Power steps of the randomized solver; 'auto' goes on until the residuals are small.", at_least=0
    )
    n_oversamples: int = param(10, "Extra columns the randomized solver carries along.", at_least=1)
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = param(
        "auto", "Accepted as in scikit-learn; blocks are always orthonormalised by QR."
    )
    random_state: RandomState = param(None, "Seed of the iterative solvers' first block.", at_least=0)
    scale: bool = param(False, "Divide the columns by their standard deviations first: components of the correlation.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X; ``sample_weight`` counts repetitions; ``y`` is read only by a Downstream rule."""
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Moments or a factor of the rows, their eigenpairs, the rule's choice."""
        rule = self._rule(rows, run, y, weights)
        axes = principal_axes(
            rows, run, rule, solver=self.svd_solver, scale=self.scale, weights=weights, options=self._options()
        )
        self._keep(axes, rows.dtype)

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        """The same from moments that partial_fit has merged."""
        chosen = Outcome("covariance_eigh", "the covariance of merged moments")
        wanted = AxesRequest(as_rule(self.n_components), chosen, self.scale)
        self._keep(axes_of_moments(moments, run, wanted), self._dtype)

    def _options(self) -> SolverOptions:
        steps = None if self.iterated_power == "auto" else int(self.iterated_power)
        return SolverOptions(self._generator(), self.tol, steps, self.n_oversamples)

    def _rule(self, rows: Rows, run: Run, y: Any, weights: np.ndarray | None) -> Rule:
        """The rule behind n_components; one that asks a downstream estimator is settled here, by cross-validation."""
        rule = as_rule(self.n_components)
        if not isinstance(rule, Downstream):
            return rule
        if y is None:
            raise DataError(f"{rule!r} chooses by how well y is predicted: call fit(X, y).")
        if weights is not None:
            raise ParameterError("Downstream takes no sample_weight. Repeat the rows instead, or choose another rule.")
        X = run.to_array(rows, "Downstream")
        X = X if rows.is_sparse else to_numpy(X)

        def reduce(X_train: Any, m: int) -> Any:
            return clone(self).set_params(n_components=m).fit(X_train).transform

        return _Settled(rule.decide_by_scores(X, as_vector(y, X.shape[0], "y"), min(X.shape), reduce))

    # --- what the model says ---

    def distortion(self, m: int | None = None) -> float:
        """Return the mean squared error of keeping m components: the sum of the discarded eigenvalues, divisor n.

        With ``scale=True`` the error is measured in the scaled columns.
        """
        m = self._count_of(m)
        further = float(xp_of(self.explained_variance_).sum(as_double(self.explained_variance_[m:])))
        return (further + self.discarded_variance_) * (self.n_effective_ - 1) / self.n_effective_

    def storage(self, m: int | None = None) -> Storage:
        """Return how many numbers the table takes, and how many its m coordinates, axes and mean take."""
        m = self._count_of(m)
        n, d = self.n_samples_, self.n_features_in_
        return Storage(n * d, n * m + m * d + d * (1 if self.scale_ is None else 2))

    def _count_of(self, m: int | None) -> int:
        if m is None:
            return int(self.n_components_)
        if not 0 <= m <= self.n_components_:
            raise ParameterError(
                f"m={m}: the model has {self.n_components_} components. Choose 0 to {self.n_components_}."
            )
        return int(m)

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row under the model (Tipping and Bishop 1999)."""
        rows, run = self._rows_to_map(X)
        P = self.get_precision()
        xp = xp_of(P)
        _sign, log_det = xp.linalg.slogdet(P)
        constant = (float(log_det) - self.n_features_in_ * math.log(2 * math.pi)) / 2
        mean = self.mean_

        def likelihood(chunk: Array) -> Array:
            C = as_double(chunk.toarray() if hasattr(chunk, "toarray") else chunk)
            C = C - like(mean, C)[None, :]
            return (constant - xp_of(C).sum((C @ like(P, C)) * C, axis=1) / 2)[:, None]

        return run.gather(likelihood, rows, 1, name="scoring rows", dtype=np.dtype(np.float64))[:, 0]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows."""
        scores = self.score_samples(X)
        return float(xp_of(scores).mean(scores))


class _Settled(Rule):
    """A choice that was already made."""

    def __init__(self, choice: Any) -> None:
        self.choice = choice

    def decide(self, spectrum: Any) -> Any:
        return self.choice if len(spectrum.values) >= min(self.choice.n_components, spectrum.length) else None
