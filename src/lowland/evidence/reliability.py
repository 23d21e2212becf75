"""Is it real? Reliability of each point of a map against null data, and stability of the map."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.arrays.random import generator, spawned_seeds
from lowland.errors import DataError, ParameterError
from lowland.evidence.nulls import Null, draw_null
from lowland.evidence.problem import MapProblem, fit_each, open_problem
from lowland.math.statistics.intervals import student_quantile
from lowland.plain import html_table
from lowland.quality.alignment import Procrustes, pad_columns, rescale
from lowland.quality.kept_neighbors import (
    SUBSAMPLES,
    choose_references,
    neighbors_that_stay,
    preserved_neighbors,
    subsample_size,
)

if TYPE_CHECKING:
    from lowland.evidence.clusters import Cluster

LEVEL = 0.05
REFITS = SUBSAMPLES  # maps of subsamples
_NULL_POINTS, _MOST_NULL_MAPS = 5000, 20  # values of null points to compare with; null maps at most
_LIKE_NOISE = 0.4  # unreliable fraction; half in a map of null data
_KEPT = 0.9  # fraction of its neighbors from which on a point is not unreliable, whatever null points keep
_PLACED = 500  # rows that transform places after each refit, at most
_LIKE = {"independent": "independent columns", "gaussian": "correlated Gaussian columns"}
_GROUPS = " Groups can be real even so: test clusters."
_WHOLE = (
    " The map keeps nearly all neighbors, and so do maps of null data: it has about as many dimensions as the data, so "
    "this test says nothing about structure. Test clusters, or a map with fewer dimensions."
)
RELIABLE, UNCERTAIN, UNRELIABLE = "reliable", "uncertain", "unreliable"
CLASSES = (RELIABLE, UNCERTAIN, UNRELIABLE)


@dataclass(frozen=True, eq=False)
class Reliability:
    """How far a map can be trusted, point by point.

    Attributes
    ----------
    preservation : array of shape (n, 2)
        Fraction of each point's neighbors in the data that are its neighbors in the map, corrected for chance: among
        the nearest tenth and among the nearest quarter of the points.
    p_values : array of shape (n,)
        Probability that a point in a map of null data has its neighbors preserved as well as this point.
    q_values : array of shape (n,)
        The p-values corrected for the number of points (Benjamini and Hochberg 1995): among the points with q ≤ 0.05,
        about 5% are false discoveries.
    classes : array of shape (n,) of str
        "reliable" means q ≤ 0.05. "unreliable" means p > 0.5, so that at least half of the points in maps of null data
        do as well, and that the point loses more than a tenth of its neighbors. Otherwise "uncertain".
    stability : array of shape (n,)
        Fraction of each point's neighbors in the map that stay its neighbors when the map is made again from other
        subsamples of the points and with other seeds, corrected for chance: 0 to 1.
    displacement : array of shape (n,)
        Distance by which each point moves between these maps, after they are aligned by rotation, reflection and
        scaling, relative to the root mean squared distance of the points from their center.
    jump : array of shape (n,)
        Distance by which a point moves when it is left out of the fit and placed by ``transform``, in the same units.
        NaN where a point was not placed.
    score, interval : float, tuple of two floats
        Mean stability of the map, and its 95% confidence interval.
    null : str
        The null data, "independent" or "gaussian".
    """

    problem: MapProblem = field(repr=False)
    null: Null
    null_maps: int
    random_state: int
    preservation: np.ndarray
    p_values: np.ndarray
    q_values: np.ndarray
    classes: np.ndarray
    stability: np.ndarray
    displacement: np.ndarray
    jump: np.ndarray
    score: float
    interval: tuple[float, float]

    @property
    def class_codes(self) -> np.ndarray:
        """Class of each point as a number, (n,): 0 reliable, 1 uncertain, 2 unreliable, NaN without coordinates."""
        codes = np.select([self.classes == name for name in CLASSES], np.arange(len(CLASSES), dtype=np.float64))
        return np.where(self.problem.kept, codes, np.nan)

    def fraction(self, name: str) -> float:
        """Return the fraction of the points in a class."""
        return float(np.mean(self.classes[self.problem.kept] == name))

    @cached_property
    def _found(self) -> list[Cluster]:
        from lowland.evidence.clusters import find_clusters, test_clusters

        return test_clusters(self.problem, find_clusters(self.problem.Z), found=True, seed=self.random_state)

    def clusters(self, labels: Any = None) -> list[Cluster]:
        """Return the evidence that each cluster of the map is a separate group in the data.

        Parameters
        ----------
        labels : array-like of shape (n,) or None, default None
            Cluster of each row, such as those a user sees in the map. -1, an empty string or a missing label: no
            cluster, though a row in the gap between two counts. None means dense regions of the map (HDBSCAN).

        Returns
        -------
        list of Cluster
            One record per cluster, largest first: label, size, p_value, verdict ("separate", "not separate" or
            "undecided"), separation, nearest. Empty if fewer than two clusters have 20 rows.
        """
        if labels is None:
            return self._found
        from lowland.evidence.clusters import label_codes, test_clusters

        codes = label_codes(labels, self.problem.kept)
        return test_clusters(self.problem, codes, found=False, seed=self.random_state)

    @cached_property
    def summary(self) -> str:
        """A paragraph to quote."""
        permuted = f"{'principal coordinates' if self.problem.pairwise else 'columns'} permuted independently"
        kind = permuted if self.null == "independent" else "a Gaussian of the same covariance"
        maps = "one map" if self.null_maps == 1 else f"{self.null_maps} maps"
        by = f" by {type(self.problem.method).__name__}" if self.problem.borrowed else ""
        low, high = self.interval
        share = {name: f"{100 * self.fraction(name):.0f}%" for name in (RELIABLE, UNCERTAIN, UNRELIABLE)}
        text = (
            f"{share[RELIABLE]} of the {self.problem.n:,} points keep their neighbors better than points in {maps} of "
            f"null data{by} ({kind}; false discovery rate {LEVEL:.0%}), {share[UNCERTAIN]} are uncertain, and "
            f"{share[UNRELIABLE]} are unreliable (no better than the median of the null). When the map is made again "
            f"from subsamples, {100 * self.score:.0f}% of the neighbors stay beyond chance (95% confidence interval "
            f"{100 * low:.0f}% to {100 * high:.0f}%)."
        )
        if self.fraction(RELIABLE) > LEVEL:
            return text
        if self.fraction(UNRELIABLE) >= _LIKE_NOISE:
            return f"{text} On the whole this is no better than with {_LIKE[self.null]}.{_GROUPS}"
        return text + (_WHOLE if float(np.nanmean(self.preservation)) >= _KEPT else _GROUPS)

    def __repr__(self) -> str:
        return f"Reliability: {self.summary}"

    def _repr_html_(self) -> str:
        """Return the classes as a table, which a notebook shows."""
        rows = [(name, f"{np.sum(self.classes[self.problem.kept] == name):,}", f"{self.fraction(name):.0%}")
                for name in CLASSES]  # fmt: skip
        return html_table(rows, ("class", "points", "fraction"), self.summary)


def reliability(
    model: Any, X: Any, y: Any = None, *, method: Any = None, null: Null = "independent", random_state: Any = None
) -> Reliability:
    """Return how far each point of a map can be trusted.

    1. For each point, measure how many of its neighbors in the data are its neighbors in the map, among the nearest
       tenth and the nearest quarter of the points.
    2. Make maps of null data by the same method and parameters, and measure their points in the same way. The p-value
       of a point is the fraction of null points that do as well. If the data has no structure, the p-values are
       uniform.
    3. Make the map again from subsamples of the points and with other seeds. The stability of a point is the fraction
       of its neighbors in the map that stay.

    Parameters
    ----------
    model : fitted estimator, Pipeline, or array-like of shape (n, k)
        Fitted model, or the coordinates of a map made elsewhere.
    X : array-like of shape (n, d) or path
        The data that the map shows, or its distances if the model expects them.
    y : array-like of shape (n,) or None, default None
        Labels, for supervised methods.
    method : estimator or None, default None
        For coordinates made elsewhere: an unfitted estimator that makes such maps. None: TSNE, which keeps neighbors
        better than most methods, so the p-values are too large rather than too small.
    null : "independent" or "gaussian", default "independent"
        "independent" permutes each column by itself: is there any dependence between columns? "gaussian" draws from a
        normal distribution with the same covariance: is there structure beyond correlations?
    random_state : int, Generator or None, default None
        Seed. None uses the same seed every time.

    Returns
    -------
    Reliability
        p-values, classes and stability of the points, ``clusters`` and ``summary``.

    Notes
    -----
    Cost: one fit to null data for 5,000 points or more, up to 20 for small tables, and ten fits to subsamples, which
    together cost about one fit from 20,000 points on. With more than 1,000 points, neighbors are searched among 1,000
    sampled reference points.

    The p-values of neighboring points depend on each other. The false discovery rate holds under positive dependence
    (Benjamini and Yekutieli 2001, doi:10.1214/aos/1013699998).

    A reliable point keeps its neighbors. This does not mean that a gap next to it is real: see ``clusters``.

    References
    ----------
    Xia, L., Lee, C., and Li, J. J. (2024). Statistical method scDEED for detecting dubious 2D single-cell embeddings.
    Nature Communications. doi:10.1038/s41467-024-45891-y

    Johnson, E. M., Kath, W., and Mani, M. (2022). EMBEDR: distinguishing signal from noise in single-cell omics data.
    Patterns. doi:10.1016/j.patter.2022.100443

    Benjamini, Y., and Hochberg, Y. (1995). Controlling the false discovery rate. Journal of the Royal Statistical
    Society B. doi:10.1111/j.2517-6161.1995.tb02031.x

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> found = lowland.reliability(lowland.PCA(2).fit(X), X)
    >>> bool(found.score > 0.9)  # most neighbors stay when the map is made again from a subsample
    True
    """
    if null not in ("independent", "gaussian"):
        raise ParameterError(f"`null={null!r}`: choose 'independent' or 'gaussian'.")
    rng = generator(0 if random_state is None else random_state)
    seed = int(rng.integers(2**31 - 1))
    problem = open_problem(model, X, y, method)
    problem.check_neighbors()
    references = choose_references(problem.n, rng)
    observed = preserved_neighbors(problem.X, problem.Z, references, problem.metric)
    reference, maps = _null_preservation(problem, null, rng)
    p = null_p_values(observed, reference)
    q = false_discovery_rates(p)
    lost = (p > 0.5) & (observed.min(axis=1) < _KEPT)
    classes = np.where(q <= LEVEL, RELIABLE, np.where(lost, UNRELIABLE, UNCERTAIN))
    stable = _refit(problem, rng)

    def spread(values: np.ndarray) -> np.ndarray:
        out = np.full((len(problem.kept), *values.shape[1:]), np.nan)
        out[problem.kept] = values
        return out

    named = np.full(len(problem.kept), UNRELIABLE, dtype=classes.dtype)  # without coordinates
    named[problem.kept] = classes
    return Reliability(
        problem, null, maps, seed, spread(observed), spread(p), spread(q), named, spread(stable.kept_neighbors),
        spread(stable.displacement), spread(stable.jump), stable.score, stable.interval,
    )  # fmt: skip


def null_p_values(observed: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the fraction of null points that keep their neighbors as well, (n,), from values (n, 2) and (N, 2).

    Both neighborhoods are standardized by the null points, and the better one counts: for the null points alike.
    """
    center, scale = reference.mean(axis=0), reference.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    best, null = (((values - center) / scale).max(axis=1) for values in (observed, reference))
    ordered = np.sort(null)
    return (1 + len(ordered) - np.searchsorted(ordered, best, side="left")) / (1 + len(ordered))


