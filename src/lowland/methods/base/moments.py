"""Methods that are determined by moments: ``partial_fit`` merges them, and the solver runs on first access."""

from __future__ import annotations

import threading
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np

from lowland.arrays.namespace import is_array, like
from lowland.data.open import is_frame
from lowland.data.rows import Rows
from lowland.errors import LowlandError, ParameterError
from lowland.math.statistics.moments import Moments
from lowland.methods.base.method import InvertibleMethod, Method, attribute
from lowland.methods.base.params import check_parameters
from lowland.run.run import Run, run_for

_lock = threading.RLock()  # two threads may read the same model first


class MomentsMethod(Method):
    """A linear method that needs only the moments of the rows, so it can be fitted incrementally.

    A subclass writes ``_solve_moments``, which reads ``self._params``: it may run after ``set_params``.
    ``partial_fit`` only merges moments. The eigenproblem is solved when a fitted attribute is first read.
    """

    n_samples_: int = attribute("Number of training rows. With weights, only those of positive weight count.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of X. ``sample_weight`` counts repetitions."""
        return self._fit(X, y, sample_weight)

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Sum the moments, then solve."""
        self._fitted.moments = run.fold(rows, Moments.of, weights, name="summing moments")
        self._fitted.dtype = rows.dtype
        self._solve_moments(self._fitted.moments, run)

    def _solve_moments(self, moments: Any, run: Run) -> None:
        """Set the fitted attributes from the moments."""
        raise NotImplementedError

    def _moments_of_fit(self) -> Any:
        """The moments of the training rows, recovered from the fitted attributes."""
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows of X to the training data so far. The result equals that of one fit to all rows."""
        check_parameters(self)
        before = self._moments_so_far()
        y, sample_weight = self._roles(X, y, sample_weight)
        rows, _ = self._open(X, y)
        self._check_rows(rows, reset=before is None, least=1)
        weights = self._weights(sample_weight, rows)
        part = run_for(rows).fold(rows, Moments.of, weights, name="summing moments")
        self._merge(part if before is None else before + in_library_of(part, before), rows, y)
        return self

    def _moments_so_far(self) -> Any:
        """The moments that a fit or partial_fit has kept, or those that its attributes imply; None before a fit."""
        fitted = vars(self).get("_fitted")
        if fitted is None:
            return None
        return fitted.moments if "moments" in vars(fitted) else self._moments_of_fit()

    def _merge(self, moments: Any, rows: Rows, y: Any) -> None:
        """Replace the results so far by the moments of all rows, to be solved later."""
        dtype = vars(self._params).get("dtype", rows.dtype)
        seen = {name: vars(self)[name] for name in ("n_features_in_", "feature_names_in_") if name in vars(self)}
        self._start_fit()
        self.__dict__.update(seen)
        if isinstance(y, str):
            self.label_name_ = y
        self._fitted.moments, self._fitted.dtype, self._fitted.pending = moments, dtype, True

    def __getattr__(self, name: str) -> Any:
        is_result = name.endswith("_") and not name.startswith("_") and name not in ("feature_names_in_", "label_name_")
        if is_result and "_fitted" in vars(self):
            try:
                self._solve_pending()
            except LowlandError as error:  # hasattr must return False; transform raises the error itself
                raise AttributeError(str(error)) from error
            if name in vars(self):
                return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _solve_pending(self) -> None:
        """Solve for the moments that partial_fit has merged, unless that has been done."""
        with _lock:
            fitted = vars(self).get("_fitted")
            if fitted is None or not vars(fitted).get("pending"):
                return
            before = dict(vars(self))
            fitted.pending = False
            try:
                try:
                    self._solve_moments(fitted.moments, Run())
                except ParameterError:  # parameters that do not fit the merged moments may have been set back
                    vars(fitted).update(check_parameters(self))
                    self._solve_moments(fitted.moments, Run())
            except BaseException:
                self.__dict__.clear()
                self.__dict__.update(before)
                fitted.pending = True
                raise

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        self._solve_pending()
        return super()._rows_to_map(X)

    inverse_transform = InvertibleMethod.inverse_transform
    inverse_chunks = InvertibleMethod.inverse_chunks

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        self._solve_pending()
        return InvertibleMethod._rows_to_decode(self, Z)


def impute_rows(model: Any, X: Any) -> Any:
    """Return X without missing values, which the latent model of a method predicts from the observed ones."""
    if model._params.missing is None:
        reason = "impute needs a model of incomplete rows."
        raise ParameterError(reason, "Set `missing='em'`.", method=type(model).__name__, missing=None)
    from lowland.math.statistics.latent_gaussian import ImputeRows

    rows, run = model._rows_to_map(X)
    Y = run.gather(ImputeRows(model._latent()), rows, rows.d, name="imputing missing values")
    if not (is_frame(X) and rows.names):
        return Y
    from lowland.data.write import frame_like

    return frame_like(X, Y, list(rows.names))


def in_library_of(part: Any, other: Any) -> Any:
    """A statistic with its arrays moved to the library and the device of another's."""
    moved = {}
    for each in fields(part):
        mine, theirs = getattr(part, each.name), getattr(other, each.name)
        if is_array(theirs) and not isinstance(mine, type(theirs)):
            moved[each.name] = like(mine, theirs)
    return replace(part, **moved) if moved else part
