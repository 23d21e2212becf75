"""Choose parameters without labels: which settings keep neighbors, and keep them again."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from lowland.arrays.random import generator
from lowland.errors import DataError, ParameterError, marked_text
from lowland.evidence.problem import MapProblem, check_estimator, embed, fit_each, open_problem
from lowland.math.statistics.intervals import student_quantile
from lowland.plain import html_table
from lowland.quality.kept_neighbors import SUBSAMPLES, kept_nearest, nearest_points, subsample_size
from lowland.run.run import Run
from lowland.suggestions import did_you_mean

NEIGHBORS = 10
MOST_POINTS = 1000  # points of a map whose neighbors are compared
_LEVEL = 0.05


@dataclass(frozen=True, eq=False)
class Setting:
    """One setting of a sweep.

    Attributes
    ----------
    name : str
        The setting in words, such as "perplexity=30".
    parameters : dict
        The values of the parameters.
    method : estimator
        An unfitted estimator with these values.
    score, interval : float, tuple of two floats
        Fraction of the ten nearest neighbors of a point in the data that are its ten nearest in the map, corrected for
        chance, and its 95% confidence interval over subsamples of the points and seeds.
    stability, stability_interval : float, tuple of two floats
        Fraction of the ten nearest neighbors in the map of all rows that stay when the map is made again from a
        subsample and with another seed, corrected for chance, and its interval.
    equivalent : bool
        Whether neither the score nor the stability is significantly below that of the best setting: t-tests at 5%,
        paired over the subsamples and corrected for the number of settings (Bonferroni).
    """

    name: str
    parameters: dict[str, Any]
    method: Any = field(repr=False)
    score: float
    interval: tuple[float, float]
    stability: float
    stability_interval: tuple[float, float]
    equivalent: bool


@dataclass(frozen=True, eq=False)
class Sweep:
    """The settings of a sweep, in the order in which they were passed, and which of them are as good as the best.

    Draw it with ``plots.sweep``.
    """

    settings: list[Setting]

    @property
    def best(self) -> Setting:
        """The setting with the highest score."""
        return max(self.settings, key=lambda s: s.score)

    @property
    def equivalent(self) -> list[Setting]:
        """The settings that are as good as the best as far as is known, including the best."""
        return [s for s in self.settings if s.equivalent]

    @property
    def summary(self) -> str:
        """A paragraph to quote."""
        best, good = self.best, self.equivalent
        bad = [s.name for s in self.settings if not s.equivalent]
        (low, high), (least, most) = best.interval, best.stability_interval
        text = (
            f"{best.name} keeps neighbors best: {best.score:.0%} of the ten nearest in the data are among the ten "
            f"nearest in the map (95% confidence interval {low:.0%} to {high:.0%}), and {best.stability:.0%} of the "
            f"ten nearest in the map stay when it is made again ({least:.0%} to {most:.0%})."
        )
        if len(good) > 1:
            text += f" Equivalent to it: {', '.join(s.name for s in good if s is not best)}."
        return text + (f" Worse: {', '.join(bad)}." if bad else " No setting is worse.")

    def __repr__(self) -> str:
        return f"Sweep: {self.summary}"

    def _repr_html_(self) -> str:
        """Return the settings as a table, which a notebook shows."""
        rows = [(s.name, _text(s.score, s.interval), _text(s.stability, s.stability_interval),
                 "yes" if s.equivalent else "no") for s in self.settings]  # fmt: skip
        return html_table(rows, ("setting", "neighbors kept", "stability", "equivalent to the best"), self.summary)


def _text(value: float, interval: tuple[float, float]) -> str:
    return f"{value:.3f} ({interval[0]:.3f} to {interval[1]:.3f})"


def sweep(method: Any, X: Any, y: Any = None, *, random_state: Any = None, **values: Any) -> Sweep:
    """Compare settings of a method, or several methods, by how well their maps keep neighbors. Needs no labels.

    1. For each setting, make the map of all points, and ten maps of subsamples with other seeds. All settings see the
       same subsamples.
    2. In each map of a subsample, measure the score, the fraction of the ten nearest neighbors in the data that are
       among the ten nearest in the map, and the stability, the fraction of the ten nearest in the map of all points
       that are among the ten nearest again.
    3. Compare each setting with the one of the highest score, subsample by subsample.

    Parameters
    ----------
    method : estimator or list of estimators
        Unfitted methods. Parameters that are not swept keep their values.
    X : array-like of shape (n, d) or path
        Points, or distances if the method expects them.
    y : array-like of shape (n,) or None, default None
        Labels, for supervised methods. Other methods do not use them.
    random_state : int, Generator or None, default None
        Seed. None uses the same seed every time.
    **values : lists
        Values of parameters. With several parameters, all combinations are tried.

    Returns
    -------
    Sweep
        ``settings`` with score and interval, ``best``, ``equivalent``, ``summary``.

    Notes
    -----
    Cost per setting: one fit to all rows, and ten fits to 80% of them. For many rows, the subsamples have a tenth of
    the rows, or 2,000 if these are more.

    The number of neighbors in a map of a subsample is that of the whole map, so with many rows a perplexity or a number
    of neighbors covers a larger part of a subsample than of the table.

    Examples
    --------
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> found = lowland.sweep(lowland.KernelPCA(2, kernel="rbf"), X, gamma=[0.01, 0.1, 1])
    >>> found.best.name
    'gamma=0.01'
    """
    methods = _settings(list(method) if isinstance(method, list | tuple) else [method], values)
    rng = generator(0 if random_state is None else random_state)
    run = Run()
    seed = int(rng.integers(2**31 - 1))
    maps = [_whole_map(*methods[i], X, y, seed) for i in run.iterate("mapping all rows", len(methods))]
    n = maps[0].n
    measured = np.empty((SUBSAMPLES, len(maps), 2))
    draws = []
    for _ in range(SUBSAMPLES):
        picked, seed = np.sort(rng.permutation(n)[: subsample_size(n)]), int(rng.integers(2**31 - 1))
        draws.append((picked, np.sort(rng.permutation(len(picked))[:MOST_POINTS]), seed))
    for s in run.iterate("comparing settings", len(maps)):
        work = partial(_measure, methods[s][0], maps[s])
        measured[:, s] = fit_each(methods[s][2], "refitting subsamples", draws, work)
    return Sweep(_judge(methods, measured))


def _settings(methods: list[Any], values: dict[str, Any]) -> list[tuple[str, dict[str, Any], Any]]:
    """The name, the parameters and the unfitted estimator of each setting."""
    from sklearn.base import clone

    found = []
    for method in methods:
        check_estimator(method)
        known = list(method.get_params())
        for name, listed in values.items():
            if name not in known:
                raise ParameterError(
                    f"{type(method).__name__} has no parameter `{name}`. {did_you_mean(name, known)}".strip()
                )
            if isinstance(listed, str) or not hasattr(listed, "__len__") or not len(listed):
                raise ParameterError(f"`{name}={listed!r}`: pass a list of values, such as `{name}=[5, 15, 50]`.")
        for chosen in itertools.product(*values.values()):
            parameters = dict(zip(values, chosen, strict=True))
            words = [type(method).__name__] if len(methods) > 1 or not values else []
            name = ", ".join(words + [f"{key}={value}" for key, value in parameters.items()])
            found.append((name, parameters, clone(method).set_params(**parameters)))
    if len(found) < 2:
        raise ParameterError("There is one setting, which has nothing to be compared with. Pass two or more.")
    return found


def _whole_map(name: str, parameters: dict[str, Any], method: Any, X: Any, y: Any, seed: int) -> MapProblem:
    problem = open_problem(embed(method, X, y, seed)[1], X, y, method)
    problem.check_neighbors()
    if not problem.kept.all():
        raise DataError(
            f"{name}: {len(problem.kept) - problem.n} rows have no coordinates, so that settings cannot be compared. "
            "Use `disconnected='connect'`."
        )
    return problem


def _measure(name: str, problem: MapProblem, draw: tuple[np.ndarray, np.ndarray, int]) -> tuple[float, float]:
    """Score and stability of a map of some rows, measured on some of their points."""
    picked, points, seed = draw
    part = problem.part(picked)
    try:
        _, Z = problem.embed(part.X, part.y, seed)
    except ValueError as error:  # its message counts the rows of the subsample
        raise DataError(f"{name}, on a subsample of {len(picked):,} rows: {marked_text(error)}") from error
    k = min(NEIGHBORS, len(picked) // 4)
    again = nearest_points(Z, k, points)
    score, stability = (
        float(kept_nearest(nearest_points(S, k, points, metric), again, len(picked)).mean())
        for S, metric in ((part.X, part.metric), (part.Z, "euclidean"))
    )
    return score, stability


def _judge(methods: list[tuple[str, dict[str, Any], Any]], measured: np.ndarray) -> list[Setting]:
    """Means with intervals, and paired comparisons with the best, from scores and stabilities (refits, settings, 2)."""
    from scipy.special import stdtrit

    def error(values: np.ndarray) -> np.ndarray:
        return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(SUBSAMPLES))

    means = measured.mean(axis=0)
    behind = measured[:, [int(np.argmax(means[:, 0]))]] - measured
    worse = behind.mean(axis=0) > float(stdtrit(SUBSAMPLES - 1, 1 - _LEVEL / (len(methods) - 1))) * error(behind)
    half = student_quantile(SUBSAMPLES - 1) * error(measured)
    ends = np.clip(np.stack([means - half, means + half], axis=2), -1, 1).tolist()
    return [
        Setting(
            *methods[s], float(means[s, 0]), tuple(ends[s][0]), float(means[s, 1]), tuple(ends[s][1]),
            not worse[s].any(),
        )
        for s in range(len(methods))
    ]  # fmt: skip
