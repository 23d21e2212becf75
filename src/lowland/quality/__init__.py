"""Measures of an embedding: plain numbers that say how far it can be trusted."""

from lowland.quality.measure import Measure
from lowland.quality.reconstruction import explained_share, reconstruction_error

__all__ = ["Measure", "explained_share", "reconstruction_error"]
