"""``look``: what a table contains, what may be wrong with it, and how to go on."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from lowland.data.columns import NamedTable
from lowland.data.formats.arrow import number_batches
from lowland.data.kinds import ColumnKind, TableKinds, kinds_of
from lowland.data.open import is_frame, open_rows, open_table, readable_file
from lowland.data.read_options import ReadOptions
from lowland.errors import DataError
from lowland.plain import to_plain

UNUSABLE = ("id", "text", "date", "category", "missing")  # not features as they are
MAX_RATIO = 10.0  # of standard deviations: above it, columns in large units dominate
MOST_CLASSES = 50
SHOWN = 60  # columns printed
PLURAL = {"category": "categories", "missing": "all missing", "text": "text"}


@dataclass(frozen=True)
class Look:
    """What ``look`` found: the columns with their kinds, suggestions, and the arguments to go on."""

    kinds: TableKinds
    suggestions: tuple[str, ...]
    drop: tuple[str, ...]  # columns that are not features
    label: str | None  # a column that may contain classes
    scale: bool  # whether the columns need a common scale

    @property
    def columns(self) -> tuple[ColumnKind, ...]:
        """The columns, with their kinds and counts."""
        return self.kinds.columns

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        k = self.kinds
        return to_plain(
            {
                "file": k.source.strip("'"), "rows": k.n, "columns": [asdict(column) for column in k.columns],
                "duplicate_rows": k.duplicates, "id": k.id_name, "notes": k.notes, "suggestions": self.suggestions,
                "drop": self.drop, "label": self.label, "scale": self.scale,
            }
        )  # fmt: skip

    def __str__(self) -> str:
        counted = Counter(column.kind for column in self.columns)
        kinds = ", ".join(f"{count:,} {_counted(kind, count)}" for kind, count in counted.items())
        rows = [_row(column) for column in self.columns[:SHOWN]]
        head = ("Column", "Kind", "Missing", "Distinct", "Values")
        widths = [max(len(row[j]) for row in (head, *rows)) for j in range(4)]
        lines = [
            f"{self.kinds.source.strip(chr(39))}: {self.kinds.n:,} rows × {len(self.columns):,} columns ({kinds})", "",
            *("  ".join([*(f"{c:<{w}}" for c, w in zip(row, widths, strict=False)), row[4]]).rstrip()
              for row in (head, *rows)),
        ]  # fmt: skip
        if len(self.columns) > SHOWN:
            lines.append(f"… and {len(self.columns) - SHOWN:,} more columns")
        if self.suggestions:
            lines += ["", *(f"- {sentence}" for sentence in self.suggestions)]
        return "\n".join(lines)


def look(source: Any, **options: Any) -> Look:
    """Return what a table contains: columns, kinds, missing values, constants, duplicates, scale, ids, suggestions.

    ``source`` is anything with rows: a file, a frame or an array; ``options`` are the options of reading a file, as in
    ``open_rows``. The table is read once, in chunks.
    """
    read = ReadOptions(**options)
    is_path = isinstance(source, str | bytes | os.PathLike)
    if (is_path and readable_file(source)) or is_frame(source) or isinstance(source, NamedTable):
        table = open_table(source, read)
        found = kinds_of(table.scan(), table.source, table.id_name, table.notes)
    else:
        rows = open_rows(source, read=read)
        found = kinds_of(number_batches(rows), rows.source, None, rows.notes)
    if not found.n:
        raise DataError(f"{found.source} has no rows: Found array with 0 sample(s). Check the file.")
    return advised(found)


def advised(found: TableKinds) -> Look:
    """Add suggestions to what was found."""
    by_kind: dict[str, list[str]] = {}
    for column in found.columns:
        by_kind.setdefault(column.kind, []).append(column.name)
    features = [c for c in found.columns if c.sd]
    gaps = [c for c in found.columns if 0 < c.missing < c.n and c.kind not in UNUSABLE]
    spread = [c.sd for c in features if c.sd and c.kind in ("number", "integer")]
    ratio = max(spread) / min(spread) if spread else 1.0
    classes = [
        c.name for c in found.columns
        if c.kind in ("category", "boolean") and c.distinct and c.distinct <= MOST_CLASSES and c.sd is None
    ]  # fmt: skip
    said = []
    said += [f"{_listed(by_kind['id'])}: ids of the rows, not features."] if "id" in by_kind else []
    said += [f"{_listed(classes)}: may contain classes. Name one as the label."] if classes else []
    marked = [c for c in found.columns if c.marks]
    marks = tuple(dict.fromkeys(mark for c in marked for mark in c.marks))
    if marked:
        said.append(
            f"{_listed([c.name for c in marked])}: numbers, except {_listed(list(marks))}. If these mark missing "
            f"values, use missing={list(marks)!r}."
        )
    numbers = {c.name for c in marked}
    others = [name for kind in ("text", "date") for name in by_kind.get(kind, ()) if name not in numbers]
    said += [f"{_listed(others)}: text or dates, not numbers. Drop or encode."] if others else []
    said += [f"{_listed(by_kind['missing'])}: no values at all."] if "missing" in by_kind else []
    said += [f"{_listed(by_kind['constant'])}: constant, so without information."] if "constant" in by_kind else []
    if gaps:
        share = sum(c.missing for c in gaps) / (found.n * len(found.columns))
        said.append(f"{_listed([c.name for c in gaps])}: missing values ({share:.2%} of the table). Impute or drop.")
    if found.duplicates:
        one = found.duplicates == 1
        said.append(f"{found.duplicates:,} row{'' if one else 's'} equal{'s' * one} an earlier row.")
    if ratio > MAX_RATIO:
        said.append(f"The largest standard deviation is {ratio:,.0f} times the smallest. Standardize the columns.")
    label = classes[0] if classes else None
    useless = {*by_kind.get("constant", ()), *(c.name for c in gaps)}
    drop = [c.name for c in found.columns if (c.kind in UNUSABLE or c.name in useless) and c.name != label]
    return Look(found, tuple(said), tuple(n for n in drop if n != found.id_name), label, ratio > MAX_RATIO)


def _listed(names: list[str], most: int = 6) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _counted(kind: str, count: int) -> str:
    if count == 1:
        return "all missing" if kind == "missing" else kind
    return PLURAL.get(kind, f"{kind}s")


def _row(column: ColumnKind) -> tuple[str, str, str, str, str]:
    values = ", ".join(repr(text[:24]) for text in column.examples) + (
        ", …" if column.distinct is None or column.distinct > 3 else ""
    )
    if column.min is not None and column.kind not in ("constant", "boolean"):
        values = f"{column.min:.6g} to {column.max:.6g}, mean {column.mean:.4g}, sd {column.sd:.4g}"
    values += f" ({column.detail})" if column.detail else ""
    distinct = "many" if column.distinct is None else f"{column.distinct:,}"
    name = column.name if column.name.isprintable() else repr(column.name)
    return name, column.kind, f"{column.missing:,}" if column.missing else "–", distinct, values
