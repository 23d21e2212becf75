"""``lowland fit METHOD FILE``: fit a method to a file; write coordinates or a model, print a summary."""

from __future__ import annotations

import inspect
import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.options import DATA, Command, MethodCommands, Option, given, section
from lowland.errors import ParameterError
from lowland.methods.registry import Entry

INTERRUPTED = 130  # exit code
FORMATS = (
    ".parquet (or a folder of .parquet files), .csv, .tsv, .npy, .npz, .feather, .jsonl, .xlsx, .ods, .h5ad, a folder "
    "of images, or - for standard input"
)


def command_of(entry: Entry) -> click.Command:
    """Return the command that fits one method."""
    label = "Column of labels, passed to the method and excluded from the features." + " [required]" * entry.needs_y
    matrix = "FILE is the covariance or correlation matrix of N rows, not a table of rows."
    covariance = Option("--covariance-of", matrix, type=click.IntRange(min=2), metavar="N")
    params: list[click.Parameter] = [
        options.file_argument("file", "FILE"),
        *options.parameter_options(entry),
        *options.data_options(label, carried=True, weight=True),
        *options.PREPARE_OPTIONS,
        *(section(DATA, covariance) if entry.takes_covariance else []),
        *options.output_options("Write the coordinates to this file.", model=True),
        *options.WORK_OPTIONS,
    ]
    reads = "The data must fit in memory."
    if entry.streams:
        reads = "The file is read in chunks and may be larger than memory."
    elif entry.streams_with_landmarks:
        reads = "The data must fit in memory, unless --n-landmarks is set: then the file is read in chunks."
    text = f"{entry.summary}\n\nFILE is a table: {FORMATS}. {reads}"
    return Command(
        entry.verb, params=params, callback=partial(run, entry), help=text, short_help=entry.summary, python=entry.name
    )


def run(
    entry: Entry, *, file: Path, to: Path | None, model: Path | None, force: bool, covariance_of: int | None = None,
    **parameters: Any,
) -> None:  # fmt: skip
    """Fit, write, print."""
    source, is_matrix = tables.Source.of(file), covariance_of is not None
    asked = given("prepare")
    label = source.label
    if label is None and entry.needs_y:
        label = source.table().label_name  # the file has labels: a .npz file, or folders of images
    handled = asked.get("drop_missing") or asked.get("impute", "none") != "none"
    if is_matrix and (to is not None or label is not None):
        flag = "--to" if to else "--label"
        _misused(f"--covariance-of: a covariance matrix has no rows, so {flag} cannot be used. Omit {flag}.")
    if is_matrix and handled:
        _misused("--covariance-of: FILE is a matrix of numbers. Omit --impute and --drop-missing.")
    tables.check_outputs(to=to, model=model, force=force, read=(file,), places=file)
    est = options.estimator_of(entry, parameters)
    if label is None and est.__sklearn_tags__().target_tags.required:
        other = ", or choose --statistic variance, which needs no labels" if "statistic" in parameters else ""
        _misused(f"{entry.verb} is a supervised method. Name the column of labels with --label COLUMN{other}.")
    refused = None if to is None else show.coordinate_refusal(est)
    if refused:
        raise ParameterError(f"{refused} Or omit --to, and classify with lowland predict.")
    started = time.perf_counter()
    with tables.with_command():
        row_names = tables.row_names(source, est, square=is_matrix)
        if row_names and handled:
            raise ParameterError(
                f"FILE is a matrix whose rows are named in column {row_names!r}, so its rows and values stay as they "
                "are. Omit --impute and --drop-missing."
            )
        found = tables.open_prepared(source.without(row_names), est, prepare="none" if is_matrix else None)
        carried = tables.copied_columns(file, to, row_names, found.kept, label)
        if is_matrix:
            est.fit_covariance(found.rows, covariance_of)
        else:
            weights = tables.weight_column(file, found.kept)
            if weights and "sample_weight" not in inspect.signature(est.fit).parameters:
                raise ParameterError(f"--weight: {type(est).__name__} does not take sample weights. Omit --weight.")
            est.fit(found.rows, found.labels, **({"sample_weight": next(iter(weights.values()))} if weights else {}))
        if label is not None:
            est.label_name_ = label  # so that transform can take the same file
        files = _write(entry, est, found, file, to, model, carried)
    n = None if is_matrix else found.rows.n
    if n is None:  # the file was not counted before the fit
        placed = len(est.embedding_) if hasattr(est, "embedding_") else files[0].get("rows") if files else None
        n = getattr(est, "n_samples_", placed)
    interrupted = bool(getattr(est, "interrupted_", False))
    facts = {
        **show.model_facts(est),
        **found.facts,
        "data": {"file": str(file), "rows": None if n is None else int(n), "columns": found.rows.d, "label": label},
        "files": files,
        "seconds": round(time.perf_counter() - started, 6),
        **({"interrupted": True} if interrupted else {}),
    }
    show.report(facts, _print)
    if interrupted:  # Ctrl-C during a descent: the map so far was written
        click.get_current_context().exit(INTERRUPTED)


def _misused(text: str) -> None:
    raise click.UsageError(text, click.get_current_context())


def _write(
    entry: Entry, est: Any, found: Any, file: Path, to: Path | None, model: Path | None, carried: tables.Carried
) -> list[dict[str, Any]]:
    """Write the coordinates of the training rows, in chunks if the method can, and the model with its steps."""
    files: list[dict[str, Any]] = []
    if to is not None:
        if hasattr(est, "embedding_"):  # an out-of-sample extension of the same rows would differ
            chunks = [est.embedding_]
        else:
            in_chunks = hasattr(est, "transform_chunks")
            chunks = est.transform_chunks(found.rows) if in_chunks else [est.transform(found.rows)]
        files.append(tables.write_table(chunks, to, list(est.get_feature_names_out()), carried, (file, entry.verb)))
    if model is not None:
        from lowland.methods.model_files import save

        whole = est
        if found.steps:
            from sklearn.pipeline import Pipeline

            whole = Pipeline([*found.steps, (entry.verb, est)])
        save(whole, model)
        files.append({"file": str(model)})
    return files


def _print(facts: dict[str, Any]) -> None:
    data = facts["data"]
    lines = [("Data", f"{show.table_size(data['rows'], data['columns'])}, {data['file']}")]
    if data["label"] is not None:
        lines.append(("Label", data["label"]))
    lines += [*show.prepared_lines(facts), *show.model_lines(facts), ("Time", show.seconds(facts["seconds"]))]
    for written in facts["files"]:
        lines.append(("Written", show.written(written)))
    title, fractions = f"Fitted {facts['class']} to {Path(data['file']).name}", facts["explained_variance_ratio"]
    show.print_facts(title, lines, fractions, facts["explained_variance_ratio_of"])


fit = MethodCommands(
    "fit",
    command_of,
    help="Fit a method to a file. Each method has its own options: lowland fit METHOD --help.",
    short_help="Fit a method to a file.",
    subcommand_metavar="METHOD FILE [OPTIONS]",
    options_metavar="",
    params=[options.DEBUG],
)
