"""Numba loops: numpy arrays in, numpy arrays out. Numba is imported nowhere else."""
