"""Comma- and tab-separated text with a header line, perhaps compressed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.columns import TableFile
from lowland.data.formats.arrow import arrow_rows, concatenated, first_line, text_fields
from lowland.data.rows import Rows
from lowland.errors import DataError, FileProblem

_BLOCK = 4 * 2**20  # bytes parsed at a time


class CsvTable(TableFile):
    """A comma- or tab-separated file with a header, perhaps compressed."""

    def __init__(self, path: Path) -> None:
        self.path, self.source = path, repr(str(path))
        self.delimiter = "\t" if ".tsv" in path.name.lower() else ","
        self._check_header()
        with self._reader() as reader:
            self.schema = reader.schema
        self.names = list(self.schema.names)

    def _check_header(self) -> None:
        """Refuse a first line that shows another separator, another encoding, or no names at all."""
        with self._reading(), self._stream() as stream:
            line = stream.read(_BLOCK).partition(b"\n")[0]
        try:
            names = line.decode("utf-8-sig").strip().split(self.delimiter)
        except UnicodeDecodeError as error:
            raise self._not_utf8("header") from error
        unquoted = re.sub(rb'"[^"]*"', b"", line).decode(errors="replace")
        self.likely = max(self.delimiter + ";\t,", key=unquoted.count)  # the first of those that are as many
        if self.likely in ";\t" and self.delimiter not in unquoted and self.likely != self.delimiter:
            raise self._wrong_separator()
        bare = [name.strip().strip('"') for name in names]
        if len(bare) > 1 and "" in bare:
            raise DataError(
                f"Column {bare.index('') + 1} of {self.source} has no name: an index that pandas wrote? "
                "Give it a name in the header, or write the file with index=False."
            )
        if all(_is_number(name) for name in bare) and not _are_names(bare):
            raise DataError(
                f"The first line of {self.source} holds numbers where the names of the columns should be. "
                "Add a header line."
            )

    def _stream(self) -> Any:
        import pyarrow as pa

        return pa.input_stream(str(self.path), compression="detect")

    def _reader(self, **convert: Any) -> Any:
        import pyarrow.csv as csv

        with self._reading():
            return csv.open_csv(
                self._stream(),
                # one thread: only then does a ragged line come with its number
                read_options=csv.ReadOptions(use_threads=False, block_size=_BLOCK),
                parse_options=csv.ParseOptions(delimiter=self.delimiter),
                convert_options=csv.ConvertOptions(**convert),
            )

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Explain what Arrow says of the file, when it is opened as when it is read on."""
        import pyarrow as pa

        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._parse_error(error) from error
        except OSError as error:
            raise FileProblem(
                f"{self.source} cannot be read: {first_line(error)}. The file may be damaged: write it again."
            ) from error

    def _parse_error(self, error: Exception) -> DataError:
        words = first_line(error).removeprefix("CSV parse error: ")
        if "UTF8" in words:
            return self._not_utf8("text")
        if "Empty CSV" in words:
            return DataError(f"{self.source} is empty: Found array with 0 sample(s). Write rows into it.")
        if "columns, got" in words:
            if self.likely != self.delimiter:
                return self._wrong_separator()
            return DataError(f"{self.source} is ragged: {words}. Mend that line (the header is row 1).")
        return DataError(f"{self.source} cannot be read as numbers: {words}. Mend that value, or leave its column out.")

    def _wrong_separator(self) -> DataError:
        """What is said of a file whose values have another separator between them."""
        remedy = {
            "\t": "Name it .tsv.",
            ",": "Name it .csv.",
            ";": "Write it with commas and decimal points, in pandas: "
            "read_csv(file, sep=';', decimal=',').to_csv(file, index=False).",
        }[self.likely]
        return DataError(f"{self.source} looks separated by {self.likely!r}, not by {self.delimiter!r}. {remedy}")

    def _not_utf8(self, what: str) -> DataError:
        return DataError(f"The {what} of {self.source} is not UTF-8. Save the file in that encoding.")

    def rows(self, keep: list[int]) -> Rows:
        """Return the columns at these positions as Rows of float64."""
        import pyarrow as pa

        names, fields = [self.names[j] for j in keep], [self.schema.field(j) for j in keep]
        texts = text_fields(fields)
        if self.likely != self.delimiter and any(self.likely in name for name in texts):
            raise self._wrong_separator()
        # An empty column has no type; a later block may bring decimals where the first had whole numbers.
        kinds = {
            f.name: f.type if pa.types.is_boolean(f.type) else pa.float64() for f in fields if not text_fields([f])
        }
        fields = [f.with_type(kinds.get(f.name, f.type)) for f in fields]
        return arrow_rows(lambda slab: self._batches(names, column_types=kinds), fields, None, self.source)

    def column(self, name: str, *, missing_text: bool = True) -> np.ndarray:
        """Return one column as it is."""
        self.position(name)
        return concatenated(self._batches([name], strings_can_be_null=missing_text))

    def first_text_column(self) -> str | None:
        """Return the name of the first column if it holds text."""
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
    """Whether numbers can be names: 0, 1, 2, … as pandas writes them, or rising ones such as years and wavelengths."""
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
