"""Rules for the number of components.

Each rule returns a ``ComponentChoice`` with its evidence.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowland.arrays.namespace import ROUNDINGS
from lowland.arrays.random import generator
from lowland.arrays.records import record
from lowland.errors import DataError, ParameterError
from lowland.plain import html_table


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues in descending order, perhaps only the leading ones, and the total of all."""

    values: np.ndarray  # (m,) float64, m <= length
    total: float  # sum of all eigenvalues
    length: int  # number of all eigenvalues: min(n, d)
    n: float  # rows (or the sum of their weights)
    d: int  # columns
    variances: np.ndarray | None = None  # (d,) variance of each column, where known
    rounding: float = ROUNDINGS * float(np.finfo(np.float64).eps)  # relative rounding error of the values

    @property
    def whole(self) -> bool:
        """Whether all eigenvalues are known."""
        return len(self.values) >= self.length

    @property
    def fractions(self) -> np.ndarray:
        """Each value's fraction of the total."""
        return self.values / self.total if self.total > 0 else np.zeros_like(self.values)


@record
@dataclass(frozen=True)
class ComponentChoice:
    """The number of components, the rule that chose it, and its reason."""

    n_components: int
    rule: str
    reason: str
    evidence: dict[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        rows: list[tuple[Any, ...]] = [("components", self.n_components), ("rule", self.rule), ("reason", self.reason)]
        return html_table(rows + [(name, value) for name, value in self.evidence.items() if np.ndim(value) == 0])


class Rule:
    """Base of the rules. ``decide`` returns None where more of the spectrum is needed."""

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the choice, or None if these leading values are not enough to decide."""
        raise NotImplementedError

    def _choice(self, count: int, spectrum: Spectrum, reason: str, **evidence: Any) -> ComponentChoice:
        return ComponentChoice(max(1, min(count, spectrum.length)), repr(self), reason, evidence)


@record
@dataclass(frozen=True)
class Cumulative(Rule):
    """Keep the fewest components that together explain more than ``fraction`` of the variance.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("wine").X
    >>> lowland.PCA(lowland.rules.Cumulative(0.8), scale=True).fit(X).n_components_
    5
    """

    fraction: float

    def __post_init__(self) -> None:
        _between(self, "fraction", self.fraction)

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the smallest count whose cumulative explained variance ratio exceeds ``fraction``."""
        cumulative = np.cumsum(spectrum.fractions)
        # as in scikit-learn, strictly more than the fraction; rounding must not decide where it is met exactly
        count = int(np.searchsorted(cumulative, self.fraction + spectrum.rounding, side="right")) + 1
        if count > len(cumulative) and not spectrum.whole:
            return None
        count = min(count, len(cumulative))
        return self._choice(
            count,
            spectrum,
            f"{_components(count)} explain{'s' * (count == 1)} {cumulative[count - 1]:.1%} of the variance",
            cumulative=cumulative[: count + 1],
        )


@record
@dataclass(frozen=True)
class EachAtLeast(Rule):
    """Keep the components that each explain at least ``fraction`` of the variance.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("wine").X
    >>> lowland.PCA(lowland.rules.EachAtLeast(0.1), scale=True).fit(X).n_components_
    3
    """

    fraction: float

    def __post_init__(self) -> None:
        _between(self, "fraction", self.fraction)

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the number of explained variance ratios of at least ``fraction``."""
        return _count_above(
            self, spectrum, spectrum.fractions, self.fraction, f"with at least {self.fraction:.1%} of the variance each"
        )


@record
@dataclass(frozen=True)
class EigenvalueAbove(Rule):
    """Keep the components whose eigenvalue exceeds ``tau``.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("wine").X
    >>> lowland.PCA(lowland.rules.EigenvalueAbove(2.0), scale=True).fit(X).n_components_
    2
    """

    tau: float

    def __post_init__(self) -> None:
        if not isinstance(self.tau, numbers.Real) or not self.tau >= 0:
            raise ParameterError("tau must be a number of at least 0.", method="EigenvalueAbove", tau=self.tau)

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the number of eigenvalues above tau."""
        return _count_above(
            self, spectrum, spectrum.values, self.tau, f"with an eigenvalue above {self.tau:g}", strict=True
        )


@record
@dataclass(frozen=True)
class Kaiser(Rule):
    """Kaiser criterion: keep components whose eigenvalue exceeds the mean (Kaiser 1960).

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("wine").X
    >>> lowland.PCA(lowland.rules.Kaiser(), scale=True).fit(X).n_components_
    3
    """

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the number of eigenvalues above the mean variance of the columns."""
        average = spectrum.total / spectrum.d
        return _count_above(
            self, spectrum, spectrum.values, average, f"with an eigenvalue above the mean {average:.4g}", strict=True
        )


@record
@dataclass(frozen=True)
class ParallelAnalysis(Rule):
    """Horn's parallel analysis: keep components whose eigenvalues exceed those of uncorrelated columns (Horn 1965).

    ``trials`` tables of independent normal columns with the same number of rows and the same variances are simulated,
    with scatter matrices sampled directly by Bartlett's decomposition. Component i is kept while its eigenvalue exceeds
    the ``quantile`` of the simulated i-th eigenvalues.

    If no eigenvalue does, as in noise, parallel analysis retains no component. A projection needs at least one, so the
    first is kept, and ``reason`` reports it.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("wine").X
    >>> lowland.PCA(lowland.rules.ParallelAnalysis(), scale=True).fit(X).n_components_
    3
    """

    trials: int = 100
    quantile: float = 0.95
    random_state: Any = 0

    def __post_init__(self) -> None:
        _between(self, "quantile", self.quantile)
        if not isinstance(self.trials, numbers.Integral) or self.trials < 1:
            raise ParameterError(
                "trials must be an integer of at least 1.", method="ParallelAnalysis", trials=self.trials
            )

    def decide(self, spectrum: Spectrum, counted: Iterable[int] | None = None) -> ComponentChoice | None:
        """Return the number of leading eigenvalues above the simulated ones. ``counted`` iterates over the trials."""
        if spectrum.variances is None:
            raise ParameterError(
                "ParallelAnalysis requires the variances of the columns, which are not known here. Choose another rule."
            )
        rng = generator(self.random_state)
        deviations = np.sqrt(spectrum.variances)
        m = len(spectrum.values)
        simulated = np.stack([_noise_spectrum(spectrum.n, deviations, rng)[:m] for _ in counted or range(self.trials)])
        bar = np.quantile(simulated, self.quantile, axis=0)  # (m,)
        below = np.flatnonzero(spectrum.values <= bar)
        if not below.size and not spectrum.whole:
            return None
        count = int(below[0]) if below.size else m
        words = "above the eigenvalues of uncorrelated columns"
        return self._choice(count, spectrum, _counted(count, words), threshold=bar)


def _noise_spectrum(n: float, deviations: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sample the covariance eigenvalues of n rows of independent normal columns, descending."""
    d, m = len(deviations), max(round(n) - 1, 1)
    if m <= d:
        A = rng.standard_normal((m, d)) * deviations
        values = np.linalg.eigvalsh(A @ A.T)[::-1]
        return np.concatenate([values, np.zeros(d - m)]) / m
    # Bartlett: the scatter of m rows is LL' with chi deviates on the diagonal and normal ones below it
    L = np.tril(rng.standard_normal((d, d)), -1)
    L[np.diag_indices(d)] = np.sqrt(rng.chisquare(m - np.arange(d)))
    L *= deviations[:, None]
    return np.linalg.svd(L, compute_uv=False) ** 2 / m


@record
@dataclass(frozen=True)
class Knee(Rule):
    """Keep the components before the elbow of the scree plot: the point farthest from the line between its ends.

    The elbow requires all eigenvalues: with the leading ones alone it would depend on how many are known.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> lowland.PCA(lowland.rules.Knee()).fit(X).n_components_
    1
    """

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the position of the elbow."""
        if not spectrum.whole:
            return None
        values = spectrum.values
        if len(values) < 3 or values[0] <= values[-1]:
            return self._choice(len(values) if values[0] <= values[-1] else 1, spectrum, "the scree plot has no elbow")
        x = np.linspace(0, 1, len(values))
        y = (values - values[-1]) / (values[0] - values[-1])
        distance = (1 - x - y) / math.sqrt(2)  # below the line from (0, 1) to (1, 0)
        count = max(1, int(np.argmax(distance)))
        return self._choice(
            count, spectrum, f"the elbow of the scree plot is after component {count}", distance=distance
        )


@dataclass(frozen=True)
class Minka(Rule):
    """Minka's choice of dimension for probabilistic PCA (Minka 2000); ``n_components="mle"``."""

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the dimension with the largest evidence, in Laplace's approximation."""
        if spectrum.n < spectrum.d:
            raise DataError(
                "'mle' needs at least as many rows as columns (`n_samples >= n_features`), but the data has "
                f"{spectrum.n:g} rows and {spectrum.d} columns. Choose an integer or another rule."
            )
        if not spectrum.whole:
            return None
        evidence = np.array([_laplace_evidence(spectrum.values, k, spectrum.n) for k in range(1, len(spectrum.values))])
        if not evidence.size:
            return self._choice(1, spectrum, "the data has one column")
        count = int(np.argmax(evidence)) + 1
        return self._choice(count, spectrum, f"dimension {count} has the largest evidence", log_evidence=evidence)


def _laplace_evidence(values: np.ndarray, k: int, n: float) -> float:
    """Log evidence of dimension k, Laplace's approximation: equations 30 to 76 of Minka (2000)."""
    d = len(values)
    if values[k - 1] < np.finfo(float).eps * max(values[0], 1.0):
        return -np.inf  # the k-th direction has zero variance
    i = np.arange(1, k + 1)
    half = (d - i + 1) / 2
    log_p_u = float(-k * math.log(2) + sum(math.lgamma(h) - h * math.log(math.pi) for h in half))
    log_p_l = -n / 2 * float(np.log(values[:k]).sum())
    noise = max(float(values[k:].mean()), float(np.finfo(float).eps))
    log_p_v = -n * (d - k) / 2 * math.log(noise)
    m = d * k - k * (k + 1) / 2
    smoothed = np.concatenate([values[:k], np.full(d - k, noise)])
    log_det = 0.0
    for j in range(k):
        gaps = (1 / smoothed[j + 1 :] - 1 / smoothed[j]) * (values[j] - values[j + 1 :])
        if np.any(gaps <= 0):  # tied eigenvalues have no curvature
            gaps = gaps[gaps > 0]
        log_det += float(np.log(gaps).sum()) + len(gaps) * math.log(n)
    return log_p_u + log_p_l + log_p_v + (m + k) / 2 * math.log(2 * math.pi) - log_det / 2 - k / 2 * math.log(n)


@record
@dataclass(frozen=True)
class Downstream(Rule):
    """Keep the fewest components whose cross-validated score is within ``tolerance`` of the best.

    The score is that of ``estimator`` predicting y. The reduction is refitted in every fold, so there is no leakage
    from the held-out rows. ``tolerance`` None means one standard error of the best mean score. ``candidates`` are the
    numbers of components to try, by default about twelve on a logarithmic scale.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> import lowland
    >>> X, y = lowland.data.load_dataset("iris")
    >>> rule = lowland.rules.Downstream(LogisticRegression(max_iter=1000), cv=3)
    >>> 1 <= lowland.PCA(rule).fit(X, y).n_components_ <= 4
    True
    """

    estimator: Any
    cv: Any = 5
    tolerance: float | None = None
    scoring: Any = None
    candidates: Sequence[int] | None = None

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Raise an error: this rule requires rows and y, see ``decide_by_scores``."""
        raise ParameterError("Downstream requires labels (`fit(X, y)`).")

    def counts(self, most: int) -> np.ndarray:
        """Return the numbers of components to try, ascending."""
        if self.candidates is not None:
            given = sorted({int(c) for c in self.candidates})
            if not given or given[0] < 1 or given[-1] > most:
                raise ParameterError(
                    f"choose integers from 1 to {most}.", method="Downstream", candidates=list(self.candidates)
                )
            return np.array(given)
        return np.unique(np.round(np.geomspace(1, most, 12)).astype(int))

    def decide_by_scores(
        self, X: Any, y: np.ndarray, most: int, reduce: Callable[[Any, int], Callable[[Any], Any]]
    ) -> ComponentChoice:
        """Return the choice by cross-validated scores. ``reduce(X_train, m)`` fits and returns a transform."""
        from sklearn.base import clone, is_classifier
        from sklearn.metrics import check_scoring
        from sklearn.model_selection import check_cv

        scorer = check_scoring(self.estimator, scoring=self.scoring)
        folds = list(check_cv(self.cv, y, classifier=is_classifier(self.estimator)).split(X, y))
        counts = self.counts(min(most, min(len(train) for train, _ in folds)))
        scores = np.empty((len(folds), len(counts)))
        for f, (train, test) in enumerate(folds):
            transform = reduce(X[train], int(counts[-1]))
            Z_train, Z_test = transform(X[train]), transform(X[test])
            for c, m in enumerate(counts):
                model = clone(self.estimator).fit(Z_train[:, :m], y[train])
                scores[f, c] = scorer(model, Z_test[:, :m], y[test])
        mean = scores.mean(axis=0)
        best = int(np.argmax(mean))
        slack = self.tolerance
        if slack is None:
            slack = float(scores[:, best].std(ddof=1) / math.sqrt(len(folds))) if len(folds) > 1 else 0.0
        chosen = int(np.flatnonzero(mean >= mean[best] - slack)[0])
        reason = (
            f"{counts[chosen]} components score {mean[chosen]:.4g}, within {slack:.2g} of the best "
            f"({mean[best]:.4g} with {counts[best]})"
        )
        return ComponentChoice(int(counts[chosen]), repr(self), reason, {"counts": counts, "scores": scores})


@dataclass(frozen=True)
class Fixed(Rule):
    """Keep ``count`` components. None means all of them."""

    count: int | None

    def decide(self, spectrum: Spectrum) -> ComponentChoice | None:
        """Return the requested number."""
        wanted = spectrum.length if self.count is None else self.count
        if wanted > len(spectrum.values) and not spectrum.whole:
            return None
        reason = "all components" if self.count is None else "requested"
        return ComponentChoice(wanted, "None" if self.count is None else str(self.count), reason)


RULES: dict[str, type[Rule]] = {
    rule.__name__: rule
    for rule in (Cumulative, EachAtLeast, EigenvalueAbove, Kaiser, ParallelAnalysis, Knee, Downstream)
}


def as_rule(n_components: Any) -> Rule:
    """Return the rule behind an ``n_components``: a number, a fraction, "mle", None, or a rule."""
    match n_components:
        case Rule():
            return n_components
        case None:
            return Fixed(None)
        case "mle":
            return Minka()
        case bool():
            pass
        case numbers.Integral():
            return Fixed(int(n_components))
        case numbers.Real() if 0 < float(n_components) < 1:
            return Cumulative(float(n_components))
    raise ParameterError(
        f"{n_components!r} is not a valid number of components. Choose an integer of at least 0, a fraction between "
        "0 and 1, 'mle', `None`, or a rule (`Kaiser()`)."
    )


def _count_above(
    rule: Rule, spectrum: Spectrum, values: np.ndarray, bar: float, words: str, strict: bool = False
) -> ComponentChoice | None:
    """Count the values above a threshold; None if all known ones are above it and there are more."""
    count = int(np.sum(values > bar)) if strict else int(np.sum(values >= bar))
    if count == len(values) and not spectrum.whole:
        return None
    return rule._choice(count, spectrum, _counted(count, words), threshold=bar)


def _counted(count: int, words: str) -> str:
    """The reason for a count of components; a rule keeps at least one."""
    return f"{_components(count)} {words}" if count else f"no component {words}; the first is kept"


def _components(count: int) -> str:
    return f"{count} component{'s' * (count != 1)}"


def _between(rule: Any, name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < float(value) < 1:
        raise ParameterError(f"{type(rule).__name__}({name}={value!r}): {name} must be between 0 and 1 (exclusive).")
