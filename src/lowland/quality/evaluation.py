"""Every measure that applies to an embedding, from one computation of ranks and distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowland.blocks.distances.metrics import Metric
from lowland.errors import warn
from lowland.quality.class_separation import label_measures
from lowland.quality.distance_preservation import DistanceMeasures, Shepard
from lowland.quality.inputs import Sample, class_labels, open_coordinates
from lowland.quality.measure import Measure
from lowland.quality.neighborhoods.co_ranks import CoRanking, neighborhood_measures
from lowland.quality.original_space import OriginalSpace
from lowland.quality.reconstruction import has_inverse_transform, no_inverse_transform, reconstruction_measures


def evaluate(
    X: Any,
    Z: Any,
    y: Any = None,
    *,
    model: Any = None,
    n_neighbors: int = 5,
    metric: Metric = "euclidean",
    sample: Sample = "auto",
    random_state: Any = None,
) -> tuple[Measure, ...]:
    """Return every measure that applies: of neighbourhoods and distances, of labels where given, of the way back.

    Z may come from anywhere, other libraries included. What cannot be told, as neighbours where all distances are
    equal, is left out with a warning.

    Parameters
    ----------
    X : rows, or a ``OriginalSpace`` made of them once to judge many embeddings.
    Z : (n, k) coordinates; rows of NaN are left out, and counted.
    y : a label for each row that has coordinates; None: no measures of labels.
    model : the fitted method that made Z, where the way back to rows is to be measured too.
    n_neighbors : how many neighbours make a neighbourhood.
    metric : how rows of X are compared, unless it is a ``OriginalSpace``.
    sample : how many rows are compared with all others; "auto": all of up to 4,096, and of 1,448 for pairs; None: all.
    random_state : seed of what is drawn; None draws the same each time.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris")
    >>> for measure in quality.evaluate(iris.X, PCA(2).fit_transform(iris.X), iris.y)[:3]:
    ...     print(f"{measure.name} {measure.value:.3f}, {measure.better} is better")
    trustworthiness 0.979, higher is better
    continuity 0.990, higher is better
    relative rank error in the embedding 0.030, lower is better
    """
    found = evaluate_in_detail(
        X, Z, y, n_neighbors=n_neighbors, metric=metric, sample=sample, random_state=random_state
    )
    measures = list(found.measures)
    if model is not None and not has_inverse_transform(model):
        warn(f"What is lost on the way down and back is not measured. {no_inverse_transform(model)}")
    elif model is not None:
        source = X.source if isinstance(X, OriginalSpace) else X
        measures += reconstruction_measures(model, source)
    return tuple(measures)


@dataclass(frozen=True, eq=False)
class DetailedEvaluation:
    """Measures, and what they were found from."""

    measures: tuple[Measure, ...]
    ranks: CoRanking  # of chance, where all distances are equal
    distances: Shepard


def evaluate_in_detail(
    X: Any, Z: Any, y: Any = None, *, n_neighbors: int = 5, metric: Metric = "euclidean", sample: Sample = "auto",
    random_state: Any = None, per_row: bool = False,
) -> DetailedEvaluation:  # fmt: skip
    """``evaluate`` with the curves and the diagram; ``per_row``: trustworthiness has the value of each row as well."""
    C, kept = open_coordinates(Z)
    codes = None if y is None else class_labels(y, kept)[1]
    high = OriginalSpace.prepared_once(X, labels=y, metric=metric, sample=sample, random_state=random_state)
    high, side = high.paired(C, kept)
    of_ranks, ranks = neighborhood_measures(high, side, n_neighbors, per_row=per_row)
    distances = DistanceMeasures.of(high, side)
    of_labels = () if codes is None else label_measures(high, side, codes, n_neighbors, distances.differ)
    if not all(distances.differ):
        where = " and in ".join(np.array(["the data", "the embedding"])[~np.array(distances.differ)])
        warn(
            f"All distances are equal in {where}: no row is nearer than another, and nothing can correlate. What needs "
            "that, as trustworthiness does, is left out."
        )
        of_ranks = ()
    return DetailedEvaluation((*of_ranks, *distances.measures, *of_labels), ranks, distances.diagram)
