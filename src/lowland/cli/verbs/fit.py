"""``lowland fit METHOD FILE``: fit a method to a file; write coordinates or a model, print a summary."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from lowland.cli.shared import options
from lowland.cli.shared.commands import Command, CommandGroup
from lowland.cli.shared.flags import DEFAULT_SEED, command_line_text, parameter_options
from lowland.cli.shared.preparing import joined, open_prepared, prepare_options, reads_matrix
from lowland.cli.shared.remedies import with_command
from lowland.errors import ParameterError
from lowland.methods.registry import Entry, entries, match_method

INTERRUPTED = 130  # exit code
SCALE_FREE = {  # methods whose result does not depend on the units of the columns, or only selects columns
    "FactorAnalysis", "FastICA", "FeatureAgglomeration", "FeatureFilter", "L1Selector", "LinearDiscriminantAnalysis",
    "ProjectionPursuit", "SequentialFeatureSelector", "TreeSelector", "Whitening",
}  # fmt: skip


class FitCommands(CommandGroup):
    """One command per method in the index, built on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the methods."""
        return sorted(entry.verb for entry in entries().values())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a method, by its name or its class name, with or without dashes."""
        entry = match_method(cmd_name)
        return None if entry is None else command_of(entry)

    def missing(self, ctx: click.Context, name: str, what: str = "method") -> str:
        """Return the message for an unknown method, or for a file name in place of the method."""
        if Path(name).suffix or Path(name).exists():
            return f"{name!r} is not a method. Write the method before the file: lowland fit pca {name}"
        return super().missing(ctx, name, what)


def command_of(entry: Entry) -> click.Command:
    """Return the command that fits one method."""
    label = "Column of labels, passed to the method and excluded from the features." + " [required]" * entry.needs_y
    parameters = parameter_options(entry)
    params: list[click.Parameter] = [
        options.file_argument("file", "FILE"),
        *parameters,
        *options.data_options(label, carried=True, weight=True),
        *prepare_options(),
        *(options.covariance_option() if entry.takes_covariance else []),
        *options.output_options("Write the coordinates to this file.", model=True),
        *options.work_options(),
        options.json_option(),
        options.debug_option(),
    ]
    reads = "The data must fit in memory."
    if entry.streams:
        reads = "The file is read in chunks and may be larger than memory."
    elif entry.streams_with_landmarks:
        reads = "The data must fit in memory, unless --n-landmarks is set: then the file is read in chunks."
    formats = (
        ".parquet (or a folder of .parquet files), .csv, .tsv, .npy, .npz, .feather, .jsonl, .xlsx, .ods, .h5ad, a "
        "folder of images, or - for standard input"
    )
    text = f"{entry.summary}\n\nFILE is a table: {formats}. {reads}"
    return Command(
        entry.verb, params=params, callback=partial(run, entry), help=text, short_help=entry.summary, python=entry.name
    )


