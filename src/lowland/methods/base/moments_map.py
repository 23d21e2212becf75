"""Linear maps determined by the moments alone: ``partial_fit`` merges moments; the solver runs on first access."""

from __future__ import annotations

import threading
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Self

from lowland.arrays.namespace import is_array, like
from lowland.data.rows import Rows
from lowland.errors import LowlandError, ParameterError
from lowland.math.statistics.moments import Moments
from lowland.methods.base.as_fitted import record_parameters, view_as_fitted
from lowland.methods.base.estimator import attribute
from lowland.methods.base.linear_map import LinearMap
from lowland.methods.base.parameters import check_parameters
from lowland.run.local import LocalRun
from lowland.run.run import Run, run_for

_pending_lock = threading.RLock()  # two threads may read the same model first


class MomentsMap(LinearMap):
    """A linear map that is determined by the moments alone, so it can be fitted incrementally.

    ``partial_fit`` only merges moments. The eigenproblem is solved when a fitted attribute is first read.
    """

    if TYPE_CHECKING:
        _moments: Any  # what partial_fit merges
        _dtype: Any
        _fitted_with: dict[str, Any]

    n_samples_: int = attribute("Number of training rows; with weights, those of positive weight.")

    def _solve_moments(self, moments: Moments, run: Run) -> None:
        """Set the fitted attributes from the moments."""
        raise NotImplementedError

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows of X to the training data so far. The result equals that of one fit to all rows."""
        moments = vars(self).get("_moments")
        if moments is None and vars(self).get("_solved"):
            moments = self._moments_of_fit()
        check_parameters(self)
        y, sample_weight = self._roles(X, y, sample_weight)
        rows, _ = self._open(X, y)
        self._check_rows(rows, reset=moments is None, least=1)
        weights = self._weights(sample_weight, rows)
        part = run_for(rows).fold(rows, Moments.of, weights, name="summing moments")
        self._merge(part if moments is None else moments + in_library_of(part, moments), rows, y)
        return self

    def _merge(self, moments: Any, rows: Rows, y: Any) -> None:
        """Replace the results so far by the moments of all rows, to be solved later."""
        dtype = vars(self).get("_dtype", rows.dtype)
        self._clear_fit()
        self._record_label_name(y)
        self._moments, self._dtype = moments, dtype
        record_parameters(self)
        self._solved = self._unread = True

    def _moments_of_fit(self) -> Moments:
        """The moments of the training rows, recovered from the fitted attributes."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        is_result = name.endswith("_") and not name.startswith("_") and name not in ("feature_names_in_", "label_name_")
        if is_result and "_moments" in vars(self):
            with _pending_lock:  # another thread may be solving
                try:
                    self._solve_pending()
                except LowlandError as error:  # hasattr must return False; transform raises the error itself
                    raise AttributeError(str(error)) from error
                if name in vars(self):
                    return vars(self)[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _solve_pending(self) -> None:
        """Solve for the moments that partial_fit has merged, unless that has been done."""
        with _pending_lock:
            if vars(self).get("_unread"):
                before = dict(vars(self))
                self.__dict__["_unread"] = False
                try:
                    model = view_as_fitted(self)
                    try:
                        model._solve_moments(self._moments, LocalRun())
                    except ParameterError:
                        if model is self:
                            raise
                        model = self  # parameters that do not fit the merged moments were set back
                        model._solve_moments(self._moments, LocalRun())
                        record_parameters(self)
                    if model is not self:
                        self.__dict__.update(
                            {name: v for name, v in vars(model).items() if name not in self._fitted_with}
                        )
                except BaseException:
                    self.__dict__.clear()
                    self.__dict__.update(before)
                    raise

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        self._solve_pending()
        return super()._rows_to_map(X)

    def _rows_to_decode(self, Z: Any) -> tuple[Rows, Run]:
        self._solve_pending()
        return super()._rows_to_decode(Z)


def in_library_of(part: Any, other: Any) -> Any:
    """A statistic with its arrays moved to the library and the device of another's."""
    moved = {}
    for each in fields(part):
        mine, theirs = getattr(part, each.name), getattr(other, each.name)
        if is_array(theirs) and not isinstance(mine, type(theirs)):
            moved[each.name] = like(mine, theirs)
    return replace(part, **moved) if moved else part
