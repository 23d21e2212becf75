"""The methods on a page: their groups, those that show a map while they descend, and those that come first."""

from __future__ import annotations

GROUPS = {
    "Linear": (
        "PCA", "FactorAnalysis", "FastICA", "ProjectionPursuit", "TruncatedSVD", "Whitening", "IncrementalPCA",
        "LinearAutoencoder",
    ),
    "Neighbor embeddings": ("UMAP", "TSNE", "PaCMAP", "LocalMAP"),
    "Distances": ("MDS", "SammonMapping", "ClassicalMDS"),
    "Manifolds": ("Isomap", "LocallyLinearEmbedding", "SpectralEmbedding", "DiffusionMap", "KernelPCA"),
    "Networks and prototypes": ("Autoencoder", "SelfOrganizingMap", "VectorQuantizer"),
    "Labels": ("LinearDiscriminantAnalysis",),
    "Categories and counts": (
        "CorrespondenceAnalysis", "MultipleCorrespondenceAnalysis", "FactorAnalysisOfMixedData",
    ),
    "Columns": (
        "FeatureFilter", "L1Selector", "TreeSelector", "SequentialFeatureSelector", "FeatureAgglomeration",
    ),
}  # fmt: skip
LIVE = ("UMAP", "TSNE", "PaCMAP", "LocalMAP", "MDS", "SammonMapping", "SelfOrganizingMap", "Autoencoder")
FIRST = "PCA"  # the map that is computed when a table is opened
NOTEBOOK = ("pca", "umap")  # the maps that a notebook shows
