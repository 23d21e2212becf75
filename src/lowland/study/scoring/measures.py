"""The quality measures of an embedding: every trial is compared with the same rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.errors import Stopped, marked_text
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors
from lowland.quality import Measure, OriginalSpace
from lowland.quality.evaluation import DetailedEvaluation, evaluate_in_detail
from lowland.run.local import LocalRun
from lowland.run.settings import config
from lowland.study.given_coordinates import traits_named
from lowland.study.result import Curve, Score, Trial
from lowland.study.scoring.prediction import PredictionTest
from lowland.study.trials.fit import in_a_sentence

VERSION = 13  # of the measures and their texts: a change makes cached trials stale
NEIGHBORS = 10  # neighborhood size of trustworthiness and similar measures; smaller if there are few rows
KEPT = "neighbors preserved"
OF_LABELS = ("neighborhood hit", "nearest-neighbor accuracy", "silhouette")
AREA, TRUST = "area under R_NX", "trustworthiness"
PER_ROW_UP_TO = 4_096  # rows up to which trustworthiness and continuity are also computed per row
CURVE_POINTS, CLOUD_POINTS = 200, 2_000


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
    def of(
        cls, X: np.ndarray, graph: NeighborGraph, y: np.ndarray | None, seed: int, targets: np.ndarray | None = None
    ) -> Self:
        """Prepare rows with class codes or numbers to predict; the graph must have at least k neighbors per row."""
        k = neighbors_for(len(X))
        test = None if y is None else PredictionTest.of(y, seed)
        if targets is not None:
            test = PredictionTest.of_numbers(targets, seed)
        labels = y
        if y is not None and (y < 0).any():
            labels = np.where(y < 0, None, y)  # type: ignore[call-overload]
        return cls(OriginalSpace.of(X, labels=labels, random_state=seed), graph.nearest(k), k, labels, test, seed)

    def scored(self, trial: Trial) -> Trial:
        """Return the trial with its scores; if it cannot be evaluated, the reason is among the warnings."""
        assert trial.Z is not None
        scores, curves, warned = dict(trial.scores), dict(trial.curves), list(trial.warnings)
        per_row: dict[str, np.ndarray] = {}
        reads_y = traits_named(trial.method).learns_labels_in_study
        try:
            # the matrix products are small: BLAS threads would cost more than they save
            with config(progress=False), blas_on_one_thread(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found, per_row, found_curves = self._measured(trial.Z)
                if reads_y:  # its accuracy comes from folds in which it was fitted without the held-out rows
                    found = _with_labels_seen(found)
                elif self.test is not None:
                    found = self.test.scores(trial.Z) | found
                scores = found | scores
                curves |= found_curves
            warned += [
                text for text in dict.fromkeys(marked_text(each.message) for each in caught) if text not in warned
            ]
        except Stopped:
            raise
        except Exception as error:  # one bad embedding must not end the study
            warned.append(f"Not evaluated: {in_a_sentence(error)}")
        return replace(trial, scores=scores, curves=curves, per_row=per_row, warnings=tuple(warned))

    def _measured(self, Z: np.ndarray) -> tuple[dict[str, Score], dict[str, np.ndarray], dict[str, Curve]]:
        """All measures, the values per row, and the curves."""
        placed = ~np.isnan(Z).any(axis=1)
        k = min(self.k, max(1, (int(placed.sum()) - 1) // 2))
        found = evaluate_in_detail(self.high, Z, self.y, n_neighbors=k, per_row=len(Z) <= PER_ROW_UP_TO)
        scores = {m.name: as_score(m) for m in found.measures}
        kept = self._neighbors_kept(Z, placed)
        about = f"Fraction of the {self.k} nearest neighbors in the data that are also among those in the embedding."
        scores[KEPT] = Score(float(np.nanmean(kept)), "higher", about)
        per_row = {m.name: m.per_row for m in found.measures if m.per_row is not None}
        return scores, {KEPT: kept} | per_row, self._curves(found)

    def _curves(self, found: DetailedEvaluation) -> dict[str, Curve]:
        """R_NX by neighborhood size, and the Shepard diagram."""
        ranks, diagram = found.ranks, found.distances
        some = np.unique(np.geomspace(1, len(ranks.k), CURVE_POINTS).round().astype(int)) - 1
        pairs = np.random.default_rng(self.seed).permutation(len(diagram.original))[:CLOUD_POINTS]
        there, here = diagram.original[pairs], diagram.embedded[pairs]
        return {
            "R_NX": Curve(ranks.k[some], ranks.r_nx[some], "neighborhood size", "R_NX"),
            "Shepard": Curve(there, here, "distance in the data", "distance in the embedding", "cloud"),
        }

    def _neighbors_kept(self, Z: np.ndarray, placed: np.ndarray) -> np.ndarray:
        """The fraction of the nearest neighbors of each row that are also nearest in Z, (n,); NaN if not embedded."""
        graph = self.graph if placed.all() else self.graph.among(placed)
        n, sources = graph.n, graph.sources
        here = nearest_neighbors(np.ascontiguousarray(Z[placed]), min(self.k, n - 1), LocalRun())
        common = np.isin(sources * np.int64(n) + graph.to, here.sources * np.int64(n) + here.to)
        fraction = np.full(len(Z), np.nan)
        counts = np.bincount(sources, minlength=n)
        fraction[placed] = np.bincount(sources[common], minlength=n) / np.maximum(counts, 1)
        return fraction


def neighbors_for(n: int) -> int:
    """Return the neighborhood size of the measures for n rows."""
    return max(1, min(NEIGHBORS, (n - 1) // 2))


def as_score(m: Measure) -> Score:
    """Convert a measure to a score."""
    return Score(float(m.value), m.better, m.about, m.low, m.high)


def _with_labels_seen(found: dict[str, Score]) -> dict[str, Score]:
    """Mark the scores that use the labels to which the method was fitted."""
    about = "The method was fitted to these labels, so the value is optimistic."
    return {
        name: replace(score, about=f"{score.about} {about}", labels_seen=True) if name in OF_LABELS else score
        for name, score in found.items()
    }
