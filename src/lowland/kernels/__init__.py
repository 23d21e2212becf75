"""Numba loops: numpy arrays in, numpy arrays out. Numba is imported nowhere else."""

from collections.abc import Callable

watchers: list[Callable[[bool], None]] = []  # the last one is told when a loop begins to be compiled, and when it is
compiling = {"seconds": 0.0}  # what compiling has taken so far, which is no part of a method's own time
