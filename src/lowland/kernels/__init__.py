"""Numba loops: numpy arrays in, numpy arrays out. Numba is imported nowhere else."""

from collections.abc import Callable

watchers: list[Callable[[bool], None]] = []  # the last one is called when compilation starts (True) and ends (False)
compiling = {"seconds": 0.0}  # total compilation time so far, which does not count as a method's own time
