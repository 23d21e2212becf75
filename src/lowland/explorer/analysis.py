"""Search, filters, distances and clusters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from lowland.data.stored_table import StoredTable
from lowland.explorer.workspace import RequestError
from lowland.math.statistics.sampling import evenly_spread

COMPARISONS: dict[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
OPERATORS = ("=", "!=", *COMPARISONS, "contains", "in", "missing", "present")


def rows_with_text(stored: StoredTable, text: str, columns: list[int], most: int) -> tuple[list[int], np.ndarray]:
    """Return the first rows with a cell that contains a text, in any of the columns, and the mask of all, (n,) bool.

    Upper and lower case are the same. Rows where a cell equals the text come first.
    """
    found, equal = np.zeros(stored.n, dtype=bool), np.zeros(stored.n, dtype=bool)
    for j in columns:
        contains, equals = stored.matches(j, text)
        found |= contains
        equal |= equals
    first, others = np.flatnonzero(equal), np.flatnonzero(found & ~equal)
    return np.concatenate([first, others])[:most].tolist(), found


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
        numbers = stored.days(j)
        with contextlib.suppress(ValueError):  # a date such as 2024-12-31 as days since 1970
            value = float((np.datetime64(str(value), "s") - np.datetime64(0, "s")) / np.timedelta64(1, "D"))
    if numbers is None and op in COMPARISONS:
        raise RequestError(400, f"Column {stored.names[j]!r} contains text. Use = or contains instead of {op}.")
    if numbers is not None and op in COMPARISONS:
        with np.errstate(invalid="ignore"):
            return COMPARISONS[op](numbers, _number(value, stored.names[j]))
    wanted = value if op == "in" and isinstance(value, list) else [value]
    if numbers is not None and not {str(each).lower() for each in wanted} <= {"true", "false"}:
        equal = np.isin(numbers, [_number(each, stored.names[j]) for each in wanted])
    else:
        equal = stored.equals(j, [str(each) if numbers is None else str(each).lower() for each in wanted])
    return equal if op != "!=" else ~equal & ~missing


def _number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise RequestError(
            400, f"Column {name!r} contains numbers, but {value!r} is not a number. Enter a number."
        ) from None


MOST_LEVELS = 1000  # a column with more is text, which is not compared


CELLS = 2**22  # processed at a time
MOST_FOR_DENSITY = 60_000  # rows for HDBSCAN
NAMED_BY = 2_000_000  # cells from which clusters get their names
LARGE = 0.8  # a large effect in Cohen's d


def distances_from(X: np.ndarray, row: int) -> np.ndarray:
    """Return the Euclidean distances of all rows from one, (n,) float32; X may be memory-mapped."""
    n, d = X.shape
    x = np.asarray(X[row], dtype=np.float64)
    found = np.empty(n, dtype=np.float32)
    step = max(1, CELLS // max(1, d))
    for start in range(0, n, step):
        part = np.asarray(X[start : start + step], dtype=np.float64) - x
        found[start : start + step] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return found


def nearest(distances: np.ndarray, row: int, k: int) -> np.ndarray:
    """Return the k rows with the smallest distances, without the row itself; ties by their number."""
    distances = distances.astype(np.float64)
    distances[row] = np.inf
    k = min(k, len(distances) - 1)
    if k <= 0:
        return np.empty(0, dtype=np.int64)
    limit = np.partition(distances, k - 1)[k - 1]
    candidates = np.flatnonzero(distances <= limit)
    return candidates[np.argsort(distances[candidates], kind="stable")][:k]


def clusters_of(X: np.ndarray, n_clusters: int, algorithm: str) -> np.ndarray:
    """Return the cluster of each row, (n,) int32, the largest cluster first; -1: none.

    "k-means" divides all rows into the given number of clusters; "density" (HDBSCAN) finds the number itself and
    leaves sparse regions out. Rows without coordinates (NaN) belong to no cluster.
    """
    from lowland.evidence.clusters import find_clusters

    given = np.isfinite(X).all(axis=1)
    codes = np.full(len(X), -1, dtype=np.int32)
    if given.sum() >= 2:
        rows = np.ascontiguousarray(X[given], dtype=np.float64)
        codes[given] = find_clusters(rows, None if algorithm == "density" else n_clusters)[0]
    return codes


def cluster_names(X: np.ndarray, columns: list[str], codes: np.ndarray) -> list[str]:
    """Return the number of each cluster and at most two columns that set it apart: "2: high width, low height".

    These are the columns with the largest Cohen's d against all other rows, from a sample of the rows. A column of two
    values, such as a category, is there or not.
    """
    clusters = np.arange(int(codes.max(initial=-1)) + 1)
    most = max(100, NAMED_BY // max(1, X.shape[1]))
    chosen = evenly_spread(len(X), most, np.random.default_rng(0)) if len(X) > most else slice(None)
    rows, member = np.asarray(X[chosen], dtype=np.float64), (codes[chosen] == clusters[:, None]).astype(np.float64)
    rows = rows / (np.abs(rows).max(axis=0, initial=0) + 1e-300)
    rows = rows - rows.mean(axis=0)
    n = member.sum(axis=1, keepdims=True)  # (k, 1)
    sums = member @ rows  # (k, d), and the other rows have the opposite
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = (rows**2).sum(axis=0) - sums**2 / n - sums**2 / (len(rows) - n)
        d = np.nan_to_num(
            (sums / n + sums / (len(rows) - n)) / np.sqrt(squares.clip(0) / (len(rows) - 2)), posinf=1e9, neginf=-1e9
        )
    is_dummy = [len(np.unique(column)) == 2 for column in rows.T]

    def word(j: int, effect: float) -> str:
        return f"{('' if effect > 0 else 'not ') if is_dummy[j] else 'high ' if effect > 0 else 'low '}{columns[j]}"

    found = []
    for number, effects in enumerate(d, start=1):
        leading = [j for j in np.argsort(-np.abs(effects), kind="stable")[:2] if abs(effects[j]) >= LARGE]
        found.append(f"{number}: {', '.join(word(j, effects[j]) for j in leading)}" if leading else f"cluster {number}")
    return found
