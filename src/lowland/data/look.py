"""``look``: what a table contains, what may be wrong with it, and how to go on."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lowland.data.kinds import ColumnKind, TableKinds, kinds_of
from lowland.data.open import is_frame, open_rows, open_table, readable_file
from lowland.data.read_options import ReadOptions
from lowland.data.reader import Reader, number_batches
from lowland.errors import DataError
from lowland.plain import to_plain

ENCODED = ("text", "date", "category", "ordered")  # features after they are encoded as numbers
EMPTY = ("missing", "constant")  # without information
MAX_RATIO = 10.0  # of standard deviations: above it, columns in large units dominate
MOST_CLASSES = 50
SHOWN = 60  # columns printed
PLURAL = {"category": "categories", "missing": "all missing", "text": "text", "ordered": "ordered categories"}


@dataclass(frozen=True)
class Look:
    """What ``look`` found: the columns with their kinds, suggestions, and the arguments to go on."""

    kinds: TableKinds
    suggestions: tuple[str, ...]
    drop: tuple[str, ...]  # columns without information, further ids, lists
    label: str | None  # a column that may contain classes
    scale: bool  # whether the columns need a common scale
    id: str | None = None  # a column of ids, where the table does not say which
    marks: tuple[str, ...] = ()  # texts that may mark missing values
    encode: tuple[str, ...] = ()  # features that are encoded as numbers
    incomplete: tuple[str, ...] = ()  # features of numbers with missing values

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
                "duplicate_rows": k.duplicates, "id": k.id_name or self.id, "notes": k.notes,
                "suggestions": self.suggestions, "drop": self.drop, "label": self.label, "scale": self.scale,
                "marks": self.marks, "encode": self.encode, "incomplete": self.incomplete,
            }
        )  # fmt: skip

    def __str__(self) -> str:
        counted = Counter(column.kind for column in self.columns)
        kinds = ", ".join(f"{count:,} {_counted(kind, count)}" for kind, count in counted.items())
        rows = [_row(column) for column in self.columns[:SHOWN]]
        head = ("Column", "Kind", "Missing", "Distinct", "Values")
        widths = [max(len(row[j]) for row in (head, *rows)) for j in range(4)]
        lines = [
            f"{self.kinds.source.strip(chr(39))}: {_number(self.kinds.n, 'row')} × "
            f"{_number(len(self.columns), 'column')} ({kinds})", "",
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

    ``source`` is anything with rows: a file, a frame, a Table or an array; ``options`` are the options of reading a
    file, as in ``open_rows``. The table is read once, in chunks.
    """
    read, label = ReadOptions(**options), None
    is_path = isinstance(source, str | bytes | os.PathLike)
    if (is_path and readable_file(source)) or is_frame(source) or isinstance(source, Reader):
        table = open_table(source, read)
        found = kinds_of(table.scan(), table.source, table.id_name, table.notes)
        label = table.label_name
    else:
        rows = open_rows(source, read=read)
        found = kinds_of(number_batches(rows), rows.source, None, rows.notes)
    if not found.n:
        raise DataError(f"{found.source} has no rows. Check the file.")
    return advised(found, label)


