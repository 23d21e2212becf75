"""Laws that hold for any method: what a model must do whatever it computes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from hunt.cases import Wrong
from hunt.routes import close

Fit = Callable[[Any, Any], Any]  # of a table and labels; returns a fitted estimator


def saved_equals(est: Any, Z: np.ndarray, X: Any, folder: Path) -> None:
    """A loaded model transforms to the same bits."""
    lowland.save(est, folder / "m.lowland")
    again = dense(lowland.load(folder / "m.lowland").transform(X))
    if not np.array_equal(again, Z, equal_nan=True):
        raise Wrong("a saved and loaded model transforms differently")


def rows_are_where_they_were(Z: np.ndarray, fitted: np.ndarray, tol: float) -> None:
    """The transform of the training rows is their result of fit_transform."""
    close(fitted, Z, tol, "transform places the training rows elsewhere than fit_transform")


def result_is_yours(est: Any, Z: np.ndarray, X: Any, given: np.ndarray) -> None:
    """Writing into a result does not change the model."""
    if isinstance(given, np.ndarray) and given.flags.writeable and given.dtype.kind == "f":
        given[...] = 7
        if not np.array_equal(dense(est.transform(X)), Z, equal_nan=True):
            raise Wrong("writing into the result of fit_transform changes later transforms")


def twice_the_same(fit: Fit, Z: np.ndarray, X: Any, y: Any) -> None:
    """The same seed gives the same bits."""
    if not np.array_equal(dense(fit(X, y).transform(X)), Z, equal_nan=True):
        raise Wrong("a second fit gives other bits")


def layout_is_nothing(fit: Fit, Z: np.ndarray, X: np.ndarray, y: Any, tol: float) -> None:
    """The plain array of the same numbers gives the same result."""
    close(dense(fit(X, y).transform(X)), Z, tol, "the layout or the type changes the result")


def scaled_by_two(fit: Fit, Z: np.ndarray, X: np.ndarray, y: Any, e: int, power: int, tol: float) -> None:
    """Multiplying the data by 2**e multiplies the result by 2**(e * power)."""
    Z2 = dense(fit(np.ldexp(X, e), y).transform(np.ldexp(X, e)))
    close(np.ldexp(Z2, -e * power), Z, tol, f"multiplying the data by 2**{e} changes the result")


def permuted(fit: Fit, Z: np.ndarray, X: np.ndarray, y: Any, order: np.ndarray, tol: float) -> None:
    """Permuting the rows permutes the result, up to signs, which may hang on one row."""
    Z2 = dense(fit(X[order], None if y is None else np.asarray(y)[order]).transform(X[order]))
    close(np.abs(Z2), np.abs(Z[order]), tol, "permuting the rows changes the result")


def shifted(fit: Fit, Z: np.ndarray, X: np.ndarray, y: Any, shift: np.ndarray, tol: float) -> None:
    """Adding a constant to each column changes nothing, up to signs."""
    close(np.abs(dense(fit(X + shift, y).transform(X + shift))), np.abs(Z), tol, "adding constants changes the result")


def dense(Z: Any) -> np.ndarray:
    """A result as a float64 array."""
    Z = Z.toarray() if hasattr(Z, "toarray") else np.asarray(Z)
    return Z.astype(np.float64)
