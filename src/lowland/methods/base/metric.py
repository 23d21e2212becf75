"""The metric of a method: what X holds, whether values may be missing, and how a table with categories is opened.

With metric="gower", columns may contain text, categories and booleans. A category is equal to another one or not. An
ordered category is compared by its rank. Columns in the parameters of the metric are given by position, or by name if
the table has names: ``categorical`` and ``ordered`` list them, ``{"ordered": {"size": ["S", "M", "L"]}}`` orders a
column of text, ``weights`` has one number per column, or maps names to numbers (1 for the others).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array
from lowland.data.categories import levels_of, open_categories, with_ranks
from lowland.data.open import open_rows
from lowland.data.rows import Rows
from lowland.errors import DataTypeError, DataWarning, LowlandError, ParameterError, warn
from lowland.math.distances.metrics import allows_nan, check_metric
from lowland.math.distances.to_points import looks_like_distances
from lowland.methods.base.params import shared_attributes
from lowland.suggestions import did_you_mean

SKIP_MISSING = (  # for an error of NaN
    "Set `metric='nan_euclidean'` to compare rows by the columns that both have, or `metric='gower'`, which also takes "
    "categories."
)
METRIC_ATTRIBUTES = shared_attributes(
    categories_=(
        "list[np.ndarray | None]", "Levels of each column of text or categories, or None for a column of numbers.", "",
        "with metric='gower'",
    ),
    metric_columns_=(
        "dict[str, Any]",
        "Positions of the columns that the metric compares as categories and by rank, and weights.", "",
        "with metric='gower'",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Metric:
    """A metric by its name, or as a function of two rows. "precomputed" means X is a matrix of pairs."""

    name: Any
    params: dict[str, Any] = field(default_factory=dict)
    pairs: str = "distances"  # what a matrix of pairs holds
    parameter: str = "metric"  # its name as a parameter, for messages

    def __iter__(self) -> Iterator[Any]:
        """Yield name and parameters, as functions of distances take them."""
        yield self.name
        yield self.params

    @property
    def precomputed(self) -> bool:
        """Whether X is a matrix of pairs."""
        return isinstance(self.name, str) and self.name == "precomputed"

    @property
    def reads_text(self) -> bool:
        """Whether columns may contain text."""
        return isinstance(self.name, str) and self.name == "gower"

    @property
    def skips_missing(self) -> bool:
        """Whether the metric skips missing values."""
        return allows_nan(self.name)

    def check(self) -> None:
        """Raise an error for an unknown metric, or for parameters that it does not take."""
        check_metric(self.name, self.params)

    def open(self, X: Any, **selection: Any) -> Rows:
        """Open the rows of a fit."""
        if self.reads_text:
            rows = open_categories(X, **selection)
            orders = self._orders(rows)
            return with_ranks(rows, orders) if orders else rows
        try:
            return open_rows(X, **selection)
        except DataTypeError as error:
            if not _has_categories(X, selection):
                raise
            remedy = f"Or set `{self.parameter}='gower'`, which compares categories and skips missing values."
            raise type(error)(f"{error.marked} {remedy}") from error

    def open_new(self, X: Any, categories: Any, columns: Mapping[str, Any], **selection: Any) -> Rows:
        """Open rows for a fitted model, which knows the levels of its columns."""
        if not self.reads_text:
            return open_rows(X, **selection)
        levels = tuple(categories)
        rows = open_categories(X, levels=levels, **selection)
        if rows.d != len(levels):
            return rows  # the check of the columns raises the error
        ranked = [j for j, known in enumerate(levels) if known is not None and j not in columns["categorical"]]
        return with_ranks(rows, {}, ranked) if ranked else rows

    def levels(self, rows: Rows) -> list[np.ndarray | None]:
        """The levels of each column of text; None for a column of numbers."""
        return list(levels_of(rows))

    def columns(self, rows: Rows) -> dict[str, Any]:
        """The parameters of Gower's dissimilarity by position; columns of text are categories, unless ordered."""
        asked, ordered = self.params.get("categorical", ()), self.params.get("ordered", ())
        chosen = {"categorical": _places(asked, rows), "ordered": _places(ordered, rows)}
        texts = {j for j, known in enumerate(levels_of(rows)) if known is not None}
        ranked = {j for j in texts if (rows.ordered or (False,) * rows.d)[j]}
        if isinstance(ordered, Mapping):
            ranked |= set(chosen["ordered"])
        for j in texts & set(chosen["ordered"]) - ranked:
            raise ParameterError(
                f"The metric 'gower': column {rows.column_name(j)} is text, whose order is not known. List its levels, "
                f"lowest first: {{'ordered': {{{rows.column_name(j)}: [...]}}}}, or pass an ordered category."
            )
        return {
            "categorical": sorted({*chosen["categorical"], *(texts - ranked)}),
            "ordered": sorted(set(chosen["ordered"]) - texts),
            "weights": _weights(self.params.get("weights"), rows),
        }

    def _orders(self, rows: Rows) -> dict[int, list[Any]]:
        """The levels of columns of text that the user ordered, by position."""
        ordered = self.params.get("ordered")
        if not isinstance(ordered, Mapping):
            return {}
        orders = dict(zip(_places(list(ordered), rows), map(list, ordered.values()), strict=True))
        for j, levels in orders.items():
            known = levels_of(rows)[j]
            unlisted = [] if known is None else [each for each in known if each not in levels]
            if known is None or unlisted:
                problem = "contains numbers" if known is None else f"has the level {unlisted[0]!r}, which is not listed"
                remedy = "List it without levels." if known is None else "List all levels, lowest first."
                raise ParameterError(
                    f"The metric 'gower' with 'ordered': column {rows.column_name(j)} {problem}. {remedy}"
                )
        return orders


