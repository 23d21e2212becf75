"""Measures of an embedding: plain numbers that say how far it can be trusted."""

from lowland.quality.measure import Measure
from lowland.quality.reconstruction import explained_share, reconstruction_error
from lowland.quality.unmixing import amari_distance

__all__ = ["Measure", "amari_distance", "explained_share", "reconstruction_error"]
