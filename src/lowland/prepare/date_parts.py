"""Dates as numbers: year, month, day of the week, hour and elapsed days."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

PARTS = ("year", "month", "day of week", "hour", "elapsed days")
_DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")  # microseconds


class DateParts(TransformerMixin, BaseEstimator):
    """The parts of each date that differ among the training rows; days elapse since the first training date.

    A missing date is NaN in every part.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the first date of each column, and the parts that vary."""
        D = _dates(X)
        self.n_features_in_ = D.shape[1]
        self.feature_names_in_ = np.asarray(
            getattr(X, "column_names", [f"x{j}" for j in range(D.shape[1])]), dtype=object
        )
        self.origins_ = np.array([_first(column) for column in D.T], dtype="datetime64[us]")
        parts = self._all_parts(D)
        self.kept_ = np.array([np.unique(part[~np.isnan(part)]).size > 1 for part in parts.T])
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the parts as floats, (n, number of parts)."""
        check_is_fitted(self)
        return self._all_parts(_dates(X))[:, self.kept_]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns and their parts."""
        return np.asarray([f"{name} {part}" for name, part in self.kept_parts()], dtype=object)

    def kept_parts(self) -> list[tuple[str, str]]:
        """Return column and part of each number."""
        pairs = [(name, part) for name in self.feature_names_in_ for part in PARTS]
        return [pair for pair, kept in zip(pairs, self.kept_, strict=True) if kept]

    def _all_parts(self, D: np.ndarray) -> np.ndarray:
        columns = [part for column, origin in zip(D.T, self.origins_, strict=True) for part in _parts(column, origin)]
        return np.column_stack(columns)


def _dates(X: Any) -> np.ndarray:
    """The columns of a table of dates, (n, d)."""
    columns = X.columns if hasattr(X, "column_names") else np.asarray(X).T
    return np.column_stack([np.asarray(column).astype("datetime64[us]") for column in columns])


def _first(dates: np.ndarray) -> np.datetime64:
    observed = dates[~np.isnat(dates)]
    return observed.min() if observed.size else np.datetime64("1970-01-01", "us")


def _parts(dates: np.ndarray, origin: np.datetime64) -> list[np.ndarray]:
    """The five parts of a column of dates, NaN where a date is missing."""
    days, months, years = (dates.astype(f"datetime64[{unit}]") for unit in "DMY")
    since = (days.astype(np.int64), months.astype(np.int64), years.astype(np.int64))
    parts = [
        since[2] + 1970.0,
        since[1] % 12 + 1.0,
        (since[0] + 3.0) % 7,  # Monday is 0; the first of January 1970 was a Thursday
        (dates - days).astype(np.float64) * 24 / _DAY,
        (dates - origin).astype(np.float64) / _DAY,
    ]
    return [np.where(np.isnat(dates), np.nan, part) for part in parts]
