"""Principal component analysis."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from lowland.arrays.namespace import Array, as_double, like, to_numpy, xp_of
from lowland.data.open import as_vector
from lowland.data.rows import Rows
from lowland.data.suspect_columns import lone_columns
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.optimize.outcome import Outcome
from lowland.math.spectra.component_rules import Downstream, Fixed, Minka, Rule, as_rule
from lowland.math.spectra.principal_axes import (
    AxesRequest,
    SolverOptions,
    axes_of_moments,
    principal_axes,
)
from lowland.math.statistics.moments import Moments
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, ignored, positional
from lowland.methods.base.method import RandomState, attribute, param
from lowland.methods.base.moments import MomentsMethod, impute_rows
from lowland.methods.base.principal import (
    PRINCIPAL_ATTRIBUTES,
    check_below_all,
    in_precision_of_fit,
    keep_axes,
    model_covariance,
    model_precision,
    moments_of_axes,
    project,
    reconstruct,
)
from lowland.run.run import Run

if TYPE_CHECKING:
    from lowland.math.statistics.latent_gaussian import LatentModel


class Storage(NamedTuple):
    """Count of numbers before and after compression."""

    before: int
    after: int

    @property
    def ratio(self) -> float:
        """Compression ratio: before / after."""
        return self.before / self.after


class PCA(
    MomentsMethod,
    verb="pca",
    group="Linear",
    cost=costs.principal,
    axis="PC",
    attributes=PRINCIPAL_ATTRIBUTES,
    linear=True,
    streams=True,
    takes_sparse=True,
    missing_parameter="missing",
    missing_remedy="Set `missing='em'` to fit the incomplete rows.",
):
    """Principal component analysis: orthogonal projection onto the directions of largest variance.

    Problem: over orthonormal u_1 … u_k, maximize the variance of the projections, sum_i u_i' S u_i, where S is the
    covariance matrix of the rows. The same directions minimize the squared reconstruction error. The solution is the
    eigenvalue problem S u_i = λ_i u_i.

    1. Sum the moments of the data: count, mean and scatter matrix. Depending on the solver, compute a triangular factor
       instead, or only products with the data.
    2. Compute the leading eigenpairs of the covariance matrix.
    3. Choose the number of components.
    4. Transform by z = U'(x - mean). The inverse transform is x = mean + Uz.

    See Also
    --------
    IncrementalPCA : rows that arrive in batches.
    TruncatedSVD : without centering, for sparse counts.
    FactorAnalysis : noise specific to each column.
    KernelPCA : nonlinear components.

    Notes
    -----
    A file is never loaded as a whole.

    PCA is sensitive to the units of the columns: standardize with ``scale=True`` where they differ. It is linear and
    does not unfold curved manifolds: see ``Isomap`` for these. Prefer ``TruncatedSVD`` for sparse term-document
    matrices, ``Whitening`` to give all directions unit variance, and ``LinearDiscriminantAnalysis`` to separate labeled
    classes.

    Missing values: ``missing="em"`` maximizes the likelihood of the observed values under probabilistic PCA, by
    expectation-maximization with one pass over the data per iteration. ``impute`` predicts them.

    References
    ----------
    Pearson, K. (1901). On lines and planes of closest fit to systems of points in space. Philosophical Magazine.
    doi:10.1080/14786440109462720

    Hotelling, H. (1933). Analysis of a complex of statistical variables into principal components. Journal of
    Educational Psychology. doi:10.1037/h0071325

    Tipping, M. E., and Bishop, C. M. (1999). Probabilistic principal component analysis. Journal of the Royal
    Statistical Society B. doi:10.1111/1467-9868.00196

    Examples
    --------
    >>> from lowland import PCA
    >>> from lowland.data import load_dataset
    >>> pca = PCA(n_components=0.95).fit(load_dataset("iris").X)
    >>> pca.n_components_, pca.choice_.reason
    (2, '2 components explain 97.8% of the variance')
    """

    n_components: int | float | Literal["mle"] | Rule | None = positional(
        None,
        "Number of components: an integer, a fraction of the variance to explain, 'mle', a rule such as Kaiser(), "
        "or None for all. More components reconstruct the data more accurately.",
        at_least=0,
        wanted="an integer of at least 0, a fraction between 0 and 1, 'mle', None, or a rule such as Kaiser()",
    )
    copy: bool = ignored(True, "the input is never modified")
    whiten: bool = param(False, "Scale each coordinate to unit variance.")
    svd_solver: Literal["auto", "full", "covariance_eigh", "power", "arpack", "randomized"] = param(
        "auto",
        "Solver for the eigenpairs. 'auto' chooses the cheapest within the memory budget and reports the reason.",
    )
    tol: float = param(
        0.0, "Relative residual at which an iterative solver stops. 0 means the solver's default.", at_least=0
    )
    iterated_power: int | Literal["auto"] = param(
        "auto", "Number of power iterations of the randomized solver. 'auto' iterates to convergence.", at_least=0
    )
    n_oversamples: int = param(
        10,
        "Additional random vectors of the randomized solver. More vectors need fewer iterations, each of which is "
        "slower.",
        at_least=1,
    )
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = ignored("auto", "QR is always used")
    random_state: RandomState = param(None, "Seed for the random initialization of the iterative solvers.", at_least=0)
    scale: bool = param(False, "Standardize the columns first, which gives the components of the correlation matrix.")
    missing: Literal["em"] | None = param(
        None,
        "How NaN is handled. 'em' maximizes the likelihood of the observed values under probabilistic PCA. None "
        "means that NaN is an error.",
    )

    missing_fraction_: float = attribute("Fraction of the values that are missing.", when="if missing is set")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X. ``sample_weight`` counts repetitions. Only a Downstream rule uses ``y``."""
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        if self.missing is not None and self._solve_incomplete(rows, run, weights):
            return
        rule = self._rule_for(rows, weights)
        if isinstance(rule, Downstream):
            rule = self._settled(rule, rows, run, y, weights)
        steps = None if self.iterated_power == "auto" else int(self.iterated_power)
        draws = steps is not None or self.svd_solver == "randomized"  # the others iterate until the draw is forgotten
        rng = self._generator if draws else self._start_generator
        options = SolverOptions(rng, self.tol, steps, self.n_oversamples)
        axes = principal_axes(
            rows, run, rule, solver=self.svd_solver, scale=self.scale, weights=weights, options=options
        )
        keep_axes(self, axes, rows.dtype)

    def _solve_incomplete(self, rows: Rows, run: Run, weights: np.ndarray | None) -> bool:
        """Maximize the likelihood of the observed values; return False if no value is missing."""
        from lowland.data.spool import spooled
        from lowland.math.spectra.probabilistic_axes import available_columns, axes_of_incomplete_rows
        from lowland.math.statistics.latent_gaussian import TOL

        with spooled(rows) as kept:
            found = available_columns(kept, run, weights)
            self.missing_fraction_ = found.missing_fraction
            if found.complete:
                return False
            rule = self._rule_for_incomplete(found.rows, rows.d)
            axes = axes_of_incomplete_rows(
                kept, run, rule, found, scale=self.scale, weights=weights, tol=self.tol or TOL
            )
        keep_axes(self, axes, rows.dtype, measure="log-likelihood")
        return True

    def _rule_for(self, rows: Rows, weights: np.ndarray | None) -> Rule:
        """The rule behind n_components, if the solver and the table allow it, with scikit-learn's phrases otherwise."""
        rule, solver, n, d = as_rule(self.n_components), self.svd_solver, rows.n, rows.d
        if solver == "full" and rows.is_sparse:
            raise DataTypeError(
                "The solver 'full' would convert the sparse rows to dense ones (`PCA only support sparse inputs with "
                'the "arpack" and "covariance_eigh" solvers, while "full" was passed`). '
                "Choose `svd_solver='covariance_eigh'`, 'arpack', 'randomized' or 'auto'."
            )
        if isinstance(rule, Minka) and solver in ("arpack", "randomized"):
            raise ParameterError(
                f"`n_components='mle'` cannot be a string with `svd_solver={solver!r}`, which does not compute all "
                "eigenvalues. Choose `svd_solver='auto'`, or a number of components."
            )
        if n is None or weights is not None:  # a weight counts repetitions
            return rule
        if isinstance(rule, Minka) and n < d:
            raise DataError(
                f"`n_components='mle'` is only supported if `n_samples >= n_features`: the data has {n} rows and {d} "
                "columns. Choose an integer or another rule."
            )
        if not isinstance(rule, Fixed):
            return rule
        if solver == "arpack":
            rule = Fixed(min(n, d) - 1) if rule.count is None else rule
            check_below_all(self, rule.count or 0, n, d, "svd_solver")
        limit = f"must be between 0 and min(n_samples, n_features)={min(n, d)}"
        used = "full" if solver == "auto" else solver
        fact = f"the data has {n} rows and {d} columns (`n_components={rule.count} {limit} with svd_solver={used!r}`)."
        check_most(self, "n_components", min(n, d), fact)
        return rule

    def _rule_for_incomplete(self, n: int, d: int) -> Rule:
        """The rule behind n_components, if it can be applied to the n incomplete rows."""
        rule = as_rule(self.n_components)
        if isinstance(rule, Downstream):
            raise ParameterError(
                f"{rule!r} cross-validates complete rows.", "Choose another rule, or impute the missing values.",
                method="PCA", missing=self.missing,
            )  # fmt: skip
        most = min(n, d)
        if isinstance(rule, Fixed) and rule.count is not None and rule.count > most:
            raise ParameterError(
                f"the data has {n} rows and {d} columns, and the number of components must be between 1 "
                f"and {most} (`min(n_samples, n_features)={most}`).",
                method="PCA", n_components=rule.count,
            )  # fmt: skip
        return rule

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        chosen = Outcome("covariance_eigh", "partial_fit merges the covariance")
        wanted = AxesRequest(as_rule(self._params.n_components), chosen, self._params.scale)
        keep_axes(self, axes_of_moments(moments, run, wanted), self._fitted.dtype)

    def _moments_of_fit(self) -> Moments:
        return moments_of_axes(self)

    # --- new rows ---

    def _encoding(self) -> Any:
        scores = project(self)
        if self._params.missing is None:
            return scores
        from lowland.math.statistics.latent_gaussian import CompletedThen

        return CompletedThen(self._latent(), scores)

    def _decoding(self) -> Any:
        return reconstruct(self)

    def _encoding_width(self) -> int:
        return int(self.components_.shape[0])  # a user may have kept fewer

    def _facts(self) -> dict[str, Any]:
        names = vars(self).get("feature_names_in_", [f"column {j}" for j in range(self.n_features_in_)])
        return dict(lone_columns(to_numpy(self.components_), names)) if float(self.total_variance_) else {}

    def impute(self, X: Any) -> Any:
        """Return X with its missing values (NaN) predicted from the observed values of their row.

        Observed values do not change. The rows need not be those of the fit. A data frame returns a data frame.
        """
        return impute_rows(self, X)

    def _latent(self) -> LatentModel:
        """The probabilistic model, which predicts missing values from the observed ones."""
        from lowland.math.spectra.probabilistic_axes import components_model

        U, values = (to_numpy(as_double(a)) for a in (self.components_, self.explained_variance_))
        d = U.shape[1]
        noise = self.noise_variance_ if U.shape[0] < d else float(values[-1])
        scale = np.ones(d) if self.scale_ is None else to_numpy(self.scale_)
        return components_model(U.T, values, float(noise), to_numpy(self.mean_), scale)

    def _settled(self, rule: Downstream, rows: Rows, run: Run, y: Any, weights: np.ndarray | None) -> Rule:
        """Return the choice of a rule that cross-validates the components as predictors of y."""
        if y is None:
            raise DataError(
                f"{rule!r} chooses the number of components by how well they predict `y`. Call fit(X, `y`)."
            )
        if weights is not None:
            raise ParameterError(
                "Downstream does not support `sample_weight`. Repeat the rows, or choose another rule."
            )
        X = run.to_array(rows, "Downstream")
        X = X if rows.is_sparse else to_numpy(X)

        def reduce(X_train: Any, m: int) -> Any:
            return clone(self).set_params(n_components=m).fit(X_train).transform

        return _Settled(rule.decide_by_scores(X, as_vector(y, X.shape[0], "y"), min(X.shape), reduce))

    # --- what the fitted model implies ---

    def get_covariance(self) -> Array:
        """Return the covariance matrix of the probabilistic model, (d, d): the components plus isotropic noise."""
        return in_precision_of_fit(self, model_covariance(self))

    def get_precision(self) -> Array:
        """Return the inverse of the model's covariance matrix, (d, d), by the matrix inversion lemma.

        With all components, those with zero variance get a variance of the size of the rounding error.
        """
        return in_precision_of_fit(self, model_precision(self))

    def distortion(self, m: int | None = None) -> float:
        """Return the mean squared reconstruction error with m components: the sum of the discarded eigenvalues.

        The divisor is n. With ``scale=True`` the error refers to the standardized columns.
        """
        m = self._count_of(m)
        further = float(xp_of(self.explained_variance_).sum(as_double(self.explained_variance_[m:])))
        return (further + self.discarded_variance_) * (self.n_effective_ - 1) / self.n_effective_

    def storage(self, m: int | None = None) -> Storage:
        """Return how many numbers the table has, and how many its m coordinates, components and mean have."""
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
        """Return the log-likelihood of each row under probabilistic PCA (Tipping and Bishop 1999)."""
        rows, run = self._rows_to_map(X)
        if self._params.missing is not None:
            from lowland.math.statistics.latent_gaussian import ObservedLikelihoods

            likelihoods = ObservedLikelihoods(self._latent())
            return run.gather(likelihoods, rows, 1, name="scoring rows", dtype=np.dtype(np.float64))[:, 0]
        P = model_precision(self)
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
    """A rule that returns a choice made before."""

    def __init__(self, choice: Any) -> None:
        self.choice = choice

    def decide(self, spectrum: Any) -> Any:
        return self.choice if len(spectrum.values) >= min(self.choice.n_components, spectrum.length) else None
