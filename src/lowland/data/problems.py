"""All problems of a table in one message: each column with its first bad cells, and the call that works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lowland.errors import DataTypeError

SHOWN_CELLS, SHOWN_COLUMNS = 3, 12
MOST_MARKS, LONGEST_MARK = 3, 8  # a few short texts among numbers may mark missing values
SHOWN_TEXT = 40


class TableProblems(DataTypeError):
    """Columns of a table that are not numbers: what they contain, and what could be done."""

    def __init__(self, text: str, marks: Sequence[str] = (), texts: Sequence[str] = (), missing: Sequence[str] = ()):
        super().__init__(text)
        self.marks = tuple(marks)  # texts that may mark missing values
        self.texts = tuple(texts)  # names of columns of text
        self.missing = tuple(missing)  # names of columns with missing values


class NestedColumns(DataTypeError):
    """Columns of lists, records or bytes."""

    def __init__(self, columns: Mapping[str, str]):
        """Name the columns and their types."""
        many = len(columns) > 1
        named = ", ".join(f"{name!r} ({kind[:SHOWN_TEXT]})" for name, kind in columns.items())
        super().__init__(
            f"Column{'s' * many} {named} contain{'s' * (not many)} lists, records or bytes, which cannot be prepared. "
            f"Drop {'them' if many else 'it'}, or convert {'them' if many else 'it'} to numbers or strings."
        )
        self.columns = tuple(columns)


@dataclass
class Problem:
    """A column with cells that are not numbers."""

    column: str
    cells: list[tuple[int | None, str]] = field(default_factory=list)  # the first bad ones: line of the file, value
    count: int = 0  # bad cells
    total: int = 0  # cells that are not missing
    missing: int = 0  # cells that are
    values: Counter[str] = field(default_factory=Counter)  # the bad ones, while they are few
    what: str = ""  # the type of the column, where the format gives one

    def add(self, line: int | None, value: str) -> None:
        """Count one bad cell."""
        self.count += 1
        if len(self.cells) < SHOWN_CELLS:
            self.cells.append((line, value))
        if len(self.values) <= MOST_MARKS:
            self.values[value] += 1

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
        cells = ", ".join((f"line {line}: " if line else "") + repr(_short(value)) for line, value in self.cells)
        more = f", and {self.count - len(self.cells):,} more" if self.count > len(self.cells) else ""
        kind = "text, dates or categories" if self.is_text else f"{self.count:,} of {self.total:,} values not numeric"
        return f"{kind} ({cells}{more})"


def problems_error(problems: Sequence[Problem], source: str, incomplete: Sequence[Problem] = ()) -> TableProblems:
    """Return one error that names all problems, and what to do; ``incomplete``: columns with missing values."""
    why = "not numeric (could not convert string to float)"
    if len(problems) == 1:
        said = f"Column {problems[0].column!r} of {source} is {why}. It contains {problems[0].content()}. "
    else:
        lines = [f"{problem.column!r}: {problem.content()}" for problem in problems[:SHOWN_COLUMNS]]
        if len(problems) > SHOWN_COLUMNS:
            lines.append(f"and {len(problems) - SHOWN_COLUMNS} more columns")
        said = f"{len(problems)} columns of {source} are {why}:\n- " + "\n- ".join(lines) + "\n"
    marks = list(dict.fromkeys(mark for problem in problems for mark in problem.marks))
    marked = {problem.column for problem in problems if problem.marks}
    every = [problem.column for problem in problems]
    others = [name for name in every if name not in marked]
    remedy = []
    if marks and len(others) <= SHOWN_COLUMNS:
        these, drop = " and ".join(map(repr, marks)), f", drop={others!r}" if others else ""
        one = len(marks) == 1
        remedy.append(f"If {these} mark{'s' * one} missing values, use open_rows(file, missing={marks!r}{drop}).")
    if len(every) <= SHOWN_COLUMNS:
        which = "these columns" if len(every) > 1 else "the column"
        remedy.append(f"To leave out {which}, use open_rows(file, drop={every!r}).")
    else:
        remedy.append("Name the columns of numbers with columns=….")
    remedy.append(
        "If one contains class labels, pass its name as y; other text can be encoded as numbers "
        "(lowland.TablePreparer)."
    )
    gaps = {problem.column: problem.missing for problem in incomplete}
    if gaps:
        remedy.append(f"Missing values: {counted(gaps)}; most methods need a value in each cell.")
    return TableProblems(said + " ".join(remedy), marks, others, list(gaps))


def marks_error(marks: dict[str, dict[str, int]], gaps: dict[str, int], source: str) -> TableProblems:
    """Return one error for columns of numbers with a few texts, which may mark missing values.

    ``marks`` are these texts and their first rows, by column; ``gaps`` the numbers of missing values of other columns.
    """
    each = [
        f"{name!r}: numbers, except {' and '.join(f'{_short(text)!r} (row {row})' for text, row in texts.items())}"
        for name, texts in marks.items()
    ]
    every = list(dict.fromkeys(text for texts in marks.values() for text in texts))
    more = f"\n- and {len(each) - SHOWN_COLUMNS} more columns" if len(each) > SHOWN_COLUMNS else ""
    first, one = next(iter(marks)), len(each) == 1
    said = (
        f"Column {each[0].replace(': ', ' of ' + source + ' contains ', 1)}. " if one else
        f"{len(each)} columns of {source} are neither numbers nor text:\n- " + "\n- ".join(each[:SHOWN_COLUMNS])
        + more + "\n"
    )  # fmt: skip
    said += f"If these mark missing values, use open_rows(file, missing={every!r}). "
    said += f"If not, set the kind of the column (kinds={{{first!r}: 'category'}}), or use drop={list(marks)!r}."
    if gaps:
        said += f" Missing values: {counted(gaps)}."
    return TableProblems(said, every, (), [*marks, *gaps])


def counted(gaps: dict[str, int]) -> str:
    """Return columns with their numbers of missing values, the first ones of many."""
    named = ", ".join(f"{name!r} ({count:,})" for name, count in list(gaps.items())[:SHOWN_COLUMNS])
    return named + (f" and {len(gaps) - SHOWN_COLUMNS} more columns" if len(gaps) > SHOWN_COLUMNS else "")


class ProblemCounter:
    """Counts the cells of some columns that are not numbers, slab by slab."""

    def __init__(self, names: Iterable[str]) -> None:
        self.found = {name: Problem(name) for name in names}

    def add(self, name: str, column: Any, is_good: Any, lines: Any) -> None:
        """Count the bad cells of an Arrow column of text; ``is_good`` is null where the cell is missing.

        ``lines`` are the lines of the file where the rows begin.
        """
        import pyarrow.compute as pc

        problem = self.found[name]
        problem.total += len(column) - column.null_count
        problem.missing += column.null_count
        bad = pc.indices_nonzero(pc.fill_null(pc.invert(is_good), False))
        if not len(bad):
            return
        some = bad.slice(0, 1000)
        for i, value in zip(some.to_pylist(), column.take(some).to_pylist(), strict=True):
            problem.add(int(lines[i]), value)
        problem.count += len(bad) - len(some)
        if len(bad) > len(some) and len(problem.values) <= MOST_MARKS:
            for value in pc.unique(column.take(bad)).to_pylist()[: MOST_MARKS + 1]:
                problem.values[value] += 1

    def problems(self) -> list[Problem]:
        """Return the columns with bad cells."""
        return [problem for problem in self.found.values() if problem.count]

    def error(self, source: str) -> TableProblems:
        """Return the error that names all columns with bad cells, and the numbers of missing values of the others."""
        incomplete = [problem for problem in self.found.values() if problem.missing and not problem.is_text]
        return problems_error(self.problems(), source, [p for p in incomplete if not p.count or p.marks])


def _short(value: str) -> str:
    return value if len(value) <= SHOWN_TEXT else value[: SHOWN_TEXT - 1] + "…"
