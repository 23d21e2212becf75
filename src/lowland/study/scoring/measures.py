"""What a study measures: every embedding against the same rows, and the table for itself."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.neighbors.search import nearest_neighbors
from lowland.errors import LowlandError, Stopped
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.quality import HighSide, Measure, intrinsic_dimension
from lowland.quality.evaluation import Judged, judged
from lowland.run.local import LocalRun, blas_on_one_thread
from lowland.run.settings import config
from lowland.study.result import Curve, Score, Trial
from lowland.study.scoring import knn_accuracy as downstream
from lowland.study.serialization import score_from_plain
from lowland.study.table import unevenness
from lowland.study.trials.fit import in_a_sentence

VERSION = 9  # of what is measured: a change makes cached trials stale
NEIGHBORS = 10  # of which trustworthiness and the like speak; fewer where rows are few
KEPT = "neighbours kept"
OF_LABELS = ("neighbourhood hit", "nearest-neighbour accuracy", "silhouette")
AREA, TRUST = "area under R_NX", "trustworthiness"
EACH = 4_096  # rows up to which each is told its trustworthiness
CURVE_POINTS, CLOUD_POINTS = 200, 2_000


@dataclass(frozen=True, eq=False)
class Judge:
    """The side of the rows, prepared once."""

    high: HighSide
    graph: NeighborGraph  # the nearest of every row
    y: np.ndarray | None  # (n,) numbers of classes
    seed: int

    @classmethod
    def of(cls, X: np.ndarray, graph: NeighborGraph, y: np.ndarray | None, seed: int) -> Self:
        """Prepare rows; the graph holds at least as many neighbours as are asked for."""
        return cls(HighSide.of(X, labels=y, random_state=seed), graph, y, seed)

    def measured(self, trial: Trial) -> Trial:
        """Return a trial with what its coordinates say; where they cannot be measured, the reason is among warnings."""
        assert trial.Z is not None
        scores, curves, told = dict(trial.scores), dict(trial.curves), list(trial.warnings)
        per_row: dict[str, np.ndarray] = {}
        try:
            # sums over pairs are short: threads of BLAS would cost more than they bring
            with config(progress=False), blas_on_one_thread(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found, per_row, seen = self._judged(trial.Z)
                scores = self._of_labels(trial) | _as_seen(found, trial.method) | scores
                curves |= seen
            told += [text for text in dict.fromkeys(str(each.message) for each in caught) if text not in told]
        except Stopped:
            raise
        except Exception as error:  # a study outlives whatever the coordinates of one method do
            told.append(f"Not measured: {in_a_sentence(error)}")
        single = {name: np.asarray(values, dtype=np.float32) for name, values in per_row.items()}
        return replace(trial, scores=scores, curves=curves, per_row=single, warnings=tuple(told))

    @property
    def k(self) -> int:
        """Neighbours that are compared."""
        return neighbors_for(self.high.n)

    def _judged(self, Z: np.ndarray) -> tuple[dict[str, Score], dict[str, np.ndarray], dict[str, Curve]]:
        """Every measure, those of each row, and the curves."""
        placed = int(np.sum(~np.isnan(Z).any(axis=1)))
        k = min(self.k, max(1, (placed - 1) // 2))
        by_row = len(Z) <= EACH  # all rows are looked at
        judgement = judged(self.high, Z, self.y, n_neighbors=k, per_row=by_row)
        found = {m.name: as_score(m) for m in judgement.measures}
        kept = self._kept(Z)
        about = f"Share of the {self.k} nearest in the data that are among the {self.k} nearest here."
        found[KEPT] = Score(float(np.nanmean(kept)), "higher", about)
        each = {m.name: m.per_row for m in judgement.measures if m.per_row is not None}
        return found, {KEPT: kept} | each, self._curves(judgement)

    def _of_labels(self, trial: Trial) -> dict[str, Score]:
        """How well classes are told apart; what learns from labels was asked in folds, without those held out."""
        if self.y is None or trial.Z is None or traits_of(load_method(trial.method)).reads_y:
            return {}
        accuracy = downstream.accuracy(trial.Z, self.y, self.seed)
        return {} if accuracy is None else {downstream.NAME: accuracy}

    def _curves(self, judgement: Judged) -> dict[str, Curve]:
        """R_NX over sizes of neighbourhoods, and distances here and there."""
        ranks, diagram = judgement.ranks, judgement.distances
        some = np.unique(np.geomspace(1, len(ranks.k), CURVE_POINTS).round().astype(int)) - 1
        pairs = np.random.default_rng(self.seed).permutation(len(diagram.original))[:CLOUD_POINTS]
        there, here = diagram.original[pairs], diagram.embedded[pairs]
        return {
            "R_NX": Curve(ranks.k[some], ranks.r_nx[some], "neighbours", "R_NX"),
            "Shepard": Curve(there, here, "distance in the data", "distance in the embedding", "cloud"),
        }

    def _kept(self, Z: np.ndarray) -> np.ndarray:
        """The share of each row's nearest that are its nearest in Z, (n,); NaN for rows without coordinates."""
        placed = ~np.isnan(Z).any(axis=1)
        graph = self.graph.nearest(self.k)
        graph = graph if placed.all() else graph.among(placed)
        here = nearest_neighbors(np.ascontiguousarray(Z[placed]), min(self.k, int(placed.sum()) - 1), LocalRun())
        n = np.int64(graph.n)
        common = np.isin(graph.sources * n + graph.to, here.sources * n + here.to)
        share = np.full(len(Z), np.nan)
        counts = np.bincount(graph.sources, minlength=graph.n)
        share[placed] = np.bincount(graph.sources[common], minlength=graph.n) / np.maximum(counts, 1)
        return share


