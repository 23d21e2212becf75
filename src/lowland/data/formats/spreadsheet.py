"""Spreadsheets: .xlsx of Excel, by openpyxl, and .ods of LibreOffice. The first row contains the column names."""

from __future__ import annotations

import datetime
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa

from lowland.data.formats.arrow_files import MemoryReader
from lowland.data.formats.csv_dialect import (
    MOST_TITLES,
    are_names,
    complete_names,
    count_titles,
    in_words,
    warn_if_row,
)
from lowland.data.read_options import ReadOptions
from lowland.data.rows import stamps_of
from lowland.data.written import MISSING, decimal_of, form_of
from lowland.errors import DataError, MissingExtra, ParameterError, listed, reading
from lowland.run.settings import require_memory

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_BYTES_PER_BYTE = {".xlsx": 3, ".ods": 10}  # bytes in memory per byte of XML
_BYTES_PER_CELL = 24  # at least, of empty cells
_AS_TEXT = "Save it as .csv"
MOST_COLUMNS, MOST_ROWS = 2**14, 2**20  # of a sheet: a program may write that the last row repeats to the end


def open_spreadsheet(path: Path, source: str, read: ReadOptions) -> MemoryReader:
    """Return one sheet of a file as a table in memory."""
    stamps = stamps_of([path])
    clauses: list[str] = []
    with reading(path, source, path.suffix):
        with zipfile.ZipFile(path) as archive:
            size = sum(info.file_size for info in archive.infolist())
        require_memory(_BYTES_PER_BYTE[path.suffix.lower()] * size, f"{source}, unpacked,", _AS_TEXT)
        grid = (_excel_cells if path.suffix.lower() == ".xlsx" else _open_document_cells)(path, source, read, clauses)
        table, id_name, first_row = _table(grid, source, read, clauses)
    found = MemoryReader(table, source, stamps)
    found.id_name, found.first_row = id_name, first_row
    if clauses:
        found.notes.append(f"{source} was read with {', '.join(clauses)}.")
    return found


def _table(grid: list[list[Any]], source: str, read: ReadOptions, clauses: list[str]) -> tuple[Any, str | None, int]:
    """The cells as an Arrow table, the column of ids, and the number of the first row of values."""
    widths = [max((j + 1 for j, cell in enumerate(row) if cell not in (None, "")), default=0) for row in grid]
    width, filled = max(widths, default=0), np.flatnonzero(widths)
    keep = range(filled[0], filled[-1] + 1) if width == 1 else filled  # as blank lines of a text file
    _require_cells(len(keep) * width, source)
    rows = [(grid[i] + [None] * width)[:width] for i in keep]
    if not rows:
        raise DataError(f"The sheet of {source} is empty. Check the file.")
    head = [["" if cell is None else str(cell) for cell in row] for row in rows[: MOST_TITLES + 2]]
    titles = 0 if read.header is False else count_titles(head)
    if titles:
        rows = rows[titles:]
        clauses.append(in_words(titles))
    header, cells = read.header, [_name(cell) for cell in rows[0]]
    are_numbers = [isinstance(cell, int | float) for cell in rows[0] if cell is not None]
    if header is None and all(are_numbers):
        header = are_names(cells, source)
    names, id_name, first_row = [f"x{j}" for j in range(width)], None, 1
    if header is not False:
        rows, first_row = rows[1:], 2 + titles
        names, id_name, changes = complete_names(cells, [row[0] for row in rows])
        clauses += changes
    columns = [_column(list(values), read.missing) for values in (zip(*rows, strict=True) if rows else [()] * width)]
    texts = [j for j, column in enumerate(columns) if column.type == pa.string()]
    decimal = read.decimal
    if decimal is None:
        cells = [text for j in texts for text in columns[j].drop_null().to_pylist()]
        decimal, _ = decimal_of(cells, read.thousands, prefers_comma=False)
    written = {j: form for j in texts if (form := form_of(columns[j], decimal, read.thousands)) is not None}
    for j, form in written.items():
        columns[j] = form.convert(columns[j])
    if written:
        decimals = " with a decimal comma" * (decimal == ",")
        clauses.append(f"numbers written as text{decimals} in {listed([names[j] for j in written])}")
    if header is None and any(are_numbers):
        warn_if_row(names, {names[j] for j in texts if j not in written}, source)
    return pa.table(columns, names=names), id_name, first_row