def false_discovery_rates(p: np.ndarray) -> np.ndarray:
    """Return the smallest false discovery rate at which each point is discovered, (n,) (Benjamini and Hochberg)."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p))


def _null_preservation(problem: MapProblem, null: Null, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """The preservation of points in maps of null data, (N, 2), and the number of maps."""
    maps = int(np.clip(math.ceil(_NULL_POINTS / problem.n), 1, _MOST_NULL_MAPS))

    def measure(seed: Any) -> np.ndarray:
        rng = np.random.default_rng(seed)
        X = draw_null(problem.X, null, rng, pairwise=problem.pairwise, counts=problem.counts)
        _, Z = problem.embed(X, problem.y, int(rng.integers(2**31 - 1)))
        there = np.flatnonzero(np.isfinite(Z).all(axis=1))
        references = there[choose_references(len(there), rng)]
        points = there if len(there) <= _NULL_POINTS else np.sort(rng.permutation(there)[:_NULL_POINTS])
        return preserved_neighbors(X, Z, references, problem.metric, points)

    found = fit_each(problem.method, "mapping null data", spawned_seeds(rng, maps), measure)
    return np.concatenate(found), maps


@dataclass(frozen=True, eq=False)
class _Refitted:
    kept_neighbors: np.ndarray  # (n,)
    displacement: np.ndarray  # (n,)
    jump: np.ndarray  # (n,)
    score: float
    interval: tuple[float, float]


@dataclass(frozen=True, eq=False)
class _Again:
    """A map of a subsample, compared with the whole map."""

    at: np.ndarray  # rows of the subsample
    stay: np.ndarray  # fraction of their neighbors that stay
    moved: np.ndarray  # how far they moved
    placed: np.ndarray  # rows that transform placed
    jump: np.ndarray  # how far these moved


def _refit(problem: MapProblem, rng: np.random.Generator) -> _Refitted:
    """Make the map again from subsamples of the points."""
    n = problem.n
    size = subsample_size(n)
    order = rng.permutation(n)
    around, _ = rescale(problem.Z - problem.Z.mean(axis=0))
    whole = around / math.sqrt(float(np.mean(np.sum(around**2, axis=1))))
    # small subsamples divide the rows, so that every row is in some; large ones are drawn independently
    turned = [rng.permutation(n) if 2 * size > n else np.roll(order, -(r * n // REFITS)) for r in range(REFITS)]
    seeds = spawned_seeds(rng, REFITS)
    tasks = [(np.sort(t[:size]), t[size : size + _PLACED], seed) for t, seed in zip(turned, seeds, strict=True)]

    def refit(task: tuple[np.ndarray, np.ndarray, Any]) -> _Again:
        return _refit_rows(problem, whole, *task)

    sums, times = np.zeros((n, 2)), np.zeros(n)
    jumps, placed = np.zeros(n), np.zeros(n)
    scores = []
    for again in fit_each(problem.method, "refitting subsamples", tasks, refit):
        sums[again.at] += np.column_stack([again.stay, again.moved])
        times[again.at] += 1
        jumps[again.placed] += again.jump
        placed[again.placed] += 1
        scores.append(float(again.stay.mean()))
    mean = float(np.mean(scores))
    half = student_quantile(REFITS - 1) * float(np.std(scores, ddof=1)) / math.sqrt(REFITS)
    each = np.divide(sums, times[:, None], out=np.full((n, 2), np.nan), where=times[:, None] > 0)
    jump = np.divide(jumps, placed, out=np.full(n, np.nan), where=placed > 0)
    return _Refitted(each[:, 0], each[:, 1], jump, mean, (max(0.0, mean - half), min(1.0, mean + half)))


def _refit_rows(problem: MapProblem, whole: np.ndarray, picked: np.ndarray, left: np.ndarray, seed: Any) -> _Again:
    """Make the map again from some rows, and place others that are left out."""
    rng = np.random.default_rng(seed)
    part = problem.part(picked)
    model, Z = problem.embed(part.X, part.y, int(rng.integers(2**31 - 1)))
    there = np.flatnonzero(np.isfinite(Z).all(axis=1))
    if len(there) < len(Z) // 2:
        raise DataError(
            "Fewer than half of the rows of a subsample have coordinates, so that maps cannot be compared. Fit the "
            "method with `disconnected='connect'`."
        )
    Z, at = Z[there], picked[there]
    stay = neighbors_that_stay(whole[at], Z, rng)
    A, B = pad_columns(Z, whole[at])
    align = Procrustes.onto(A, B)
    if problem.pairwise or not hasattr(model, "transform"):
        left = left[:0]

    def distance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.asarray(np.sqrt(np.sum((align(A) - B) ** 2, axis=1)))

    moved, jump = distance(A, B), np.empty(0)
    if len(left):
        jump = distance(*pad_columns(np.asarray(to_numpy(model.transform(problem.X[left]))), whole[left]))
    return _Again(at, stay, moved, left, jump)
