"""Coordinates that the user brings, such as those of UMAP: evaluated and plotted like trials, but never fitted."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from lowland.errors import DataError, LowlandError, ParameterError
from lowland.methods.base.traits import Traits, traits_of
from lowland.methods.registry import load_method
from lowland.quality.inputs import open_coordinates
from lowland.study.plan import Planned
from lowland.study.result import GIVEN, Trial

NOT_FITTED = (
    "These coordinates were given, not fitted. Time, memory and reconstruction error are blank because they need the "
    "method."
)
LABELS_UNKNOWN = " If the labels were used to compute the coordinates, the measures of classes are too optimistic."


def planned_embeddings(embeddings: Any, n: int, taken: tuple[str, ...]) -> tuple[Planned, ...]:
    """Check the given coordinates, one entry per name, for n rows; ``taken`` are the names of the other trials."""
    if embeddings is None:
        return ()
    if not isinstance(embeddings, Mapping):
        raise ParameterError(
            f"`compare(embeddings=…)` is a {type(embeddings).__name__}. Pass a dict of names and coordinates, such "
            "as {'TriMap': `Z`}."
        )
    found = []
    for name, Z in embeddings.items():
        if not isinstance(name, str) or not name:
            raise ParameterError(f"`compare(embeddings=…)`: the name {name!r} must be a string that is not empty.")
        if name in taken:
            raise ParameterError(f"`compare(embeddings=…)`: a trial is named {name!r} already. Choose another name.")
        found.append(Planned(name, GIVEN, given=_full(name, Z, n)))
    return tuple(found)


def _full(name: str, Z: Any, n: int) -> np.ndarray:
    """The coordinates of all rows, (n, k); NaN for rows without."""
    try:
        C, kept = open_coordinates(Z)
    except LowlandError as error:
        raise type(error)(f"The coordinates {name!r}: {error.marked}") from error
    if len(kept) != n:
        raise DataError(
            f"The coordinates {name!r} have {len(kept):,} rows, the data has {n:,}. Pass one row of coordinates for "
            "each row of the data, in the same order."
        )
    full = np.full((n, C.shape[1]), np.nan, dtype=C.dtype)
    full[kept] = C
    return full


def given_trial(planned: Planned, *, labeled: bool) -> Trial:
    """Return the trial of given coordinates, before it is evaluated."""
    assert planned.given is not None
    Z = planned.given
    n_excluded = int(np.isnan(Z).any(axis=1).sum())
    warned = [NOT_FITTED + LABELS_UNKNOWN * labeled]
    if n_excluded:
        warned.append(
            f"{n_excluded:,} of {len(Z):,} rows have no coordinates. The measures are computed from the others."
        )
    return Trial(
        planned.name, GIVEN, {}, "done", None, tuple(warned), n_excluded=n_excluded, n_components=Z.shape[1], Z=Z
    )


@functools.cache
def traits_named(method: str) -> Traits:
    """Return the traits of the method of a trial; given coordinates have none."""
    return Traits() if method == GIVEN else traits_of(load_method(method))
