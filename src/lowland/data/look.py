"""``look``: what a table contains, what may be wrong with it, and how to go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from lowland.data.kinds import ColumnKind, TableKinds, beside_vector, kinds_of
from lowland.data.open import open_table
from lowland.data.read_options import ReadOptions
from lowland.data.scales import kinds_differ
from lowland.errors import DataError, listed
from lowland.plain import html_list, html_table, to_plain

ENCODED = ("date", "category", "ordered")  # features after they are encoded as numbers
COMPLETE = ("missing", "constant", "id", "category", "text")  # a missing category is a level, a missing text is empty
MOST_CLASSES = 50
ROWS_OF_CLASS = 10  # mean number of rows per class of a label that is suggested first
SHOWN = 60  # columns printed
HEAD = ("Column", "Kind", "Missing", "Distinct", "Values")
SINGULAR = {"missing": "all missing", "ordered": "ordered category"}
PLURAL = {"category": "categories", "missing": "all missing", "text": "text", "ordered": "ordered categories"}


@dataclass(frozen=True)
class Look:
    """What ``look`` found: the columns with their kinds, how they are prepared, and the arguments to go on."""

    kinds: TableKinds
    suggestions: tuple[str, ...]  # what is done with the columns, and what the user should decide
    drop: tuple[str, ...]  # columns that cannot be prepared: records, infinite values
    label: str | None  # a column that may contain classes
    id: str | None = None  # a column of ids, where the table does not say which
    marks: tuple[str, ...] = ()  # texts that may mark missing values
    encode: tuple[str, ...] = ()  # features that are encoded as numbers
    unused: tuple[str, ...] = ()  # columns that are shown, but are not features unless they are named
    incomplete: tuple[str, ...] = ()  # features of numbers with missing values
    vectors: tuple[str, ...] = ()  # columns of vectors
    counts: bool = False  # whether all features count words, species or events

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
                "duplicate_rows": k.duplicates, "notes": k.notes,
                **{name: value for name, value in vars(self).items() if name != "kinds"}, "id": k.id_name or self.id,
            }
        )  # fmt: skip

    def _title(self) -> str:
        kinds = ", ".join(
            f"{count:,} {SINGULAR.get(kind, kind) if count == 1 else PLURAL.get(kind, f'{kind}s')}"
            for kind, count in Counter(row[1] for row in self._rows()).items()
        )
        size = f"{_number(self.kinds.n, 'row')} × {_number(len(self._rows()), 'column')}"
        return f"{self.kinds.source.strip(chr(39))}: {size} ({kinds})"

    def _rows(self) -> list[tuple[str, str, str, str, str]]:
        """The columns as rows of text; the numbers of a vector share one row."""
        parts: dict[str, list[ColumnKind]] = {}
        for column in self.columns:
            parts.setdefault(f"vector {column.vector}" if column.vector else f"column {column.name}", []).append(column)
        return [_vector_row(each) if each[0].vector else _row(each[0]) for each in parts.values()]

    def _repr_html_(self) -> str:
        rows = self._rows()
        more = f"and {len(rows) - SHOWN:,} more"
        return html_table(rows[:SHOWN], HEAD, self._title()) + html_list(
            [*([more] if len(rows) > SHOWN else []), *self.suggestions]
        )

    def __str__(self) -> str:
        every = self._rows()
        rows = every[:SHOWN]
        widths = [max(len(row[j]) for row in (HEAD, *rows)) for j in range(4)]
        lines = [
            self._title(), "",
            *("  ".join([*(f"{c:<{w}}" for c, w in zip(row, widths, strict=False)), row[4]]).rstrip()
              for row in (HEAD, *rows)),
        ]  # fmt: skip
        if len(every) > SHOWN:
            lines.append(f"… and {len(every) - SHOWN:,} more")
        if self.suggestions:
            lines += ["", *(f"- {sentence}" for sentence in self.suggestions)]
        return "\n".join(lines)


def look(source: Any, **options: Any) -> Look:
    """Return what a table contains: columns, kinds, missing values, constants, duplicates, scale, ids, suggestions.

    ``source`` is anything with rows: a file, a frame, a Table or an array, and ``options`` are the options of reading a
    file, as in ``open_rows``. The table is read once, in chunks.

    Examples
    --------
    >>> import pandas as pd
    >>> import lowland
    >>> found = lowland.look(pd.DataFrame({"height": [1.7, 1.8, 1.6], "name": ["Ada", "Bo", "Cy"]}))
    >>> found.to_dict()["rows"]
    3
    """
    table = open_table(source, ReadOptions(**options))
    found = kinds_of(table.scan(), table.source, table.id_name, table.notes)
    if not found.n:
        raise DataError(f"{found.source} has no rows. Check the file.")
    return advised(found, table.label_name)


def advised(found: TableKinds, label: str | None = None, scaled: bool | str | None = None) -> Look:
    """Say how the columns are prepared, and what the user should decide.

    ``label``: the labels, if they are known. ``scaled``: True or 'tf-idf' if the numbers were standardized or weighted.
    """
    columns = found.columns
    vectors = list(dict.fromkeys(c.vector for c in columns if c.vector))

    def named(test: Callable[[ColumnKind], Any]) -> list[str]:
        return [c.name for c in columns if test(c)]

    classes = named(
        lambda c: label is None and c.kind in ("category", "boolean") and c.sd is None
        and (not c.unused or (vectors and c.unused == beside_vector(vectors[0])))
        and c.distinct and c.distinct <= MOST_CLASSES and c.distinct < c.n - c.missing
    )  # fmt: skip
    large = [c.name for c in columns if c.name in classes and c.distinct and c.n >= ROWS_OF_CLASS * c.distinct]
    known, label = label, label or next(iter([*large, *classes]), None)
    nested, infinite = named(lambda c: c.is_nested), named(lambda c: c.is_infinite)
    features = [c for c in columns if not c.unused and c.name not in (label, *nested, *infinite)]
    lists = {c.name: c.detail for c in columns if c.is_nested and c.detail}
    unused = {
        c.vector or c.name: c.unused for c in columns if c.unused and c.name not in (label, *nested) and not c.marks
    }
    encoded = [c.name for c in features if c.kind in ENCODED and not c.marks]
    marks = list(dict.fromkeys(mark for c in columns for mark in c.marks))
    assumed = {c.name: c.detail.removesuffix(" assumed") for c in columns if c.detail.endswith(" assumed")}
    gaps = {c.vector or c.name: c.missing for c in features if c.missing and c.kind not in COMPLETE}
    share = sum(c.missing for c in features if c.name in gaps or c.vector in gaps) / max(1, found.n * len(columns))
    findings: list[tuple[Collection[str], str]] = [
        (classes if known is None else (), "may contain classes. Name one as the label."),
        (
            named(lambda c: c.marks),
            f"numbers, except {listed(marks)}. If these mark missing values, name them with the option 'missing'.",
        ),
        (encoded, "encoded as numbers."),
        (assumed, f"dates of which {next(iter(assumed.values()), '')} was assumed."),
        (
            named(lambda c: c.detail.startswith("numbers with units")),
            "numbers with units, read as text. Write them in one unit, without it.",
        ),
        (vectors if len(vectors) > 1 else (), "vectors. Use one of these columns at a time."),
        (vectors[:1], "If these vectors are embeddings, compare them with the metric 'cosine'."),
        *(
            ([name], f"{words}. Leave it out, or give all rows lists of the same length.")
            for name, words in lists.items()
        ),
        ([name for name in nested if name not in lists], "lists or records. Leave them out."),
        (infinite, "infinity. Replace it by a number or a missing value, or drop the column."),
        (gaps, f"missing values ({share:.2%} of the table), replaced by the median of the column."),
    ]
    said = [f"{listed(names)}: {words}" for names, words in findings if names]
    counts = found.counts and all(c.min is not None for c in features)
    if scaled is None:
        differ = features and kinds_differ(features) and any(c.sd for c in features)
        scaled = "tf-idf" if counts else bool(differ)
    if scaled == "tf-idf":
        said.append(
            "The columns look like counts of words, species or events. Correspondence analysis compares them by "
            "chi-squared distances. For other methods they are weighted by TF-IDF."
        )
    elif scaled:
        said.append("The columns have different units or kinds, so numbers are standardized.")
    for why in dict.fromkeys(unused.values()):
        said.append(f"{listed(name for name in unused if unused[name] == why)}: {why}, not used as a feature.")
    if found.duplicates:
        one = found.duplicates == 1
        said.append(f"{found.duplicates:,} row{'' if one else 's'} equal{'s' * one} an earlier row.")
    ids = sorted((c for c in columns if c.kind == "id"), key=lambda c: c.sd is not None)  # names before numbers
    own = None if found.id_name is not None else next((c.name for c in ids), None)
    return Look(
        found, tuple(said), tuple(dict.fromkeys((*nested, *infinite, *vectors[1:]))), label, own, tuple(marks),
        tuple(encoded), tuple(unused), (*gaps, *named(lambda c: c.marks)), tuple(vectors), counts,
    )  # fmt: skip


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _vector_row(parts: Sequence[ColumnKind]) -> tuple[str, str, str, str, str]:
    low, high = (
        pick(getattr(c, end) for c in parts if c.min is not None) for pick, end in ((min, "min"), (max, "max"))
    )
    missing = max(c.missing for c in parts)
    values = f"{_number(len(parts), 'number')} from {low:.4g} to {high:.4g}"
    return parts[0].vector, "vector", f"{missing:,}" if missing else "–", "–", values


def _row(column: ColumnKind) -> tuple[str, str, str, str, str]:
    values = ", ".join(repr(text[:24]) for text in column.examples) + (
        ", …" if column.distinct is None or column.distinct > 3 else ""
    )
    if column.min is not None and column.kind not in ("constant", "boolean"):
        values = f"{column.min:.6g} to {column.max:.6g}, mean {column.mean:.4g}, sd {column.sd:.4g}"
    values += f" ({column.detail})" if column.detail and values else column.detail
    distinct = "many" if column.distinct is None else f"{column.distinct:,}"
    name = column.name if column.name.isprintable() else repr(column.name)
    return name, column.kind, f"{column.missing:,}" if column.missing else "–", distinct, values
