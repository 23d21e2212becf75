"""All problems of a table in one message: each column with its first bad cells, and the call that works."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow.compute as pc

from lowland.errors import DataTypeError

SHOWN_CELLS, SHOWN_COLUMNS = 3, 12
MOST_MARKS, LONGEST_MARK = 3, 8  # a few short texts among numbers may mark missing values
SHOWN_TEXT = 40


class TableProblems(DataTypeError):
    """Columns of a table that are not numbers: what they contain, and what could be done."""

    def __init__(
        self, text: str, marks: Sequence[str] = (), texts: Sequence[str] = (), missing: Sequence[str] = (),
        drop: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(text)
        self.marks = tuple(marks)  # texts that may mark missing values
        self.texts = tuple(texts)  # names of columns of text
        self.missing = tuple(missing)  # names of columns with missing values
        self.drop = tuple(drop)  # names of columns to leave out


@dataclass
class Problem:
    """A column with cells that are not numbers."""

    column: str
    cells: list[tuple[int, str]] = field(default_factory=list)  # the first bad ones: line of the file, value
    count: int = 0  # bad cells
    total: int = 0  # cells that are not missing
    missing: int = 0  # cells that are
    values: dict[str, None] = field(default_factory=dict)  # the bad ones, while they are few
    what: str = ""  # the type of the column, where the format gives one

    @property
    def is_text(self) -> bool:
        """Whether most cells are not numbers."""
        return 2 * self.count > self.total or bool(self.what)

    @property
    def marks(self) -> list[str]:
        """The texts that may mark missing values: few, short, among numbers."""
        few = len(self.values) <= MOST_MARKS and not self.is_text
        return [v for v in self.values if few and len(v) <= LONGEST_MARK]

    def content(self) -> str:
        """Return what the column contains, with its first bad cells."""
        if self.what:
            return self.what
        cells = ", ".join(f"line {line}: {_short(value)!r}" for line, value in self.cells)
        more = f", and {self.count - len(self.cells):,} more" if self.count > len(self.cells) else ""
        kind = "text, dates or categories" if self.is_text else f"{self.count:,} of {self.total:,} values not numeric"
        return f"{kind} ({cells}{more})"


def problems_error(problems: Sequence[Problem], source: str, incomplete: Sequence[Problem] = ()) -> TableProblems:
    """Return one error that names all problems, and what to do; ``incomplete``: columns with missing values."""
    why = "not numeric (`could not convert string to float`)"
    if len(problems) == 1:
        said = f"Column {problems[0].column!r} of {source} is {why}. It contains {problems[0].content()}. "
    else:
        said = _lines(f"{source} are {why}", [f"{problem.column!r}: {problem.content()}" for problem in problems])
    marks = list(dict.fromkeys(mark for problem in problems for mark in problem.marks))
    every = [problem.column for problem in problems]
    others = [problem.column for problem in problems if not problem.marks]
    remedy = []
    if marks and len(others) <= SHOWN_COLUMNS:
        drop = f", drop={others!r}" if others else ""
        remedy.append(f"If {_mark_words(marks)} missing values, use `open_rows(file, missing={marks!r}{drop})`.")
    which, one = ("these columns", "one") if len(every) > 1 else ("the column", "it")
    if len(every) <= SHOWN_COLUMNS:
        remedy.append(f"To leave out {which}, use `open_rows(file, drop={every!r})`.")
    else:
        remedy.append("Name the columns of numbers (`columns=...`).")
    remedy.append(
        f"If {one} contains class labels, name it (`y=...`). Other text can be encoded as numbers "
        "(`lowland.TablePreparer`)."
    )
    gaps = {problem.column: problem.missing for problem in incomplete}
    if gaps:
        remedy.append(f"Missing values: {counted(gaps)}. Most methods need a value in each cell.")
    return TableProblems(said + " ".join(remedy), marks, others, list(gaps))


def _lines(what: str, lines: Sequence[str]) -> str:
    shown = list(lines[:SHOWN_COLUMNS])
    if len(lines) > SHOWN_COLUMNS:
        shown.append(f"and {len(lines) - SHOWN_COLUMNS} more")
    return f"{len(lines)} columns of {what}:\n- " + "\n- ".join(shown) + "\n"


def _mark_words(marks: Sequence[str]) -> str:
    return f"{' and '.join(repr(_short(mark)) for mark in marks)} mark{'s' * (len(marks) == 1)}"


def preparation_error(
    marks: Mapping[str, Mapping[str, int]], infinite: Mapping[str, tuple[int, int]], nested: Mapping[str, str],
    gaps: dict[str, int], source: str, *, takes_marks: bool,
) -> TableProblems:  # fmt: skip
    """Return one error for all columns that cannot be prepared.

    ``marks`` are a few texts among numbers and their first rows, by column; ``infinite`` the number of infinite values
    and their first row; ``nested`` columns of lists, records or bytes in words; ``gaps`` the numbers of missing
    values of other columns. ``takes_marks``: whether the format has the option ``missing``.
    """
    each = [
        (repr(name), f"numbers, except {' and '.join(f'{_short(text)!r} (row {row})' for text, row in texts.items())}")
        for name, texts in marks.items()
    ]
    each += [
        (repr(name), f"infinity ({count:,} value{'s' * (count != 1)}, first in row {row})")
        for name, (count, row) in infinite.items()
    ]
    each += [(repr(name), words) for name, words in nested.items()]
    if len(each) == 1:
        said = [f"Column {each[0][0]} of {source} contains {each[0][1]}."]
    else:
        said = [_lines(f"{source} cannot be prepared", [f"{name} contains {content}" for name, content in each])]
    every = list(dict.fromkeys(text for texts in marks.values() for text in texts))
    if marks:
        instead = f"use `open_rows(file, missing={every!r})`" if takes_marks else "replace them in the table"
        said.append(f"If {_mark_words(every)} missing values, {instead}.")
        said.append(f"If not, set the kind of the column (`kinds={{{next(iter(marks))!r}: 'category'}}`), or leave "
                    f"it out (`drop={list(marks)!r}`).")  # fmt: skip
    drop = [*infinite, *nested]
    if drop:
        ways = ["Replace infinity by numbers or missing values."] if infinite else []
        if any("different lengths" in words for words in nested.values()):
            ways.append("Give all rows lists of the same length.")
        which = "these columns" if len(drop) > 1 else "the column"
        said += [*ways, f"{'Or leave' if ways else 'Leave'} out {which}: `drop={drop!r}`."]
    if gaps:
        said.append(f"Missing values: {counted(gaps)}.")
    text = " ".join(said).replace("\n ", "\n")
    if not takes_marks:
        return TableProblems(text, (), (), list(gaps), [*marks, *drop])
    return TableProblems(text, every, (), [*marks, *gaps], drop)


def counted(gaps: dict[str, int]) -> str:
    """Return columns with their numbers of missing values, the first ones of many."""
    named = ", ".join(f"{name!r} ({count:,})" for name, count in list(gaps.items())[:SHOWN_COLUMNS])
    return named + (f" and {len(gaps) - SHOWN_COLUMNS} more" if len(gaps) > SHOWN_COLUMNS else "")


class ProblemCounter:
    """Counts the cells of some columns that are not numbers, slab by slab."""

    def __init__(self, names: Iterable[str]) -> None:
        self.found = {name: Problem(name) for name in names}

    def add(self, name: str, column: Any, is_good: Any, lines: Any) -> None:
        """Count the bad cells of an Arrow column of text; ``is_good`` is null where the cell is missing.

        ``lines`` are the lines of the file where the rows begin.
        """
        problem = self.found[name]
        problem.total += len(column) - column.null_count
        problem.missing += column.null_count
        bad = pc.indices_nonzero(pc.fill_null(pc.invert(is_good), False))
        problem.count += len(bad)
        first = bad.slice(0, SHOWN_CELLS - len(problem.cells))
        problem.cells += zip(lines[first.to_numpy()].tolist(), column.take(first).to_pylist(), strict=True)
        if len(problem.values) <= MOST_MARKS:
            problem.values |= dict.fromkeys(pc.unique(column.take(bad)).to_pylist()[: MOST_MARKS + 1])

    def problems(self) -> list[Problem]:
        """Return the columns with bad cells."""
        return [problem for problem in self.found.values() if problem.count]

    def error(self, source: str) -> TableProblems:
        """Return the error that names all columns with bad cells, and the numbers of missing values of the others."""
        incomplete = [p for p in self.found.values() if p.missing and not p.is_text and (p.marks or not p.count)]
        return problems_error(self.problems(), source, incomplete)


def _short(value: str) -> str:
    return value if len(value) <= SHOWN_TEXT else value[: SHOWN_TEXT - 1] + "…"
