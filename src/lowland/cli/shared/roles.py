"""Roles of columns that are not features: row ids, columns to keep, sample weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lowland.errors import ParameterError


@dataclass(frozen=True)
class Roles:
    """Columns that are not features."""

    id: str | None = None  # row ids, copied to the output
    keep: tuple[str, ...] = ()  # copied to the output
    weight: str | None = None  # sample weights

    @property
    def names(self) -> list[str]:
        """All of them, each once."""
        return list(dict.fromkeys(name for name in (self.id, *self.keep, self.weight) if name is not None))


def roles() -> Roles:
    """Return the roles of columns in this command."""
    ctx = click.get_current_context(silent=True)
    given = {} if ctx is None else ctx.meta.get("lowland.roles", {})
    return Roles(given.get("id"), tuple(given.get("keep", ())), given.get("weight"))


def carried_columns(file: Path, row_names: str | None, to: Path | None) -> list[str]:
    """Return the columns of a file that are copied to the output: row ids or row names first, then those to keep."""
    from lowland.cli.shared.inputs import has_no_names, read_options
    from lowland.cli.shared.outputs import holds_numbers_only

    given = roles()
    if to is None or has_no_names(file):
        return []
    if holds_numbers_only(to):
        if given.id is not None or given.keep:
            flag = "--id" if given.id is not None else "--keep"
            raise ParameterError(f"{flag}: .npy files hold only numbers. Write .csv or .parquet.")
        return []
    from lowland.data.open import open_table_file

    found = given.id or row_names or open_table_file(file, read_options()).id_name
    return list(dict.fromkeys(name for name in (found, *given.keep) if name is not None))


def sample_weights(est: Any, file: Path, kept: Any = None) -> dict[str, Any]:
    """Return the sample weights of --weight as an argument of fit; ``kept``: a mask of the rows in use."""
    import inspect

    name = roles().weight
    if name is None:
        return {}
    if "sample_weight" not in inspect.signature(est.fit).parameters:
        raise ParameterError(f"--weight: {type(est).__name__} does not take sample weights. Omit --weight.")
    from lowland.cli.shared.inputs import read_options
    from lowland.data.open import open_table_file

    weights = open_table_file(file, read_options()).column(name)
    return {"sample_weight": weights if kept is None else weights[kept]}
