"""Multidimensional scaling: classical, metric and nonmetric stress, out-of-sample placement."""
