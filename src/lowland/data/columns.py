"""Selection of columns by name in data frames and in files with a header, and the checks of names and types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowland.data.passes import Passes
from lowland.data.rows import Rows
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.suggestions import closest


@dataclass(frozen=True)
class ArrowColumns:
    """Columns of any type, read as Arrow tables."""

    fields: list[Any]  # name and type of each column
    tables: Callable[[int], Iterator[Any]]  # reads from the top, in tables of the given number of rows
    n: int | None
    passes: Passes | None = None


class NamedTable(ABC):
    """A table with column names, opened once for its rows and its labels."""

    names: list[str]
    source: str  # its name in messages
    id_name: str | None = None  # the column of row ids, which is not a feature unless selected by name
    beside: tuple[str, ...] = ()  # columns that are never features, such as a frame's index; ``column`` returns them
    label_name: str | None = None  # the column of labels, if it is known
    n: int | None = None  # number of rows; None: not known before a pass
    has_names = True  # whether the names are those of the source

    @cached_property
    def notes(self) -> list[str]:
        """What was detected in reading the table, one sentence each."""
        return []

    @abstractmethod
    def rows_at(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows."""

    @property
    def ids(self) -> np.ndarray | None:
        """The ids of the rows, if there are some."""
        return None if self.id_name is None else self.column(self.id_name, missing_text=False)

    def arrow(self, keep: list[int]) -> ArrowColumns:
        """Return the columns at these positions as Arrow tables, text and categories included."""
        from lowland.data.formats.arrow import reslab

        names = [self.names[j] for j in keep]

        def batches() -> Iterator[Any]:
            return (batch.select(names) for batch in self.scan())

        fields = list(next(batches()).schema)
        return ArrowColumns(fields, lambda slab: reslab(batches(), slab), None, getattr(self, "passes", None))

    @abstractmethod
    def _values(self, j: int, *, missing_text: bool) -> np.ndarray:
        """Return the values of the column at a position."""

    def scan(self) -> Iterator[Any]:
        """Yield Arrow record batches of all columns, text included."""
        from lowland.data.formats.arrow import number_batches

        return number_batches(self.select(None, ()))

    def column(self, name: str, *, missing_text: bool = True) -> np.ndarray:
        """Return one column unchanged: labels may be strings.

        ``missing_text``: markers of missing numbers in a text file, such as NA, also mark missing strings. Row names
        have no missing values.
        """
        if name in self.beside:
            return self._beside_values(name, missing_text=missing_text)
        place = selected([*self.beside, *self.names], [name], (), self.source)[0]
        return self._values(place - len(self.beside), missing_text=missing_text)

    def _beside_values(self, name: str, *, missing_text: bool) -> np.ndarray:
        """Return the values of a column that is never a feature."""
        raise NotImplementedError

    def select(self, columns: Sequence[str] | None, drop: Sequence[str]) -> Rows:
        """Return the named columns, or all, without the dropped ones, as Rows."""
        rows = self.rows_at(self.positions(columns, drop))
        rows.notes = tuple(self.notes)
        return rows

    def positions(self, columns: Sequence[str] | None, drop: Sequence[str]) -> list[int]:
        """Return the positions of the named columns, or of all, without the dropped ones."""
        refuse_duplicates(self.names, self.source)
        _refuse_surrogates(self.names, self.source)
        if columns is None and self.id_name is not None:
            drop = [*drop, self.id_name]
        return selected(self.names, columns, [name for name in drop if name not in self.beside], self.source)


class TableFile(NamedTable):
    """A file with column names, read by Arrow."""

    passes: Passes  # notices that the file was written meanwhile

    @abstractmethod
    def first_text_column(self) -> str | None:
        """Return the name of the first column if it contains text: perhaps row names."""


def selected(names: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str], source: str) -> list[int]:
    """Return the positions of the columns to keep: the named ones, or all, without the dropped ones."""
    asked = (*(columns or ()), *drop)
    unknown = [name for name in asked if name not in names]
    if unknown:
        cut = next(
            (name for name in names if "," in name and {part.strip() for part in name.split(",")} <= {*asked}), None
        )
        remedy = _available_columns(unknown[0], names) if cut is None else _quoted_name(cut)
        source = f"{source[:1].upper()}{source[1:]}"  # 'the frame' starts the sentence
        raise ParameterError(f"{source} has no column {', '.join(map(repr, unknown))}. {remedy}")
    if columns is None:
        return [j for j, name in enumerate(names) if name not in drop]
    places = {name: j for j, name in enumerate(names)}
    return [places[name] for name in columns if name not in drop]


def _quoted_name(name: str) -> str:
    """The remedy for a column name that was split at its comma."""
    return f"If you mean {name!r}, whose name contains a comma, pass it as one name: [{name!r}]."


def _available_columns(wanted: str, names: Sequence[str], most: int = 12) -> str:
    """List the available columns, of many the most similar names first, with a suggestion."""
    nearest = closest(wanted, names, n=len(names), cutoff=0.0)
    meant = [repr(name) for name in closest(wanted, names)]
    asked = f"Did you mean {' or '.join(meant)}? " if meant else ""
    return f"{asked}Available columns: {_listed(nearest if len(names) > most else names, most)}."


def refuse_duplicates(names: Sequence[Hashable], source: str) -> None:
    """Raise an error for duplicate column names."""
    duplicates = [name for name, count in Counter(names).items() if count > 1]
    if duplicates:
        raise DataError(f"Duplicate column name {_listed(duplicates, 8)} in {source}. Rename the columns.")


def _refuse_surrogates(names: Sequence[str], source: str) -> None:
    """Raise an error for a name that no file can hold."""
    for name in names:
        if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
            raise DataError(
                f"The column name {name!r} of {source} contains half of a surrogate pair, which is not a character. "
                "Rename the column."
            )


def refuse_text(texts: Sequence[str], source: str) -> None:
    """Raise an error that names the columns of text."""
    if texts:
        many = len(texts) > 1
        raise DataTypeError(
            f"Column{'s' if many else ''} {_listed(texts, 8)} of {source} contain{'' if many else 's'} text, dates "
            "or categories, not numbers (`could not convert string to float`). Drop such columns (`drop=...`), "
            "name the column of class labels (`y=...`), or encode text as numbers (`lowland.TablePreparer`)."
        )


def holds_dates(values: np.ndarray) -> bool:
    """Whether an object array contains dates or durations of numpy, which numpy would convert to numbers of days."""
    return any(isinstance(value, np.datetime64 | np.timedelta64) for value in values.flat)


def too_large(what: str) -> DataError:
    """The error for an integer beyond the range of float64."""
    return DataError(f"{what} contains an integer that is too large (above 1.8e308). Rescale or drop it.")


def _listed(names: Sequence[Hashable], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
