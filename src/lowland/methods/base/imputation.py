"""Predict the missing values of a row from its observed ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lowland.data.open import is_frame
from lowland.errors import ParameterError


def impute_rows(model: Any, X: Any, completion: Callable[[], Callable[[Any], Any]]) -> Any:
    """Return X without missing values; ``completion`` makes the map from incomplete to complete rows."""
    if model._params.missing is None:
        reason = "impute needs a model of incomplete rows."
        raise ParameterError(reason, "Set `missing='em'`.", method=type(model).__name__, missing=None)
    rows, run = model._rows_to_map(X)
    Y = run.gather(completion(), rows, rows.d, name="imputing missing values")
    if not (is_frame(X) and rows.names):
        return Y
    from lowland.data.write import frame_like

    return frame_like(X, Y, list(rows.names))
