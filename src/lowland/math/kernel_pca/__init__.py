"""Kernel PCA: axes in feature space and pre-images."""
