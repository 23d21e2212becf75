"""Named columns: which are kept, and which hold no numbers."""

from __future__ import annotations

from collections.abc import Sequence

from lowland.errors import DataTypeError, ParameterError


def selected(names: Sequence[str], columns: Sequence[str] | None, drop: Sequence[str], source: str) -> list[int]:
    """Return the positions of the columns to keep: those named, or all, less those dropped."""
    unknown = [name for name in (*(columns or ()), *drop) if name not in names]
    if unknown:
        raise ParameterError(
            f"{source} has no column {', '.join(map(repr, unknown))}. Its columns: {_listed(names, 12)}."
        )
    places = {name: j for j, name in enumerate(names)}
    return [places[name] for name in (columns or names) if name not in drop]


def refuse_text(texts: Sequence[str], source: str) -> None:
    """Refuse columns of text by name, with the remedy."""
    if texts:
        many = len(texts) > 1
        raise DataTypeError(
            f"Column{'s' if many else ''} {_listed(texts, 8)} of {source} hold{'' if many else 's'} text or dates, "
            "not numbers (could not convert string to float). Leave such columns out (--drop or --columns on the "
            "command line, X.drop(columns=...) in Python), or encode them as numbers."
        )


def _listed(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
