"""The algorithms of the methods on plain matrices, without data handling.

Each function takes a matrix and returns the result of the algorithm: principal axes of a covariance matrix, coordinates
for a distance matrix, an embedding of a graph. The methods call these functions or their steps.
"""

from lowland.blocks.codebooks.kmeans import lloyd
from lowland.blocks.factors.maximum_likelihood import factor_loadings
from lowland.blocks.factors.rotations import rotate
from lowland.blocks.kernel_pca.feature_space_axes import kernel_axes
from lowland.blocks.manifolds.diffusion import diffusion_coordinates
from lowland.blocks.manifolds.laplacian import laplacian_eigenmaps
from lowland.blocks.manifolds.lle_weights import lle_coordinates
from lowland.blocks.manifolds.shortest_paths import geodesic_distances
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.neighbors.search import nearest_neighbors, neighbors_within
from lowland.blocks.networks.linear_autoencoder import linear_autoencoder
from lowland.blocks.nongaussian.ica import unmixing_matrix
from lowland.blocks.scaling.classical import classical_scaling
from lowland.blocks.scaling.majorization import stress_majorization
from lowland.blocks.scaling.nonmetric import nonmetric_scaling
from lowland.blocks.scaling.sammon import sammon_coordinates
from lowland.blocks.selection.column_clustering import cluster_tree, cut_tree
from lowland.blocks.selection.exhaustive_search import best_subset
from lowland.blocks.selection.filter_scores import filter_scores
from lowland.blocks.selection.lasso_path import lasso_path
from lowland.blocks.spectra.discriminants import discriminant_axes_of_scatter
from lowland.blocks.spectra.principal_axes import principal_axes_of_covariance
from lowland.blocks.spectra.whitening_matrices import whitening_matrix

__all__ = [
    "NeighborGraph",
    "best_subset",
    "classical_scaling",
    "cluster_tree",
    "cut_tree",
    "diffusion_coordinates",
    "discriminant_axes_of_scatter",
    "factor_loadings",
    "filter_scores",
    "geodesic_distances",
    "kernel_axes",
    "laplacian_eigenmaps",
    "lasso_path",
    "linear_autoencoder",
    "lle_coordinates",
    "lloyd",
    "nearest_neighbors",
    "neighbors_within",
    "nonmetric_scaling",
    "principal_axes_of_covariance",
    "rotate",
    "sammon_coordinates",
    "stress_majorization",
    "unmixing_matrix",
    "whitening_matrix",
]