def _places(columns: Any, rows: Rows) -> list[int]:
    """Columns given by name, position or mask, as positions."""
    given = np.asarray(list(columns) if not isinstance(columns, np.ndarray) else columns)
    if given.dtype == bool and given.shape == (rows.d,):
        return [int(j) for j in np.flatnonzero(given)]
    return [_place(each, rows) for each in (columns if given.ndim == 1 else given.ravel())]


def _place(column: Any, rows: Rows) -> int:
    if isinstance(column, str) and rows.names is not None and column in rows.names:
        return rows.names.index(column)
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < rows.d:
        return int(column)
    hint = did_you_mean(column, rows.names or ()) if isinstance(column, str) else ""
    raise ParameterError(
        f"The metric 'gower': there is no column {column!r}. {hint}List columns by their names, if the table has "
        f"names, or by their positions, 0 to {rows.d - 1}."
    )


def _weights(weights: Any, rows: Rows) -> Any:
    if not isinstance(weights, Mapping):
        return weights
    found = np.ones(rows.d)
    for column, weight in weights.items():
        found[_place(column, rows)] = weight
    return found


def _has_categories(X: Any, selection: dict[str, Any]) -> bool:
    """Whether X is a table with columns of text or categories."""
    try:
        return open_categories(X, **selection).levels is not None
    except (LowlandError, TypeError, ValueError):
        return False


# --- warnings of the methods that scale distances ---


def warn_if_distances(X: Array, owner: str) -> None:
    """Warn where the rows look like a distance matrix."""
    if looks_like_distances(X):
        warn(
            f"{owner}: `X` looks like a distance matrix (symmetric with a zero diagonal), but is used as rows. Set "
            "`metric='precomputed'` if it contains distances.",
            DataWarning,
        )


def warn_of_lost_squares(name: str, values: Any, squared: Any) -> None:
    """Warn where numbers in squared units, such as a stress, overflow or underflow though the coordinates do not."""
    before, after = np.abs(np.atleast_1d(values)), np.abs(np.atleast_1d(squared))
    lost = ~np.isfinite(after) | (after < np.finfo(np.float64).tiny)
    if bool((lost & (before > 0)).any()):
        warn(
            f"{name}: squared distances are beyond the range of `float64`, so the values are infinite or lose digits. "
            "The coordinates do not. Rescale the columns.",
            DataWarning,
        )


def warn_of_one_point(owner: str) -> None:
    """Warn where all points coincide."""
    warn(
        f"{owner}: all points coincide. Every distance is zero, and so are all coordinates. Check the data.",
        DataWarning,
    )
