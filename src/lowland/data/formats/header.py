"""Names for columns that have none, or whose names are not unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

SHOWN_NAMES = 6


@dataclass
class Header:
    """The names of the columns, the column of row names, and what was changed, a clause each."""

    names: list[str]
    id_name: str | None = None
    clauses: list[str] = field(default_factory=list)


def completed(cells: Sequence[str], first_values: Sequence[Any]) -> Header:
    """Return names for all columns; an unnamed first column of unique values contains the ids of the rows.

    R and pandas write row names in this way. ``first_values`` are the first values of the first column.
    """
    unnamed = [j for j, cell in enumerate(cells) if not cell and len(cells) > 1]
    names, repeated = _unique([cell or f"column {j + 1}" if len(cells) > 1 else cell for j, cell in enumerate(cells)])
    found = Header(names)
    if unnamed:
        places = ", ".join(str(j + 1) for j in unnamed[:SHOWN_NAMES]) + ", …" * (len(unnamed) > SHOWN_NAMES)
        many = len(unnamed) > 1
        found.clauses.append(f"a name for column{'s' * many} {places}, which ha{'ve' if many else 's'} none")
    if repeated:
        found.clauses.append(f"new names for duplicates: {listed(repeated)}")
    if unnamed[:1] == [0] and len(first_values) and len({*first_values}) == len(first_values):
        found.id_name = names[0]
        found.clauses.append(f"{names[0]!r} as the ids of the rows, not as a feature")
    return found


def listed(names: Sequence[str]) -> str:
    """Return the first names in quotation marks."""
    return ", ".join(map(repr, names[:SHOWN_NAMES])) + ", …" * (len(names) > SHOWN_NAMES)


def _unique(names: list[str]) -> tuple[list[str], list[str]]:
    """Return the names with suffixes for duplicates, such as "a (2)", and the new names."""
    taken: set[str] = {*names}
    seen: set[str] = set()
    found, new = [], []
    for name in names:
        unique, count = name, 1
        while unique in seen or (count > 1 and unique in taken):
            count += 1
            unique = f"{name} ({count})"
        seen.add(unique)
        found.append(unique)
        if unique != name:
            new.append(unique)
    return found, new
