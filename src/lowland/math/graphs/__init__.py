"""Manifold learning on a neighbor graph: shortest paths, LLE weights, alignment, Laplacians, Nyström extension."""
