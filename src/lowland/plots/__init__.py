"""Figures from plain data. Each returns a matplotlib Figure, draws into ``ax`` where given, and changes nothing global."""

from lowland.plots.images import components_as_images, images
from lowland.plots.points import embedding
from lowland.plots.spectra import distortion_curve, scree

__all__ = ["components_as_images", "distortion_curve", "embedding", "images", "scree"]
