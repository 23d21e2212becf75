"""Measures of an embedding: plain numbers that say how far it can be trusted."""

from lowland.quality.dimension import intrinsic_dimension
from lowland.quality.dimension_estimators import IntrinsicDimension
from lowland.quality.measure import Measure
from lowland.quality.reconstruction import explained_share, reconstruction_error
from lowland.quality.unmixing import amari_distance

__all__ = [
    "IntrinsicDimension",
    "Measure",
    "amari_distance",
    "explained_share",
    "intrinsic_dimension",
    "reconstruction_error",
]
