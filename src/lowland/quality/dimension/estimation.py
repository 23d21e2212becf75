"""How many dimensions the rows have of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from lowland.arrays.random import generator
from lowland.data.open import open_rows
from lowland.errors import DataTypeError, ParameterError
from lowland.quality.dimension.estimators import BY_SPACINGS, ESTIMATORS, MAPPED, Estimator, IntrinsicDimension, Work
from lowland.run.run import run_for


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
    """Return how many dimensions the rows of X have of their own, with an interval and the bias known of the estimator.

    Parameters
    ----------
    X : rows, as any method takes them; they are compared by straight distances, so columns should share a scale.
    method : "auto" corrects the maximum likelihood of Levina and Bickel for borders, curvature and noise; "mle" is
        theirs, "twonn" that of Facco et al., "correlation" of Grassberger and Procaccia; "pca" counts the components of
        neighbourhoods, "global_pca" those of all rows, "isomap" finds the elbow of its residuals; "all" gives "auto"
        with all ``others`` beside it.
    n_neighbors : how many neighbours of a row are looked at; None: 20, or all others where there are fewer.
    per_point : whether to map the dimension around each row as well ("auto", "mle", "twonn", "pca").
    confidence : of the interval; it covers chance, not bias.
    sample : how many rows, drawn at random, are asked for their neighbours among all rows; None, or a map: every row.
    random_state : seed of what is drawn; None draws the same each time.

    Reference: Levina and Bickel 2004 (NIPS 17), the mean as of MacKay and Ghahramani 2005; corrected as in DANCo
    (Ceruti et al. 2014, doi:10.1016/j.patcog.2014.02.013), but against exact expectations in place of simulated ones.

    Examples
    --------
    >>> from lowland import quality
    >>> from lowland.data import load_dataset
    >>> roll = quality.intrinsic_dimension(load_dataset("swiss_roll").X)
    >>> f"{roll.value:.2f}, from {roll.low:.2f} to {roll.high:.2f}"
    '1.96, from 1.92 to 2.00'
    """
    _check(method, n_neighbors, per_point, confidence, sample, random_state)
    rows = open_rows(X)
    if rows.is_sparse:
        raise DataTypeError("Sparse rows have no map of neighbours here. Reduce them first, as with TruncatedSVD(50).")
    run = run_for(rows)
    table = run.to_array(rows, "The intrinsic dimension")
    rng = generator(0 if random_state is None else random_state)
    work = Work(table, run, n_neighbors, per_point, confidence, sample, rng)
    if method in (*BY_SPACINGS, "all"):
        work.warn_of_steps()
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
            f"intrinsic_dimension(method={method!r}): choose among {', '.join(repr(each) for each in known)}."
        )
    for name, value, least in (("n_neighbors", n_neighbors, 2), ("sample", sample, 20)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least):
            raise ParameterError(f"intrinsic_dimension({name}={value!r}): give a whole number of at least {least}.")
    if not isinstance(confidence, float | np.floating) or not 0 < confidence < 1:
        raise ParameterError(f"intrinsic_dimension(confidence={confidence!r}): give a share between 0 and 1.")
    seeds = int | np.integer | np.random.Generator | np.random.RandomState | None
    if not isinstance(random_state, seeds) or (isinstance(random_state, int | np.integer) and random_state < 0):
        raise ParameterError(
            f"intrinsic_dimension(random_state={random_state!r}): give a whole number of at least 0, or a Generator."
        )
    if per_point and method not in (*MAPPED, "all"):
        raise ParameterError(
            f"intrinsic_dimension(method={method!r}, per_point=True): this estimator speaks of all rows at once. "
            f"For a map choose among {', '.join(map(repr, MAPPED))}."
        )
