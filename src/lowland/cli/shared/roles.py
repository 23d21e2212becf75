"""Roles of columns that are not features: row ids, columns to keep, sample weights, labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from lowland.errors import ParameterError

ROW = "row"  # the column of row numbers where rows were dropped and have no ids


@dataclass
class Carried:
    """Columns that are copied to the output: ids, then after the coordinates labels, weights, columns to keep."""

    ids: dict[str, Any] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, Any] = field(default_factory=dict)  # and weights

    def __bool__(self) -> bool:
        return bool(self.ids or self.kept or self.labels)

    def beside(self, names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the columns before and after the output columns ``names``.

        A label with the name of an output column, such as "class", is renamed, since the input cannot help it.
        """
        taken = [name for name in (*self.ids, *self.kept) if name in names]
        if taken:
            raise ParameterError(f"The output already has a column {taken[0]!r}. Rename that of the input.")
        labels = {f"{name} (2)" if name in names else name: values for name, values in self.labels.items()}
        return self.ids, labels | self.kept


def roles() -> dict[str, Any]:
    """Return the options --id, --keep and --weight of this command."""
    ctx = click.get_current_context(silent=True)
    return {} if ctx is None else ctx.meta.get("lowland.roles", {})


def table_of(file: Path, columns: Any = None, drop: Any = None, label: str | None = None) -> Any:
    """Return a file as a table with the roles of this command."""
    from lowland.cli.shared.inputs import has_no_names, named_table, read_options
    from lowland.data.table import Table

    source = file if has_no_names(file) else named_table(file)
    return Table(source, columns=columns, drop=drop or (), label=label, read=read_options(), **roles())


def copied_columns(
    file: Path, to: Path | None, row_names: str | None = None, used: Any = None, label: str | None = None
) -> Carried:
    """Return the columns of a file that are copied to a file of coordinates; ``label``: that of labels, if any."""
    from lowland.cli.shared.outputs import holds_numbers_only

    if to is None:
        return Carried()
    if holds_numbers_only(to):
        flag = next((f"--{name}" for name in ("id", "keep") if name in roles()), None)
        if flag is not None:
            raise ParameterError(f"{flag}: .npy files hold only numbers. Write .csv or .parquet.")
        return Carried()
    found = carried_columns(file, row_names, used)
    table = table_of(file)
    known = (*table.names, *table.beside, *table.table.beside)
    if label is not None and label in known and label not in (*found.ids, *found.kept):
        values = table.column(label, missing_text=False)
        found.labels[label] = values if used is None else values[used]
    found.labels |= {name: values for name, values in weight_column(file, used).items() if name not in found.kept}
    return found


def carried_columns(file: Path, row_names: str | None = None, used: Any = None) -> Carried:
    """Return the ids of a file, by default the column ``row_names``, and its columns to keep.

    ``used``: a mask of the rows in use. Where rows were dropped and have no ids, their numbers, from 0, are the ids.
    """
    import numpy as np

    given, table = roles(), table_of(file)
    name = given.get("id") or row_names or table.id_name
    found = Carried({} if name is None else {name: table.column(name, missing_text=False)}, table.kept)
    found.kept.pop(name, None)
    if used is not None:
        if name is None and not used.all():
            found.ids = {ROW: np.arange(len(used))}
        found.ids = {name: values[used] for name, values in found.ids.items()}
        found.kept = {name: values[used] for name, values in found.kept.items()}
    return found


def sample_weights(est: Any, file: Path, used: Any = None) -> dict[str, Any]:
    """Return the sample weights of --weight as an argument of fit; ``used``: a mask of the rows in use."""
    import inspect

    if "weight" not in roles():
        return {}
    if "sample_weight" not in inspect.signature(est.fit).parameters:
        raise ParameterError(f"--weight: {type(est).__name__} does not take sample weights. Omit --weight.")
    ((_, weights),) = weight_column(file, used).items()
    return {"sample_weight": weights}


def weight_column(file: Path, used: Any = None) -> dict[str, Any]:
    """Return the column of --weight, by its name, if there is one; ``used``: a mask of the rows in use."""
    if "weight" not in roles():
        return {}
    weights = table_of(file).weights
    return {roles()["weight"]: weights if used is None else weights[used]}
