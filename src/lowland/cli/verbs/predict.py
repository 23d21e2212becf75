"""``lowland predict MODEL FILE --to FILE``: the class, unit or code book index of each row, in chunks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lowland.cli.shared.mapping import mapping_command, print_mapping
from lowland.cli.shared.options import Option, working
from lowland.cli.shared.preparing import load_model, open_for_model
from lowland.errors import DataError, ParameterError

COLUMN, BEFORE_CLASS = "class", "probability_"


def run(
    model: Path, file: Path, columns: Any, drop: Any, label: str | None, to: Path, probabilities: bool, force: bool,
    memory: Any, threads: Any, progress: Any, as_json: bool,
) -> None:  # fmt: skip
    """Load, classify, write, print."""
    from lowland.cli.shared import inputs, roles
    from lowland.cli.shared.outputs import check_outputs, holds_numbers_only, write_table
    from lowland.methods.base.traits import traits_of

    check_outputs(to=to, force=force, read=(model, file))
    started = time.perf_counter()
    steps, est = load_model(model)
    _check(est, probabilities, to)
    found: Counter[str] = Counter()
    with working(memory, threads, progress):
        rows = open_for_model(steps, est, file, columns, drop, label)
        with inputs.matching_columns(est, rows, file):
            chunks = _chunks(est, rows, probabilities, holds_numbers_only(to), found)
            label = label or getattr(est, "label_name_", None)
            carried = roles.copied_columns(file, to, label=label)
            written = write_table(chunks, to, _names(est, probabilities), carried)
    facts: dict[str, Any] = {f"{traits_of(est).predicts}s in use": len(found)}
    if hasattr(est, "classes_"):
        facts = {"rows per class": {str(name): found[str(name)] for name in est.classes_}}
    print_mapping("Classified", est, file, rows.d, model, written, started, as_json, facts)


def _check(est: Any, probabilities: bool, to: Path) -> None:
    """Refuse what would fail only after the computation."""
    from lowland.cli.shared.outputs import holds_numbers_only

    name = type(est).__name__
    if not hasattr(est, "predict"):
        raise DataError(
            f"{name} is not a classifier. Write its coordinates with lowland transform, or fit a classifier with "
            "lowland fit lda."
        )
    if probabilities and not hasattr(est, "predict_proba"):
        raise ParameterError(f"{name} does not estimate probabilities. Omit --probabilities.")
    if holds_numbers_only(to) and hasattr(est, "classes_") and est.classes_.dtype.kind not in "iufb":
        raise ParameterError(
            f"The class labels are strings, such as {str(est.classes_[0])!r}, but .npy files hold only numbers. "
            "Write .csv or .parquet."
        )


def _names(est: Any, probabilities: bool) -> list[str]:
    if not hasattr(est, "classes_"):
        from lowland.methods.base.traits import traits_of

        return [traits_of(est).predicts]
    return [COLUMN, *(f"{BEFORE_CLASS}{name}" for name in est.classes_ if probabilities)]


def _chunks(est: Any, rows: Any, probabilities: bool, only_numbers: bool, found: Counter[str]) -> Iterator[Any]:
    """Yield the classes and, if requested, the probabilities in chunks; count the classes in ``found``."""
    import numpy as np

    from lowland.data.rows import ArrayRows, SparseRows
    from lowland.run.run import run_for

    for X in run_for(rows).map_rows(_unchanged, rows, name="classifying rows"):
        slab = (SparseRows if rows.is_sparse else ArrayRows)(X, names=rows.names, source=rows.source)
        classes = est.predict(slab)
        for name, count in zip(*np.unique(classes, return_counts=True), strict=True):
            found[str(name)] += int(count)
        if not probabilities:
            yield classes[:, None]
        elif only_numbers:
            yield np.column_stack([classes, est.predict_proba(slab)])
        else:
            yield from _beside(classes, est.predict_proba(slab))


def _beside(classes: Any, P: Any) -> Iterator[Any]:
    """Yield classes and numbers in one table, in small chunks: each cell is an object."""
    import numpy as np

    from lowland.cli.shared.outputs import TEXT_SLAB

    for start in range(0, len(P), TEXT_SLAB):
        some = slice(start, start + TEXT_SLAB)
        yield np.column_stack([classes[some].astype(object), P[some].astype(object)])


def _unchanged(X: Any) -> Any:
    return X


predict = mapping_command(
    "predict",
    run,
    "Predict the class, the best-matching unit or the code book index of each row.",
    "It must be a classifier (lda), a self-organizing map (som) or a code book (quantize). FILE is a table with the "
    "columns of the training data. It is read in chunks and may be larger than memory.",
    to="Write the predictions to this file.",
    label="Column of labels to exclude. [default: the label column of the training data]",
    more=[
        Option(["--probabilities"], is_flag=True, help="Add one column per class with its probability."),
    ],
)
