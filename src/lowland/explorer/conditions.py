"""Search and filters: which rows of a stored table satisfy conditions on its columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.data.stored_table import StoredTable
from lowland.explorer.errors import RequestError

COMPARISONS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
OPERATORS = ("=", "!=", *COMPARISONS, "contains", "in", "missing", "present")


def rows_with_text(stored: StoredTable, text: str, columns: list[int], most: int) -> tuple[list[int], int]:
    """Return the first rows with a cell that contains a text, in any of the columns, and how many there are.

    Upper and lower case are the same. Rows where a cell equals the text come first.
    """
    found, equal = np.zeros(stored.n, dtype=bool), np.zeros(stored.n, dtype=bool)
    for j in columns:
        contains, equals = stored.matches(j, text)
        found |= contains
        equal |= equals
    first, others = np.flatnonzero(equal), np.flatnonzero(found & ~equal)
    return np.concatenate([first, others])[:most].tolist(), int(found.sum())


def rows_where(stored: StoredTable, conditions: list[dict[str, Any]]) -> np.ndarray:
    """Return which rows satisfy all conditions, (n,) bool."""
    keep = np.ones(stored.n, dtype=bool)
    for condition in conditions:
        keep &= _satisfied(stored, int(condition["column"]), str(condition["op"]), condition.get("value"))
    return keep


def _satisfied(stored: StoredTable, j: int, op: str, value: Any) -> np.ndarray:
    if not 0 <= j < len(stored.names):
        raise RequestError(404, f"The table has no column {j}. It has {len(stored.names)} columns.")
    if op not in OPERATORS:
        raise RequestError(400, f"Unknown condition {op!r}. Choose one of {', '.join(OPERATORS)}.")
    missing = stored.missing(j)
    if op in ("missing", "present"):
        return missing if op == "missing" else ~missing
    if op == "contains":
        return stored.matches(j, str(value))[0]
    numbers = stored.numbers(j)
    if numbers is None and op in COMPARISONS:
        numbers, value = stored.days(j), _days(value)
    if numbers is None and op in COMPARISONS:
        raise RequestError(400, f"Column {stored.names[j]!r} contains text. Use = or contains instead of {op}.")
    if numbers is not None and op in COMPARISONS:
        with np.errstate(invalid="ignore"):
            return COMPARISONS[op](numbers, _number(value, stored.names[j]))
    wanted = value if op == "in" and isinstance(value, list) else [value]
    if numbers is not None:
        equal = np.isin(numbers, [_number(each, stored.names[j]) for each in wanted])
    else:
        equal = stored.equals(j, [str(each) for each in wanted])
    return equal if op != "!=" else ~equal & ~missing


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise RequestError(
            400, f"Column {name!r} contains numbers, but {value!r} is not a number. Enter one."
        ) from None


def _days(value: Any) -> Any:
    """A date such as 2024-12-31 as days since 1970; other values unchanged."""
    try:
        return float((np.datetime64(str(value), "s") - np.datetime64(0, "s")) / np.timedelta64(1, "D"))
    except ValueError:
        return value
