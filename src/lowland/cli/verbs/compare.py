"""``lowland compare FILE``: fit every method to one file, evaluate the embeddings and advise which to use."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import click

from lowland.cli import options, show, tables
from lowland.cli.messages import of_method, on_command_line
from lowland.cli.options import OUTPUT, Choice, Command, NamesOption, Option, given, section, value_of
from lowland.errors import FileProblem, ParameterError

# Repeated from study, whose import would load numpy for a line of help; a test compares the two.
PURPOSES = ("visualize", "compress", "classify")
LIMIT = 120.0
SHOWN = (
    "fidelity",
    "area under R_NX",
    "trustworthiness",
    "downstream accuracy",
    "linear accuracy",
    "downstream R²",
    "linear R²",
    "explained variance ratio",
)  # measures in the printed table
BRIEF = ("area under R_NX", "downstream accuracy", "downstream R²")  # without --verbose, besides the decisive one
BEST = 8  # trials that are printed without --verbose
TO_CLASSIFY = ("balanced accuracy", "AUC")  # also printed if the purpose is "classify"
INTERRUPTED = 130


def run(
    file: Path, methods: Any, k: int, purpose: Any, sweep: Any, limit: float, total_limit: float | None,
    embedding: Any, reliability: bool, cache: bool, random_state: int, to: Path | None, opened: bool,
    save: Path | None, force: bool,
) -> None:  # fmt: skip
    """Open, compare, write and print; after Ctrl-C the same with the completed trials."""
    from lowland.study.comparison import compare as study
    from lowland.study.plan import check_names
    from lowland.study.report import write_report

    _check_outputs(file, to, save, force, opened)
    swept = _sweep(sweep)
    check_names(methods or "all", swept)
    words = click.get_current_context().meta["lowland.words"]
    with tables.with_command():
        source = tables.Source.of(file)
        result = study(
            tables.noted(source.table()), None, methods or "all", k, purpose=purpose, sweep=swept,
            **tables.preparation(source), time_limit=limit,
            total_time_limit=total_limit, embeddings=_embeddings(embedding, source.table()), reliability=reliability,
            cache=cache,
            seed=random_state, command=shlex.join(["lowland", *words]),
        )  # fmt: skip
    written = []
    if save is not None:
        written.append(str(result.save(save)))
    if to is not None:
        write_report(result, to)
        written.append(str(to))
    show.report({**_facts(file, result), "files": written}, lambda facts: _print(facts, named=bool(methods)))
    if opened and to is not None:
        import webbrowser

        if not webbrowser.open(to.resolve().as_uri()):
            click.echo(f"lowland: No browser was found to open {show.printable(str(to))}. Open it yourself.", err=True)
    if not result.complete:
        if not given("output").get("json"):
            click.echo("lowland: Interrupted. The output above shows the trials completed so far.", err=True)
        raise click.exceptions.Exit(INTERRUPTED)


def _check_outputs(file: Path, to: Path | None, save: Path | None, force: bool, opened: bool) -> None:
    """Reject output paths that would fail only after the work."""
    if opened and to is None:
        raise ParameterError("--open needs a report to show. Write one: --to report.html.")
    if to is not None:
        from lowland.study.report import check_name

        check_name(to)
        tables.check_outputs(to=None, model=to, force=force, read=(file,))
    if save is not None:
        if save.exists() and not save.is_dir():
            raise FileProblem(f"{str(save)!r} is a file. Choose a folder for --save.")
        there = next(place for place in (save.absolute(), *save.absolute().parents) if place.exists())
        if not there.is_dir():
            raise FileProblem(
                f"{str(there)!r} is a file, so no folder can be created in it. Choose another folder for --save."
            )
        if not os.access(there, os.W_OK):
            raise FileProblem(f"{str(there)!r} is not writable. Choose another folder for --save.")
        if (save / "study.json").exists() and not force:
            raise FileProblem(
                f"{str(save)!r} already contains a study. Overwrite it with --force, or choose another folder."
            )


def _embeddings(texts: tuple[str, ...], data: Any) -> dict[str, Any] | None:
    """The coordinates of --embedding, by the name before "=" or the name of the file without its suffix."""
    found: dict[str, Any] = {}
    for text in texts:
        before, equals, after = text.partition("=")
        path = Path(text if Path(text).exists() or not equals else after)
        name = before if equals and str(path) == after else path.name.split(".")[0]
        if name in found:
            raise ParameterError(f"--embedding: two embeddings are named {name!r}. Name one: --embedding NAME={text}")
        found[name] = tables.open_coordinates(path, None, data)
    return found or None


def _sweep(texts: tuple[str, ...]) -> dict[str, list[Any]]:
    """The values of --sweep, converted to the types of the parameters."""
    from lowland.study.plan import find_parameter, split_sweep

    found: dict[str, list[Any]] = {}
    for text in texts:
        name, values = split_sweep(text)
        method, flag = find_parameter(name)
        try:
            found.setdefault(f"{method.verb}.{flag.name}", []).extend(value_of(flag, value) for value in values)
        except ParameterError as error:
            raise ParameterError(f"`sweep` {text!r}: {error.marked}") from error
    return found


def _facts(file: Path, result: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from lowland.plain import to_plain

    command = click.get_current_context().command
    trials = [
        {
            "name": t.name, "title": t.title, "method": t.method, "parameters": t.parameters, "status": t.status,
            "error": t.error and of_method(t.error, t.method),
            "seconds": t.seconds, "memory": t.memory, "cached": t.cached, "components": t.n_components,
            "scores": {name: {"value": s.value, "low": s.low, "high": s.high, "better": s.better}
                       for name, s in t.scores.items()},
            "warnings": [of_method(warning, t.method) for warning in t.warnings],
        }
        for t in result.trials
    ]  # fmt: skip
    facts = {
        "file": str(file), "rows": result.table.rows, "columns": result.table.columns,
        "encoded": result.table.preparation.n_encoded, "label": result.table.label_name,
        "prepared": result.table.preparation.report or None, "missing": result.table.preparation.missing,
        "k": result.k, "purpose": result.purpose, "trials": trials,
        "advice": [asdict(each) | {"evidence": [on_command_line(text, command) for text in each.evidence]}
                   for each in result.advice],
        "command": result.command, "seconds": result.seconds, "complete": result.complete,
    }  # fmt: skip
    return to_plain(facts)


def _print(facts: dict[str, Any], named: bool) -> None:
    """Print what matters first: the advice, the best trials, what the columns became; with --verbose everything.

    ``named``: whether the user named the methods, and so expects to hear of each.
    """
    verbose = bool(given("output").get("verbose"))
    size = show.table_size(facts["rows"], facts["columns"])
    statuses = Counter(trial["status"] for trial in facts["trials"])
    done = statuses.pop("done", 0)
    others = ", ".join(f"{count} {status}" for status, count in statuses.items())
    line = f"{done} trial{'s' * (done != 1)} on {facts['file']}, {size}{f' ({others})' if others else ''}"
    click.echo(show.printable(line))
    click.echo()
    _print_advice(facts["advice"], verbose)
    _print_trials(facts, verbose)
    _print_remarks(facts["trials"], every=verbose or named)
    click.echo()
    show.print_prepared(facts, every=verbose)
    click.echo(f"Time      {show.seconds(facts['seconds'])}")
    for written in facts["files"]:
        click.echo(f"Written   {show.printable(written)}")
    if not verbose:
        written = any(file.endswith(".html") for file in facts["files"])
        report = "The report" if written else "A report (--to report.html)"
        click.echo(f"\n--verbose prints all trials, scores and reasons. {report} shows them with the maps.")


def _print_advice(advice: list[dict[str, Any]], verbose: bool) -> None:
    """Print the advice for each purpose; below it the evidence, or only the remarks that hold for all purposes."""
    printed: set[str] = set()
    shared = [text for text in advice[0]["evidence"] if all(text in a["evidence"] for a in advice)] if advice else []
    for each in advice:
        click.echo(show.wrapped(each["text"]))
        for sentence in (text for text in each["evidence"] if verbose and text not in printed):
            printed.add(sentence)
            click.echo(show.wrapped(sentence, "  "))
        click.echo()
    if not verbose and len(advice) > 1 and shared:
        click.echo("\n".join([*(show.wrapped(text) for text in shared), ""]))


def _print_trials(facts: dict[str, Any], verbose: bool) -> None:
    """Print the best trials with their first scores, or all of them; the decisive measure comes first."""
    from lowland.study.definitions import IN_WORDS

    fullest = sorted((trial["scores"] for trial in facts["trials"]), key=len, reverse=True)
    wanted = SHOWN + TO_CLASSIFY * (facts["purpose"] == "classify")
    measured = [name for name in dict.fromkeys(name for scores in fullest for name in scores) if name in wanted]
    trials = [t for t in facts["trials"] if t["status"] == "done"]
    if measured:
        trials.sort(key=lambda t: -(_score(t, measured[0]) or -1.0))
    if not verbose:
        measured = [name for name in measured if name in (measured[0], *BRIEF)]
    lines = []
    for t in trials if verbose else trials[:BEST]:
        values = [_score(t, name) for name in measured]
        time = "" if t["seconds"] is None else show.seconds(t["seconds"]) + " (cached)" * t["cached"]
        memory = "" if t["memory"] is None else f"{t['memory'] / 2**20:.0f} MB"
        numbers = ["" if value is None else f"{value:.3f}" for value in values]
        cells = (t["title"], *numbers, time, *([memory] if verbose else []))
        lines.append(tuple(show.printable(cell) for cell in cells))
    heads = [name[:1].upper() + name[1:] for name in measured]
    show.print_columns(("Trial", *heads, "Time", *(["Memory"] if verbose else [])), lines)
    if len(lines) < len(trials):
        click.echo(f"and {len(trials) - len(lines)} more")
    words = [f"{head}: {IN_WORDS[name]}" for head, name in zip(heads, measured, strict=True) if name in IN_WORDS]
    if words:
        click.echo("\n" + "\n".join(words))


def _score(trial: dict[str, Any], name: str) -> float | None:
    return trial["scores"][name]["value"] if name in trial["scores"] else None


def _print_remarks(trials: list[dict[str, Any]], every: bool) -> None:
    """Print why trials failed; if ``every`` remark is wanted, also warnings and why methods were left out.

    Identical texts are printed once. The other remarks are counted.
    """
    remarks: dict[str, list[str]] = {}
    for trial in trials:
        for words in trial["warnings"] if every else ():
            remarks.setdefault(words.removeprefix(f"{trial['method']}: "), []).append(trial["title"])
        if trial["status"] != "done" and (every or trial["status"] != "left out"):
            reason = f"{trial['status']}. {trial['error'] or ''}".strip()
            remarks.setdefault(reason, []).append(trial["title"])
    warned = 0 if every else sum(bool(trial["warnings"]) for trial in trials)
    if remarks or warned:
        click.echo()
    for words, names in remarks.items():
        click.echo(show.printable(f"{', '.join(names)}: {words}"))
    if warned:
        click.echo(f"{warned} trial{'s' * (warned != 1)} gave warnings, which --verbose shows.")


compare = Command(
    "compare",
    python="compare",
    callback=run,
    params=[
        options.file_argument("file", "FILE"),
        *options.data_options("Column with class labels, or numbers to predict.", carried=True, weight=True),
        *options.PREPARE_OPTIONS,
        *section(
            "Study",
            NamesOption("--methods", "Methods to compare. [default: all that apply]", metavar="a,b,c"),
            Option("-k --components k", "Number of dimensions of the embeddings. [default: 2]", default=2,
                   type=click.IntRange(min=1), metavar="N"),
            Option("--purpose", "What the embedding is for: visualize, compress or classify. The advice for it comes "
                   "first. [default: visualize]", default="visualize", type=Choice(PURPOSES)),
            Option("--sweep", "Values to try for a parameter. May be repeated.", multiple=True,
                   metavar="METHOD.PARAMETER=A,B,…"),
            Option("--limit", "Time limit for one fit. [default: 120]", default=LIMIT, metavar="SECONDS",
                   type=click.FloatRange(min=0, min_open=True)),
            Option("--total-limit", "Time limit for the whole study. [default: none]", metavar="SECONDS",
                   type=click.FloatRange(min=0, min_open=True)),
            Option("--embedding", "Coordinates from elsewhere to compare with, such as umap.csv: one row per row of "
                   "FILE, in the same order. May be repeated.", multiple=True, metavar="[NAME=]FILE"),
            Option("--reliability", "Test which points of the leading maps are reliable: up to 30 more fits of each.",
                   is_flag=True),
            Option("--cache/--no-cache", "Read and store trials in the user's cache folder. [default: cache]",
                   default=True),
            options.seed_option("Seed of the random number generator. [default: 0]"),
        ),
        *section(
            OUTPUT,
            options.file_option("--to", "Write the report, one HTML file that opens offline."),
            Option("--open opened", "Open the report in the browser.", is_flag=True),
            options.file_option("--save", "Write the study as data: study.json and points.parquet.", metavar="FOLDER"),
            options.FORCE,
            Option("--verbose", "Print all trials and scores, the evidence for the advice, warnings, and why methods "
                   "were left out.", is_flag=True, kept="output"),
        ),
        *options.WORK_OPTIONS,
    ],
    help="Compare dimensionality reduction methods on a file: time, memory, quality, and advice on which to use."
    "\n\nFILE is a table. --prepare says how categories, dates and missing values become numbers. The table is held in "
    "memory. Ctrl-C stops the study and reports the completed trials.",
    short_help="Compare methods on a file, and advise which one to use.",
)  # fmt: skip
