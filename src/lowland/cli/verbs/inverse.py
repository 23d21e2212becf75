"""``lowland inverse MODEL FILE --to FILE``: inverse transform of coordinates, in chunks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from lowland.cli.shared.mapping import mapping_command, print_mapping
from lowland.cli.shared.options import working
from lowland.cli.shared.preparing import load_model
from lowland.errors import DataError


def run(
    model: Path, file: Path, columns: Any, drop: Any, to: Path, force: bool,
    memory: Any, threads: Any, progress: Any, as_json: bool,
) -> None:  # fmt: skip
    """Load, apply the inverse transform, write, print."""
    from lowland.cli.shared.inputs import open_file
    from lowland.cli.shared.outputs import check_outputs, write_table

    check_outputs(to=to, force=force, read=(model, file))
    started = time.perf_counter()
    _, est = load_model(model)
    with working(memory, threads, progress):
        rows = open_file(file, _coordinate_columns(est, file) if columns is None and not drop else columns, drop)
        written = write_table(_chunks(est, rows), to, _names(est))
    print_mapping("Inverse transform of", est, file, rows.d, model, written, started, as_json)


def _coordinate_columns(est: Any, file: Path) -> list[str] | None:
    """The columns of coordinates, among others such as ids, if the file has all of them."""
    from lowland.cli.shared.inputs import read_options
    from lowland.data.open import open_table_file, readable_file

    names = [str(name) for name in est.get_feature_names_out()] if hasattr(est, "get_feature_names_out") else []
    if not names or not readable_file(file):
        return None
    return names if {*names} <= {*open_table_file(file, read_options()).names} else None


def _chunks(est: Any, rows: Any) -> Any:
    if hasattr(est, "inverse_chunks"):
        return est.inverse_chunks(rows)
    if hasattr(est, "inverse_transform"):
        return [est.inverse_transform(rows)]
    name = type(est).__name__
    if getattr(est, "fit_inverse_transform", None) is False:
        rows = "rows, not their kernel values," if getattr(est, "kernel", None) == "precomputed" else "it again"
        raise DataError(f"{name} was fitted without an inverse transform. Fit {rows} with --fit-inverse-transform.")
    raise DataError(f"{name} has no inverse transform. Use a method that has one, such as pca.")


def _names(est: Any) -> list[str]:
    """Return the names of the reconstructed columns: those of the training data, or x0, x1, …"""
    names = getattr(est, "feature_names_in_", None)
    return [f"x{j}" for j in range(est.n_features_in_)] if names is None else [str(name) for name in names]


inverse = mapping_command(
    "inverse",
    run,
    "Reconstruct rows from coordinates (inverse transform).",
    "FILE contains coordinates, as written by lowland fit --to or lowland transform.",
    to="Write the reconstructed rows to this file.",
)
