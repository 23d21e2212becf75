"""Whether the same picture comes again from other rows of the same kind."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np

from lowland.arrays.namespace import like, to_numpy, xp_of
from lowland.arrays.random import generator
from lowland.data.open import as_vector, open_rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.quality.inputs import MIN_ROWS, open_coordinates
from lowland.quality.measure import Measure, student_quantile
from lowland.quality.procrustes import Procrustes, in_own_unit
from lowland.run.run import run_for

Resample = Literal["halves", "bootstrap"]


def stability(
    method: Any,
    X: Any,
    y: Any = None,
    *,
    resamples: int = 10,
    resample: Resample = "halves",
    per_row: bool = False,
    random_state: Any = None,
) -> Measure:
    """Return how much of the embedding comes again when the method is fitted to other draws of the rows: 1 if all does.

    Each embedding of a resample is turned, mirrored, scaled and shifted onto that of all rows (Procrustes); the value
    is the share of the squares it then explains, on average over the resamples.

    Parameters
    ----------
    method : not fitted, any with ``fit_transform``; copies of it are fitted.
    X : rows, as the method takes them; distances or a Gram matrix where it wants those (``metric="precomputed"``).
    y : labels, for methods that want them.
    resamples : how many draws.
    resample : "halves" draws half of the rows without repetition, "bootstrap" as many as there are with it.
    per_row : whether to give each row's mean deviation as well (root of mean squares over the draws it was in), in
        units of the spread of the embedding.
    random_state : seed of the draws; None takes the same each time.

    Examples
    --------
    >>> from lowland import PCA, quality
    >>> from lowland.data import load_dataset
    >>> round(quality.stability(PCA(2), load_dataset("iris").X).value, 4)
    0.9999
    """
    _check(method, resamples, resample)
    rows = open_rows(X)
    pairwise = _takes_pairs(method)
    if rows.is_sparse:
        remedy = "Pass those of all pairs." if pairwise else "Reduce them first, as with TruncatedSVD(50)."
        raise DataTypeError(f"Sparse {'distances' if pairwise else 'rows'} are not resampled here. {remedy}")
    table = run_for(rows).to_array(rows, "Resampling")
    n = table.shape[0]
    labels = None if y is None else as_vector(y, n, "y")
    whole, kept = open_coordinates(_fitted(method, table, labels))
    whole, _ = in_own_unit(whole)
    size = math.sqrt(float(np.mean(np.sum((whole - whole.mean(axis=0)) ** 2, axis=1))))
    rng = generator(0 if random_state is None else random_state)
    shares, squares, times = [], np.zeros(n), np.zeros(n)
    place = np.cumsum(kept) - 1
    for _ in range(resamples):
        drawn = _drawn(n, resample, rng)
        if len(np.unique(drawn)) < MIN_ROWS:
            raise DataError(f"A draw from the {n} rows has fewer than {MIN_ROWS} different ones. Pass more rows.")
        try:
            Z, here = open_coordinates(
                _fitted(method, _taken(table, drawn, pairwise), None if labels is None else labels[drawn])
            )
        except ValueError as error:  # says how many rows there are: those drawn
            raise DataError(f"With {len(drawn)} rows, drawn from the {n}: {error}") from error
        both = kept[drawn[here]]
        (Z, _), at = in_own_unit(Z[both]), drawn[here][both]
        if len(np.unique(at)) < MIN_ROWS:
            raise DataError(
                f"A draw has coordinates for {here.sum()} of its {len(drawn)} rows, and all rows together leave nearly "
                "all of these out: the two pictures cannot be compared. Let the method leave no rows out, as "
                "disconnected='connect' does, or pass the rows of one part."
            )
        B = whole[place[at]]
        Z, B = _as_wide(Z, B.shape[1]), _as_wide(B, Z.shape[1])
        laid = Procrustes.onto(Z, B)
        shares.append(laid.explained)
        at, first = np.unique(at, return_index=True)
        squares[at] += np.sum((laid(Z) - B)[first] ** 2, axis=1)
        times[at] += 1
    value, spread = float(np.mean(shares)), float(np.std(shares, ddof=1))
    half = student_quantile(resamples - 1) * spread / math.sqrt(resamples)
    each = np.sqrt(np.divide(squares, times, out=np.full(n, np.nan), where=times > 0)) / size if per_row else None
    about = f"Share of the embedding that comes again from {resamples} draws ({resample}) of the rows."
    return Measure(
        "stability", value, each, "higher", about, value - half, min(1.0, value + half), left_out=n - len(whole)
    )


def _check(method: Any, resamples: int, resample: str) -> None:
    if not hasattr(method, "fit_transform") or isinstance(method, type):
        name = method.__name__ if isinstance(method, type) else type(method).__name__
        raise DataTypeError(f"{name} has no fit_transform to be called. Pass a method, such as PCA(2).")
    if isinstance(resamples, bool) or not isinstance(resamples, int | np.integer) or resamples < 2:
        raise ParameterError(f"resamples={resamples!r}: give a whole number of at least 2.")
    if resample not in get_args(Resample):
        raise ParameterError(f"resample={resample!r}: choose 'halves' or 'bootstrap'.")


def _fitted(method: Any, X: Any, y: np.ndarray | None) -> np.ndarray:
    from sklearn.base import clone

    model = clone(method)
    return to_numpy(model.fit_transform(X) if y is None else model.fit_transform(X, y))


def _takes_pairs(method: Any) -> bool:
    """Whether X holds a number for each pair of rows, so that columns are drawn with the rows."""
    tags = getattr(method, "__sklearn_tags__", None)
    return tags is not None and bool(tags().input_tags.pairwise)


def _taken(table: Any, drawn: np.ndarray, pairwise: bool) -> Any:
    xp = xp_of(table)
    rows = like(drawn, table, xp.int64)
    part = xp.take(table, rows, axis=0)
    return xp.take(part, rows, axis=1) if pairwise else part


def _drawn(n: int, resample: str, rng: np.random.Generator) -> np.ndarray:
    if resample == "halves":
        return np.sort(rng.permutation(n)[: max(3, n // 2)])
    return np.sort(rng.integers(n, size=n))


def _as_wide(Z: np.ndarray, width: int) -> np.ndarray:
    """With columns of zeros up to a width: a method that chooses its dimensions may choose others."""
    return np.pad(Z, ((0, 0), (0, max(0, width - Z.shape[1]))))
