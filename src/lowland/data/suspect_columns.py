"""Columns that a user should know about: identifiers, codes, and one that holds most of the variance or a component."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

MOST = 0.9  # fraction of the total variance above which one column dominates
ALONE = 0.9  # fraction of the squared length of an axis above which it nearly is one column
AXES = 3  # leading axes that are looked at: those of a map
MOST_ROWS, MOST_COLUMNS = 5_000, 500  # from which the axes are computed
MIN_ROWS = 20
_OF_A_VECTOR = re.compile(r".+\[\d+\]")  # the name of a number of a vector
MANY = 20  # distinct integers of a column of codes
WORDS_OF_IDS = {"id", "ids", "uid", "uuid", "guid", "index", "idx", "key"}
WORDS_OF_YEARS = {"year", "years", "yr", "jahr", "jaar", "annee", "année", "año", "anno", "ano"}
WORDS_OF_CODES = {
    "code", "zip", "zipcode", "postal", "postcode", "plz", "fips", "sku", "phone", "telephone", "isbn", "account",
}  # fmt: skip


@dataclass(frozen=True)
class SuspectColumn:
    """A column, and what it looks like."""

    name: str
    kind: Literal["row number", "identifier", "code", "dominant"]
    detail: str = ""  # the number behind it

    def sentence(self, drop: str, scale: str) -> str:
        """Return what the column looks like, and what to do; ``drop`` and ``scale`` are the remedies as typed."""
        name = repr(self.name)
        if self.kind == "dominant":
            return (
                f"The column {name} holds {self.detail} of the total variance, so it dominates distances and "
                f"components. If only its unit is larger, use {scale}; if it should not count, use {drop}."
            )
        what = {
            "row number": f"only counts the rows{self.detail}",
            "identifier": f"looks like an identifier: {self.detail}",
            "code": f"looks like a code, whose order and differences mean nothing: {self.detail}",
        }[self.kind]
        return f"The column {name} {what}. It is treated as a feature. If it is not one, use {drop}."


def suspect_columns(
    X: np.ndarray, names: Sequence[str], *, scaled: bool, named: bool = True, has_others: bool = False
) -> list[SuspectColumn]:
    """Return the columns to report, identifiers and codes first; ``named``: whether the names are the user's.

    ``has_others``: whether the table has further columns, so that one column of X is not the only feature.
    """
    n, d = X.shape
    if n < 2 or d < 2 - has_others:
        return []
    head = np.asarray(X[:MIN_ROWS], dtype=np.float64)
    is_possible = (head == np.floor(head)).all(axis=0)  # most columns are excluded by a few rows
    if n < MIN_ROWS:  # too few for identifiers and codes, and row numbers have equal steps
        with np.errstate(invalid="ignore"):
            steps = np.diff(head, axis=0)
        is_possible &= (steps == steps[0]).all(axis=0)
    found = []
    for j in np.flatnonzero(is_possible):
        column, name = np.asarray(X[:, j], dtype=np.float64), str(names[int(j)])
        if np.isfinite(column).all() and not (column % 1).any():
            suspect = _of_integers(name, column, _words(name) if named else set())
            found += [] if suspect is None else [suspect]
    return found if scaled else [*found, *_dominant(X, names)]


def _of_integers(name: str, column: np.ndarray, words: set[str]) -> SuspectColumn | None:
    n = len(column)
    steps = np.diff(column)
    if n >= 10 and steps[0] != 0 and (steps == steps[0]).all():
        return SuspectColumn(name, "row number")
    if n < MIN_ROWS:
        return None
    distinct = len(np.unique(column))
    consecutive = column.max() - column.min() + 1 == n
    if distinct == n and consecutive:
        return SuspectColumn(name, "identifier", "consecutive integers, each once")
    if 2 * distinct > n and words & WORDS_OF_IDS:  # some rows may share an id, such as visits of one patient
        how = (
            f"{n:,} distinct integers, each once" if distinct == n else f"{distinct:,} distinct integers in {n:,} rows"
        )
        return SuspectColumn(name, "identifier", how)
    if distinct >= MANY and words & WORDS_OF_CODES and column.min() >= 0:
        return SuspectColumn(
            name, "code", f"{distinct:,} distinct integers from {column.min():.0f} to {column.max():.0f}"
        )
    return None


def _dominant(X: np.ndarray, names: Sequence[str]) -> list[SuspectColumn]:
    with np.errstate(over="ignore", invalid="ignore"):
        variances = X.var(axis=0, dtype=np.float64)
        for gap in np.flatnonzero(np.isnan(X).any(axis=0)):
            observed = X[~np.isnan(X[:, gap]), gap]
            variances[gap] = observed.var(dtype=np.float64) if len(observed) else 0.0
        fractions = variances / variances.sum()
    j = int(np.argmax(variances))
    if not np.isfinite(fractions[j]) or fractions[j] <= MOST or np.sum(variances > 0) < 2:
        return []
    fraction = f"{fractions[j]:.1%}" if fractions[j] < 0.9995 else "more than 99.9%"
    return [SuspectColumn(str(names[j]), "dominant", fraction)]


def lone_columns(axes: np.ndarray, names: Sequence[str]) -> dict[str, str]:
    """Return the leading axes, (k, d), that nearly are a single column, by name, each with its column in words.

    >>> lone_columns(np.array([[0.6, 0.8, 0.0], [0.1, 0.0, 0.99]]), ["height", "weight", "year"])
    {'component 2': "almost only 'year' (99%)"}
    """
    return {f"component {i + 1}": f"almost only {str(names[j])!r} ({share:.0%})" for i, j, share in _lone(axes)}


def _lone(axes: np.ndarray) -> list[tuple[int, int, float]]:
    """The leading axes that nearly are a single column: number of the axis, of the column, and its share."""
    squares = np.asarray(axes[:AXES], dtype=np.float64) ** 2
    shares = squares / np.maximum(squares.sum(axis=1, keepdims=True), 1e-300)
    largest = [(i, int(np.argmax(row)), float(row.max())) for i, row in enumerate(shares) if len(row) > 2]
    return [each for each in largest if each[2] > ALONE]


def lone_components(X: np.ndarray, names: Sequence[str]) -> list[str]:
    """Return a sentence for each of the first principal components of the rows, (n, d), that nearly is one column.

    The numbers of a vector, such as v[0], are used together, so none of them is advised to be left out.
    """
    n, d = X.shape
    if n < MIN_ROWS or not 2 < d <= MOST_COLUMNS:
        return []
    some = np.asarray(X[:: -(-n // MOST_ROWS)], dtype=np.float64)
    axes = np.linalg.eigh(np.cov(some, rowvar=False))[1][:, ::-1].T
    return [
        f"Principal component {i + 1} is almost only {str(names[j])!r} ({share:.0%}): this column varies by itself, so "
        "an axis of the map shows little else. If it is not a feature, leave it out."
        for i, j, share in _lone(axes)
        if not _OF_A_VECTOR.fullmatch(str(names[j]))
    ]


def is_called_id(name: str) -> bool:
    """Whether the name of a column says that it contains ids."""
    return bool(_words(name) & WORDS_OF_IDS)


def is_called_year(name: str) -> bool:
    """Whether the name of a column says that it contains years."""
    return bool(_words(name) & WORDS_OF_YEARS)


def _words(name: str) -> set[str]:
    """The words of a column name, in lower case: "PassengerId" gives "passenger" and "id"."""
    if re.fullmatch(r"unnamed: ?\d+|row_?names?", name, re.IGNORECASE):  # an index as pandas and R write it
        return {"index"}
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-zà-ÿ]+", name)
    return {part.lower() for part in parts}
