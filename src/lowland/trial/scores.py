"""The quality measures of an embedding."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.errors import DataError, Stopped, marked_text
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.statistics.intervals import student_quantile
from lowland.quality import OriginalSpace, co_ranking
from lowland.quality.distance_preservation import correlation_of_distances
from lowland.quality.evaluation import evaluate_in_detail
from lowland.quality.kept_neighbors import neighbors_that_stay
from lowland.run.processes import error_text
from lowland.run.run import Run
from lowland.run.settings import config
from lowland.trial.prediction import PredictionTest
from lowland.trial.records import Curve, Score

VERSION = 21  # of the measures and their texts: a change makes cached trials stale
NEIGHBORS = 10  # neighborhood size of trustworthiness and similar measures; smaller if there are few rows
KEPT = "neighbors preserved"
OF_LABELS = ("neighborhood hit", "nearest-neighbor accuracy", "silhouette")
AREA, TRUST, CORRELATION, FIDELITY = "area under R_NX", "trustworthiness", "Pearson correlation", "fidelity"
STABILITY, REFITTED = "stability", "fidelity when made again"
RELIABLE, RELIABILITY, P_VALUE = "reliable points", "reliability", "p-value of reliability"  # the last two per row
PER_ROW_UP_TO = 4_096  # rows up to which trustworthiness and continuity are also computed per row
CURVE_POINTS, CLOUD_POINTS = 200, 2_000
LEAST_TO_COMPARE = 20  # rows in a map and in one made again


@dataclass(frozen=True, eq=False)
class Measured:
    """The measures of an embedding; none if it could not be evaluated, for which a warning gives the reason."""

    scores: dict[str, Score] = field(default_factory=dict)
    per_row: dict[str, np.ndarray] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EmbeddingScorer:
    """The rows, prepared once to evaluate many embeddings."""

    high: OriginalSpace
    graph: NeighborGraph  # the k nearest neighbors of every row
    k: int  # neighborhood size
    y: np.ndarray | None  # (n,) class labels: codes, or None for rows without a label
    test: PredictionTest | None  # if there are labels
    seed: int

    @classmethod
    def prepare(
        cls, X: np.ndarray, graph: NeighborGraph, y: np.ndarray | None, seed: int, targets: np.ndarray | None = None
    ) -> Self:
        """Prepare rows with class codes or numbers to predict; the graph must have at least k neighbors per row."""
        k = neighbors_for(len(X))
        test = None if y is None else PredictionTest.for_classes(y, seed)
        if targets is not None:
            test = PredictionTest.for_numbers(targets, seed)
        labels = y
        if y is not None and (y < 0).any():
            labels = np.where(y < 0, None, y)  # type: ignore[call-overload]
        return cls(OriginalSpace.of(X, labels=labels, random_state=seed), graph.nearest(k), k, labels, test, seed)

    def measure(self, Z: np.ndarray, labels_seen: bool, is_tested: bool = False, *, linear: bool = True) -> Measured:
        """Measure an embedding, (n, k); ``labels_seen``: whether its method was fitted to the labels.

        ``is_tested``: whether its predictions were tested already, with the method fitted without the held-out rows.
        ``linear``: whether the slower linear model predicts the labels too.
        """
        try:
            # the matrix products are small: BLAS threads would cost more than they save
            with config(progress=False), blas_on_one_thread(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                scores, per_row, curves = self._measured(Z)
                if labels_seen:  # its accuracy comes from folds in which it was fitted without the held-out rows
                    seen = "The method was fitted to these labels, so the value is optimistic."
                    for name in (name for name in OF_LABELS if name in scores):
                        about = f"{scores[name].about} {seen}"
                        scores[name] = replace(scores[name], about=about, labels_seen=True)
                elif self.test is not None and not is_tested:
                    scores = self.test.scores(Z, None if linear else self.test.names[0]) | scores
            return Measured(scores, per_row, curves, tuple(dict.fromkeys(marked_text(each.message) for each in caught)))
        except Stopped:
            raise
        except Exception as error:  # one bad embedding must not end the study
            return Measured(warnings=(f"Not evaluated: {error_text(error, marked_text)}",))

    def _measured(self, Z: np.ndarray) -> tuple[dict[str, Score], dict[str, np.ndarray], dict[str, Curve]]:
        """All measures, the values per row, and the curves."""
        placed = ~np.isnan(Z).any(axis=1)
        k = min(self.k, max(1, (int(placed.sum()) - 1) // 2))
        found = evaluate_in_detail(self.high, Z, self.y, n_neighbors=k, per_row=len(Z) <= PER_ROW_UP_TO)
        scores = {m.name: Score(float(m.value), m.better, m.about, m.low, m.high) for m in found.measures}
        if AREA in scores and CORRELATION in scores:
            scores[FIDELITY] = fidelity(scores[AREA], scores[CORRELATION])
        kept = self._neighbors_kept(Z, placed)
        about = f"Fraction of the {self.k} nearest neighbors in the data that are also among those in the embedding."
        scores[KEPT] = Score(float(np.nanmean(kept)), "higher", about)
        per_row = {m.name: m.per_row for m in found.measures if m.per_row is not None}
        ranks, diagram = found.ranks, found.distances
        some = np.unique(np.geomspace(1, len(ranks.k), CURVE_POINTS).round().astype(int)) - 1
        p = len(diagram.original)
        pairs = np.random.default_rng(self.seed).choice(p, min(p, CLOUD_POINTS), replace=False)
        there, here = diagram.original[pairs], diagram.embedded[pairs]
        curves = {
            "R_NX": Curve(ranks.k[some], ranks.r_nx[some], "neighborhood size", "R_NX"),
            "Shepard": Curve(there, here, "distance in the data", "distance in the embedding", "cloud"),
        }
        return scores, {KEPT: kept} | per_row, curves

    def _neighbors_kept(self, Z: np.ndarray, placed: np.ndarray) -> np.ndarray:
        """The fraction of the nearest neighbors of each row that are also nearest in Z, (n,); NaN if not embedded."""
        graph = self.graph if placed.all() else self.graph.among(placed)
        n, sources = graph.n, graph.sources
        here = nearest_neighbors(np.ascontiguousarray(Z[placed]), min(self.k, n - 1), Run())
        common = np.isin(sources * np.int64(n) + graph.to, here.sources * np.int64(n) + here.to)
        fraction = np.full(len(Z), np.nan)
        counts = np.bincount(sources, minlength=n)
        fraction[placed] = np.bincount(sources[common], minlength=n) / np.maximum(counts, 1)
        return fraction


def fidelity_of(high: OriginalSpace, Z: np.ndarray) -> float | None:
    """Return only the fidelity of an embedding, which is cheaper than all measures; None if it is undefined."""
    with config(progress=False), blas_on_one_thread():
        try:
            r = correlation_of_distances(high, Z)
            return (co_ranking(high, Z).area.value + r.value) / 2
        except DataError:  # all distances are equal
            return None


def fidelity(area: Score, correlation: Score) -> Score:
    """Return the mean of the two scores; its interval is the mean of their intervals, which is conservative."""
    about = "Mean of the area under R_NX (neighborhoods) and the Pearson correlation of the distances."
    mean = Score((area.value + correlation.value) / 2, "higher", about)
    if area.low is None and correlation.low is None:
        return mean
    ends = [(s.value, s.value) if s.low is None or s.high is None else (s.low, s.high) for s in (area, correlation)]
    low, high = (sum(each) / 2 for each in zip(*ends, strict=True))
    return replace(mean, low=low, high=high)


def stability(Z: np.ndarray, again: np.ndarray, seed: int) -> float | None:
    """Return how much of a map stays when it is made again from a subsample; None if too few rows are in both."""
    both = np.isfinite(Z).all(axis=1) & np.isfinite(again).all(axis=1)
    if both.sum() < LEAST_TO_COMPARE:
        return None
    return float(neighbors_that_stay(np.asarray(Z[both], np.float64), again[both], np.random.default_rng(seed)).mean())


def refitted(found: list[tuple[float, float]]) -> dict[str, Score]:
    """Return the stability and the fidelity of maps that were made again, as scores; without any, none."""
    if not found:
        return {}
    stays, faithful = zip(*found, strict=True)
    how = "when it is made again from subsamples with other seeds"
    return {
        STABILITY: _of_refits(stays, f"Fraction of neighbors in the map that stay {how}."),
        REFITTED: replace(_of_refits(faithful, f"Fidelity of the map {how}."), by_fold=faithful),
    }


def _of_refits(values: Sequence[float], about: str) -> Score:
    """The mean over refits to subsamples, with the interval of the mean over all refits of this table."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Score(mean, "higher", about)
    half = student_quantile(len(values) - 1) * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Score(mean, "higher", about, max(0.0, mean - half), min(1.0, mean + half))


def neighbors_for(n: int) -> int:
    """Return the neighborhood size of the measures for n rows."""
    return max(1, min(NEIGHBORS, (n - 1) // 2))
