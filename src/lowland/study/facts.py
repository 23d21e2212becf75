"""Facts about the table itself: spectrum, intrinsic dimension, and how well all columns predict the labels."""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from lowland.data.scales import standard_deviation_ratio
from lowland.errors import LowlandError
from lowland.evidence.dependence import dependence_p_value
from lowland.methods.pca import PCA
from lowland.quality import intrinsic_dimension
from lowland.run.settings import config
from lowland.study.result import Trial
from lowland.study.serialization import score_from_plain
from lowland.trial.prediction import PredictionTest
from lowland.trial.records import Curve, Score

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
    intrinsic_dimension_error: float | None  # standard error
    accuracy: Score | None  # of nearest neighbors on all columns, if there are labels; R² if they are numbers
    accuracy_by_components: tuple[tuple[int, Score], ...]  # of the first 1, 2, 4 … principal components
    majority_class_fraction: float  # majority-class baseline on the same rows; 0 for numbers
    n_duplicate_rows: int  # rows equal to an earlier row, if there are labels
    standard_deviation_ratio: float  # largest standard deviation of a column over the smallest
    linear_accuracy: Score | None = None  # as accuracy, of logistic or ridge regression on all standardized columns
    linear_by_components: tuple[tuple[int, Score], ...] = ()  # instead of those, if the linear model is better
    companions: dict[str, Score] = field(default_factory=dict)  # balanced accuracy and AUC of all columns, by name
    independence_p_value: float | None = None  # of the hypothesis that the columns are independent; None: not tested

    @property
    def whole(self) -> Score | None:
        """The better of the two scores of all columns."""
        known = [score for score in (self.accuracy, self.linear_accuracy) if score is not None]
        return max(known, key=lambda score: score.value, default=None)

    @property
    def is_linear_better(self) -> bool:
        """Whether the linear model predicts better from all columns than nearest neighbors."""
        return self.linear_accuracy is not None and self.whole is self.linear_accuracy

    @property
    def by_components(self) -> tuple[tuple[int, Score], ...]:
        """The scores by number of components, of the model that is better with all columns."""
        return self.linear_by_components if self.is_linear_better else self.accuracy_by_components

    def to_plain(self) -> dict[str, Any]:
        """Return the facts as plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_plain(cls, record: dict[str, Any]) -> Self:
        """Restore the facts from the result of ``to_plain``."""
        found: dict[str, Any] = {name: tuple(record[name]) for name in ("explained_variance_ratio", "distortions")}
        for name in ("accuracy", "linear_accuracy"):
            found[name] = None if record[name] is None else score_from_plain(record[name])
        for name in ("accuracy_by_components", "linear_by_components"):
            found[name] = tuple((int(m), score_from_plain(score)) for m, score in record[name])
        companions = {name: score_from_plain(score) for name, score in record["companions"].items()}
        return cls(**{**record, **found, "companions": companions})


def table_facts(
    X: np.ndarray, y: np.ndarray | None, seed: int, targets: np.ndarray | None = None, *, encoded: bool = False
) -> TableFacts:
    """Compute the facts about a table with class codes, numbers to predict, or no labels.

    ``encoded``: some columns are levels of categories, 0 or 1, beside standardized numbers.
    """
    with config(progress=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the trials give the same warnings
        n, d = X.shape
        pca = Baseline(min(n, d, MAX_COMPONENTS)).fit(X)
        values = np.asarray(pca.explained_variance_, dtype=np.float64)
        total = float(np.sum(pca.explained_variance_) / max(float(np.sum(pca.explained_variance_ratio_)), 1e-300))
        left = np.maximum(total - np.concatenate([[0.0], np.cumsum(values)]), 0.0) * (n - 1) / n
        dimension: tuple[float | None, float | None] = (None, None)
        with contextlib.suppress(LowlandError):  # too few rows, or too many duplicates
            own = intrinsic_dimension(X, random_state=seed)
            dimension = min(own.value, d), own.standard_error  # the estimate may exceed d for noise
        of_labels: dict[str, Any] = {}
        if targets is not None:
            of_labels = _facts_of_labels(pca, X, PredictionTest.for_numbers(targets, seed), encoded)
        elif y is not None:
            of_labels = _facts_of_labels(pca, X, PredictionTest.for_classes(y, seed), encoded)
        ratio = standard_deviation_ratio(X)
        p_value = None if encoded else dependence_p_value(X, seed)  # levels of one category depend on each other
    fractions = tuple(float(v) for v in values / max(total, 1e-300))
    absent = {"accuracy": None, "accuracy_by_components": (), "majority_class_fraction": 0.0, "n_duplicate_rows": 0}
    return TableFacts(
        fractions, tuple(map(float, left)), *dimension, **(absent | of_labels), standard_deviation_ratio=ratio,
        independence_p_value=p_value,
    )  # fmt: skip


def _facts_of_labels(pca: Any, X: np.ndarray, test: PredictionTest, encoded: bool) -> dict[str, Any]:
    """Scores of all columns and by number of components, the majority class, and the number of duplicate rows."""
    near, linear = test.names
    whole = test.scores(X, standardized=encoded)
    found: dict[str, Any] = {
        "accuracy": whole.get(near),
        "linear_accuracy": whole.get(linear),
        "companions": {name: score for name, score in whole.items() if name not in test.names},
        "majority_class_fraction": test.majority_class_fraction,
        "n_duplicate_rows": len(X) - len({hash(row.tobytes()) for row in X}),
    }
    if near in whole:
        better = linear if linear in whole and whole[linear].value > whole[near].value else near
        components = "linear_by_components" if better == linear else "accuracy_by_components"
        found[components] = _by_components(pca.n_components_, X, test, better)
    return found


def _by_components(n_components: int, X: np.ndarray, test: PredictionTest, name: str) -> tuple[tuple[int, Score], ...]:
    """A score of the first 1, 2, 4 … components of the training rows of each fold."""
    most = min(n_components, MAX_TESTED, X.shape[1] - 1, 4 * len(test.rows) // 5)
    counts = [2**j for j in range(most.bit_length()) if 2**j <= most]
    if not counts:
        return ()
    Zs = [Z for _, Z in test.refitted(Baseline(counts[-1]), X)]
    found = [(m, test.scores_of_folds([np.ascontiguousarray(Z[:, :m]) for Z in Zs], name)) for m in counts]
    return tuple((m, scores[name]) for m, scores in found if name in scores)


def add_spectrum(trial: Trial, facts: TableFacts) -> Trial:
    """Add the scree and distortion curves of all components to the trial of PCA."""
    if trial.method != BASELINE or trial.status != "done":
        return trial
    m = np.arange(len(facts.distortions), dtype=np.float64)
    curves = {
        "scree": Curve(m[1:], np.array(facts.explained_variance_ratio), "component", "explained variance ratio"),
        "distortion": Curve(m, np.array(facts.distortions), "number of components", "reconstruction error"),
    }
    return replace(trial, curves={**trial.curves, **curves})
