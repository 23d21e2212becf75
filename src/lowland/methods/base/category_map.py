"""Maps of tables with categories: opening text, the levels of the columns, and their codes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lowland.data.categories import levels_of, open_categories
from lowland.data.rows import Rows
from lowland.errors import warn
from lowland.math.correspondence.categories import Coding, LevelSets, level_sets
from lowland.methods.base.choices import refusal
from lowland.methods.base.method import Method, attribute
from lowland.run.run import Run

_MOST_LEVELS, _ROWS_PER_LEVEL = 10, 2  # more levels than this, with fewer rows each, suggest values, not categories


class CategoryMap(Method):
    """A method that reads categories: text, categories, booleans, or numbers, each distinct value a level."""

    if TYPE_CHECKING:
        n_components: Any
        missing: Any
        handle_unknown: Any

    categories_: list[np.ndarray | None] = attribute(
        "Levels of each column, sorted, or None for a column of numbers. None or NaN as the last level stands for "
        "missing values."
    )

    n_components_: int = attribute("Number of axes.")

    def _opened(self, X: Any, *, fitted: bool = False, **selection: Any) -> Rows:
        if not fitted:
            return open_categories(X, **selection)
        levels = tuple(_text_levels(each) for each in self.categories_)
        return open_categories(X, levels=levels, **selection)

    def _learned_coding(self, rows: Rows, run: Run, columns: Sequence[int], *, missing_level: bool) -> Coding:
        """The levels of the columns: those of text, and the distinct values of numbers, from one pass over these."""
        texts = levels_of(rows)
        numeric = tuple(j for j in columns if texts[j] is None)
        keys = {j: np.arange(len(levels), dtype=np.float64) for j, levels in enumerate(texts) if levels is not None}
        if numeric:
            found: LevelSets = run.fold(rows, partial(level_sets, numeric), name="finding categories")
            if found.missing and self.missing == "error":
                raise rows.non_finite_error()
            keys |= dict(zip(numeric, found.values, strict=True))
        coding = Coding(columns, [keys[j] for j in columns], [missing_level] * len(columns))
        run.require(
            24 * coding.length**2,
            f"The cross tables of {coding.length} levels",
            "Drop columns with very many levels, or bin their values",
        )
        return coding

    def _keep_levels(self, coding: Coding, used: np.ndarray, rows: Rows, n: int) -> np.ndarray:
        """Set ``categories_`` to the levels that occur; return their names, such as color_red."""
        texts, names = levels_of(rows), []
        self.categories_ = [None] * rows.d
        crowded = []
        for i, j in enumerate(coding.columns):
            here = used[coding.starts[i] : coding.starts[i] + coding.sizes[i]]
            labels = texts[j]
            own = coding.keys[i] if labels is None else labels
            kept = own[here[: len(own)]]
            if coding.missing[i] and here[-1]:
                absent = np.array([np.nan if labels is None else None], dtype=kept.dtype)
                kept = np.concatenate([kept, absent])
            self.categories_[j] = kept
            column = rows.names[j] if rows.names else f"x{j}"
            names += [f"{column}_{level_text(level)}" for level in kept]
            if len(kept) > max(_MOST_LEVELS, n / _ROWS_PER_LEVEL):
                crowded.append(f"{rows.column_name(j)} ({len(kept)})")
        if crowded:
            many = f" and {len(crowded) - 5} more" if len(crowded) > 5 else ""
            warn(
                f"{type(self).__name__}: columns {', '.join(crowded[:5])}{many} have a level for every second row or "
                f"more, in {n} rows. A category should have many rows. Drop such columns, or bin their values."
            )
        return np.asarray(names, dtype=object)

    def _coding(self) -> Coding:
        columns, keys, missing = [], [], []
        for j, levels in enumerate(self.categories_):
            if levels is None:
                continue
            columns.append(j)
            absent = len(levels) > 0 and bool(levels[-1] is None or levels[-1] != levels[-1])
            own = levels[:-1] if absent else levels
            keys.append(np.arange(len(own), dtype=np.float64) if levels.dtype == object else own.astype(np.float64))
            missing.append(absent)
        return Coding(columns, keys, missing)

    def _encoding_width(self) -> int:
        return int(self.n_components_)

    def _refuses_missing(self) -> bool:
        """Whether a missing value without a level is an error in new rows: it is if unknown categories are."""
        return self._params.missing == "error" or (
            self._params.missing == "category" and self._params.handle_unknown == "error"
        )

    def _column_names(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        return tuple(str(j) if names is None else repr(names[j]) for j in range(self.n_features_in_))

    def _check_count(self, most: int, levels: int) -> int:
        """The number of axes; an error if there are fewer."""
        asked = self.n_components
        k = most if asked is None else int(asked)
        if k > most or most < 1:
            remedy = f"Choose at most {most}." if most > 0 else "Pass columns with at least two levels."
            columns = f"{self.n_features_in_} columns (`n_features={self.n_features_in_}`)"
            raise refusal(self, f"{levels} levels and numbers in {columns} have {most} axes.", remedy, "n_components")
        return k


def _text_levels(levels: np.ndarray | None) -> np.ndarray | None:
    """The levels of a column of text, without the one of missing values; None for a column of numbers."""
    if levels is None or levels.dtype != object:
        return None
    return levels[:-1] if len(levels) and levels[-1] is None else levels


def level_text(level: Any) -> str:
    """Return a level as in the name of a category."""
    if level is None or level != level:
        return "missing"
    return f"{float(level):.15g}" if isinstance(level, float | np.floating) else str(level)
