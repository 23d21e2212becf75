"""Methods with a metric: tables of numbers and categories with missing values, by Gower's dissimilarity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lowland.data.categories import check_types, levels_of, open_categories, with_ranks
from lowland.data.rows import Rows
from lowland.errors import DataTypeError, LowlandError, ParameterError
from lowland.methods.base.method import attribute
from lowland.methods.base.point_map import PointMap
from lowland.suggestions import did_you_mean


class MetricMap(PointMap):
    """A method with a parameter ``metric``. With metric="gower", columns may contain text, categories and booleans.

    A category, and a boolean, is equal to another one or not. An ordered category is compared by its rank. Columns in
    the parameters of the metric are given by position, or by name if the table has names: ``categorical`` and
    ``ordered`` list them, ``{"ordered": {"size": ["S", "M", "L"]}}`` orders a column of text, ``weights`` has one
    number per column, or maps names to numbers (1 for the others).
    """

    categories_: list[np.ndarray | None] = attribute(
        "Levels of each column of text or categories; None for a column of numbers.", when="with metric='gower'"
    )
    metric_columns_: dict[str, Any] = attribute(
        "Positions of the columns that the metric compares as categories and by rank, and weights.",
        when="with metric='gower'",
    )

    @property
    def _reads_text(self) -> bool:
        return self._chosen_metric()[0] == "gower"

    def _opened(self, X: Any, *, fitted: bool = False, **selection: Any) -> Rows:
        if not self._reads_text:
            try:
                return super()._opened(X, fitted=fitted, **selection)
            except DataTypeError as error:
                if fitted or not _has_categories(X, selection):
                    raise
                option = "distance" if hasattr(self, "distance") else "metric"
                remedy = f"Or set {option}='gower', which compares categories and skips missing values."
                raise type(error)(f"{error} {remedy}") from error
        if not fitted:
            rows = open_categories(X, **selection)
            orders = self._orders(rows)
            return with_ranks(rows, orders) if orders else rows
        levels = tuple(self.categories_)
        rows = open_categories(X, levels=levels, **selection)
        if rows.d != len(levels):
            return rows  # the check of the columns raises the error
        check_types(rows, levels)
        ranked = [j for j, known in enumerate(levels) if known is not None]
        ranked = [j for j in ranked if j not in self.metric_columns_["categorical"]]
        return with_ranks(rows, {}, ranked) if ranked else rows

    def _record_columns(self, rows: Rows) -> None:
        if not self._reads_text:
            return
        self.categories_ = list(levels_of(rows))
        self.metric_columns_ = self._columns_of_metric(rows)

    def _columns_of_metric(self, rows: Rows) -> dict[str, Any]:
        """The parameters of Gower's dissimilarity by position; columns of text are categories, unless ordered."""
        params = self._chosen_metric()[1]
        asked, ordered = params.get("categorical", ()), params.get("ordered", ())
        chosen = {"categorical": self._column_places(asked, rows), "ordered": self._column_places(ordered, rows)}
        texts = {j for j, known in enumerate(levels_of(rows)) if known is not None}
        ranked = {j for j in texts if (rows.ordered or (False,) * rows.d)[j]}
        if isinstance(ordered, Mapping):
            ranked |= set(chosen["ordered"])
        for j in texts & set(chosen["ordered"]) - ranked:
            raise ParameterError(
                f"The metric 'gower': column {rows.column_name(j)} is text, whose order is not known. List its levels, "
                f"lowest first: {{'ordered': {{{rows.column_name(j)}: [...]}}}}, or pass an ordered category."
            )
        categorical = sorted({*chosen["categorical"], *(texts - ranked)})
        return {
            "categorical": categorical,
            "ordered": sorted(set(chosen["ordered"]) - texts),
            "weights": self._column_weights(params.get("weights"), rows),
        }

    def _orders(self, rows: Rows) -> dict[int, list[Any]]:
        """The levels of columns of text that the user ordered, by position."""
        ordered = self._chosen_metric()[1].get("ordered")
        if not isinstance(ordered, Mapping):
            return {}
        orders = dict(zip(self._column_places(list(ordered), rows), map(list, ordered.values()), strict=True))
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

    def _column_places(self, columns: Any, rows: Rows) -> list[int]:
        """Columns given by name, position or mask, as positions."""
        given = np.asarray(list(columns) if not isinstance(columns, np.ndarray) else columns)
        if given.dtype == bool and given.shape == (rows.d,):
            return [int(j) for j in np.flatnonzero(given)]
        return [self._column_place(each, rows) for each in (columns if given.ndim == 1 else given.ravel())]

    def _column_place(self, column: Any, rows: Rows) -> int:
        if isinstance(column, str) and rows.names is not None and column in rows.names:
            return rows.names.index(column)
        if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < rows.d:
            return int(column)
        names = rows.names or ()
        hint = did_you_mean(column, names) if isinstance(column, str) else ""
        raise ParameterError(
            f"The metric 'gower': there is no column {column!r}. {hint}List columns by their names, if the table has "
            f"names, or by their positions, 0 to {rows.d - 1}."
        )

    def _column_weights(self, weights: Any, rows: Rows) -> Any:
        if not isinstance(weights, Mapping):
            return weights
        found = np.ones(rows.d)
        for column, weight in weights.items():
            found[self._column_place(column, rows)] = weight
        return found


def _has_categories(X: Any, selection: dict[str, Any]) -> bool:
    """Whether X is a table with columns of text or categories."""
    try:
        return open_categories(X, **selection).levels is not None
    except (LowlandError, TypeError, ValueError):
        return False
