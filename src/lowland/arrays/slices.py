"""Splitting rows into blocks."""


def slices(n: int, step: int) -> list[slice]:
    """Return the slices that cover n rows in order, ``step`` rows each, fewer in the last."""
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
