"""Selection of columns by their scores, or by p-values at a false discovery rate."""

from __future__ import annotations

import numpy as np

_TIE = 1e-10  # relative difference below which scores are tied; the first column comes first


def ranked(strength: np.ndarray) -> np.ndarray:
    """Return the columns from the best to the worst, (d,); ties in the order of the columns, NaN last."""
    largest = float(np.finfo(np.float64).max) / 2
    key = np.nan_to_num(strength, nan=-largest, posinf=largest, neginf=-largest)
    order = np.argsort(-key, kind="stable")
    falling = key[order]
    lower = falling[1:] < falling[:-1] - _TIE * np.abs(falling[:-1])
    group = np.concatenate([[0], np.cumsum(lower)])
    return order[np.lexsort((order, group))]


def discoveries(pvalues: np.ndarray, rate: float, *, any_dependence: bool = False) -> np.ndarray:
    """Return which columns, (d,) bool, are significant at a false discovery rate of at most ``rate``.

    Benjamini and Hochberg 1995; valid under any dependence between the columns: Benjamini and Yekutieli 2001.
    """
    d = len(pvalues)
    ranks = np.arange(1, d + 1)
    if any_dependence:
        rate = rate / float(np.sum(1.0 / ranks))
    p = np.sort(pvalues)
    passing = p[p <= rate / d * ranks]
    return pvalues <= passing[-1] if len(passing) else np.zeros(d, dtype=bool)
