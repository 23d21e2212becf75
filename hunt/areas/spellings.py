"""Known numbers as people write them in text files and sheets: read as written, with a warning, or refused."""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path

import numpy as np

import lowland
from hunt.cases import Area, Wrong
from lowland.errors import LowlandError

NEGATIVE = ("-{}", "-{}", "\u2212{}", "({})")
AFFIXES = ("{}",) * 6 + ("{}%", "{} %", "€{}", "€ {}", "${}", "{} kr", "{} CHF", "+{}")
SPACES = ("", "", "", " ", "\u00a0")
MARKS = {".": (",", " ", "\u00a0", "\u202f", "'"), ",": (".", " ", "\u00a0", "\u202f", "'")}  # between thousands
ENCODINGS = ("utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")
HEADERS = (("size", "weight", "age"), ("Größe, cm", "b (kg)", "c"), ("2019", "2020", "2021"), None)
FORMATS = (".csv", ".csv", ".csv", ".tsv", ".txt", ".xlsx", ".xlsx", ".arrow")
MISSING = ("", "NA", "NaN", "n/a")


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Write one table in one spelling, and read it."""
    suffix = FORMATS[seed % len(FORMATS)]
    decimal = ".,"[int(rng.integers(2))]
    mark = str(rng.choice(MARKS[decimal])) if rng.random() < 0.3 else ""
    header = HEADERS[int(rng.integers(len(HEADERS)))]
    X = rng.standard_normal((int(rng.integers(2, 9)), 3)) * 10.0 ** rng.integers(-1, 6, 3)
    digits = rng.integers(0, 4, 3)
    X = np.column_stack([np.round(column, k) for column, k in zip(X.T, digits, strict=True)]) + 0.0
    cells = [[""] * 3 for _ in X]
    for j in range(3):
        sign, affix, space = (pool[int(rng.integers(len(pool)))] for pool in (NEGATIVE, AFFIXES, SPACES))
        X[:, j] = np.abs(X[:, j]) if affix == "+{}" else X[:, j]
        for i in range(len(X)):
            text = _spelled(abs(X[i, j]), int(digits[j]), decimal, mark)
            text = sign.format(text) if X[i, j] < 0 else text
            cells[i][j] = space + affix.format(text) + space
    if rng.random() < 0.2:
        i, j = int(rng.integers(len(X))), int(rng.integers(3))
        X[i, j], cells[i][j] = np.nan, str(rng.choice(MISSING))
    what, source = _write(suffix, header, cells, decimal, rng, folder)
    case = f"{what}, {header and header[0]}, first row {cells[0]}"
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            rows = lowland.open_rows(source)
            ours = np.asarray(rows.to_array(), dtype=float)
    except LowlandError as error:
        return f"refused: {case}: {error}"[:300]
    except Exception as error:
        error.args = (f"{case}: {error}",)
        raise
    if ours.shape != X.shape or not np.allclose(ours, X, rtol=1e-12, atol=0, equal_nan=True):
        if not said and not rows.notes:
            raise Wrong(
                f"{case}: read without a word as {ours[:1].tolist()} of shape {ours.shape}, not {X[:1].tolist()}"
            )
        return f"done: {case}: {str(said[0].message) if said else rows.notes[0]}"[:300]
    return f"done: {case}"


def _spelled(number: float, digits: int, decimal: str, mark: str) -> str:
    whole, _, part = f"{number:.{digits}f}".partition(".")
    groups = f"{int(whole):,}".replace(",", mark)
    return groups + (decimal + part if part else "")


def _write(
    suffix: str, header: tuple[str, ...] | None, cells: list[list[str]], decimal: str, rng: np.random.Generator,
    folder: Path,
) -> tuple[str, Path]:  # fmt: skip
    """The table as a file of text, with a name for it."""
    path = folder / f"x{suffix}"
    if suffix in (".csv", ".tsv", ".txt"):
        separator = "\t" if suffix != ".csv" else str(rng.choice([",", ";", ";", "\t", "|"]))
        out = io.StringIO()
        style = csv.QUOTE_ALL if rng.random() < 0.2 else csv.QUOTE_MINIMAL
        end = "\r\n" if rng.random() < 0.3 else "\n"
        writer = csv.writer(out, delimiter=separator, quoting=style, lineterminator=end)
        writer.writerows([*([header] if header else []), *cells])
        text = ("A title\n\n" if rng.random() < 0.1 else "") + out.getvalue()
        encoding = str(rng.choice(ENCODINGS))
        path.write_bytes(text.encode(encoding, errors="replace") if encoding != "cp1252" else _narrow(text))
        return f"{suffix} with {separator!r}, {encoding}", path
    names = header or ("a", "b", "c")
    if suffix == ".xlsx":
        return _write_sheet(path, names, cells, rng), path
    import polars as pl

    pl.DataFrame({name: [row[j] for row in cells] for j, name in enumerate(names)}).write_ipc(path)  # as string_view
    return suffix, path


def _narrow(text: str) -> bytes:
    """As Windows writes text, which has no typographic minus and no narrow space."""
    return text.replace("\u2212", "-").replace("\u202f", "\u00a0").encode("cp1252")


def _write_sheet(path: Path, names: tuple[str, ...], cells: list[list[str]], rng: np.random.Generator) -> str:
    import openpyxl
    import openpyxl.chart

    book = openpyxl.Workbook()
    numeric = names[0].isdecimal() and rng.random() < 0.7
    for row in ([int(name) for name in names] if numeric else names, *cells):
        book.active.append(row)
    if rng.random() < 0.2:
        bars = openpyxl.chart.BarChart()
        bars.add_data(openpyxl.chart.Reference(book.active, min_col=1, min_row=1, max_row=2))
        book.create_chartsheet("Chart", 0).add_chart(bars)
    book.save(path)
    return ".xlsx with a header of numbers" if numeric else ".xlsx"


AREA = Area("spellings", "numbers as people write them, in text files and sheets", run, cases=10_000, limit=20)
