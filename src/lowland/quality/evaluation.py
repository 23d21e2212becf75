"""All quality measures that apply to an embedding, from one computation of ranks and distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.docstrings import with_parameters
from lowland.errors import warn
from lowland.math.distances.metrics import Metric
from lowland.quality.class_separation import label_measures
from lowland.quality.distance_preservation import DistanceMeasures, Shepard
from lowland.quality.inputs import SHARED, Sample, labeled_classes
from lowland.quality.measure import Measure
from lowland.quality.neighborhoods import CoRanking, neighborhood_measures
from lowland.quality.original_space import OriginalSpace
from lowland.quality.reconstruction import has_inverse_transform, no_inverse_transform, reconstruction_measures


@with_parameters(SHARED)
def evaluate(
    X: Any, Z: Any, y: Any = None, *, model: Any = None, n_neighbors: int = 5, metric: Metric = "euclidean",
    sample: Sample = "auto", random_state: Any = None,
) -> tuple[Measure, ...]:  # fmt: skip
    """Return all quality measures that apply: of neighborhoods, distances, classes and reconstruction.

    Z may come from any library. Measures that are undefined, such as neighborhoods if all distances are equal, are left
    out with a warning.

    Parameters
    ----------
    X : array-like of shape (n, d), path, or OriginalSpace
        Original data, or points prepared once with ``OriginalSpace.of`` to evaluate many embeddings.
    y : array-like of shape (n,) or None, default None
        Class label of each point with coordinates. Points whose label is missing (None or NaN) are left out of the
        measures of class separation. None: no such measures.
    model : fitted method or None, default None
        The method that computed Z. If it has an inverse transform, the reconstruction is also measured. If it
        standardizes the columns (``scale=True``), distances in X are those of the columns divided by its ``scale_``.
    metric : str or function, default "euclidean"
        Distance metric in X, unless X is an ``OriginalSpace``.
    sample : int, "auto" or None, default "auto"
        Number of sampled points. "auto" means all points up to 4,096 for ranks, and at most 1,024 of more points and
        for pairwise distances. None means all points.

    Returns
    -------
    tuple of Measure
        The measures. docs/quality.md states the question that each answers.

    Examples
    --------
    >>> from lowland import PCA, data, quality
    >>> iris = data.load_dataset("iris")
    >>> for measure in quality.evaluate(iris.X, PCA(2).fit_transform(iris.X), iris.y)[:3]:
    ...     print(f"{measure.name} {measure.value:.3f}, {measure.better} is better")
    trustworthiness 0.979, higher is better
    continuity 0.990, higher is better
    relative rank error in the embedding 0.030, lower is better
    """
    scale = getattr(model, "scale_", None) if getattr(model, "scale", False) is True else None
    if scale is not None and isinstance(X, OriginalSpace) and not X.scaled:
        warn(
            f"{type(model).__name__} was fitted to standardized columns, but `X` was prepared without. Pass "
            "scale=model.scale_ to OriginalSpace.of."
        )
    if metric != "euclidean":
        scale = None  # the metric was chosen by the caller
    found = evaluate_in_detail(
        X, Z, y, n_neighbors=n_neighbors, metric=metric, scale=scale, sample=sample, random_state=random_state
    )
    measures = list(found.measures)
    if model is not None and not has_inverse_transform(model):
        warn(f"The reconstruction error was not computed. {no_inverse_transform(model)}")
    elif model is not None:
        source = X.source if isinstance(X, OriginalSpace) else X
        measures += reconstruction_measures(model, source)
    return tuple(measures)


@dataclass(frozen=True, eq=False)
class DetailedEvaluation:
    """Measures, and the curves and distances behind them."""

    measures: tuple[Measure, ...]
    ranks: CoRanking  # meaningless if all distances are equal
    distances: Shepard


def evaluate_in_detail(
    X: Any, Z: Any, y: Any = None, *, n_neighbors: int = 5, metric: Metric = "euclidean", scale: Any = None,
    sample: Sample = "auto", random_state: Any = None, per_row: bool = False,
) -> DetailedEvaluation:  # fmt: skip
    """``evaluate`` with curves and Shepard diagram; ``per_row``: trustworthiness and continuity also of each point."""
    high, side = OriginalSpace.open_pair(
        X, Z, labels=y, metric=metric, scale=scale, sample=sample, random_state=random_state
    )
    labeled, codes = (None, None) if y is None else labeled_classes(y, high.evaluated.kept)
    of_ranks, ranks = neighborhood_measures(high, side, n_neighbors, per_row=per_row)
    distances = DistanceMeasures.of(high, side)
    of_labels: tuple[Measure, ...] = ()
    if codes is not None and labeled is None:
        of_labels = label_measures(high, side, codes, n_neighbors, distances.differ)
    elif codes is not None and labeled is not None:  # neighbors among the labeled rows only
        k = min(n_neighbors, len(codes) - 1)
        of_labels = label_measures(high.among(labeled), side.among(labeled), codes, k, distances.differ)
    if not all(distances.differ):
        where = " and in ".join(np.array(["the data", "the embedding"])[~np.array(distances.differ)])
        warn(
            f"All distances are equal in {where}. Measures that need nearest neighbors or correlations, such as "
            "trustworthiness, are left out."
        )
        of_ranks = ()
    return DetailedEvaluation((*of_ranks, *distances.measures, *of_labels), ranks, distances.diagram)
