"""Values as JSON, for saved studies, reports, model files and the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def to_plain(
    value: Any, *, non_finite: Callable[[float], Any] = lambda number: None, unknown: Callable[[Any], Any] = repr
) -> Any:
    """Return a value in JSON's own types: None, booleans, numbers, strings, lists, and dicts with string keys.

    Numpy arrays and numbers become lists and numbers. JSON has no NaN and no infinity: ``non_finite`` replaces them, by
    default with None. ``unknown`` replaces any other object, by default with its repr.

    Examples
    --------
    >>> import numpy as np
    >>> to_plain({"x": np.array([1.0, np.inf]), 3: (True, len)})
    {'x': [1.0, None], '3': [True, '<built-in function len>']}
    >>> to_plain([float("nan"), 2], non_finite=str)
    ['nan', 2]
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else non_finite(value)
    if isinstance(value, dict):
        return {str(key): to_plain(item, non_finite=non_finite, unknown=unknown) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item, non_finite=non_finite, unknown=unknown) for item in value]
    if hasattr(value, "tolist"):  # numpy arrays and numbers
        return to_plain(value.tolist(), non_finite=non_finite, unknown=unknown)
    return unknown(value)
