"""``lowland transform MODEL FILE --to FILE``: coordinates of new rows, in chunks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from lowland.cli.shared.mapping import mapping_command, print_mapping
from lowland.cli.shared.options import working
from lowland.cli.shared.preparing import load_model, open_for_model
from lowland.errors import DataError


def run(
    model: Path, file: Path, columns: Any, drop: Any, label: str | None, to: Path, force: bool,
    memory: Any, threads: Any, progress: Any, as_json: bool,
) -> None:  # fmt: skip
    """Load, transform, write, print."""
    from lowland.cli.shared import inputs, roles
    from lowland.cli.shared.outputs import check_outputs, write_table

    check_outputs(to=to, force=force, read=(model, file))
    started = time.perf_counter()
    steps, est = load_model(model)
    with working(memory, threads, progress):
        row_names = inputs.row_name_column(est, file, columns, drop)
        drop = [*(drop or []), row_names] if row_names else drop
        rows = open_for_model(steps, est, file, columns, drop, label)
        with inputs.matching_columns(est, rows, file):
            chunks = _chunks(est, rows)
            names = list(est.get_feature_names_out())
        label = label or getattr(est, "label_name_", None)
        written = write_table(chunks, to, names, roles.copied_columns(file, to, row_names, label=label))
    print_mapping("Transformed", est, file, rows.d, model, written, started, as_json)


def _chunks(est: Any, rows: Any) -> Any:
    """Return the coordinates in chunks."""
    if hasattr(est, "transform_chunks"):
        return est.transform_chunks(rows)
    if not hasattr(est, "transform"):
        raise DataError(
            f"{type(est).__name__} has no out-of-sample extension. Write the coordinates of the training rows with "
            "lowland fit --to."
        )
    return [est.transform(rows)]


transform = mapping_command(
    "transform",
    run,
    "Compute the coordinates of new rows with a fitted model.",
    "FILE is a table with the columns of the training data. It is read in chunks and may be larger than memory.",
    to="Write the coordinates to this file.",
    label="Column of labels to exclude. [default: the label column of the training data]",
)
