"""Placing new rows on an existing map, in the worker: the fitted model applied to the rows of another file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.data.open import open_rows, open_table, readable_file
from lowland.errors import DataError
from lowland.explorer.folder import check_archive
from lowland.explorer.workspace import write_floats, write_json

MOST_NAMES = 100_000  # rows up to which their names are kept


def place_rows(message: dict[str, Any], send: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Transform the rows of a file with the model of a map, and write their coordinates."""
    from lowland.methods.base.traits import traits_of
    from lowland.methods.model_files import load

    path, target = Path(message["path"]), Path(message["to"])
    if path.is_file():
        check_archive(path, message["table_bytes"])
    send({"event": "progress", "stage": "placing the rows", "fraction": None})
    model = load(message["model"])
    steps = [step for _, step in model.steps] if type(model).__name__ == "Pipeline" else [model]
    source: Any = path
    if not hasattr(steps[0], "open_rows") and not traits_of(steps[-1]).reads_text:
        names = getattr(steps[0], "feature_names_in_", None)
        named = path.is_dir() or readable_file(path)
        source = open_rows(path, columns=None if names is None or not named else [str(name) for name in names])
    Z = source
    for step in steps:
        Z = step.transform(Z)
    Z = to_numpy(Z)
    if Z.shape[1] < message["components"]:
        raise DataError("The model returns fewer components than the map has. Compute the map again.")
    write_floats(target, Z[:, : message["components"]])
    write_json(target.with_suffix(".json"), _names(path, len(Z)))
    return {"n": len(Z), "excluded": int(np.isnan(Z).any(axis=1).sum())}


def _names(path: Path, n: int) -> list[str] | None:
    """The row names of a file, if it has some."""
    if n > MOST_NAMES or not (path.is_dir() or readable_file(path)):
        return None
    table = open_table(path)
    if table.id_name is None:
        return None
    return [str(name) for name in table.column(table.id_name, missing_text=False)]
