"""Warnings about columns that may not be features: identifiers, codes, and one that dominates."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any


def warn_of_columns(rows: Any, *, scaled: bool, scale: str) -> None:
    """Warn about columns from the first chunk; ``scaled``: units do not matter, ``scale``: the remedy if they do."""
    from lowland.arrays.namespace import to_numpy
    from lowland.data.suspect_columns import suspect_columns
    from lowland.errors import DataWarning, warn

    if rows.is_sparse or rows.names is None:
        return
    X = next((to_numpy(chunk) for chunk in rows.chunks()), None)
    if X is None:
        return
    for each in suspect_columns(X, rows.names, scaled=scaled):
        name = shlex.quote(f'"{each.name}"' if "," in each.name else each.name)
        remedy = f"--drop {name}"
        if each.kind in ("row number", "identifier"):
            remedy = f"--id {shlex.quote(each.name)} or {remedy}"
        warn(each.sentence(remedy, scale), DataWarning)


def warn_of_prepared(steps: list[tuple[str, Any]], file: Path, label: str | None) -> None:
    """Warn about the columns of numbers that were prepared: standardized, they no longer look like identifiers."""
    from lowland.cli.shared.roles import table_of

    kinds = getattr(steps[0][1], "kinds_", {}) if steps else {}
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    if len(numbers) > 1:
        warn_of_columns(table_of(file, numbers, None, label).rows, scaled=True, scale="")