def neighbors_for(n: int) -> int:
    """Return of how many neighbours the measures speak."""
    return max(1, min(NEIGHBORS, (n - 1) // 2))


def as_score(m: Measure) -> Score:
    """A measure as the study keeps it."""
    return Score(float(m.value), m.better, m.about, m.low, m.high)


def _as_seen(found: dict[str, Score], method: str) -> dict[str, Score]:
    """Mark the scores whose labels are those that the method was fitted to."""
    if not traits_of(load_method(method)).reads_y:
        return found
    own = {name: found[name] for name in OF_LABELS if name in found}
    words = "The method has seen these labels."
    return found | {name: replace(score, about=f"{score.about} {words}", seen=True) for name, score in own.items()}


# --- the table for itself ---


@dataclass(frozen=True)
class TableFacts:
    """What advice rests on besides the trials."""

    shares: tuple[float, ...]  # of the variance, of every principal component, largest first
    distortions: tuple[float, ...]  # what 0, 1, 2 … components leave of the squared distances from the mean
    dimension: float | None  # that the rows have of their own
    dimension_low: float | None
    dimension_high: float | None
    accuracy: Score | None  # from all columns, where there are labels
    by_components: tuple[tuple[int, Score], ...]  # the same from 1, 2, 4 … principal components
    commonest: float  # share of the commonest class among the rows asked about, which guessing would name rightly
    repeats: int  # rows that are equal to an earlier one, where there are labels
    uneven: float  # largest deviation of a column over the smallest

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_plain(cls, told: dict[str, Any]) -> Self:
        """What ``to_plain`` made."""
        accuracy = None if told["accuracy"] is None else score_from_plain(told["accuracy"])
        several = tuple((int(m), score_from_plain(score)) for m, score in told["by_components"])
        plain = {"shares": tuple(told["shares"]), "distortions": tuple(told["distortions"])}
        return cls(**{**told, **plain, "accuracy": accuracy, "by_components": several})


MOST_COMPONENTS = 1_000
MOST_ASKED = 128  # components up to which labels are told from them


def table_facts(X: np.ndarray, y: np.ndarray | None, seed: int) -> TableFacts:
    """Measure the table: its spectrum, its intrinsic dimension, and what its labels can be told from."""
    with config(progress=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # trials tell of the same, each for its method
        n, d = X.shape
        pca = load_method("PCA")(min(n, d, MOST_COMPONENTS)).fit(X)
        values = np.asarray(pca.explained_variance_, dtype=np.float64)
        total = float(np.sum(pca.explained_variance_) / max(float(np.sum(pca.explained_variance_ratio_)), 1e-300))
        left = np.maximum(total - np.concatenate([[0.0], np.cumsum(values)]), 0.0) * (n - 1) / n
        dimension: tuple[float | None, float | None, float | None] = (None, None, None)
        with contextlib.suppress(LowlandError):  # too few rows, or too many of them equal
            own = intrinsic_dimension(X, random_state=seed)
            dimension = (min(float(own.value), d), min(float(own.low), d), min(float(own.high), d))  # noise says more
        accuracy = None if y is None else downstream.accuracy(X, y, seed)
        several = () if y is None or accuracy is None else _by_components(pca, X, y, seed)
        commonest = 0.0 if y is None else downstream.guessing(y, seed)
        repeats = 0 if y is None else n - len({hash(row.tobytes()) for row in X})
        uneven = unevenness(X)
    shares = tuple(float(v) for v in values / max(total, 1e-300))
    return TableFacts(shares, tuple(map(float, left)), *dimension, accuracy, several, commonest, repeats, uneven)


def _by_components(pca: Any, X: np.ndarray, y: np.ndarray, seed: int) -> tuple[tuple[int, Score], ...]:
    """How well classes are told from the first 1, 2, 4 … components."""
    most = min(pca.n_components_, MOST_ASKED, X.shape[1] - 1)
    Z = np.asarray(pca.transform(X))[:, :most]
    counts = [2**j for j in range(most.bit_length()) if 2**j <= most]
    found = [(m, downstream.accuracy(np.ascontiguousarray(Z[:, :m]), y, seed)) for m in counts]
    return tuple((m, score) for m, score in found if score is not None)


def with_spectrum(trial: Trial, facts: TableFacts) -> Trial:
    """The trial of PCA with the curves of all its components."""
    if trial.method != "PCA" or trial.status != "done":
        return trial
    m = np.arange(len(facts.distortions), dtype=np.float64)
    curves = {
        "scree": Curve(m[1:], np.array(facts.shares), "component", "share of the variance"),
        "distortion": Curve(m, np.array(facts.distortions), "components", "distortion"),
    }
    return replace(trial, curves={**trial.curves, **curves})
