"""CSV and TSV files, optionally compressed. A first line of numbers is a row, not a header."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.columns import ArrowColumns, TableFile
from lowland.data.formats.arrow import arrow_rows, first_line, joined, reslab, text_fields
from lowland.data.passes import Passes
from lowland.data.rows import Rows
from lowland.errors import DataError, FileProblem, file_error, warn

_BLOCK = 4 * 2**20  # bytes parsed at a time


class CsvTable(TableFile):
    """A comma- or tab-separated file, optionally compressed.

    ``header``: whether the first line contains column names; by default, unless it contains only numbers.
    """

    def __init__(self, path: Path, header: bool | None = None, source: str | None = None) -> None:
        self.path, self.source = path, source or repr(str(path))
        self.passes = Passes(self.source, [path])
        self.delimiter = "\t" if ".tsv" in path.name.lower() else ","
        line = self._first_line()
        fields = [field.strip() for field in line.strip().split(self.delimiter)]
        self._check_separator(line)
        self.given_names = self._names_of_rows(fields, header)
        self.keeps_blank_lines = False
        with self._reader() as reader:
            self.schema = reader.schema
        self.names = list(self.schema.names)
        self.keeps_blank_lines = len(self.names) == 1 and line.strip() != ""  # a missing value of the only column
        if header is None and self.given_names is None and '"' not in line:
            self._warn_of_numbers()

    def _first_line(self) -> str:
        """Return the first line; raise an error for another encoding."""
        with self._reading(), self._stream() as stream:
            line = stream.read(_BLOCK).partition(b"\n")[0]
        try:
            return line.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._not_utf8("header") from error

    def _check_separator(self, line: str) -> None:
        """Raise an error for a first line with another separator."""
        unquoted = re.sub(r'"[^"]*"', "", line)
        self.likely = max(self.delimiter + ";\t,", key=unquoted.count)  # the first of the most frequent
        if self.likely in ";\t" and self.delimiter not in unquoted and self.likely != self.delimiter:
            raise self._wrong_separator()

    def _names_of_rows(self, fields: list[str], header: bool | None) -> list[str] | None:
        """Return names x0, x1, … if the first line is a row; None if it contains the names."""
        if header is None and _are_numbers(fields):
            header = len(fields) > 2 and fields == [str(j) for j in range(len(fields))]  # as pandas writes them
            shown = self.delimiter.join(fields[:5]) + (self.delimiter + "…") * (len(fields) > 5)
            was = "taken for column names" if header else "read as the first row, and the columns are named x0, x1, …"
            warn(
                f"The first line of {self.source}, {shown!r}, contains only numbers. It was {was}. If this is wrong, "
                f"use open_rows(file, header={not header}), or write column names that are not numbers into the first "
                "line."
            )
        if header is False:
            return [f"x{j}" for j in range(len(fields))]
        bare = [field.strip('"') for field in fields]
        if len(bare) > 1 and "" in bare:
            raise DataError(
                f"Column {bare.index('') + 1} of {self.source} has no name. If it is the index of a pandas frame, "
                "write the file with index=False; otherwise name it in the header."
            )
        return None

    def _warn_of_numbers(self) -> None:
        """Warn if the column names may be a row: some are numbers, and no column of numbers has a name of letters."""
        numbers = [name for name in self.names if _is_number(name)]
        texts = {*text_fields(list(self.schema))}
        if 0 < len(numbers) < len(self.names) and all(_is_number(n) or n in texts for n in self.names):
            warn(
                f"The first line of {self.source} was taken for column names, although {numbers[0]!r} is a number. If "
                "it is a row, use open_rows(file, header=False), or add a line of column names."
            )

    def _stream(self) -> Any:
        import pyarrow as pa

        return pa.input_stream(str(self.path), compression="detect")

    def _reader(self, **convert: Any) -> Any:
        import pyarrow.csv as csv

        with self._reading():
            return csv.open_csv(
                self._stream(),
                # one thread: only then does an error give the line number
                read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK, column_names=self.given_names),
                parse_options=csv.ParseOptions(delimiter=self.delimiter, ignore_empty_lines=not self.keeps_blank_lines),
                convert_options=csv.ConvertOptions(**convert),
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Translate the errors of Arrow, on opening and on reading."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._parse_error(error) from error
        except OSError as error:
            damaged = f"{self.source} cannot be read: {first_line(error)}. The file may be damaged. Write it again."
            raise file_error(self.path, error, FileProblem(damaged)) from error

    def _parse_error(self, error: Exception) -> DataError:
        words = first_line(error).removeprefix("CSV parse error: ")
        if "UTF8" in words:
            return self._not_utf8("text")
        if "Empty CSV" in words:
            return DataError(f"{self.source} is empty: Found array with 0 sample(s). Check the file.")
        if "columns, got" in words:
            if self.likely != self.delimiter:
                return self._wrong_separator()
            return DataError(
                f"{self.source} has rows of different lengths: {words}. Fix that line (the first line is row 1)."
            )
        return DataError(f"{self.source} cannot be read as numbers: {words}. Fix that value, or drop its column.")

    def _wrong_separator(self) -> DataError:
        """The error for a file with another separator."""
        remedy = {
            "\t": "Rename it to .tsv.",
            ",": "Rename it to .csv.",
            ";": "Convert it to commas and decimal points, in pandas: "
            "read_csv(file, sep=';', decimal=',').to_csv(file, index=False).",
        }[self.likely]
        return DataError(f"{self.source} seems to be separated by {self.likely!r}, not by {self.delimiter!r}. {remedy}")

    def _not_utf8(self, what: str) -> DataError:
        return DataError(f"The {what} of {self.source} is not valid UTF-8. Save the file in UTF-8 encoding.")

    def rows(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows of float64."""
        names, fields, kinds = self._typed(keep)
        return arrow_rows(lambda slab: self._batches(names, column_types=kinds), fields, None, self.source, self.passes)

    def _typed(self, keep: list[int]) -> tuple[list[str], list[Any], dict[str, Any]]:
        """Names and fields of the columns at these positions, and the types of those that hold no text."""
        import pyarrow as pa

        names, fields = [self.names[j] for j in keep], [self.schema.field(j) for j in keep]
        texts = text_fields(fields)
        if self.likely != self.delimiter and any(self.likely in name for name in texts):
            raise self._wrong_separator()
        # An empty column has no type; a later block may have decimals where the first had integers.
        kinds = {
            f.name: f.type if pa.types.is_boolean(f.type) else pa.float64() for f in fields if not text_fields([f])
        }
        return names, [f.with_type(kinds.get(f.name, f.type)) for f in fields], kinds

    def arrow(self, keep: list[int]) -> ArrowColumns:
        """Return the columns at these positions as Arrow tables; a marker such as NA is a missing value."""
        names, fields, kinds = self._typed(keep)

        def tables(slab: int) -> Iterator[Any]:
            return reslab(self._batches(names, column_types=kinds, strings_can_be_null=True), slab)

        return ArrowColumns(fields, tables, None, self.passes)

    def _values(self, j: int, *, missing_text: bool) -> np.ndarray:
        batches = self._batches([self.names[j]], strings_can_be_null=missing_text)
        return joined([batch.column(0).to_numpy(zero_copy_only=False) for batch in batches])

    def first_text_column(self) -> str | None:
        """Return the name of the first column if it contains text."""
        return next(iter(text_fields([self.schema.field(0)])), None)

    def _batches(self, names: list[str], **convert: Any) -> Iterator[Any]:
        """Yield record batches of the named columns."""
        import pyarrow as pa

        for name in names:
            if pa.types.is_binary(self.schema.field(name).type):
                raise self._not_utf8(f"column {name!r}")
        with self._reader(include_columns=names, **convert) as reader, self._reading():
            yield from reader


def _are_numbers(fields: list[str]) -> bool:
    """Whether a line contains only numbers and marks of missing values, and at least one number."""
    missing = ("NA", "N/A", "#N/A", "n/a", "NULL", "null")
    return all(_is_number(field) or field in missing for field in fields) and any(map(_is_number, fields))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
