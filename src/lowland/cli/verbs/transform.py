"""``lowland transform MODEL FILE --to FILE``: coordinates of new rows, slab by slab."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lowland.cli.shared import options
from lowland.errors import DataError


def run(
    model: Path, file: Path, columns: Any, drop: Any, label: str | None, to: Path, force: bool,
    memory: Any, threads: Any, progress: Any, as_json: bool,
) -> None:  # fmt: skip
    """Load, transform, write, tell."""
    from lowland.cli.shared.outputs import check_outputs, write_table
    from lowland.methods.model_files import load

    check_outputs(to=to, force=force, read=(model, file))
    started = time.perf_counter()
    est = load(model)
    with options.working(memory, threads, progress):
        points = options.names_of_points(est, file, columns, drop)
        rows = options.open_for(est, file, columns, [*(drop or []), points] if points else drop, label)
        with named_for(est, rows, file):
            chunks = _chunks(est, rows)
            names = list(est.get_feature_names_out())
        written = write_table(chunks, to, names, (file, points) if points else None)
    tell("Transformed", est, file, rows.d, model, written, started, as_json)


def _chunks(est: Any, rows: Any) -> Any:
    """Return the coordinates slab by slab."""
    if hasattr(est, "transform_chunks"):
        return est.transform_chunks(rows)
    if not hasattr(est, "transform"):
        raise DataError(f"{type(est).__name__} places only the rows it was fitted to. Use lowland fit --to instead.")
    return [est.transform(rows)]


@contextmanager
def named_for(est: Any, rows: Any, file: Path) -> Iterator[None]:
    """Say of columns that do not match the model which flag helps."""
    fitted = getattr(est, "feature_names_in_", None)
    try:
        yield
    except DataError as error:
        if fitted is None or rows.names is None or tuple(fitted) == tuple(rows.names):
            raise
        hint = remedy(list(fitted), rows.names)
        raise DataError(f"The columns of {file.name} are not those of the model. {hint}") from error


def remedy(fitted: list[str], given: tuple[str, ...]) -> str:
    """Say which columns are missing, or too much, or in another order, and what to do."""
    missing = [name for name in fitted if name not in given]
    extra = [name for name in given if name not in fitted]
    if missing:
        rest = f" It has {_listed(extra)} instead." if extra else ""
        return f"Missing: {_listed(missing)}.{rest} Add them, or transform a file that has them."
    what = f"{_listed(extra)} was not among them." if extra else "They are in another order."
    return f"{what} Leave --columns out: the model knows its columns by name."


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:12])) + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def tell(
    verb: str, est: Any, file: Path, columns: int, model: Path, written: dict[str, Any], started: float, as_json: bool,
    told: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Print what was done to a file, and what there is to tell besides."""
    from lowland.cli.shared import show

    took = round(time.perf_counter() - started, 6)
    if as_json:
        data = {"file": str(file), "rows": written["rows"], "columns": columns}
        facts = {"class": type(est).__name__, "model": str(model), "data": data, "files": [written], "seconds": took}
        show.print_json(facts if told is None else {**facts, "facts": told})
        return
    lines = [
        ("Data", f"{show.table_size(written['rows'], columns)}, {file}"),
        ("Model", f"{type(est).__name__}, {model}"),
        *show.told_lines(told or {}),
        ("Time", show.seconds(took)),
        ("Written", f"{written['file']}, {show.table_size(written['rows'], written['columns'])}"),
    ]
    show.print_facts(f"{verb} {file.name}", lines)


transform = options.mapping_command(
    "transform",
    run,
    "Write the coordinates of new rows.",
    "FILE is a table with the columns the model was fitted to; it is read in slabs and may be larger than memory.",
    to="Write the coordinates here.",
    label="A column to leave out; by default the one that was the label when fitting.",
)
