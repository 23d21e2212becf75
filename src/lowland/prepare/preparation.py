"""One preparation of a table, for the command line, ``compare``, notebooks and the explorer.

Columns that are not features are left out, categories and dates are encoded, missing numbers are replaced, columns in
different units are standardized, and counts are weighted. What was done is reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.arrow_columns import arrow_table, open_arrow, whole_table, with_medians
from lowland.data.kinds import ColumnKind, beside_vector, kinds_of
from lowland.data.open import open_rows
from lowland.data.problems import counted
from lowland.data.reader import Reader, holds_numbers, tables_of, text_fields
from lowland.data.rows import ArrayRows, IncompleteRows
from lowland.data.scales import are_counts, scales_differ
from lowland.data.table import Table
from lowland.errors import DataError
from lowland.methods.base.traits import traits_of
from lowland.missing_values import REPLACED_BY, replaced, replacement_sentence
from lowland.missing_values import drop_missing as drop_incomplete
from lowland.prepare.label_copies import label_copies
from lowland.prepare.steps import CountWeights
from lowland.prepare.table_preparer import LEFT, WEIGHTED, TablePreparer

Scale = Literal["auto", "standard", "none"]
Impute = Literal["auto", "mean", "median", "knn", "em", "drop", "none"]
IMPUTE = get_args(Impute)
COMPARES_WEIGHTS = ("euclidean", "cosine")  # metrics of weights; a method with another one compares the counts
CELLS, LEAST_ROWS = 2**22, 1000  # of the first rows, that decide about columns
MUCH_MISSING = 0.1  # fraction of missing numbers that is a caveat
FILLED = ("category", "text")  # a missing category is a level, a missing text is empty


@dataclass
class Prepared:
    """The rows for a method, the steps that prepared them, and what was done, in words."""

    rows: Any
    labels: Any = None
    given: Any = None  # the rows before they were prepared
    steps: list[tuple[str, Any]] = field(default_factory=list)
    report: dict[str, str] = field(default_factory=dict)  # by column; empty: the columns are used as they are
    unused: dict[str, str] = field(default_factory=dict)  # why columns are not used
    missing: str | None = None  # which values were replaced or which rows were dropped, as a sentence
    missing_fraction: float = 0.0  # of the numbers, before they were replaced
    scaled: bool = False
    weighted: bool = False  # whether counts were weighted by TF-IDF
    unweighted: Any = None  # the counts, where they are weighted chunk by chunk
    kept: np.ndarray | None = None  # (n,) a mask of the rows that were not dropped
    one_unit: bool = False  # whether the columns are the numbers of one vector

    @property
    def caveat(self) -> str:
        """What a reader of a map should know if many numbers were missing, as a sentence; else empty."""
        fraction = f"{self.missing_fraction:.1%} of the numbers were missing and replaced"
        return f"{fraction}, so part of the structure is made up." if self.missing_fraction > MUCH_MISSING else ""

    @property
    def facts(self) -> dict[str, Any]:
        """What was done, for the summary of a command."""
        return {"prepared": self.report or None, "missing": self.missing}


def prepare_rows(
    table: Reader, *, labels: Any = None, impute: str = "auto", scale: Scale = "auto", use: Sequence[str] = (),
    est: Any = None,
) -> Prepared:  # fmt: skip
    """Prepare the columns of a table for a method, or for any method of numbers.

    Missing numbers are replaced by the median of their column (``impute="auto"``) unless the method ``est`` handles
    them, or by "mean", "median", "knn" (similar rows) or "em" (probabilistic PCA). "drop" drops the incomplete rows,
    "none" refuses them. ``scale="auto"`` standardizes the columns if their units differ and the method depends on them,
    and weights counts of words, species or events, unless the method compares them by a metric of its own. ``use``
    names columns to use although they do not look like features.
    """
    use = [*table.members(use), *table.chosen]
    beside = _beside_vector(table, use)
    if beside:
        table = Table(table, drop=list(beside))
    handles_missing = est is not None and est._handles_missing
    replacement = "median" if impute == "auto" and not handles_missing else impute
    how = None if replacement in ("auto", "none", "drop") else replacement
    weighs = scale == "auto"
    if scale == "auto" and est is not None:
        given = est.get_params(deep=False)
        weighs = not given.get("scale") and given.get("metric", "euclidean") in COMPARES_WEIGHTS
        if traits_of(est).scale_free or given.get("scale"):
            scale = "none"  # units do not matter to the method, or it standardizes by itself
    one_unit = any({*parts} == {*table.names} for parts in table.vectors.values())
    if one_unit:
        scale, weighs = "none" if scale == "auto" else scale, False
    if text_fields(table.fields_at(range(len(table.names)))):
        found = _encoded(table, labels, how, scale, use)
    else:
        found = _numbers(table, labels, how, scale, use, est, asked=impute != "auto", weighs=weighs)
    found.one_unit, found.unused = one_unit, beside | found.unused
    found.report = {name: f"{why}, not used" for name, why in beside.items()} | found.report
    found.given = table.rows if isinstance(table, Table) and not table.has_names else None
    if impute == "none" and not handles_missing and hasattr(found.steps[0][1] if found.steps else None, "missing_"):
        _refuse_gaps(found.steps[0][1], table.source, est)
    if how in ("knn", "em"):
        replace_gaps(found, how)
    elif impute == "drop":
        drop_rows(found)
    return found


def prepare_categories(
    table: Reader, est: Any, *, labels: Any = None, impute: str = "auto", use: Sequence[str] = ()
) -> Prepared:
    """Prepare a table for a method that reads categories as they are.

    Columns that are not features are left out as by ``prepare_rows``. So are dates and texts, and numbers if the method
    is for categories only and there are some. Missing numbers are replaced by the median of their column, and missing
    categories become a level: parameters of ``est`` are set. ``impute="drop"`` drops incomplete rows instead, "none"
    refuses them. ``use`` names columns to use although they do not look like features.
    """
    traits, named = traits_of(est), {*table.members(use), *table.chosen}
    columns = {c.name: c for c in kinds_of(table.scan(), table.source, duplicates=False).columns}
    if not columns:
        raise DataError(f"{table.source} has no rows. Check the file.")
    columns = {name: columns[name] for name in table.names}
    unused = {name: c.unused for name, c in columns.items() if c.unused and name not in named}
    fields = dict(zip(table.names, table.fields_at(range(len(table.names))), strict=True))
    if labels is not None:
        others = [name for name in table.names if name not in unused and name not in named]
        head = next(tables_of(table.batches([fields[name] for name in others], LEAST_ROWS), LEAST_ROWS))
        unused |= label_copies(head, others, np.asarray(labels)[: len(head)])
    kinds = {name: _kind_read(c, fields[name]) for name, c in columns.items() if name not in unused}
    unread = {"date": "a date", "text": "text"} if traits.reads_text else {}
    if traits.reads == "categories" and "category" in kinds.values():
        unread["number"] = "numbers"
    unused |= {
        name: f"{unread[kind]}, which {traits.title} does not read"
        for name, kind in kinds.items()
        if kind in unread and not (kind == "number" and name in named)
    }
    if len(unused) == len(table.names):
        unused = {}
    data: Reader = Table(table, drop=list(unused)) if unused else table
    found = Prepared(est._opened(data), labels, unused=unused)
    found.report = {name: f"{why}, not used" for name, why in unused.items()}
    if impute == "drop":
        drop_rows(found)
    elif impute != "none" and est.get_params(deep=False).get("missing") == "error":
        gaps = {name: columns[name].missing for name in data.names if columns[name].missing}
        numbers = [name for name in gaps if traits.reads == "mixed" and kinds[name] == "number"]
        codes = [
            name
            for name in gaps
            if traits.reads == "mixed" and name not in numbers and holds_numbers(fields[name].type)
        ]
        _fill_gaps(found, data, est, gaps, numbers, codes)
    return found


def _kind_read(column: ColumnKind, field: Any) -> str:
    """The kind of a column for a method of categories: "category", "number", "date" or "text"."""
    if column.kind in ("category", "ordered", "boolean"):
        return "category"
    return "number" if holds_numbers(field.type) else "date" if column.kind == "date" else "text"


def _fill_gaps(
    found: Prepared, data: Reader, est: Any, gaps: dict[str, int], numbers: Sequence[str], codes: Sequence[str]
) -> None:
    """Replace missing numbers by medians, and make missing categories, which may be codes, a level."""
    said = []
    if numbers:
        columns, names, _ = open_arrow(data)
        data = Table(with_medians(whole_table(columns, names), numbers))
        count = sum(gaps[name] for name in numbers)
        said.append(f"Replaced {count:,} missing number{'s' * (count > 1)} by the median of the column.")
    if codes:
        given = est.categorical_features
        given = given.split(",") if isinstance(given, str) else list(given or ())
        est.set_params(categorical_features=[*given, *codes])
    if len(gaps) > len(numbers):
        est.set_params(missing="category")
        count = sum(gaps.values()) - sum(gaps[name] for name in numbers)
        said.append(f"Missing categories became a separate level: {count:,} value{'s' * (count > 1)}.")
    if numbers or codes:
        source, found.rows = found.rows.source, est._opened(data)
        found.rows.source = source
    found.missing = " ".join(said) or None


def _beside_vector(table: Reader, use: Sequence[str]) -> dict[str, str]:
    """Why the columns beside a vector are not used, so that they need not be read."""
    vector, parts = next(iter(table.vectors.items()), ("", ()))
    others = {*table.names} - {*parts, *use} if vector else set()
    return {name: beside_vector(vector) for name in table.names if name in others}


def _encoded(table: Reader, labels: Any, how: str | None, scale: str, use: Sequence[str]) -> Prepared:
    """Encode all columns of a table that fits in memory."""
    strategy: Any = how if how in ("mean", "median") else None
    standardize: Any = {"auto": "auto", "standard": True, "none": False, "weights": "tf-idf"}[scale]
    preparer = TablePreparer(use=list(use) or None, impute=strategy, standardize=standardize,
                             output="arrow" if table.has_names else "array").fit(table, labels)  # fmt: skip
    rows = preparer.open_rows(table)
    rows.source = table.source  # the name of the file, for messages and reports
    if not table.has_names:
        rows.names = None
    found = Prepared(rows, labels, steps=[("prepare", preparer)], report=dict(preparer.report_))
    found.unused, found.scaled, found.weighted = dict(preparer.unused_), preparer.standardized_, preparer.weighted_
    gaps = [n for name, n in preparer.missing_.items() if preparer.kinds_[name] not in FILLED]
    found.missing_fraction = preparer.missing_fraction_
    if any(gaps) and how:
        found.missing = replacement_sentence(gaps, found.missing_fraction, how)
    return found


def _numbers(
    table: Reader, labels: Any, how: str | None, scale: Scale, use: Sequence[str], est: Any, *, asked: bool,
    weighs: bool,
) -> Prepared:  # fmt: skip
    """Prepare a table of numbers, which may be larger than memory. Most need nothing, and are read as they are.

    The first rows decide. If missing values begin later, the fit reports them, unless it was asked to replace them.
    """
    rows = open_rows(table) if est is None else est._opened(table)
    if rows.is_sparse or rows.image_shape is not None:  # one unit, and zeros stay zeros
        found = Prepared(rows, labels)
        if weighs and rows.is_sparse and are_counts(next(rows.chunks())):
            _weigh(found, ["all columns"])
        return found
    X, whole, unused = _first_rows(table, labels, use)
    weighted = weighs and are_counts(X)
    scaled = scale == "standard" or (scale == "auto" and not weighted and scales_differ(X))
    if whole and (scaled or weighted or np.isnan(X).any()):
        return _encoded(table, labels, how, "weights" if weighted else "standard" if scaled else "none", use)
    found, data = Prepared(rows, labels, unused=unused), table
    if unused:
        data = Table(table, drop=list(unused))
        found.rows = open_rows(data) if est is None else est._opened(data)
    found.report = {name: f"{why}, not used" for name, why in unused.items()}
    if weighted:
        _weigh(found, data.names)
    elif scaled or (asked and how in ("mean", "median")):
        _stream(found, data, how, scaled=scaled)
    return found


def _first_rows(table: Reader, labels: Any, use: Sequence[str]) -> tuple[np.ndarray, bool, dict[str, str]]:
    """The features of the first rows, whether these are all rows, and why other columns are not used."""
    rows = max(LEAST_ROWS, CELLS // max(1, len(table.names)))
    if not table.has_names:
        chunks = list(islice(_allowing_gaps(open_rows(table)).chunks(), 2))
        X = np.asarray(to_numpy(chunks[0])[:rows], dtype=np.float64)
        return X, len(chunks) < 2 and len(chunks[0]) <= rows, {}
    head = list(islice(tables_of(table.batches(table.fields_at(range(len(table.names)))), rows), 2))
    whole = len(head) < 2
    if not head:
        return np.empty((0, 0)), whole, {}
    unused = _unused(table, head[0], labels, use, whole=whole)
    kept = [j for j, name in enumerate(table.names) if name not in unused]
    return np.column_stack([np.asarray(head[0].column(j), dtype=np.float64) for j in kept]), whole, unused


def _unused(table: Reader, head: Any, labels: Any, use: Sequence[str], *, whole: bool) -> dict[str, str]:
    """Why columns of numbers are not used, found in the first rows."""
    columns = kinds_of(head.to_batches(), table.source, duplicates=False).columns
    found = {c.name: c.unused for c in columns if c.unused and c.name not in use}
    if not whole:  # the other rows may have other values
        found = {c.name: c.unused for c in columns if c.name in found and c.kind not in ("constant", "missing")}
    if labels is not None:
        others = [name for name in table.names if name not in found and name not in use]
        found |= label_copies(head, others, np.asarray(labels)[: head.num_rows])
    return found if len(found) < len(table.names) else {}


def _weigh(found: Prepared, names: Sequence[str]) -> None:
    """Weight counts that are read in chunks, or sparse."""
    step = CountWeights().fit(found.rows)
    found.unweighted, found.rows = found.rows, step.open_rows(found.rows)
    found.steps, found.weighted = [("weights", step)], True
    found.report |= dict.fromkeys(names, f"count, {WEIGHTED}")


def _stream(found: Prepared, data: Reader, how: str | None, *, scaled: bool) -> None:
    """Replace missing numbers and standardize the columns of a file that is read in chunks."""
    from sklearn.preprocessing import StandardScaler

    rows, names = _allowing_gaps(found.rows), list(data.names)
    strategy: Any = how if how in ("mean", "median") else None
    available, sentence = replaced(rows, strategy or "mean")
    found.missing_fraction = available.missing_fraction
    if available.complete and not scaled:
        return
    preparer = TablePreparer(kinds=dict.fromkeys(names, "number"), impute=strategy, standardize=scaled,
                             output="arrow" if data.has_names else "array")  # fmt: skip
    if strategy == "median" and not available.complete:
        preparer.fit(data)  # a median needs all values at once
    else:
        moments = StandardScaler()
        for chunk in rows.chunks():
            moments.partial_fit(to_numpy(chunk))
        spread = np.sqrt(moments.var_)
        pair = np.stack([moments.mean_ - spread, moments.mean_ + spread])  # two rows with the same mean and variance
        preparer.fit(arrow_table(pair.T, names) if data.has_names else pair)
    if strategy and not available.complete:
        found.missing = sentence
    found.rows, found.steps, found.scaled = preparer.open_rows(data), [("prepare", preparer)], scaled
    found.report |= preparer.report_
    found.rows.source = rows.source
    if not data.has_names:
        found.rows.names = None


def _allowing_gaps(rows: Any) -> Any:
    rows.allow_nan = True
    return rows


def _refuse_gaps(preparer: Any, source: str, est: Any) -> None:
    """Raise an error that names the columns with missing values."""
    gaps = {name: n for name, n in preparer.missing_.items() if n and preparer.kinds_[name] not in FILLED}
    if gaps:
        offered = "" if est is None else traits_of(est).missing_remedy
        raise IncompleteRows.of(f"Missing values in {counted(gaps)} of {source}.", offered)


def replace_gaps(found: Prepared, how: Any) -> None:
    """Replace missing numbers by those of similar rows. The step is saved with the model."""
    rows = _allowing_gaps(found.rows)
    if not found.steps:  # else they were counted in the columns of the user
        available, sentence = replaced(rows, how)
        found.missing_fraction = available.missing_fraction
        found.missing = None if available.complete else sentence
    if how == "em":
        from lowland.prepare.steps import EMImputer

        if found.steps:  # encode once, not in every pass
            rows = _allowing_gaps(ArrayRows(rows.to_array(), rows.names, rows.source))
        step: Any = EMImputer().fit(rows)
        found.rows = step.open_rows(rows)
    else:
        from sklearn.impute import KNNImputer

        for _, each in found.steps:
            each.set_params(output="array")
        step = KNNImputer(keep_empty_features=True)
        # Row after row, as in a pipeline: rounding, which depends on the order, decides between equal distances.
        X = np.ascontiguousarray(to_numpy(rows.to_array()))
        found.rows = ArrayRows(step.fit_transform(X), None, rows.source)  # it returns an array, without names
    found.steps.append(("impute", step))
    _say_of_gaps(found, f"replaced by {REPLACED_BY[how].partition(' (')[0]}")


def drop_rows(found: Prepared) -> None:
    """Drop the rows with missing values, and their labels."""
    left = drop_incomplete(found.rows)
    found.kept, found.missing, found.missing_fraction = left.kept, left.message, 0.0
    rows = ArrayRows(left.table, found.rows.names, found.rows.source)
    rows.levels, rows.ordered = found.rows.levels, found.rows.ordered
    found.rows = rows
    if found.labels is not None:
        found.labels = np.asarray(found.labels)[left.kept]
    _say_of_gaps(found, "in rows that were dropped")


def _say_of_gaps(found: Prepared, words: str) -> None:
    """Say of each column what was done, after its preparation, with its missing values."""
    found.report = {name: text.replace(LEFT, words) for name, text in found.report.items()}
