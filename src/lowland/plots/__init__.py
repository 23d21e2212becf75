"""Figures of embeddings and models: each function returns a matplotlib Figure, or draws into ``ax`` and returns it.

Functions take arrays, data frames, or a fitted model of Lowland or scikit-learn."""

from lowland.plots.columns import biplot, dendrogram, loadings
from lowland.plots.curves import (
    coefficient_paths,
    decay,
    distortion_curve,
    residual_variances,
    rnx_curve,
    scree,
    selection_path,
    shepard,
    sweep,
)
from lowland.plots.pictures import components_as_images, images, reconstructions, thumbnails
from lowland.plots.scatter import embedding, surface
from lowland.plots.som_maps import component_planes, hit_map, u_matrix

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
    "surface",
    "sweep",
    "thumbnails",
    "u_matrix",
]
