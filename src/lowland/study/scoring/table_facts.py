"""Facts about the table itself: spectrum, intrinsic dimension, and how well the columns predict the classes."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from lowland.errors import LowlandError
from lowland.methods.pca import PCA
from lowland.quality import intrinsic_dimension
from lowland.run.settings import config
from lowland.study.result import Curve, Score, Trial
from lowland.study.scoring.knn_accuracy import KnnTest
from lowland.study.serialization import score_from_plain
from lowland.study.table import standard_deviation_ratio

Baseline: Any = PCA  # the method that others are compared with
BASELINE = PCA.__name__
MAX_COMPONENTS = 1_000
MAX_TESTED = 128  # the most components from which classes are predicted


@dataclass(frozen=True)
class TableFacts:
    """The facts about the table on which the advice is based."""

    explained_variance_ratio: tuple[float, ...]  # of every principal component, largest first
    distortions: tuple[float, ...]  # mean squared reconstruction error of 0, 1, 2 … components
    intrinsic_dimension: float | None
    intrinsic_dimension_low: float | None
    intrinsic_dimension_high: float | None
    accuracy: Score | None  # of all columns, if there are labels
    accuracy_by_components: tuple[tuple[int, Score], ...]  # of the first 1, 2, 4 … principal components
    majority_class_fraction: float  # majority-class baseline on the same rows
    n_duplicate_rows: int  # rows equal to an earlier row, if there are labels
    standard_deviation_ratio: float  # largest standard deviation of a column over the smallest

    def to_plain(self) -> dict[str, Any]:
        """Return the facts as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, record: dict[str, Any]) -> Self:
        """Restore the facts from the result of ``to_plain``."""
        accuracy = None if record["accuracy"] is None else score_from_plain(record["accuracy"])
        several = tuple((int(m), score_from_plain(score)) for m, score in record["accuracy_by_components"])
        tuples = {name: tuple(record[name]) for name in ("explained_variance_ratio", "distortions")}
        return cls(**{**record, **tuples, "accuracy": accuracy, "accuracy_by_components": several})


def table_facts(X: np.ndarray, y: np.ndarray | None, seed: int) -> TableFacts:
    """Compute the facts about a table."""
    with config(progress=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the trials give the same warnings
        n, d = X.shape
        pca = Baseline(min(n, d, MAX_COMPONENTS)).fit(X)
        values = np.asarray(pca.explained_variance_, dtype=np.float64)
        total = float(np.sum(pca.explained_variance_) / max(float(np.sum(pca.explained_variance_ratio_)), 1e-300))
        left = np.maximum(total - np.concatenate([[0.0], np.cumsum(values)]), 0.0) * (n - 1) / n
        dimension: tuple[float | None, float | None, float | None] = (None, None, None)
        with contextlib.suppress(LowlandError):  # too few rows, or too many duplicates
            own = intrinsic_dimension(X, random_state=seed)
            dimension = (
                min(float(own.value), d),
                min(float(own.low), d),
                min(float(own.high), d),
            )  # the estimate may exceed d for noise
        of_labels: _OfLabels = (None, (), 0.0, 0) if y is None else _facts_of_labels(pca, X, y, seed)
        ratio = standard_deviation_ratio(X)
    fractions = tuple(float(v) for v in values / max(total, 1e-300))
    accuracy, by_components, majority, duplicates = of_labels
    return TableFacts(
        fractions, tuple(map(float, left)), *dimension, accuracy, by_components, majority, duplicates, ratio
    )


_OfLabels = tuple[Score | None, tuple[tuple[int, Score], ...], float, int]


def _facts_of_labels(pca: Any, X: np.ndarray, y: np.ndarray, seed: int) -> _OfLabels:
    """Accuracy of all columns, by number of components, and of the majority class; number of duplicate rows."""
    knn = KnnTest.of(y, seed)
    accuracy = knn.accuracy(X)
    several = () if accuracy is None else _accuracy_by_components(pca, X, knn)
    return accuracy, several, knn.majority_class_fraction, len(X) - len({hash(row.tobytes()) for row in X})


def _accuracy_by_components(pca: Any, X: np.ndarray, knn: KnnTest) -> tuple[tuple[int, Score], ...]:
    """Accuracy of the first 1, 2, 4 … components."""
    most = min(pca.n_components_, MAX_TESTED, X.shape[1] - 1)
    Z = np.asarray(pca.transform(X))[:, :most]
    counts = [2**j for j in range(most.bit_length()) if 2**j <= most]
    found = [(m, knn.accuracy(np.ascontiguousarray(Z[:, :m]))) for m in counts]
    return tuple((m, score) for m, score in found if score is not None)


def with_spectrum(trial: Trial, facts: TableFacts) -> Trial:
    """Add the scree and distortion curves of all components to the trial of PCA."""
    if trial.method != BASELINE or trial.status != "done":
        return trial
    m = np.arange(len(facts.distortions), dtype=np.float64)
    curves = {
        "scree": Curve(m[1:], np.array(facts.explained_variance_ratio), "component", "explained variance ratio"),
        "distortion": Curve(m, np.array(facts.distortions), "number of components", "reconstruction error"),
    }
    return replace(trial, curves={**trial.curves, **curves})
