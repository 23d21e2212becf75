"""CSV and TSV files, optionally compressed, in the dialects that people have.

The dialect is detected in the first lines and said in a note. A first line of numbers is a row, not a header.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from lowland.data.formats.csv_dialect import (
    are_names,
    are_separated_by_spaces,
    complete_names,
    detect,
    has_row_names,
    is_float,
    warn_if_row,
)
from lowland.data.problems import ProblemCounter
from lowland.data.read_options import ReadOptions
from lowland.data.reader import BATCH, Reader, cast_batch, first_line, holds_numbers, joined, text_fields
from lowland.data.rows import Rows, stamps_of
from lowland.data.written import MISSING, WrittenNumbers, form_of
from lowland.errors import DataError, FileProblem, file_error, listed, warn

_BLOCK = 4 * 2**20  # bytes parsed at a time; no row may be longer
SHOWN_LINES = 5  # of those with too many or too few cells
_SMALL_BLOCK = 2**20  # for short rows: Arrow holds many blocks at once, 155 MB with blocks of 4 MB


class CsvReader(Reader):
    """A text file of cells between separators, optionally compressed."""

    def __init__(self, path: Path, source: str, read: ReadOptions) -> None:
        self.path, self.source, self.read, self.stamps = path, source, read, stamps_of([path])
        head = self._head()
        is_small = len(head) < _BLOCK
        if not is_small and head.rfind(b"\n") < _BLOCK // 2:
            self._refuse_a_long_row(head)
        default = "\t" if path.name.lower().endswith((".tsv", ".tsv.gz", ".txt")) else ","
        self.dialect = detect(head, default, self.read, self.source)
        short = 8 * max(map(len, head.split(b"\n"))) <= _SMALL_BLOCK and b'"' not in head.partition(b"\n")[2]
        self.block = min(_BLOCK, _SMALL_BLOCK) if short else _BLOCK
        if self.read.separator is None and are_separated_by_spaces(self.dialect.records):
            raise DataError(
                f"The columns of {self.source} are separated by spaces. Separate them by commas: "
                "awk '{$1=$1}1' OFS=, old.txt > new.csv"
            )
        head = head.split(b"\n", self.dialect.skipped)[-1]
        first = self.dialect.records[0] if self.dialect.records else []
        self.clauses = list(self.dialect.notes)
        self.has_header = True
        self.given_names: list[str] | None = None
        self.keeps_blank_lines = False
        self._held: Any = None  # a small table of numbers, so that its text is parsed once
        self._find_names([cell.strip() for cell in first], is_quoted=_quotes_names(head, len(first)))
        with self._reader() as reader:
            self.schema = reader.schema
            with self._reading():
                self.names = list(self.schema.names)  # decoded here
            self.keeps_blank_lines = len(self.names) == 1 and first != []  # a missing value of the only column
            self._find_forms(reader)
            if is_small and not self.keeps_blank_lines and all(holds_numbers(f.type) for f in self.schema):
                with suppress(pa.ArrowInvalid):  # a later block has decimals or text
                    self._held = reader.read_all()
        if self.read.header is None and self.given_names is None and not _quotes_names(head, len(first)):
            warn_if_row(self.names, text_fields(list(self.schema)), self.source)
        if self.dialect.doubt:
            warn(f"{self.source}: {self.dialect.doubt}")
        if self.clauses:
            self.notes.append(f"{self.source} was read with {', '.join(self.clauses)}.")

    def _head(self) -> bytes:
        with self._reading(), self._stream() as stream:
            return bytes(stream.read(_BLOCK))

    def _find_names(self, cells: list[str], *, is_quoted: bool) -> None:
        """Set names x0, x1, … if the first line is a row; complete names that are missing or not unique."""
        header = self.read.header
        if header is None and not is_quoted and self._are_numbers(cells):
            header = are_names(cells, self.source, self.dialect.separator)
        if header is False:
            self.has_header, self.given_names = False, [f"x{j}" for j in range(len(cells))]
            return
        records = self.dialect.records
        if has_row_names(records):
            cells = ["", *cells]
        names, self.id_name, clauses = complete_names(cells, [record[0] for record in records[1:]])
        if names != cells:
            self.given_names = names
        self.clauses += clauses

    def _find_forms(self, reader: Any) -> None:
        """Find the columns of numbers with thousands separators, currencies or percent signs, in the first block."""
        self.forms: dict[str, WrittenNumbers] = {}
        texts = [f.name for f in self.schema if pa.types.is_string(f.type)]
        if not texts or len(set(self.names)) < len(self.names):
            return
        with self._reading():
            batch = next(iter(reader), None)
        if batch is None:
            return
        places = {name: j for j, name in enumerate(self.names)}
        for name in texts:
            column = batch.column(places[name])
            form = form_of(self._without_marks(column), self.dialect.decimal, self.read.thousands)
            if form is not None:
                self.forms[name] = form
        for words in dict.fromkeys(form.in_words() for form in self.forms.values()):
            named = [name for name, form in self.forms.items() if form.in_words() == words]
            self.clauses.append(f"{words} in {listed(named)}")

    def _without_marks(self, column: Any) -> Any:
        """Return a column of text with the marks of missing values as missing."""
        marks = pa.array([*MISSING, *self.read.missing], column.type)
        missing = pc.is_in(pc.utf8_trim_whitespace(column), value_set=marks)
        return pc.if_else(missing, pa.scalar(None, column.type), column)

    def _are_numbers(self, cells: list[str]) -> bool:
        """Whether a line contains only numbers and marks of missing values, and at least one number."""
        missing = {*MISSING, *self.read.missing} - {"", "nan", "NaN"}
        cells = [cell.replace(",", ".") if self.dialect.decimal == "," else cell for cell in cells]
        cells = [re.sub(r"^\s*\((.+)\)\s*$", r"-\1", cell).replace("−", "-") for cell in cells]  # negative numbers
        return all(is_float(cell) or cell in missing for cell in cells) and any(map(is_float, cells))

    def _refuse_a_long_row(self, head: bytes) -> None:
        """Raise an error if the last row of the head does not fit into a block, before Arrow reads ahead."""
        start = head.rfind(b"\n") + 1
        with self._reading(), self._stream() as stream:
            more = stream.read(2 * _BLOCK)
        end = more.find(b"\n", start)
        if (end if end >= 0 else len(more)) - start > _BLOCK:
            line = head.count(b"\n") + 1
            raise self._long_row(f"Line {line}")

    def _long_row(self, which: str) -> DataError:
        return DataError(
            f"{which} of {self.source} is longer than {_BLOCK // 10**6} MB. Check that rows end with line breaks and "
            "that quotes are closed."
        )

    def _stream(self) -> Any:
        return pa.input_stream(str(self.path), compression="detect")

    def _reader(self, **convert: Any) -> Any:
        renamed = self.given_names is not None and self.has_header
        if self.read.missing:
            convert["null_values"] = [*MISSING, *self.read.missing]
        with self._reading():
            return arrow_csv.open_csv(
                self._stream(),
                # one thread: only then does an error give the line number
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, block_size=self.block, column_names=self.given_names,
                    encoding=self.dialect.encoding, skip_rows=self.dialect.skipped,
                    skip_rows_after_names=int(renamed),
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self.dialect.separator, ignore_empty_lines=not self.keeps_blank_lines,
                    newlines_in_values=self.dialect.has_quotes,
                ),
                convert_options=arrow_csv.ConvertOptions(decimal_point=self.dialect.decimal, **convert),
            )  # fmt: skip

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Translate the errors of Arrow, on opening and on reading."""
        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._parse_error(error) from error
        except UnicodeDecodeError as error:
            raise self._not_decoded("text") from error
        except (OSError, MemoryError) as error:
            damaged = f"{self.source} cannot be read: {first_line(error)}. The file may be damaged. Write it again."
            raise file_error(self.path, error, FileProblem(damaged)) from error

    def _parse_error(self, error: Exception) -> DataError:
        words = first_line(error).removeprefix("CSV parse error: ")
        if "UTF8" in words:
            return self._not_decoded("text")
        if "Empty CSV" in words:
            return DataError(f"{self.source} is empty. Check the file.")
        if "straddl" in words:
            return self._long_row("A row")
        if "columns, got" in words:
            return DataError(f"{self.source} has rows of different lengths: {self._uneven() or words}. Fix them.")
        return DataError(f"{self.source} cannot be read as numbers: {words}. Fix that value, or drop its column.")

    def _uneven(self) -> str:
        """The lines with more or fewer cells than the header, in words."""
        width = len(self.dialect.records[0]) if self.dialect.records else 0
        found: list[str] = []
        count = 0
        with self._stream() as stream, io.TextIOWrapper(stream, self.dialect.encoding, "replace", newline="") as text:
            reader = csv.reader(text, delimiter=self.dialect.separator)
            start = 1
            for record in reader:
                if start > self.dialect.skipped and record and len(record) != width:
                    count += 1
                    if len(found) < SHOWN_LINES:
                        cells = self.dialect.separator.join(record[:5])
                        found.append(f"line {start} has {len(record)} ({cells[:40]})")
                start = reader.line_num + 1
        more = f" and {count - len(found):,} more" if count > len(found) else ""
        return f"the first has {width} cell{'s' * (width != 1)}, {', '.join(found)}{more}" if found else ""

    def _not_decoded(self, what: str) -> DataError:
        name = "UTF-8" if self.dialect.encoding == "utf8" else self.dialect.encoding
        return DataError(
            f"The {what} of {self.source} is not valid {name}. Name its encoding, such as `encoding='cp1252'` (Western "
            "Europe, Windows), or save the file in UTF-8."
        )

    def rows_at(self, keep: list[int]) -> Rows:
        if text_fields(self.fields_at(keep)):
            raise self._count_problems([self.names[j] for j in keep]).error(self.source)
        rows = super().rows_at(keep)
        rows.is_text = self._held is None
        return rows

    def fields_at(self, keep: Sequence[int]) -> list[Any]:
        """Return name and type of the columns at these positions: numbers are float64."""

        def typed(f: Any) -> Any:
            is_number = f.name in self.forms or (holds_numbers(f.type) and f.type != pa.bool_())
            return f.with_type(pa.float64()) if is_number else f

        # An empty column has no type; a later block may have decimals where the first had integers.
        return [typed(self.schema.field(j)) for j in keep]

    def batches(self, fields: Sequence[Any], size: int = BATCH) -> Iterator[Any]:
        """Yield record batches; the first cell that is not a number leads to an error that names all of them."""
        if self._held is not None:
            yield from (cast_batch(batch, fields) for batch in self._held.to_batches(max_chunksize=size))
            return
        names = [f.name for f in fields]
        kinds = {f.name: f.type for f in fields}
        for f in fields:
            if f.name in self.forms:
                kinds[f.name] = pa.string()
            elif holds_numbers(f.type) and self.schema.field(f.name).type == pa.bool_():
                kinds[f.name] = pa.bool_()
        is_as_read = all(f.type == kinds[f.name] for f in fields)
        numeric = [f.name for f in fields if holds_numbers(f.type)]
        try:
            for batch in self._parsed(names, column_types=kinds, strings_can_be_null=True):
                yield batch if is_as_read else self._converted(batch, fields)
        except _NotNumbers as error:
            raise self._count_problems(numeric).error(self.source) from error
        except DataError as error:
            if "cannot be read as numbers" not in str(error):
                raise
            found = self._count_problems(numeric)
            raise (found.error(self.source) if found.problems() else error) from error

    def _converted(self, batch: Any, fields: Sequence[Any]) -> Any:
        columns = list(batch.columns)
        for j, name in enumerate(batch.schema.names):
            if name in self.forms:
                text = self._without_marks(columns[j])
                columns[j] = self.forms[name].convert(text)
                if columns[j].null_count > text.null_count:
                    raise _NotNumbers
        return cast_batch(pa.record_batch(columns, names=batch.schema.names), fields)

    def scan(self) -> Iterator[Any]:
        """Yield record batches of all columns; a column with a cell that is not a number is text."""
        fields = self.fields_at(range(len(self.names)))
        read = 0
        try:
            for batch in self.batches(fields):
                yield batch
                read += batch.num_rows
            return
        except DataError as error:
            numeric = [f.name for f in fields if holds_numbers(f.type)]
            wrong = {problem.column for problem in self._count_problems(numeric).problems()}
            if not wrong:
                raise error
        self.forms = {name: form for name, form in self.forms.items() if name not in wrong}
        for batch in self.batches([f.with_type(pa.string()) if f.name in wrong else f for f in fields]):
            yield batch.slice(read)  # the rest, after the rows that were numbers
            read = max(0, read - batch.num_rows)

    def _count_problems(self, names: list[str]) -> ProblemCounter:
        """Return the columns that are not numbers, with their first bad cells, after a pass over the text."""
        counter, line = ProblemCounter(names), 1 + self.dialect.skipped + self.has_header
        if self.has_header and self.dialect.records:
            line += sum(cell.count("\n") for cell in self.dialect.records[0])
        number = rf"^(?i:{WrittenNumbers(self.dialect.decimal).pattern[1:-1]}|[+-]?(?:nan|inf|infinity))$"
        kinds = {name: pa.string() for name in self.names}
        places = {name: j for j, name in enumerate(self.names)}
        for batch in self._parsed(self.names, column_types=kinds, strings_can_be_null=True):
            breaks = np.zeros(batch.num_rows, dtype=np.int64)  # line breaks within the cells of each row
            for column in batch.columns if self.dialect.has_quotes else ():
                breaks += pc.fill_null(pc.count_substring(column, "\n"), 0).to_numpy()
            ends = line + np.arange(batch.num_rows) + np.cumsum(breaks)
            for name in names:
                column = self._without_marks(batch.column(places[name]))
                text, form = pc.utf8_trim_whitespace(column), self.forms.get(name)
                pattern = form.pattern if form else number
                if pa.types.is_boolean(self.schema.field(name).type):
                    pattern = "^(?i:true|false|0|1)$"
                counter.add(name, column, pc.match_substring_regex(text, pattern), ends - breaks)
            line += batch.num_rows + int(breaks.sum())
        return counter

    def _values(self, name: str, *, missing_text: bool) -> np.ndarray:
        """The values of a column; without missing values, as ids: integers that change as numbers stay text."""
        if holds_numbers(self.schema.field(name).type) and not missing_text:
            text = list(self._parsed([name], column_types={name: pa.string()}))
            changed = r"^\s*[+-]?0\d+\s*$|^\s*[+-]?\d{19,}\s*$"  # leading zeros, or beyond 64 bits
            if any(pc.any(pc.match_substring_regex(batch.column(0), changed)).as_py() for batch in text):
                return joined(text)
        return joined(self._parsed([name], strings_can_be_null=missing_text))

    def _parsed(self, names: list[str], **convert: Any) -> Iterator[Any]:
        for name in names:
            if pa.types.is_binary(self.schema.field(name).type):
                raise self._not_decoded(f"column {name!r}")
        with self._reader(include_columns=names, **convert) as reader, self._reading():
            yield from reader


class _NotNumbers(Exception):
    """A cell of a column of written numbers has another form."""


def _quotes_names(head: bytes, width: int) -> bool:
    """Whether the first line has quotes, as text has, and the second does not quote every cell."""
    first, second, *_ = [*head.split(b"\n", 2), b""]
    return b'"' in first and second.count(b'"') < 2 * width
