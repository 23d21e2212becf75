"""Factor analysis."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.linalg import on_one_thread_if_small
from lowland.arrays.namespace import Array, as_double, dtype_of_squares, like, result_dtype, to_numpy, xp_of
from lowland.data.open import as_vector, open_rows
from lowland.data.rows import Rows
from lowland.data.spool import spooled
from lowland.errors import DataError, DataWarning, ParameterError, warn, with_remedy
from lowland.math.factors.adequacy import (
    Adequacy,
    ChiSquare,
    concerns,
    goodness_of_fit,
    likelihood_tests,
    too_many_factors,
)
from lowland.math.factors.correlations import Correlations, checked_noise, looks_like_covariance, moments_of_covariance
from lowland.math.factors.likelihood_searches import FactorEstimate
from lowland.math.factors.maximum_likelihood import factor_loadings, fewest_by_bic
from lowland.math.factors.model import FactorModel, FitFactors, in_units
from lowland.math.factors.rotations import Kind, Rotation, rotate, unrotated
from lowland.math.spectra.component_rules import ComponentChoice, ParallelAnalysis, Rule, as_rule
from lowland.math.spectra.operators import Affine
from lowland.math.spectra.probabilistic_axes import available_columns, saturated_fit
from lowland.math.statistics.available_cases import AvailableColumns
from lowland.math.statistics.latent_gaussian import (
    TOL,
    CompletedThen,
    LatentModel,
    ObservedLikelihoods,
    expectation_maximization,
)
from lowland.math.statistics.moments import Moments
from lowland.methods.base import costs
from lowland.methods.base.choices import ignored, positional, refusal
from lowland.methods.base.method import RandomState, attribute, param
from lowland.methods.base.moments import MomentsMethod, impute_rows
from lowland.methods.base.params import check_parameters
from lowland.run.run import Run, run_for

_IN_UNITS = ("varimax", "quartimax")  # rotated in the units of the columns, unless Kaiser normalization removes them
_SQUARE = "X is square and symmetric. If it is a covariance or correlation matrix, call fit_covariance(S, n_samples)."
_FEW_COLUMNS, _STARTS = 50, 5  # up to this many columns, further initializations cost milliseconds


class FactorAnalysis(
    MomentsMethod,
    verb="factor-analysis",
    title="factor analysis",
    group="Linear",
    cost=costs.factors,
    axis="factor ",
    scale_free=True,
    linear=True,
    missing_parameter="missing",
    streams=True,
    takes_sparse=True,
    tolerance=1e-6,
    missing_remedy="Set `missing='em'` to fit the incomplete rows.",
):
    """Factor analysis: columns as linear combinations of a few latent factors, plus noise specific to each column.

    Problem: x = Wy + mean + noise, where y holds k independent standard normal factors and the noise of column j has
    variance ψ_j. Maximize the likelihood of the rows over W and ψ. The covariance of the model is WW' + Ψ, and W is
    determined up to a rotation.

    1. Sum the moments of the data and compute the correlations. The likelihood does not depend on the units of the
       columns.
    2. Estimate uniquenesses and loadings, by L-BFGS on the uniquenesses or by expectation-maximization.
    3. Rotate the loadings toward simple structure.
    4. Test the fit and the sampling adequacy, and compute the weights of the factor scores.

    See Also
    --------
    PCA : components of the whole variance, without noise specific to a column.
    FastICA : independent instead of uncorrelated factors.

    Notes
    -----
    Prefer ``PCA`` to describe variance rather than correlation, or where the noise is the same in all columns.

    ``n_components=None`` means as many factors as columns, as in scikit-learn. The model is then not identified: any
    small noise fits exactly.

    References
    ----------
    Jöreskog 1967, Some contributions to maximum likelihood factor analysis, Psychometrika 32, doi:10.1007/BF02289658.

    Rubin and Thayer 1982, EM algorithms for ML factor analysis, Psychometrika 47, doi:10.1007/BF02293851.

    Jennrich 2002, A simple general method for oblique rotation, Psychometrika 67, doi:10.1007/BF02294706.

    Examples
    --------
    >>> from lowland import FactorAnalysis
    >>> from lowland.data import load_dataset
    >>> fa = FactorAnalysis(3, rotation="varimax").fit(load_dataset("wine").X)
    >>> fa.loadings_.shape, fa.dof_, round(fa.kmo_.overall, 2)
    ((13, 3), 42, 0.78)
    """

    n_components: int | Literal["parallel", "bic"] | Rule | None = positional(
        None,
        "Number of factors: an integer, 'parallel', 'bic', a rule such as Kaiser(), or None for as many as columns.",
        at_least=0,
        wanted="an integer of at least 0, 'parallel', 'bic', None, or a rule such as Kaiser()",
    )
    tol: float = param(
        1e-2,
        "Increase of the log-likelihood below which the fit stops. A smaller one is more accurate and slower. "
        "With fewer than 400 columns, 'uniqueness' always converges to the maximum.",
        at_least=0,
    )
    copy: bool = ignored(True, "the input is never modified")
    max_iter: int = param(1000, "Maximum number of iterations.", at_least=1)
    noise_variance_init: np.ndarray | Sequence | None = param(
        None,
        "Initial noise variances, one per column. None means a fraction of the variance that other columns cannot "
        "predict.",
    )
    svd_method: Literal["lapack", "randomized"] = ignored("randomized")
    iterated_power: int = ignored(3, at_least=0)
    rotation: Kind | None = param(None, "Rotation of the loadings. None leaves them unrotated, with W'Ψ^-1 W diagonal.")
    random_state: RandomState = param(0, "Seed of the random initializations.", at_least=0)
    method: Literal["uniqueness", "em"] = param(
        "uniqueness",
        "'uniqueness' is L-BFGS on the uniquenesses, 'em' is expectation-maximization, which is slower.",
    )
    scores: Literal["regression", "bartlett"] = param(
        "regression",
        "Factor scores that transform returns: their conditional mean ('regression'), or unbiased estimates "
        "('bartlett').",
    )
    kaiser: bool | Literal["target"] = param(
        False,
        "Kaiser normalization: scale the loadings of each column to unit length during the rotation. For promax, "
        "True normalizes the varimax rotation (R's promax), 'target' also the powers of its loadings (SPSS).",
    )
    gamma: float = param(
        0.0, "Parameter of oblimin. 0 is quartimin. Larger values allow higher factor correlations.", at_most=1
    )
    delta: float = param(
        0.01,
        "Parameter of geomin, added to the squared loadings. A larger one is smoother, with fewer local minima "
        "and less simple loadings.",
        above=0,
    )
    power: float = param(
        4.0, "Power of promax. A larger one gives simpler loadings and more correlated factors.", above=1
    )
    n_starts: int | None = param(
        None,
        "Number of initializations of fit and rotation. More initializations are less likely to miss the maximum. None "
        "means 5 for the fit of up to 50 columns, otherwise 1.",
        at_least=1,
    )
    min_uniqueness: float = param(
        1e-6,
        "Lower bound of the uniquenesses. 0.005 is common in psychology.",
        above=0,
        at_most=0.5,
    )
    missing: Literal["em"] | None = param(
        None,
        "How NaN is handled. With 'em', expectation-maximization maximizes the likelihood of the observed values "
        "(full information). None means that NaN is an error.",
    )

    missing_fraction_: float = attribute("Fraction of the values that are missing.", when="if missing is set")
    components_: Array = attribute(
        "Loadings W in the units of the columns, transposed.", "(n_components_, n_features_in_)"
    )
    noise_variance_: Array = attribute("Noise variance ψ per column, in squared units.", "(n_features_in_,)")
    loadings_: Array = attribute("Loadings (pattern) of the standardized columns.", "(n_features_in_, n_components_)")
    uniquenesses_: Array = attribute("Fraction of each column's variance that is noise.", "(n_features_in_,)")
    communalities_: Array = attribute(
        "Fraction of each column's variance that the factors explain.", "(n_features_in_,)"
    )
    structure_: Array = attribute("Correlations of the columns with the factors.", "(n_features_in_, n_components_)")
    factor_correlation_: Array = attribute(
        "Correlations of the factors, which are the identity for an orthogonal rotation.",
        "(n_components_, n_components_)",
    )
    ss_loadings_: Array = attribute("Sum of squared loadings per factor.", "(n_components_,)")
    explained_variance_ratio_: Array = attribute(
        "Fraction of the variance of the standardized columns per factor.", "(n_components_,)"
    )
    rotation_: Rotation | None = attribute("The rotation and its criterion, or None if unrotated.")
    score_weights_: Array = attribute("Matrix from centered rows to factor scores.", "(n_components_, n_features_in_)")
    loglike_: list[float] = attribute("Log-likelihood after each iteration.")
    start_loglike_: list[float] = attribute("Final log-likelihood of each initialization.")
    aic_: float = attribute("Akaike information criterion.")
    bic_: float = attribute("Bayesian information criterion.")
    dof_: int = attribute("Degrees of freedom of the model.")
    fit_test_: ChiSquare | None = attribute(
        "Chi-square test that n_components_ factors suffice. None without degrees of freedom or enough rows."
    )
    kmo_: Adequacy | None = attribute(
        "Kaiser-Meyer-Olkin measure of sampling adequacy. None if the correlation matrix is singular."
    )
    sphericity_: ChiSquare | None = attribute(
        "Bartlett's test that no columns are correlated. None if the correlation matrix is singular."
    )
    heywood_: tuple[int, ...] = attribute("Columns whose uniqueness is at its lower bound (Heywood cases).")
    constant_: tuple[int, ...] = attribute("Constant columns.")
    choice_: ComponentChoice = attribute("Number of factors and how it was chosen.")
    n_components_: int = attribute("Number of factors.")
    mean_: Array = attribute("Mean of each column, in float64.", "(n_features_in_,)")
    converged_: bool = attribute("Whether the fit converged.")
    stopped_because_: str = attribute("Why the fit stopped.")
    n_iter_: int = attribute("Number of iterations.")

    def fit_covariance(self, S: Any, n_samples: int, mean: Any = None) -> Self:
        """Fit to a covariance or correlation matrix S that was computed from ``n_samples`` rows.

        S is used as it is, with divisor n or n - 1. ``mean`` is needed only to transform rows later. None means zero.
        """
        check_parameters(self)
        rows = open_rows(S)
        center = None if mean is None else as_vector(mean, rows.d, "mean")
        moments = moments_of_covariance(to_numpy(run_for(rows).to_array(rows, "S")), n_samples, center, rows.names)
        k = rows.d if self.n_components is None else self.n_components
        if isinstance(k, numbers.Integral) and (many := too_many_factors(rows.d, int(k))):
            raise ParameterError(f"FactorAnalysis: {many}")
        self._start_fit()
        with self._solving():
            self._check_rows(rows, reset=True, least=1)
            self._fitted.moments, self._fitted.dtype = moments, np.dtype(np.float64)
            self._solve_moments(moments, run_for(rows))
        return self

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        if self.missing is not None:
            with spooled(rows) as kept:
                found = available_columns(kept, run, weights)
                self.missing_fraction_ = found.missing_fraction
                if not found.complete:
                    self._solve_incomplete(kept, run, found, weights)
                    return
        self._fitted.moments = run.fold(rows, Moments.of, weights, name="summing moments")
        self._fitted.dtype = rows.dtype
        square = rows.in_memory and rows.n == rows.d and looks_like_covariance(rows.to_array())
        self._solve_moments(self._fitted.moments, run, (_SQUARE,) if square else ())

    def _solve_incomplete(self, rows: Rows, run: Run, found: AvailableColumns, weights: np.ndarray | None) -> None:
        """Choose the number of factors from the unrestricted covariance, then maximize the likelihood with so many."""
        self._fitted.dtype = rows.dtype
        free = saturated_fit(rows, run, found, weights=weights, tol=TOL)
        choice, _ = self._choose(Correlations.of(free.moments), run)
        fit = FitFactors(choice.n_components, self.min_uniqueness, self.max_iter, run)
        fitted = expectation_maximization(rows, run, fit(free.moments), fit, weights=weights, max_iter=self.max_iter)
        self._fitted.moments = fitted.moments
        self._solve_moments(self._fitted.moments, run, chosen=choice)
        self.loglike_, self.n_iter_ = list(fitted.outcome.trace), fitted.outcome.iterations
        self.converged_, self.stopped_because_ = fitted.outcome.converged, fitted.outcome.stopped_because
        levels = (free.outcome.trace[0], free.log_likelihood, fitted.log_likelihood)
        tests = likelihood_tests(rows.d, choice.n_components, fitted.moments.n, *levels)
        for name, value in vars(tests).items():  # aic_, bic_, fit_test_, sphericity_
            setattr(self, f"{name}_", value)
        if not fitted.outcome.converged:
            warn(f"FactorAnalysis did not converge: {self.stopped_because_}. Raise `max_iter`.", ConvergenceWarning)

    def _solve_moments(
        self, moments: Moments, run: Run, hints: Sequence[str] = (), chosen: ComponentChoice | None = None
    ) -> None:
        if moments.lost_digits:
            raise DataError(
                "The sparse rows are too far from the origin: their sums of squares lose precision. Make them dense "
                "(`X.toarray()`)."
            )
        correlations = Correlations.of(moments)
        if not correlations.varying.any():
            raise DataError("All columns are constant, so there are no correlations to explain. Check the data.")
        self.mean_, self.n_samples_ = moments.mean, moments.rows
        with on_one_thread_if_small(correlations.R):
            if chosen is None:
                self.choice_, found = self._choose(correlations, run)
            else:
                self.choice_, found = chosen, self._estimate(correlations, chosen.n_components, run)
            self.rotation_ = self._rotated(found.loadings, np.sqrt(correlations.variances[correlations.varying]))
            self._keep(correlations, found)
            self._keep_fit(correlations, found, hints)

    # --- steps ---

    def _choose(self, correlations: Correlations, run: Run) -> tuple[ComponentChoice, FactorEstimate]:
        """Return the number of factors, and the fit with that many."""
        d, asked = len(correlations.variances), self._params.n_components
        if asked == "bic":
            return fewest_by_bic(correlations.R, correlations.n, lambda k: self._estimate(correlations, k, run))
        if asked is None:
            choice = ComponentChoice(d, "None", "as many factors as columns")
        elif isinstance(asked, numbers.Integral):
            choice = ComponentChoice(int(asked), str(asked), "as requested")  # no eigenvalues are needed
        else:
            choice = correlations.decide(ParallelAnalysis() if asked == "parallel" else as_rule(asked), run)
        if choice.n_components > d:
            raise refusal(self, f"the data has {d} columns (`n_features={d}`).", f"Choose at most {d}.", "n_components")
        return choice, self._estimate(correlations, choice.n_components, run)

    def _estimate(self, correlations: Correlations, k: int, run: Run) -> FactorEstimate:
        """Maximize the likelihood over the columns that are not constant."""
        v, first = len(correlations.R), None
        if self._params.noise_variance_init is not None:
            with with_remedy("Set `noise_variance_init` to one nonnegative variance per column."):
                first = checked_noise(self._params.noise_variance_init, len(correlations.variances))
            first = np.clip(first[correlations.varying] / correlations.variances[correlations.varying], 1e-12, 1.0)
        few = _STARTS if v <= _FEW_COLUMNS and self._params.method == "uniqueness" else 1
        return factor_loadings(
            correlations.root, min(k, v), method=self._params.method, lower=self._params.min_uniqueness, first=first,
            n_starts=self._params.n_starts or few, rng=self._generator(), tol=2 * self._params.tol / correlations.n,
            max_iter=self._params.max_iter, run=run,
        )  # fmt: skip

    def _rotated(self, loadings: np.ndarray, deviations: np.ndarray) -> Rotation | None:
        """Rotate standardized loadings; varimax and quartimax, as in scikit-learn, in the units of the columns."""
        p = self._params
        if p.rotation is None or not loadings.shape[1]:
            return None
        as_there = p.rotation in _IN_UNITS and not p.kaiser
        units = deviations if as_there else np.ones_like(deviations)
        found = rotate(
            loadings * units[:, None], p.rotation, kaiser=p.kaiser, gamma=p.gamma, delta=p.delta, power=p.power,
            starts=p.n_starts or 1, rng=self._generator(),
        )  # fmt: skip
        return replace(found, loadings=found.loadings / units[:, None])

    def _keep(self, correlations: Correlations, found: FactorEstimate) -> None:
        varying, rotated = correlations.varying, self.rotation_ or unrotated(found.loadings)
        standard, model = in_units(rotated, found.uniquenesses, correlations.variances, self.choice_.n_components)
        xp, largest = xp_of(self.mean_), float(np.max(correlations.variances))
        kind = dtype_of_squares(xp, largest, result_dtype(xp, self._fitted.dtype))
        self.components_, self.noise_variance_ = self._own(model.W.T), like(model.psi, self.mean_, kind)
        self.loadings_, self.uniquenesses_ = self._own(standard.W), self._own(standard.psi)
        self.structure_, self.factor_correlation_ = self._own(standard.W @ standard.phi), self._own(standard.phi)
        self.communalities_ = self._own(standard.communalities)
        squares = np.sum(standard.W * (standard.W @ standard.phi), axis=0)  # (k,) with Φ = I plain sums of squares
        self.ss_loadings_, self.explained_variance_ratio_ = self._own(squares), self._own(squares / np.sum(varying))
        self.score_weights_ = self._own(model.score_weights(self._params.scores))
        self.n_components_ = self.choice_.n_components
        self.constant_ = tuple(np.flatnonzero(~varying).tolist())
        held = found.uniquenesses <= 1.01 * self._params.min_uniqueness  # the search may stop just above the bound
        self.heywood_ = tuple(np.flatnonzero(varying)[held].tolist())

    def _keep_fit(self, correlations: Correlations, found: FactorEstimate, hints: Sequence[str]) -> None:
        k, outcome = self.choice_.n_components, found.outcome
        for name, value in vars(goodness_of_fit(correlations, found, k)).items():  # loglike_, aic_, bic_, kmo_, …
            setattr(self, f"{name}_", value)
        self.converged_, self.stopped_because_ = outcome.converged, outcome.stopped_because
        remedy = "Keep fewer factors, or raise `min_uniqueness`."
        if self._params.method == "em":
            remedy = "Raise `max_iter` or `tol`, or choose `method='uniqueness'`."
        elif outcome.iterations >= self._params.max_iter:
            remedy = "Raise `max_iter`."
        problem = f"FactorAnalysis did not converge: {outcome.stopped_because}."
        self._record_convergence(outcome, remedy, problem=problem)
        if self.rotation_ is not None and not self.rotation_.outcome.converged:
            text = f"FactorAnalysis(rotation={self._params.rotation!r}): the rotation did not converge."
            warn(f"{text} Keep fewer factors, or choose another rotation.", ConvergenceWarning)
        if self._params.n_components is not None:  # with as many factors as columns a model is never identified
            rounding = 64 * float(np.finfo(self._fitted.dtype).eps)
            names = vars(self).get("feature_names_in_")
            hints = [*hints, *concerns(correlations, k, self.heywood_, rounding, names)]
        if hints:
            warn(f"FactorAnalysis: {' '.join(hints)}", DataWarning)

    def _own(self, values: np.ndarray) -> Array:
        """Values in the array library of the rows, and in their precision."""
        xp = xp_of(self.mean_)
        return like(values, self.mean_, result_dtype(xp, self._fitted.dtype))

    def _encoding(self) -> Any:
        weights = self._model().score_weights(self._params.scores)  # of components_, which a user may have set
        scores = Affine(self._own(weights.T), self.mean_)
        return scores if self._params.missing is None else CompletedThen(self._latent(), scores)

    def impute(self, X: Any) -> Any:
        """Return X with its missing values (NaN) predicted from the observed values of their row.

        Observed values do not change. The rows need not be those of the fit. A data frame returns a data frame.
        """
        return impute_rows(self, X)

    def _latent(self) -> LatentModel:
        """The model that predicts missing values from the observed ones."""
        model, unit = self._model(), np.sqrt(to_numpy(as_double(self.noise_variance_)))
        L = model.W @ np.linalg.cholesky(model.phi) / unit[:, None]
        return LatentModel(to_numpy(self.mean_), unit, np.ascontiguousarray(L))

    def _encoding_width(self) -> int:
        return int(self.components_.shape[0])

    def _decoding(self) -> Affine:
        return Affine(self.components_, None, self.mean_)

    # --- the probability model ---

    def _model(self) -> FactorModel:
        k = self.components_.shape[0]
        parts = (self.components_.T, self.noise_variance_, self.factor_correlation_[:k, :k])
        return FactorModel(*(to_numpy(as_double(part)) for part in parts))

    def get_covariance(self) -> Array:
        """Return the covariance of the model, WΦW' + Ψ."""
        check_is_fitted(self)
        return like(self._model().covariance, self.mean_)

    def get_precision(self) -> Array:
        """Return the inverse of the model's covariance. Only a k x k matrix is inverted."""
        check_is_fitted(self)
        return like(self._model().precision, self.mean_)

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row under the model."""
        rows, run = self._rows_to_map(X)
        observed = self._params.missing is not None
        likelihood: Any = ObservedLikelihoods(self._latent()) if observed else self._model().log_density(self.mean_)
        return run.gather(likelihood, rows, 1, name="scoring rows", dtype=np.dtype(np.float64))[:, 0]

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-likelihood of the rows."""
        scores = self.score_samples(X)
        return float(xp_of(scores).mean(scores))

    def _facts(self) -> dict[str, Any]:
        test, names = self.fit_test_, getattr(self, "feature_names_in_", range(self.n_features_in_))
        return {
            "explained variance ratio of": "the variance of the standardized columns",
            "chi-square of fit": test and test.statistic,
            "degrees of freedom": test and test.dof,
            "p-value of fit": test and test.p_value,
            "KMO": self.kmo_ and self.kmo_.overall,
            "Heywood columns": [names[j] for j in self.heywood_],
        }