def run(
    entry: Entry, *, file: Path, columns: Any, drop: Any, label: str | None, to: Path | None, model: Path | None,
    force: bool, memory: Any, threads: Any, progress: Any, as_json: bool, prepare: str, impute: str | None,
    drop_missing: bool, covariance_of: int | None = None, **parameters: Any,
) -> None:  # fmt: skip
    """Fit, write, print."""
    from lowland.cli.shared import inputs, roles
    from lowland.cli.shared.outputs import check_outputs, coordinate_refusal, coordinates_of, write_table
    from lowland.cli.shared.summary import model_facts

    if covariance_of is not None and (to is not None or label is not None):
        flag = "--to" if to else "--label"
        text = f"--covariance-of: a covariance matrix has no rows, so {flag} cannot be used. Omit {flag}."
        raise click.UsageError(text, click.get_current_context())
    handled = impute is not None or drop_missing
    if covariance_of is not None and handled:
        text = "--covariance-of: FILE is a matrix of numbers. Omit --impute and --drop-missing."
        raise click.UsageError(text, click.get_current_context())
    check_outputs(to=to, model=model, force=force, read=(file,))
    est = _estimator(entry, parameters)
    if label is None and est.__sklearn_tags__().target_tags.required:
        text = f"{entry.verb} is a supervised method. Name the column of labels with --label COLUMN"
        other = ", or choose --statistic variance, which needs no labels" if "statistic" in parameters else ""
        raise click.UsageError(f"{text}{other}.", click.get_current_context())
    refused = None if to is None else coordinate_refusal(est)
    if refused:
        raise ParameterError(f"{refused} Or omit --to, and classify with lowland predict.")
    started = time.perf_counter()
    files: list[dict[str, Any]] = []
    with options.working(memory, threads, progress), with_command():
        row_names = inputs.row_name_column(est, file, columns, drop, square=covariance_of is not None)
        if row_names and handled:
            raise ParameterError(
                f"FILE is a matrix whose rows are named in column {row_names!r}, so its rows and values stay as they "
                "are. Omit --impute and --drop-missing."
            )
        drop = [*(drop or []), row_names] if row_names else drop
        found = open_prepared(
            file, columns, drop, label, prepare=prepare if covariance_of is None else "none", impute=impute,
            drop_missing=drop_missing, est=est,
        )  # fmt: skip
        rows, labels = found.rows, found.labels
        carried = roles.copied_columns(file, to, row_names, found.kept, label)
        if covariance_of is None:
            if not found.report:
                _report_columns(entry, est, rows)
            est.fit(rows, labels, **roles.sample_weights(est, file, found.kept))
        else:
            est.fit_covariance(rows, covariance_of)
        if label is not None:
            est.label_name_ = label  # so that transform can take the same file
        if to is not None:
            names = list(est.get_feature_names_out())
            files.append(write_table(coordinates_of(est, rows), to, names, carried))
        if model is not None:
            from lowland.methods.model_files import save

            save(joined(found.steps, entry.verb, est), model)
            files.append({"file": str(model)})
    n = None if covariance_of is not None else rows.n
    if n is None:  # the file was not counted before the fit
        placed = len(est.embedding_) if hasattr(est, "embedding_") else files[0].get("rows") if files else None
        n = getattr(est, "n_samples_", placed)
    interrupted = bool(getattr(est, "interrupted_", False))
    facts = {
        **model_facts(est),
        **found.facts,
        "data": {"file": str(file), "rows": None if n is None else int(n), "columns": rows.d, "label": label},
        "files": files,
        "seconds": round(time.perf_counter() - started, 6),
        **({"interrupted": True} if interrupted else {}),
    }
    print_summary(facts, as_json)
    if interrupted:  # Ctrl-C during a descent: the map so far was written
        click.get_current_context().exit(INTERRUPTED)


def _report_columns(entry: Entry, est: Any, rows: Any) -> None:
    """Warn about identifiers, codes and a column that dominates, unless FILE is a matrix of counts or distances."""
    from lowland.cli.shared.suspects import warn_of_columns
    from lowland.methods.base.traits import traits_of

    parameters = est.get_params(deep=False)
    if traits_of(est).reads != "numbers" or est._reads_text or reads_matrix(est):  # or a metric that scales the columns
        return
    scaled = entry.name in SCALE_FREE or bool(parameters.get("scale", False))
    remedy = "--scale" if "scale" in parameters else "a file with standardized columns"
    warn_of_columns(rows, scaled=scaled, scale=remedy)


def _estimator(entry: Entry, parameters: dict[str, Any]) -> Any:
    """Create the estimator; an invalid value is reported with the name of its flag."""
    from lowland.methods.base.params import parameters_of
    from lowland.methods.registry import load_method

    ctx = click.get_current_context()
    cls: Any = load_method(entry.name)
    given: dict[str, Any] = {}
    limits = {p.name: p for p in parameters_of(cls)}
    for option in ctx.command.params:
        name = option.name or ""
        if name not in parameters or ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        given[name] = parameters[name]
        if not limits[name].fits(given[name]):
            wanted = command_line_text(limits[name].wanted)
            raise click.BadParameter(f"{given[name]!r}. It must be {wanted}.", ctx, option)
    if "random_state" in limits:
        given.setdefault("random_state", DEFAULT_SEED)
    return cls(**given)


def print_summary(facts: dict[str, Any], as_json: bool) -> None:
    """Print the summary of a fit."""
    from lowland.cli.shared import show

    if as_json:
        show.print_json(facts)
        return
    data = facts["data"]
    lines = [("Data", f"{show.table_size(data['rows'], data['columns'])}, {data['file']}")]
    if data["label"] is not None:
        lines.append(("Label", data["label"]))
    lines += show.prepared_lines(facts)
    lines += [*show.model_lines(facts), ("Time", show.seconds(facts["seconds"]))]
    for written in facts["files"]:
        size = f", {show.table_size(written['rows'], written['columns'])}" if "rows" in written else ", the model"
        lines.append(("Written", f"{written['file']}{size}"))
    title, fractions = f"Fitted {facts['class']} to {Path(data['file']).name}", facts["explained_variance_ratio"]
    show.print_facts(title, lines, fractions, facts["explained_variance_ratio_of"])


fit = FitCommands(
    "fit",
    help="Fit a method to a file. Each method has its own options: lowland fit METHOD --help.",
    short_help="Fit a method to a file.",
    subcommand_metavar="METHOD FILE [OPTIONS]",
    options_metavar="",
    params=[options.debug_option()],
)
