"""``lowland transform | inverse | predict MODEL FILE --to FILE``: apply a fitted model to a file, in chunks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from lowland.cli import options, show, tables
from lowland.cli.options import Command, Option
from lowland.errors import DataError, ParameterError
from lowland.methods.registry import find_method

COLUMN, BEFORE_CLASS = "class", "probability_"


def run_transform(model: Path, file: Path, to: Path, force: bool) -> None:
    """Load, transform, write, print."""
    tables.check_outputs(to=to, force=force, read=(model, file), places=file)
    started = time.perf_counter()
    steps, est = tables.load_model(model)
    source = tables.Source.of(file)
    row_names = tables.row_names(source, est)
    rows = tables.open_for_model(steps, est, source.without(row_names))
    if not hasattr(est, "transform"):
        raise DataError(
            f"{type(est).__name__} has no out-of-sample extension. Write the coordinates of the training rows with "
            "lowland fit --to."
        )
    with tables.matching_columns(est, rows, file):
        chunks = est.transform_chunks(rows) if hasattr(est, "transform_chunks") else [est.transform(rows)]
        names = list(est.get_feature_names_out())
    label = source.label or getattr(est, "label_name_", None)
    carried, entry = tables.copied_columns(file, to, row_names, label=label), find_method(type(est).__name__)
    written = tables.write_table(chunks, to, names, carried, (file, entry.verb))
    _report("Transformed", est, file, rows.d, model, written, started)


def run_inverse(model: Path, file: Path, to: Path, force: bool) -> None:
    """Load, apply the inverse transform, write, print."""

    tables.check_outputs(to=to, force=force, read=(model, file))
    started = time.perf_counter()
    _, est = tables.load_model(model)
    source = tables.Source.of(file)
    if source.columns is None and not source.drop and source.has_names and hasattr(est, "get_feature_names_out"):
        # the columns of coordinates, among others such as ids, if the file has all of them
        coordinates = [str(name) for name in est.get_feature_names_out()]
        there = {*coordinates} <= {*source.named_table().names}
        source = tables.Source(file, coordinates if coordinates and there else None)
    rows = tables.open_source(source)
    names = getattr(est, "feature_names_in_", None)
    names = [f"x{j}" for j in range(est.n_features_in_)] if names is None else list(map(str, names))
    if hasattr(est, "inverse_chunks"):
        chunks = est.inverse_chunks(rows)
    elif hasattr(est, "inverse_transform"):
        chunks = [est.inverse_transform(rows)]
    elif getattr(est, "fit_inverse_transform", None) is False:
        again = "rows, not their kernel values," if getattr(est, "kernel", None) == "precomputed" else "it again"
        text = f"{type(est).__name__} was fitted without an inverse transform."
        raise DataError(f"{text} Fit {again} with --fit-inverse-transform.")
    else:
        raise DataError(f"{type(est).__name__} has no inverse transform. Use a method that has one, such as pca.")
    written = tables.write_table(chunks, to, names)
    _report("Inverse transform of", est, file, rows.d, model, written, started)


def run_predict(model: Path, file: Path, to: Path, probabilities: bool, force: bool) -> None:
    """Load, classify, write, print."""
    from lowland.methods.base.traits import traits_of

    tables.check_outputs(to=to, force=force, read=(model, file))
    started = time.perf_counter()
    steps, est = tables.load_model(model)
    _check_predicts(est, probabilities, to)
    found: Counter[str] = Counter()
    source, predicted = tables.Source.of(file), traits_of(est).predicts
    rows = tables.open_for_model(steps, est, source)
    classes = getattr(est, "classes_", None)
    names = [predicted]
    if classes is not None:
        names = [COLUMN, *(f"{BEFORE_CLASS}{name}" for name in classes if probabilities)]
    with tables.matching_columns(est, rows, file):
        chunks = _predictions(est, rows, probabilities, tables.holds_numbers_only(to), found)
        label = source.label or getattr(est, "label_name_", None)
        written = tables.write_table(chunks, to, names, tables.copied_columns(file, to, label=label))
    facts: dict[str, Any] = {f"{predicted}s in use": len(found)}
    if classes is not None:
        facts = {"rows per class": {str(name): found[str(name)] for name in classes}}
    _report("Classified", est, file, rows.d, model, written, started, facts)


def _check_predicts(est: Any, probabilities: bool, to: Path) -> None:
    """Refuse what would fail only after the computation."""
    name = type(est).__name__
    if not hasattr(est, "predict"):
        raise DataError(
            f"{name} is not a classifier. Write its coordinates with lowland transform, or fit a classifier with "
            "lowland fit lda."
        )
    if probabilities and not hasattr(est, "predict_proba"):
        raise ParameterError(f"{name} does not estimate probabilities. Omit --probabilities.")
    if tables.holds_numbers_only(to) and hasattr(est, "classes_") and est.classes_.dtype.kind not in "iufb":
        raise ParameterError(
            f"The class labels are strings, such as {str(est.classes_[0])!r}, but .npy files hold only numbers. "
            "Write .csv or .parquet."
        )


def _predictions(est: Any, rows: Any, probabilities: bool, only_numbers: bool, found: Counter[str]) -> Iterator[Any]:
    """Yield the classes and, if requested, the probabilities in chunks; count the classes in ``found``."""
    import numpy as np

    from lowland.data.rows import ArrayRows
    from lowland.run.run import run_for

    for X in run_for(rows).map_rows(lambda X: X, rows, name="classifying rows"):
        slab = ArrayRows(X, rows.names, rows.source)
        classes = est.predict(slab)
        for name, count in zip(*np.unique(classes, return_counts=True), strict=True):
            found[str(name)] += int(count)
        if not probabilities:
            yield classes[:, None]
        elif only_numbers:
            yield np.column_stack([classes, est.predict_proba(slab)])
        else:  # in small chunks: each cell is an object
            P = est.predict_proba(slab)
            for start in range(0, len(P), tables.TEXT_SLAB):
                some = slice(start, start + tables.TEXT_SLAB)
                yield np.column_stack([classes[some].astype(object), P[some].astype(object)])


def _report(
    verb: str, est: Any, file: Path, columns: int, model: Path, written: dict[str, Any], started: float,
    facts: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Print what was done to a file, and further facts, if any."""
    took, name = round(time.perf_counter() - started, 6), type(est).__name__

    def as_text(_: dict[str, Any]) -> None:
        lines = [
            ("Data", f"{show.table_size(written['rows'], columns)}, {file}"),
            ("Model", f"{name}, {model}"),
            *show.fact_lines(facts or {}),
            ("Time", show.seconds(took)),
            ("Written", show.written(written)),
        ]
        show.print_facts(f"{verb} {file.name}", lines)

    data = {"file": str(file), "rows": written["rows"], "columns": columns}
    found = {"class": name, "model": str(model), "data": data, "files": [written], "seconds": took}
    show.report(found if facts is None else {**found, "facts": facts}, as_text)


