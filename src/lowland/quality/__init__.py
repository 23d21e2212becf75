"""Measures of an embedding: plain numbers that say how far it can be trusted."""

from lowland.quality.dimension import intrinsic_dimension
from lowland.quality.dimension_estimators import IntrinsicDimension
from lowland.quality.distances import Shepard, normalized_stress, raw_stress, residual_variance, sammon_stress, shepard
from lowland.quality.high_side import HighSide
from lowland.quality.judge import judge
from lowland.quality.labels import downstream, nearest_neighbor_accuracy, neighborhood_hit, silhouette
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
from lowland.quality.reconstruction import explained_share, reconstruction_error
from lowland.quality.stability import stability
from lowland.quality.unmixing import amari_distance

__all__ = [
    "CoRanking",
    "HighSide",
    "IntrinsicDimension",
    "Measure",
    "Shepard",
    "amari_distance",
    "co_ranking",
    "co_ranking_matrix",
    "continuity",
    "downstream",
    "explained_share",
    "intrinsic_dimension",
    "judge",
    "lcmc",
    "mean_relative_rank_errors",
    "nearest_neighbor_accuracy",
    "neighborhood_hit",
    "normalized_stress",
    "r_nx_area",
    "raw_stress",
    "reconstruction_error",
    "residual_variance",
    "sammon_stress",
    "shepard",
    "silhouette",
    "stability",
    "trustworthiness",
    "trustworthiness_and_continuity",
]