def advised(found: TableKinds, label: str | None = None) -> Look:
    """Add suggestions to what was found; ``label``: the column of labels, if it is known."""
    of = _Sorts(found, label)
    said = [f"{_listed(of.ids)}: ids of the rows, not features."] if of.ids else []
    said += [f"{_listed(of.classes)}: may contain classes. Name one as the label."] if of.classes else []
    if of.marked:
        said.append(
            f"{_listed(of.marked)}: numbers, except {_listed(of.marks)}. If these mark missing values, name "
            "them with the option 'missing'."
        )
    said += [f"{_listed(of.encoded)}: not numbers, but can be encoded as numbers."] if of.encoded else []
    said += [f"{_listed(of.assumed)}: dates of which {of.order} was assumed."] if of.assumed else []
    if of.quantities:
        said.append(f"{_listed(of.quantities)}: numbers with units, read as text. Write them in one unit, without it.")
    said += [f"{_listed(of.nested)}: lists or records. Drop."] if of.nested else []
    if of.infinite:
        said.append(f"{_listed(of.infinite)}: infinity. Replace it by a number or a missing value, or drop the column.")
    said += [f"{_listed(of.kind('missing'))}: no values at all."] if of.kind("missing") else []
    said += [f"{_listed(of.kind('constant'))}: constant, so without information."] if of.kind("constant") else []
    if of.gaps:
        share = sum(c.missing for c in of.gaps) / (found.n * len(found.columns))
        said.append(f"{_listed([c.name for c in of.gaps])}: missing values ({share:.2%} of the table). Impute or drop.")
    if found.duplicates:
        one = found.duplicates == 1
        said.append(f"{found.duplicates:,} row{'' if one else 's'} equal{'s' * one} an earlier row.")
    spread = [c.sd for c in found.columns if c.sd and c.sd == c.sd and c.kind in ("number", "integer")]
    ratio = max(spread) / min(spread) if spread else 1.0
    if ratio > MAX_RATIO:
        times = f"{ratio:,.0f}" if ratio < 1e9 else f"{ratio:.0e}" if ratio < np.inf else "more than 1e300"
        said.append(f"The largest standard deviation is {times} times the smallest. Standardize the columns.")
    label = of.classes[0] if of.classes else label
    own = None if found.id_name is not None or not of.ids else of.ids[0]
    useless = {*of.ids, *of.kind("missing"), *of.kind("constant"), *of.nested, *of.infinite} - {
        label,
        own,
        found.id_name,
    }
    used = [c for c in found.columns if c.name not in {*useless, label, own, found.id_name}]
    encoded = [c.name for c in used if c.name in of.encoded]
    incomplete = [c.name for c in used if (c.missing and c.kind not in ("category", "text")) or c.marks]
    return Look(
        found, tuple(said), tuple(c.name for c in found.columns if c.name in useless), label,
        ratio > MAX_RATIO and not encoded, own, tuple(of.marks), tuple(encoded), tuple(incomplete),
    )  # fmt: skip


class _Sorts:
    """The names of the columns of each sort."""

    def __init__(self, found: TableKinds, label: str | None) -> None:
        columns = found.columns
        self.columns = columns
        self.ids = self.kind("id")
        self.classes = [
            c.name for c in columns
            if c.kind in ("category", "boolean") and c.distinct and c.distinct <= MOST_CLASSES and c.sd is None
            and c.distinct < c.n - c.missing and label is None
        ]  # fmt: skip
        self.marked = [c.name for c in columns if c.marks]
        self.marks = list(dict.fromkeys(mark for c in columns for mark in c.marks))
        self.quantities = [c.name for c in columns if c.detail.startswith("numbers with units")]
        self.nested = [c.name for c in columns if c.is_nested]
        self.infinite = [c.name for c in columns if c.is_infinite]
        self.encoded = [
            c.name for c in columns
            if (c.kind in ENCODED or (c.kind == "boolean" and c.sd is None) or (c.kind == "number" and c.sd is None))
            and not c.marks and not c.is_nested
        ]  # fmt: skip
        assumed = [c for c in columns if c.detail.endswith(" assumed")]
        self.assumed, self.order = [c.name for c in assumed], assumed[0].detail.split(" assumed")[0] if assumed else ""
        complete = (*EMPTY, "id", "category", "text")  # a missing category is a level, a missing text is empty
        self.gaps = [c for c in columns if 0 < c.missing < c.n and c.kind not in complete]

    def kind(self, kind: str) -> list[str]:
        return [c.name for c in self.columns if c.kind == kind]


def _listed(names: list[str], most: int = 6) -> str:
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _counted(kind: str, count: int) -> str:
    if count == 1:
        return {"missing": "all missing", "ordered": "ordered category"}.get(kind, kind)
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
