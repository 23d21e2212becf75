"""Figures from plain data: each is a matplotlib Figure, drawn into ``ax`` where given; nothing global is changed."""

from lowland.plots.columns import biplot, loadings
from lowland.plots.image_maps import thumbnails
from lowland.plots.judgements import residual_variances, rnx_curve, shepard
from lowland.plots.mosaics import components_as_images, images, reconstructions
from lowland.plots.paths import coefficient_paths, selection_path
from lowland.plots.points import embedding
from lowland.plots.spectra import decay, distortion_curve, scree
from lowland.plots.trees import dendrogram
from lowland.plots.unit_maps import component_planes, hit_map, u_matrix

__all__ = [
    "biplot",
    "coefficient_paths",
    "component_planes",
    "components_as_images",
    "decay",
    "dendrogram",
    "distortion_curve",
    "embedding",
    "hit_map",
    "images",
    "loadings",
    "reconstructions",
    "residual_variances",
    "rnx_curve",
    "scree",
    "selection_path",
    "shepard",
    "thumbnails",
    "u_matrix",
]
