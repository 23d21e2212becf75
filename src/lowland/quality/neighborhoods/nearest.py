"""Whether the k nearest neighbors stay neighbors: trustworthiness, continuity, relative rank errors, LCMC.

Ranks are found in blocks of rows. For k neighbors nothing is sorted: the points nearer than each are counted. Ties are
broken by the index in X and by an unrelated order in Z: where both have ties, these agree no more than by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.blocks.distances.metrics import Metric
from lowland.blocks.neighbors.ranks import PointSet, ShuffledPoints
from lowland.errors import ParameterError
from lowland.quality.inputs import EmbeddedPair, EvaluatedRows, Sample, check_neighbors, open_pair, sample_rows
from lowland.quality.measure import Measure
from lowland.quality.neighborhoods.formulas import (
    continuity_measure,
    lcmc_measure,
    rank_excess,
    relative_rank_errors,
    trustworthiness_measure,
)
from lowland.quality.original_space import OriginalSpace
from lowland.run.run import Run

COUNTED = 1 << 30  # pairs of rows that "auto" compares for the ranks of a few neighbors


def trustworthiness(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return whether neighbours in the embedding are neighbours in the data: 1 if all are.

    Each of the k nearest in Z that is not among the k nearest in X is charged by how far beyond it ranks there.

    Parameters
    ----------
    X : rows, as any method takes them; with metric "precomputed" their distances, (n, n).
    Z : (n, k) coordinates; rows of NaN are left out, and counted.
    n_neighbors : fewer than half of the rows.
    metric : how rows of X are compared; those of Z are by straight lines.
    per_row : whether to give the value of each row as well.
    sample : how many rows are asked for their neighbours among all; "auto": all of up to 30,000; None: all.
    random_state : seed of what is drawn; None draws the same each time.

    Reference: Venna and Kaski 2001, doi:10.1007/3-540-44668-0_68; agrees with scikit-learn's but for ties.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> round(quality.trustworthiness(X, PCA(2).fit_transform(X)).value, 3)
    0.979
    """
    sides, evaluated = _opened(X, Z, n_neighbors, metric, sample, random_state)
    excess = _excess(sides.X, sides.Z, sides.run, evaluated, n_neighbors)
    return trustworthiness_measure(evaluated, excess, n_neighbors, per_row=per_row)


def continuity(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return whether neighbours in the data are neighbours in the embedding: 1 if all are.

    The same as ``trustworthiness`` with X and Z exchanged: what was near and has been torn apart is charged.

    Parameters
    ----------
    X, Z, n_neighbors, metric, per_row, sample, random_state : as of ``trustworthiness``.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> round(quality.continuity(X, PCA(2).fit_transform(X)).value, 3)
    0.99
    """
    sides, evaluated = _opened(X, Z, n_neighbors, metric, sample, random_state)
    excess = _excess(sides.Z, sides.X, sides.run, evaluated, n_neighbors)
    return continuity_measure(evaluated, excess, n_neighbors, per_row=per_row)


def trustworthiness_and_continuity(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> tuple[Measure, Measure]:
    """Return both, which should be reported together: rows of X are compared once, not twice.

    Parameters
    ----------
    X, Z, n_neighbors, metric, per_row, sample, random_state : as of ``trustworthiness``.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> [round(each.value, 3) for each in quality.trustworthiness_and_continuity(X, PCA(2).fit_transform(X))]
    [0.979, 0.99]
    """
    sides, evaluated = _opened(X, Z, n_neighbors, metric, sample, random_state)
    false, missed = (rank_excess(ranks, n_neighbors) for ranks in _both_ranks(sides, evaluated, n_neighbors))
    trust = trustworthiness_measure(evaluated, false, n_neighbors, per_row=per_row)
    return trust, continuity_measure(evaluated, missed, n_neighbors, per_row=per_row)


def mean_relative_rank_errors(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> tuple[Measure, Measure]:
    """Return by how much ranks differ, relative to the rank: of neighbours in Z, and of neighbours in X; 0 is perfect.

    Unlike trustworthiness it also counts neighbours that change their order, the nearest most; 1 is the worst there is.

    Parameters
    ----------
    X, Z, n_neighbors, metric, per_row, sample, random_state : as of ``trustworthiness``.

    Reference: Lee and Verleysen 2009, doi:10.1016/j.neucom.2008.12.017, W_n and W_ν.
    """
    sides, evaluated = _opened(X, Z, n_neighbors, metric, sample, random_state)
    here = np.arange(1, n_neighbors + 1)
    found = [(np.abs(there - here) / here).sum(axis=1) for there in _both_ranks(sides, evaluated, n_neighbors)]
    first, second = relative_rank_errors(evaluated, found[0], found[1], n_neighbors, per_row=per_row)
    return first, second


def lcmc(
    X: Any,
    Z: Any,
    n_neighbors: int = 5,
    *,
    metric: Metric = "euclidean",
    per_row: bool = False,
    sample: Sample = "auto",
    random_state: Any = None,
) -> Measure:
    """Return the share of the k nearest that X and Z have in common, less what chance gives (LCMC): 0 is chance.

    Parameters
    ----------
    X, Z, metric, per_row, sample, random_state : as of ``trustworthiness``.
    n_neighbors : up to all others.

    Reference: Chen and Buja 2009, doi:10.1198/jasa.2009.0111.
    """
    sides, evaluated = _opened(X, Z, n_neighbors, metric, sample, random_state, half=False)
    k, run = n_neighbors, sides.run
    A, B = (np.sort(side.nearest(k, run, evaluated.rows), axis=1) for side in (sides.X, sides.Z))
    both = np.sort(np.concatenate([A, B], axis=1), axis=1)
    shared = (both[:, 1:] == both[:, :-1]).sum(axis=1)
    return lcmc_measure(evaluated, shared, k, per_row=per_row)


def _opened(
    X: Any, Z: Any, k: int, metric: Metric, sample: Sample, random_state: Any, *, half: bool = True
) -> tuple[EmbeddedPair, EvaluatedRows]:
    if isinstance(X, OriginalSpace):
        raise ParameterError(
            "An OriginalSpace keeps whole orders of neighbours: pass it to evaluate or co_ranking, rows here."
        )
    sides = open_pair(X, Z, metric)
    check_neighbors(k, sides.n, half=half)
    return sides, EvaluatedRows(sides.kept, sample_rows(sides.X, sample, COUNTED, random_state))


def _excess(
    X: PointSet | ShuffledPoints, Z: PointSet | ShuffledPoints, run: Run, evaluated: EvaluatedRows, k: int
) -> np.ndarray:
    """By how much the ranks in X of each row's k nearest in Z exceed k, summed, (m,)."""
    near = Z.nearest(k, run, evaluated.rows)  # (m, k)
    return rank_excess(X.ranks(near, run, evaluated.rows), k)


def _both_ranks(sides: EmbeddedPair, evaluated: EvaluatedRows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ranks in X of the k nearest in Z, and the ranks in Z of the k nearest in X, (m, k) each."""
    near = sides.Z.nearest(k, sides.run, evaluated.rows)
    there, originals = sides.X.ranks_and_nearest(near, k, sides.run, evaluated.rows)
    return there, sides.Z.ranks(originals, sides.run, evaluated.rows)
