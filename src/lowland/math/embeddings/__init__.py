"""Neighbor embeddings: t-SNE, UMAP, PaCMAP and LocalMAP, by one optimizer."""
