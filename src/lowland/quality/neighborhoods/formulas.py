"""Formulas of the neighborhood measures, from the rank errors of each row."""

from __future__ import annotations

import numpy as np

from lowland.quality.inputs import EvaluatedRows
from lowland.quality.measure import Measure


def rank_excess(ranks: np.ndarray, k: int) -> np.ndarray:
    """Sum over each row of how far its ranks exceed k."""
    return np.maximum(ranks - k, 0).sum(axis=1)


def _one_minus_worst_fraction(excess: np.ndarray, n: int, k: int) -> np.ndarray:
    return 1 - 2 * excess / (k * (2 * n - 3 * k - 1))


def trustworthiness_measure(evaluated: EvaluatedRows, excess: np.ndarray, k: int, *, per_row: bool = False) -> Measure:
    """Return trustworthiness, 1 - 2/(nk(2n - 3k - 1)) Σ excess, as a measure."""
    about = f"Whether the {k} nearest neighbors in the embedding are also near in the data."
    values = _one_minus_worst_fraction(excess, evaluated.n, k)
    return evaluated.mean("trustworthiness", values, "higher", about, per_row=per_row)


def continuity_measure(evaluated: EvaluatedRows, excess: np.ndarray, k: int, *, per_row: bool = False) -> Measure:
    """Return continuity: the same formula with data and embedding exchanged."""
    about = f"Whether the {k} nearest neighbors in the data are also near in the embedding."
    return evaluated.mean(
        "continuity", _one_minus_worst_fraction(excess, evaluated.n, k), "higher", about, per_row=per_row
    )


def relative_rank_errors(
    evaluated: EvaluatedRows, false: np.ndarray, missed: np.ndarray, k: int, *, per_row: bool = False
) -> tuple[Measure, Measure]:
    """Return the mean relative rank errors of neighbors in the embedding and of neighbors in the data."""
    here = np.arange(1, k + 1)
    worst = float(np.sum(np.abs(evaluated.n - 2 * here) / here))
    where = {"embedding": false, "data": missed}
    first, second = (
        evaluated.mean(
            f"relative rank error in the {place}", errors / worst, "lower",
            f"Mean rank error of the {k} nearest neighbors in the {place}, relative to the rank.", per_row=per_row,
        )
        for place, errors in where.items()
    )  # fmt: skip
    return first, second


def lcmc_measure(evaluated: EvaluatedRows, shared: np.ndarray, k: int, *, per_row: bool = False) -> Measure:
    """Return the local continuity meta-criterion: the fraction of common neighbors beyond chance."""
    about = f"Fraction of the {k} nearest neighbors shared by data and embedding, minus the value expected by chance."
    chance = k / (evaluated.n - 1)
    ends = (-chance, 1 - chance)
    return evaluated.mean("LCMC", shared / k - chance, "higher", about, ends=ends, per_row=per_row)
