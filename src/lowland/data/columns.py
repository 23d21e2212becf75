"""Columns that are chosen by name, of frames and of files with a header: which are kept, which are refused."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from lowland.data.rows import Rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.suggestions import closest


class NamedTable(ABC):
    """A table whose column names are known, opened once for its rows and for its labels."""

    names: list[str]
    source: str  # what messages call it

    @abstractmethod
    def rows(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows."""

    @abstractmethod
    def column(self, name: str, *, missing_text: bool = True) -> np.ndarray:
        """Return one column as it is: labels may be text.

        ``missing_text``: what stands for a missing number in a text file, such as NA, stands for a missing text too.
        Names of rows have no missing values.
        """

    def select(self, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
        """Return the named columns, or all, less those dropped, as Rows."""
        refuse_duplicates(self.names, self.source)
        return self.rows(selected(self.names, columns, drop, self.source))

    def position(self, name: str) -> int:
        """Return where a column stands; refuse a name that is not there."""
        return selected(self.names, [name], (), self.source)[0]


class TableFile(NamedTable):
    """A named table in a file, whose columns Arrow reads."""

    @abstractmethod
    def first_text_column(self) -> str | None:
        """Return the name of the first column if it holds text: perhaps the names of the rows."""


def selected(names: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str], source: str) -> list[int]:
    """Return the positions of the columns to keep: those named, or all, less those dropped."""
    asked = (*(columns or ()), *drop)
    unknown = [name for name in asked if name not in names]
    if unknown:
        cut = next(
            (name for name in names if "," in name and {part.strip() for part in name.split(",")} <= {*asked}), None
        )
        remedy = _available_columns(unknown[0], names) if cut is None else _quoted_name(cut)
        raise ParameterError(f"{source} has no column {', '.join(map(repr, unknown))}. {remedy}")
    if columns is None:
        return [j for j, name in enumerate(names) if name not in drop]
    places = {name: j for j, name in enumerate(names)}
    return [places[name] for name in columns if name not in drop]


def _quoted_name(name: str) -> str:
    """How to name a column whose name was cut at its comma."""
    return (
        f"If {name!r} is meant, which holds a comma, on the command line put it into quotes of its own: '\"{name}\"'."
    )


def _available_columns(wanted: str, names: Sequence[str], most: int = 12) -> str:
    """Say which columns there are; of many those whose names are like the wanted one first, and which may be meant."""
    nearest = closest(wanted, names, n=len(names), cutoff=0.0)
    meant = [repr(name) for name in closest(wanted, names)]
    asked = f"Did you mean {' or '.join(meant)}? " if meant else ""
    return f"{asked}Its columns: {_listed(nearest if len(names) > most else names, most)}."


def refuse_duplicates(names: Sequence[Hashable], source: str) -> None:
    """Refuse two columns of the same name."""
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise DataError(f"There is more than one column {_listed(duplicates, 8)} in {source}. Give each its own name.")


def refuse_text(texts: Sequence[str], source: str) -> None:
    """Refuse columns of text by name, with the remedy."""
    if texts:
        many = len(texts) > 1
        raise DataTypeError(
            f"Column{'s' if many else ''} {_listed(texts, 8)} of {source} hold{'' if many else 's'} text, dates or "
            "categories, not numbers (could not convert string to float). Leave such columns out (--drop or --columns "
            "on the command line, X.drop(columns=...) in Python), name one that holds labels (--label, y), or encode "
            "them as numbers."
        )


def _listed(names: Sequence[Hashable], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
