"""Spreadsheets: .xlsx of Excel, by openpyxl, and .ods of LibreOffice. The first row contains the column names."""

from __future__ import annotations

import zipfile
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np

from lowland.data.formats.arrow_table import MemoryTable, column_of
from lowland.data.formats.csv_dialect import MOST_TITLES, count_titles, in_words
from lowland.data.formats.header import completed, listed
from lowland.data.formats.written_numbers import form_of
from lowland.errors import DataError, MissingExtra, ParameterError

_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
MOST_COLUMNS, MOST_ROWS = 2**14, 2**20  # of a sheet: a program may write that the last row repeats to the end


class Spreadsheet(MemoryTable):
    """One sheet of a file."""

    options = ("sheet", "header", "missing", "decimal", "thousands")
    first_row = 2

    def _load(self) -> Any:
        import pyarrow as pa

        clauses: list[str] = []
        grid = self._grid(clauses)
        widths = [max((j + 1 for j, cell in enumerate(row) if cell not in (None, "")), default=0) for row in grid]
        width, filled = max(widths, default=0), np.flatnonzero(widths)
        keep = range(filled[0], filled[-1] + 1) if width == 1 else filled  # as blank lines of a text file
        rows = [(grid[i] + [None] * width)[:width] for i in keep]
        if not rows:
            raise DataError(f"The sheet of {self.source} is empty. Check the file.")
        texts = [["" if cell is None else str(cell) for cell in row] for row in rows[: MOST_TITLES + 2]]
        titles = 0 if self.read.header is False else count_titles(texts)
        if titles:
            rows = rows[titles:]
            clauses.append(in_words(titles))
        is_row = all(isinstance(cell, int | float) for cell in rows[0] if cell is not None)
        if self.read.header is False or (self.read.header is None and is_row):
            names = [f"x{j}" for j in range(width)]
            self.first_row = 1
        else:
            cells = ["" if cell is None else str(cell).strip() for cell in rows.pop(0)]
            header = completed(cells, [row[0] for row in rows])
            names, self.id_name = header.names, header.id_name
            clauses += header.clauses
            self.first_row += titles
        columns, written = [], []
        for name, values in zip(names, zip(*rows, strict=True) if rows else [()] * width, strict=True):
            column = column_of(list(values), self.read.missing)
            form = (
                form_of(column, self.read.decimal or ".", self.read.thousands) if column.type == pa.string() else None
            )
            if form is not None:
                written.append(name)
                column = form.convert(column)
            columns.append(column)
        if written:
            clauses.append(f"numbers written as text in {listed(written)}")
        if clauses:
            self.notes.append(f"{self.source} was read with {', '.join(clauses)}.")
        return pa.table(columns, names=names)

    @abstractmethod
    def _grid(self, clauses: list[str]) -> list[list[Any]]:
        """Return the cells of the sheet, row by row."""

    def _chosen(self, sheets: list[str], clauses: list[str]) -> str:
        """Return the name of the sheet to read: the first, unless one is named."""
        if self.read.sheet is None:
            if len(sheets) > 1:
                clauses.append(f"the first sheet, {sheets[0]!r}, of {len(sheets)}")
            return sheets[0]
        if self.read.sheet not in sheets:
            raise ParameterError(f"`sheet={self.read.sheet!r}`: {self.source} has the sheets {listed(sheets)}.")
        return self.read.sheet


class ExcelTable(Spreadsheet):
    """A sheet of an Excel file."""

    def _grid(self, clauses: list[str]) -> list[list[Any]]:
        try:
            import openpyxl
        except ImportError as error:
            raise MissingExtra("openpyxl", "excel") from error
        book = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
        try:
            sheet = book[self._chosen(book.sheetnames, clauses)]
            return [list(row) for row in sheet.iter_rows(values_only=True)]
        finally:
            book.close()


class OpenDocumentTable(Spreadsheet):
    """A sheet of an OpenDocument file."""

    def _grid(self, clauses: list[str]) -> list[list[Any]]:
        with zipfile.ZipFile(self.path) as archive, archive.open("content.xml") as file:
            tables = ElementTree.parse(file).getroot().iter(f"{_TABLE}table")
            sheets = {table.get(f"{_TABLE}name", ""): table for table in tables}
        if not sheets:
            return []
        grid: list[list[Any]] = []
        blank = 0
        for row in sheets[self._chosen(list(sheets), clauses)].iter(f"{_TABLE}table-row"):
            cells = list(_cells(row))
            again = min(int(row.get(f"{_TABLE}number-rows-repeated", 1)), MOST_ROWS + 1)
            if all(cell is None for cell in cells):  # the last ones may repeat to the end of the sheet
                blank += again
                continue
            grid += [[None]] * min(blank, MOST_ROWS + 1) + [cells] * again
            blank = 0
            if len(grid) > MOST_ROWS:
                raise DataError(f"{self.source} has more than {MOST_ROWS:,} rows. Save it as .csv.")
        return grid


def _cells(row: Any) -> Iterator[Any]:
    for cell in row:
        if cell.tag not in (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            continue
        value, again = _value(cell), int(cell.get(f"{_TABLE}number-columns-repeated", 1))
        yield from [value] * (min(again, MOST_COLUMNS) if value is not None else min(again, 1024))


def _value(cell: Any) -> Any:
    import datetime

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
