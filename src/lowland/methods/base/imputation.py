"""Methods that predict the missing values of a row from its observed ones."""

from __future__ import annotations

from typing import Any

from lowland.data.open import is_frame
from lowland.errors import ParameterError
from lowland.methods.base.as_fitted import as_fitted, view_as_fitted


class ImputesRows:
    """A method with the parameter ``missing``: NaN passes if it is set. A subclass writes ``_completion``."""

    @property
    def _handles_missing(self) -> bool:
        fitted = view_as_fitted(self) if vars(self).get("_solved") else self
        return fitted.missing is not None  # type: ignore[union-attr]

    def _completion(self) -> Any:
        """The map from a slab of rows to rows without missing values."""
        raise NotImplementedError

    @as_fitted
    def impute(self, X: Any) -> Any:
        """Return X with its missing values (NaN) predicted from the observed values of their row.

        Observed values do not change. The rows need not be those of the fit. A data frame returns a data frame.
        """
        model: Any = self
        if model.missing is None:
            raise ParameterError(
                f"{type(self).__name__}(missing=None): impute needs a model of incomplete rows. Set missing='em'."
            )
        rows, run = model._rows_to_map(X)
        Y = run.gather(model._completion(), rows, rows.d, name="imputing missing values")
        if not (is_frame(X) and rows.names):
            return Y
        from lowland.data.write import frame_like

        return frame_like(X, Y, list(rows.names))
