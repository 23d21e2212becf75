"""Intrinsic dimension of a data set: the public function."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from lowland.arrays.random import generator
from lowland.data.open import open_rows
from lowland.errors import DataTypeError, ParameterError
from lowland.quality.dimension.estimators import BY_SPACINGS, ESTIMATORS, MAPPED, Estimator, IntrinsicDimension, Work
from lowland.run.run import run_for
from lowland.suggestions import did_you_mean


def intrinsic_dimension(
    X: Any,
    method: Estimator | Literal["all"] = "auto",
    *,
    n_neighbors: int | None = None,
    per_point: bool = False,
    confidence: float = 0.95,
    sample: int | None = 5_000,
    random_state: Any = None,
) -> IntrinsicDimension:
    """Estimate the intrinsic dimension of the rows, with a confidence interval and the known bias of the estimator.

    The intrinsic dimension is the number of coordinates needed to describe the rows locally: 2 on a surface, whatever
    the
    number of columns.

    Parameters
    ----------
    X : array-like of shape (n, d) or path
        Rows. They are compared by Euclidean distance, so the columns should have a common scale.
    method : str, default "auto"
        Estimator:

        - "auto": maximum likelihood of Levina and Bickel, corrected for borders, curvature and noise.
        - "mle": maximum likelihood, uncorrected.
        - "twonn": ratio of the distances to the two nearest neighbors (Facco et al.).
        - "correlation": correlation dimension (Grassberger and Procaccia).
        - "pca": number of principal components of neighborhoods (Fukunaga and Olsen).
        - "global_pca": participation ratio of the principal components of all rows.
        - "isomap": elbow of Isomap's residual variances.
        - "all": "auto", with all others in the attribute ``others``.
    n_neighbors : int or None, default None
        Number of neighbors per row. None: 20, or all other rows if there are fewer.
    per_point : bool, default False
        Also estimate the local dimension around each row ("auto", "mle", "twonn", "pca").
    confidence : float, default 0.95
        Confidence level of the interval. It covers sampling error; that of "auto" also the bias on Gaussian
        clouds, spheres and cubes.
    sample : int or None, default 5000
        Number of rows, sampled at random, whose neighbors are searched among all rows. None, or ``per_point=True``:
        all rows.
    random_state : int, Generator or None, default None
        Seed of the sample. None draws the same sample every time.

    Returns
    -------
    IntrinsicDimension
        Estimate, confidence interval, known bias and details.

    References
    ----------
    Levina and Bickel 2004, *Maximum likelihood estimation of intrinsic dimension*, NIPS 17; averaged as in MacKay and
    Ghahramani 2005, *Comments* on it. Ceruti et al. 2014 (DANCo), doi:10.1016/j.patcog.2014.02.013: the same kind of
    correction, here with exact expectations instead of simulations.

    Examples
    --------
    >>> from lowland import quality
    >>> from lowland.data import load_dataset
    >>> roll = quality.intrinsic_dimension(load_dataset("swiss_roll").X)
    >>> f"{roll.value:.2f}, from {roll.low:.2f} to {roll.high:.2f}"
    '1.96, from 1.70 to 2.19'
    """
    _check(method, n_neighbors, per_point, confidence, sample, random_state)
    rows = open_rows(X)
    if rows.is_sparse:
        raise DataTypeError(
            "Sparse rows are not supported here. Reduce them first, for example with `TruncatedSVD(50)`."
        )
    run = run_for(rows)
    table = run.to_array(rows, "The intrinsic dimension")
    rng = generator(0 if random_state is None else random_state)
    work = Work(table, run, n_neighbors, per_point, confidence, sample, rng)
    if method in (*BY_SPACINGS, "all"):
        work.warn_if_discrete()
    if method != "all":
        return ESTIMATORS[method](work)
    others = [ESTIMATORS[each] for each in get_args(Estimator) if each != "auto"]
    return replace(ESTIMATORS["auto"](work), others=tuple(of(work) for of in others))


def _check(
    method: str, n_neighbors: int | None, per_point: bool, confidence: float, sample: int | None, random_state: Any
) -> None:
    known = (*get_args(Estimator), "all")
    if method not in known:
        raise ParameterError(
            f"`intrinsic_dimension(method={method!r})`: unknown method. {did_you_mean(method, known)}Choose one of "
            f"{', '.join(repr(each) for each in known)}."
        )
    for name, value, least in (("n_neighbors", n_neighbors, 2), ("sample", sample, 20)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least):
            raise ParameterError(f"intrinsic_dimension({name}={value!r}): choose an integer of at least {least}.")
    if not isinstance(confidence, float | np.floating) or not 0 < confidence < 1:
        raise ParameterError("choose a number between 0 and 1.", method="intrinsic_dimension", confidence=confidence)
    seeds = int | np.integer | np.random.Generator | np.random.RandomState | None
    if not isinstance(random_state, seeds) or (isinstance(random_state, int | np.integer) and random_state < 0):
        raise ParameterError(
            "choose an integer of at least 0, or a Generator.", method="intrinsic_dimension", random_state=random_state
        )
    if per_point and method not in (*MAPPED, "all"):
        raise ParameterError(
            f"`intrinsic_dimension(method={method!r}, per_point=True)`: this estimator has no local version. Choose "
            f"among {', '.join(map(repr, MAPPED))}."
        )
