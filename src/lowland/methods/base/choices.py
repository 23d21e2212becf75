"""What methods declare, check and choose alike: parameters without effect, errors of parameters, landmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.errors import DataWarning, ParameterError, warn
from lowland.math.statistics.sampling import evenly_spread
from lowland.methods.base.params import param


def ignored(default: Any, instead: str = "has no effect", *, package: str = "scikit-learn", **options: Any) -> Any:
    """Declare a parameter that is only accepted because another package has it."""
    return param(default, f"Accepted for compatibility with {package}. {instead[0].upper()}{instead[1:]}.", **options)


def positional(default: Any, doc: str, **options: Any) -> Any:
    """Declare a parameter that may be passed by position, as in the package that has it in this place."""
    return param(default, doc, positional=True, **options)


def folds_parameter() -> Any:
    """Declare the parameter ``cv`` of a method that cross-validates."""
    return param(
        5, "Number of folds, a splitter, or pairs of training and test rows. Folds are stratified for classes.",
        at_least=2, wanted="a number of folds of at least 2, a splitter, or pairs of row index arrays",
    )  # fmt: skip


def refusal(model: Any, reason: str, remedy: str, *names: str) -> ParameterError:
    """The error of a fit, which names these parameters of the model with their values."""
    given = {name: getattr(model._params, name) for name in names}
    return ParameterError(reason, remedy, method=type(model).__name__, given=given)


def check_most(model: Any, name: str, most: int, fact: str) -> None:
    """Raise an error if a parameter asks for more than the data has."""
    asked = getattr(model._params, name)
    if asked is not None and asked > most:
        raise refusal(model, fact, f"Choose at most {most}.", name)


def choose_landmarks(
    model: Any, count: Callable[[], int], consequence: str = "all rows are scaled"
) -> np.ndarray | None:
    """Mark ``n_landmarks`` rows, spread evenly over all, (n,) bool; None where all rows are used.

    It warns where all rows would be landmarks: ``consequence`` says what happens then. ``count`` counts the rows.
    """
    m, owner = model.n_landmarks, type(model).__name__
    if m is None:
        return None
    n = count()
    if m < n:
        return evenly_spread(n, m, model._generator())
    warn(
        f"{owner}(n_landmarks={m}): the data has {n} rows, so {consequence} exactly, without landmarks. Choose fewer "
        f"than {n}, or None.",
        DataWarning,
    )
    return None
