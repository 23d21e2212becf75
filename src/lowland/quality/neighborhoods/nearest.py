"""Preservation of the k nearest neighbors: trustworthiness, continuity, relative rank errors, LCMC.

Ranks are computed in blocks of rows. Nothing is sorted: the rank of a neighbor is the number of points that are nearer.
Ties are broken by the row index in X and by an unrelated order in Z, so that ties in both agree only by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.errors import ParameterError
from lowland.math.distances.metrics import Metric
from lowland.math.neighbors.ranks import PointSet, ShuffledPoints
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

COUNTED = 1 << 30  # pairs of rows that "auto" compares to rank k neighbors


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
    """Return whether the nearest neighbors in the embedding are also near in the data: 1 if all are.

    Each of the k nearest neighbors in Z that is not among the k nearest in X is penalized by how far its rank in X
    exceeds k. Low values mean false neighbors: points drawn close together that are far apart in the data.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Original rows, in any form that methods accept. With ``metric="precomputed"``: their distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    n_neighbors : int, default 5
        Size k of the neighborhood, less than n / 2.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.
    per_row : bool, default False
        Also return the value of each row, in the attribute ``per_row``.
    sample : int, "auto" or None, default "auto"
        Number of sampled rows whose neighbors are searched among all rows. "auto": all rows up to about 30,000. None:
        all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    Measure
        Value in [0, 1], higher is better; about 0.5 by chance.

    Notes
    -----
    Equals ``sklearn.manifold.trustworthiness`` unless there are ties. Report it together with continuity.

    References
    ----------
    Venna and Kaski 2001, *Neighborhood preservation in nonlinear projection methods*,
    doi:10.1007/3-540-44668-0_68.

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
    """Return whether the nearest neighbors in the data are also near in the embedding: 1 if all are.

    Trustworthiness with X and Z exchanged. Low values mean missed neighbors: neighborhoods that the embedding tears
    apart.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Original rows, in any form that methods accept. With ``metric="precomputed"``: their distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    n_neighbors : int, default 5
        Size k of the neighborhood, less than n / 2.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.
    per_row : bool, default False
        Also return the value of each row, in the attribute ``per_row``.
    sample : int, "auto" or None, default "auto"
        Number of sampled rows whose neighbors are searched among all rows. "auto": all rows up to about 30,000. None:
        all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    Measure
        Value in [0, 1], higher is better; about 0.5 by chance.

    References
    ----------
    Venna and Kaski 2001, doi:10.1007/3-540-44668-0_68.

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
    """Return trustworthiness and continuity from one comparison of the rows of X instead of two.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Original rows, in any form that methods accept. With ``metric="precomputed"``: their distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    n_neighbors : int, default 5
        Size k of the neighborhood, less than n / 2.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.
    per_row : bool, default False
        Also return the value of each row, in the attribute ``per_row``.
    sample : int, "auto" or None, default "auto"
        Number of sampled rows whose neighbors are searched among all rows. "auto": all rows up to about 30,000. None:
        all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    tuple of two Measure
        Trustworthiness and continuity.

    References
    ----------
    Venna and Kaski 2001, doi:10.1007/3-540-44668-0_68.

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
    """Return the mean relative rank errors (MRRE) of neighbors in the embedding and in the data: 0 is perfect.

    Unlike trustworthiness, they also count changes of order among the k nearest neighbors. Errors are divided by the
    rank, so the nearest neighbors count most. 1 is the worst possible value.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Original rows, in any form that methods accept. With ``metric="precomputed"``: their distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    n_neighbors : int, default 5
        Size k of the neighborhood, less than n / 2.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.
    per_row : bool, default False
        Also return the value of each row, in the attribute ``per_row``.
    sample : int, "auto" or None, default "auto"
        Number of sampled rows whose neighbors are searched among all rows. "auto": all rows up to about 30,000. None:
        all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    tuple of two Measure
        Relative rank error in the embedding and relative rank error in the data, lower is better.

    References
    ----------
    Lee and Verleysen 2009, *Quality assessment of dimensionality reduction*, W_n and W_ν,
    doi:10.1016/j.neucom.2008.12.017.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> [round(each.value, 3) for each in quality.mean_relative_rank_errors(X, PCA(2).fit_transform(X))]
    [0.03, 0.016]
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
    """Return the local continuity meta-criterion (LCMC): common nearest neighbors in X and Z beyond chance.

    The fraction of the k nearest neighbors that X and Z have in common, minus the expected value k/(n - 1) of a random
    embedding.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Original rows, in any form that methods accept. With ``metric="precomputed"``: their distances, shape (n, n).
    Z : array-like of shape (n, k)
        Coordinates of the same rows, in the same order. Rows with NaN are left out and counted in ``left_out``.
    n_neighbors : int, default 5
        Size k of the neighborhood, at most n - 1.
    metric : str or function, default "euclidean"
        Distance metric in X. Distances in Z are Euclidean.
    per_row : bool, default False
        Also return the value of each row, in the attribute ``per_row``.
    sample : int, "auto" or None, default "auto"
        Number of sampled rows whose neighbors are searched among all rows. "auto": all rows up to about 30,000. None:
        all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    Measure
        Higher is better; 0 is chance, 1 - k/(n - 1) is perfect.

    References
    ----------
    Chen and Buja 2009, *Local multidimensional scaling for nonlinear dimension reduction*,
    doi:10.1198/jasa.2009.0111.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> X = load_dataset("iris").X
    >>> round(quality.lcmc(X, PCA(2).fit_transform(X)).value, 3)
    0.602
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
            "`X` is an OriginalSpace, which this function does not accept. Pass the rows, or pass it to evaluate or "
            "co_ranking."
        )
    sides = open_pair(X, Z, metric)
    check_neighbors(k, sides.n, half=half)
    return sides, EvaluatedRows(sides.kept, sample_rows(sides.X, sample, COUNTED, random_state))


def _excess(
    X: PointSet | ShuffledPoints, Z: PointSet | ShuffledPoints, run: Run, evaluated: EvaluatedRows, k: int
) -> np.ndarray:
    """Sum over the k nearest neighbors in Z of how far their ranks in X exceed k, (m,)."""
    near = Z.nearest(k, run, evaluated.rows)  # (m, k)
    return rank_excess(X.ranks(near, run, evaluated.rows), k)


def _both_ranks(sides: EmbeddedPair, evaluated: EvaluatedRows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ranks in X of the k nearest in Z, and the ranks in Z of the k nearest in X, each (m, k)."""
    near = sides.Z.nearest(k, sides.run, evaluated.rows)
    there, originals = sides.X.ranks_and_nearest(near, k, sides.run, evaluated.rows)
    return there, sides.Z.ranks(originals, sides.run, evaluated.rows)
