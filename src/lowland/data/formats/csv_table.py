"""CSV and TSV files with a header line, optionally compressed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.columns import TableFile
from lowland.data.formats.arrow import arrow_rows, first_line, joined, text_fields
from lowland.data.rows import Rows
from lowland.errors import DataError, FileProblem

_BLOCK = 4 * 2**20  # bytes parsed at a time


class CsvTable(TableFile):
    """A comma- or tab-separated file with a header line, optionally compressed."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, repr(str(path))
        self.delimiter = "\t" if ".tsv" in path.name.lower() else ","
        self._check_header()
        with self._reader() as reader:
            self.schema = reader.schema
        self.names = list(self.schema.names)

    def _check_header(self) -> None:
        """Raise an error for a first line with another separator, another encoding, or no column names."""
        with self._reading(), self._stream() as stream:
            line = stream.read(_BLOCK).partition(b"\n")[0]
        try:
            names = line.decode("utf-8-sig").strip().split(self.delimiter)
        except UnicodeDecodeError as error:
            raise self._not_utf8("header") from error
        unquoted = re.sub(rb'"[^"]*"', b"", line).decode(errors="replace")
        self.likely = max(self.delimiter + ";\t,", key=unquoted.count)  # the first of the most frequent
        if self.likely in ";\t" and self.delimiter not in unquoted and self.likely != self.delimiter:
            raise self._wrong_separator()
        bare = [name.strip().strip('"') for name in names]
        if len(bare) > 1 and "" in bare:
            raise DataError(
                f"Column {bare.index('') + 1} of {self.source} has no name. If it is the index of a pandas frame, "
                "write the file with index=False; otherwise name it in the header."
            )
        if all(_is_number(name) for name in bare) and not _are_names(bare):
            raise DataError(
                f"The first line of {self.source} contains numbers instead of column names. Add a header line."
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
                read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK),
                parse_options=csv.ParseOptions(delimiter=self.delimiter),
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
            raise FileProblem(
                f"{self.source} cannot be read: {first_line(error)}. The file may be damaged. Write it again."
            ) from error

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
                f"{self.source} has rows of different lengths: {words}. Fix that line (the header is row 1)."
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
        import pyarrow as pa

        names, fields = [self.names[j] for j in keep], [self.schema.field(j) for j in keep]
        texts = text_fields(fields)
        if self.likely != self.delimiter and any(self.likely in name for name in texts):
            raise self._wrong_separator()
        # An empty column has no type; a later block may have decimals where the first had integers.
        kinds = {
            f.name: f.type if pa.types.is_boolean(f.type) else pa.float64() for f in fields if not text_fields([f])
        }
        fields = [f.with_type(kinds.get(f.name, f.type)) for f in fields]
        return arrow_rows(lambda slab: self._batches(names, column_types=kinds), fields, None, self.source)

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


def _are_names(names: list[str]) -> bool:
    """Whether numbers can be column names: 0, 1, 2, … as from pandas, or increasing ones such as years."""
    if not all(name.isdigit() for name in names):
        return False
    numbers = [int(name) for name in names]
    rising = all(a < b for a, b in itertools.pairwise(numbers))
    return numbers == list(range(len(numbers))) or (rising and numbers[0] >= 100)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