def _command(
    name: str, callback: Callable[..., Any], summary: str, about_file: str, *, to: str, label: str | None = None,
    more: Sequence[Option] = (),
) -> Command:  # fmt: skip
    return Command(
        name,
        callback=callback,
        params=[
            options.file_argument("model", "MODEL"),
            options.file_argument("file", "FILE"),
            *options.data_options(label, carried=label is not None),
            *options.output_options(to, required=True, more=more),
            *options.WORK_OPTIONS,
        ],
        help=f"{summary}\n\nMODEL is a model file written by lowland fit --model. {about_file}",
        short_help=summary,
    )


_LABEL = "Column of labels to exclude. [default: the label column of the training data]"
_CHUNKS = "It is read in chunks and may be larger than memory."
transform = _command(
    "transform",
    run_transform,
    "Compute the coordinates of new rows with a fitted model.",
    f"FILE is a table with the columns of the training data. {_CHUNKS}",
    to="Write the coordinates to this file.",
    label=_LABEL,
)
inverse = _command(
    "inverse",
    run_inverse,
    "Reconstruct rows from coordinates (inverse transform).",
    "FILE contains coordinates, as written by lowland fit --to or lowland transform.",
    to="Write the reconstructed rows to this file.",
)
predict = _command(
    "predict",
    run_predict,
    "Predict the class, the best-matching unit or the code book index of each row.",
    "It must be a classifier (lda), a self-organizing map (som) or a code book (quantize). FILE is a table with the "
    f"columns of the training data. {_CHUNKS}",
    to="Write the predictions to this file.",
    label=_LABEL,
    more=[Option("--probabilities", "Add one column per class with its probability.", is_flag=True)],
)
