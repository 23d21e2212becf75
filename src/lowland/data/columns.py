"""Named columns: which are kept, which come twice, and which hold no numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from lowland.errors import DataError, DataTypeError, ParameterError


def selected(names: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str], source: str) -> list[int]:
    """Return the positions of the columns to keep: those named, or all, less those dropped."""
    asked = (*(columns or ()), *drop)
    unknown = [name for name in asked if name not in names]
    if unknown:
        cut = next(
            (name for name in names if "," in name and {part.strip() for part in name.split(",")} <= {*asked}), None
        )
        remedy = _what_there_is(unknown[0], names) if cut is None else _in_quotes(cut)
        raise ParameterError(f"{source} has no column {', '.join(map(repr, unknown))}. {remedy}")
    if columns is None:
        return [j for j, name in enumerate(names) if name not in drop]
    places = {name: j for j, name in enumerate(names)}
    return [places[name] for name in columns if name not in drop]


def _in_quotes(name: str) -> str:
    """How to name a column whose name was cut at its comma."""
    return (
        f"If {name!r} is meant, which holds a comma, on the command line put it into quotes of its own: '\"{name}\"'."
    )


def _what_there_is(wanted: str, names: Sequence[str], most: int = 12) -> str:
    """Say which columns there are; of many those whose names are like the wanted one first, and which may be meant."""
    import difflib

    likeness = {name: difflib.SequenceMatcher(None, wanted.lower(), name.lower()).ratio() for name in names}
    nearest = sorted(names, key=lambda name: -likeness[name])
    meant = [repr(name) for name in nearest[:3] if likeness[name] >= 0.6]
    asked = f"Did you mean {' or '.join(meant)}? " if meant else ""
    return f"{asked}Its columns: {_listed(nearest if len(names) > most else names, most)}."


def refuse_twins(names: Sequence[Hashable], source: str) -> None:
    """Refuse columns that share a name."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(f"There is more than one column {_listed(twice, 8)} in {source}. Give each its own name.")


def refuse_text(texts: Sequence[str], source: str) -> None:
    """Refuse columns of text by name, with the remedy."""
    if texts:
        many = len(texts) > 1
        raise DataTypeError(
            f"Column{'s' if many else ''} {_listed(texts, 8)} of {source} hold{'' if many else 's'} text, dates or "
            "categories, not numbers (could not convert string to float). Leave such columns out (--drop or --columns "
            "on the command line, X.drop(columns=...) in Python), name one that holds labels (--label, y), or encode "
            "them as numbers."
        )


def _listed(names: Sequence[Hashable], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
