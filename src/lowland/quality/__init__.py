"""Quality measures of an embedding: neighborhoods, distances, classes, reconstruction, stability, dimension."""

from lowland.quality.alignment import amari_distance, procrustes_stability
from lowland.quality.class_separation import (
    downstream_accuracy,
    nearest_neighbor_accuracy,
    neighborhood_hit,
    silhouette,
)
from lowland.quality.dimension import IntrinsicDimension, intrinsic_dimension
from lowland.quality.distance_preservation import (
    Shepard,
    normalized_stress,
    raw_stress,
    residual_variance,
    sammon_stress,
    shepard,
)
from lowland.quality.evaluation import evaluate
from lowland.quality.measure import Measure
from lowland.quality.neighborhoods import (
    CoRanking,
    co_ranking,
    co_ranking_matrix,
    continuity,
    lcmc,
    mean_relative_rank_errors,
    r_nx_area,
    trustworthiness,
    trustworthiness_and_continuity,
)
from lowland.quality.original_space import OriginalSpace
from lowland.quality.reconstruction import explained_variance_fraction, reconstruction_error

__all__ = [
    "CoRanking",
    "IntrinsicDimension",
    "Measure",
    "OriginalSpace",
    "Shepard",
    "amari_distance",
    "co_ranking",
    "co_ranking_matrix",
    "continuity",
    "downstream_accuracy",
    "evaluate",
    "explained_variance_fraction",
    "intrinsic_dimension",
    "lcmc",
    "mean_relative_rank_errors",
    "nearest_neighbor_accuracy",
    "neighborhood_hit",
    "normalized_stress",
    "procrustes_stability",
    "r_nx_area",
    "raw_stress",
    "reconstruction_error",
    "residual_variance",
    "sammon_stress",
    "shepard",
    "silhouette",
    "trustworthiness",
    "trustworthiness_and_continuity",
]