def _require_cells(count: int, source: str) -> None:
    require_memory(_BYTES_PER_CELL * count, f"The sheet of {source}", _AS_TEXT)


def _name(cell: Any) -> str:
    """The name of a column: a year is a float in an .ods file."""
    return "" if cell is None else f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _column(values: list[Any], missing: tuple[str, ...]) -> Any:
    """Return the cells of a spreadsheet as an Arrow column: numbers, dates or text; marks of missing values as null."""
    marks = {*MISSING, *missing}
    values = [None if v is None or (isinstance(v, str) and v.strip() in marks) else v for v in values]
    kinds = {type(v) for v in values if v is not None}
    if kinds <= {bool}:
        return pa.array(values, pa.bool_() if kinds else pa.float64())
    if kinds <= {int, float, bool}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    if kinds <= {datetime.datetime}:
        return pa.array(values, pa.timestamp("us"))
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _chosen_sheet(sheets: list[str], source: str, read: ReadOptions, clauses: list[str]) -> str:
    """The name of the sheet to read: the first, unless one is named."""
    if not sheets:
        raise DataError(f"{source} has no sheet of cells. Check the file.")
    if read.sheet is None:
        if len(sheets) > 1:
            clauses.append(f"the first sheet, {sheets[0]!r}, of {len(sheets)}")
        return sheets[0]
    if read.sheet not in sheets:
        raise ParameterError(f"`sheet={read.sheet!r}`: {source} has the sheets {listed(sheets)}. Choose one.")
    return read.sheet


def _excel_cells(path: Path, source: str, read: ReadOptions, clauses: list[str]) -> list[list[Any]]:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtra("openpyxl", "excel") from error
    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        sheets = {sheet.title: sheet for sheet in book.worksheets}  # without sheets that are charts
        sheet = sheets[_chosen_sheet(list(sheets), source, read, clauses)]
        sheet.reset_dimensions()  # those that the file states may be wrong, and rows and columns would be lost
        grid: list[list[Any]] = []
        cells = 0
        for row in sheet.iter_rows(values_only=True):
            cells += len(row)
            _require_cells(cells, source)
            grid.append(list(row))
        return grid
    finally:
        book.close()


def _open_document_cells(path: Path, source: str, read: ReadOptions, clauses: list[str]) -> list[list[Any]]:
    with zipfile.ZipFile(path) as archive, archive.open("content.xml") as file:
        tables = ElementTree.parse(file).getroot().iter(f"{_TABLE}table")
        sheets = {table.get(f"{_TABLE}name", ""): table for table in tables}
    grid: list[list[Any]] = []
    blank = count = 0
    for row in sheets[_chosen_sheet(list(sheets), source, read, clauses)].iter(f"{_TABLE}table-row"):
        cells: list[Any] = []
        for cell in row:
            if cell.tag in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                value, times = _value(cell), int(cell.get(f"{_TABLE}number-columns-repeated", 1))
                cells += [value] * min(times, MOST_COLUMNS if value is not None else 1024)
        again = min(int(row.get(f"{_TABLE}number-rows-repeated", 1)), MOST_ROWS + 1)
        if all(cell is None for cell in cells):  # the last ones may repeat to the end of the sheet
            blank += again
            continue
        count += len(cells) * again
        _require_cells(count, source)
        grid += [[None]] * min(blank, MOST_ROWS + 1) + [cells] * again
        blank = 0
        if len(grid) > MOST_ROWS:
            raise DataError(f"{source} has more than {MOST_ROWS:,} rows. Save it as .csv.")
    return grid


def _value(cell: Any) -> Any:
    kind = cell.get(f"{_OFFICE}value-type")
    if kind is None:
        return None
    if kind in ("float", "percentage", "currency"):
        return float(cell.get(f"{_OFFICE}value"))
    if kind == "boolean":
        return cell.get(f"{_OFFICE}boolean-value") == "true"
    if kind == "date":
        return datetime.datetime.fromisoformat(cell.get(f"{_OFFICE}date-value"))
    return "\n".join("".join(part.itertext()) for part in cell.iter(f"{_TEXT}p")) or None
