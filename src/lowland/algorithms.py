"""The algorithms of the methods on plain matrices, without data handling.

Each function takes a matrix and returns the result of the algorithm: principal axes of a covariance matrix, coordinates
for a distance matrix, an embedding of a graph. The methods call these functions or their steps.
"""

from lowland.math.factors.maximum_likelihood import factor_loadings
from lowland.math.factors.rotations import rotate
from lowland.math.graphs.geodesics import geodesic_distances
from lowland.math.graphs.laplacian import diffusion_coordinates, laplacian_eigenmaps
from lowland.math.graphs.locally_linear import lle_coordinates
from lowland.math.ica.ica import unmixing_matrix
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import nearest_neighbors, neighbors_within
from lowland.math.networks.linear_autoencoder import linear_autoencoder
from lowland.math.prototypes.kmeans import lloyd
from lowland.math.scaling.classical import classical_scaling
from lowland.math.scaling.majorization import stress_majorization
from lowland.math.scaling.nonmetric import nonmetric_scaling
from lowland.math.scaling.sammon import sammon_coordinates
from lowland.math.selection.column_clustering import cluster_tree, cut_tree
from lowland.math.selection.filter_scores import filter_scores
from lowland.math.selection.lasso_path import lasso_path
from lowland.math.selection.subset_search import best_subset
from lowland.math.spectra.discriminants import discriminant_axes_of_scatter
from lowland.math.spectra.kernel_axes import kernel_axes
from lowland.math.spectra.principal_axes import principal_axes_of_covariance
from lowland.math.spectra.whitening_matrices import whitening_matrix

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
