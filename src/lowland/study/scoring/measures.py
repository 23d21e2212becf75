"""What a study measures of an embedding: every one against the same rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.neighbors.search import nearest_neighbors
from lowland.errors import Stopped
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.quality import Measure, OriginalSpace
from lowland.quality.evaluation import DetailedEvaluation, evaluate_in_detail
from lowland.run.local import LocalRun, blas_on_one_thread
from lowland.run.settings import config
from lowland.study.result import Curve, Score, Trial
from lowland.study.scoring.knn_accuracy import NAME as ACCURACY
from lowland.study.scoring.knn_accuracy import KnnTest
from lowland.study.trials.fit import in_a_sentence

VERSION = 10  # of what is measured: a change makes cached trials stale
NEIGHBORS = 10  # neighbors of trustworthiness and the like; fewer where rows are few
KEPT = "neighbours kept"
OF_LABELS = ("neighbourhood hit", "nearest-neighbour accuracy", "silhouette")
AREA, TRUST = "area under R_NX", "trustworthiness"
PER_ROW_UP_TO = 4_096  # rows up to which each has a trustworthiness of its own
CURVE_POINTS, CLOUD_POINTS = 200, 2_000


@dataclass(frozen=True, eq=False)
class EmbeddingScorer:
    """The rows, prepared once to measure many embeddings."""

    high: OriginalSpace
    graph: NeighborGraph  # the k nearest neighbors of every row
    k: int  # neighbors that are compared
    y: np.ndarray | None  # (n,) class codes
    knn: KnnTest | None  # where there are labels
    seed: int

    @classmethod
    def of(cls, X: np.ndarray, graph: NeighborGraph, y: np.ndarray | None, seed: int) -> Self:
        """Prepare rows; the graph holds at least as many neighbors as are compared."""
        k = neighbors_for(len(X))
        knn = None if y is None else KnnTest.of(y, seed)
        return cls(OriginalSpace.of(X, labels=y, random_state=seed), graph.nearest(k), k, y, knn, seed)

    def scored(self, trial: Trial) -> Trial:
        """Return a trial with what its coordinates say; where they cannot be measured, the reason is among warnings."""
        assert trial.Z is not None
        scores, curves, warned = dict(trial.scores), dict(trial.curves), list(trial.warnings)
        per_row: dict[str, np.ndarray] = {}
        reads_y = traits_of(load_method(trial.method)).reads_y
        try:
            # sums over pairs are short: threads of BLAS would cost more than they bring
            with config(progress=False), blas_on_one_thread(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found, per_row, found_curves = self._measured(trial.Z)
                if reads_y:  # it has its accuracy from folds, in which it was fitted without the held-out rows
                    found = _with_labels_seen(found)
                elif self.knn is not None and (accuracy := self.knn.accuracy(trial.Z)) is not None:
                    found = {ACCURACY: accuracy} | found
                scores = found | scores
                curves |= found_curves
            warned += [text for text in dict.fromkeys(str(each.message) for each in caught) if text not in warned]
        except Stopped:
            raise
        except Exception as error:  # a study outlives whatever the coordinates of one method do
            warned.append(f"Not measured: {in_a_sentence(error)}")
        return replace(trial, scores=scores, curves=curves, per_row=per_row, warnings=tuple(warned))

    def _measured(self, Z: np.ndarray) -> tuple[dict[str, Score], dict[str, np.ndarray], dict[str, Curve]]:
        """Every measure, those of each row, and the curves."""
        placed = ~np.isnan(Z).any(axis=1)
        k = min(self.k, max(1, (int(placed.sum()) - 1) // 2))
        found = evaluate_in_detail(self.high, Z, self.y, n_neighbors=k, per_row=len(Z) <= PER_ROW_UP_TO)
        scores = {m.name: as_score(m) for m in found.measures}
        kept = self._neighbors_kept(Z, placed)
        about = f"Share of the {self.k} nearest in the data that are among the {self.k} nearest here."
        scores[KEPT] = Score(float(np.nanmean(kept)), "higher", about)
        per_row = {m.name: m.per_row for m in found.measures if m.per_row is not None}
        return scores, {KEPT: kept} | per_row, self._curves(found)

    def _curves(self, found: DetailedEvaluation) -> dict[str, Curve]:
        """R_NX over sizes of neighborhoods, and distances here and there."""
        ranks, diagram = found.ranks, found.distances
        some = np.unique(np.geomspace(1, len(ranks.k), CURVE_POINTS).round().astype(int)) - 1
        pairs = np.random.default_rng(self.seed).permutation(len(diagram.original))[:CLOUD_POINTS]
        there, here = diagram.original[pairs], diagram.embedded[pairs]
        return {
            "R_NX": Curve(ranks.k[some], ranks.r_nx[some], "neighbours", "R_NX"),
            "Shepard": Curve(there, here, "distance in the data", "distance in the embedding", "cloud"),
        }

    def _neighbors_kept(self, Z: np.ndarray, placed: np.ndarray) -> np.ndarray:
        """The fraction of each row's nearest that are its nearest in Z, (n,); NaN for rows without coordinates."""
        graph = self.graph if placed.all() else self.graph.among(placed)
        n, sources = graph.n, graph.sources
        here = nearest_neighbors(np.ascontiguousarray(Z[placed]), min(self.k, n - 1), LocalRun())
        common = np.isin(sources * np.int64(n) + graph.to, here.sources * np.int64(n) + here.to)
        fraction = np.full(len(Z), np.nan)
        counts = np.bincount(sources, minlength=n)
        fraction[placed] = np.bincount(sources[common], minlength=n) / np.maximum(counts, 1)
        return fraction


def neighbors_for(n: int) -> int:
    """Return how many neighbors the measures compare."""
    return max(1, min(NEIGHBORS, (n - 1) // 2))


def as_score(m: Measure) -> Score:
    """A measure as the study keeps it."""
    return Score(float(m.value), m.better, m.about, m.low, m.high)


def _with_labels_seen(found: dict[str, Score]) -> dict[str, Score]:
    """Mark the scores whose labels are those that the method was fitted to."""
    about = "The method has seen these labels."
    return {
        name: replace(score, about=f"{score.about} {about}", labels_seen=True) if name in OF_LABELS else score
        for name, score in found.items()
    }
