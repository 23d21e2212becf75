"""The options verbs share: which data, how to work, where the results go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from lowland.errors import ParameterError

DATA, WORK, OUTPUT, OTHER = "Data", "Work", "Results", "Other"


class Option(click.Option):
    """An option that stands in a section of the help."""

    def __init__(self, names: Sequence[str], *, section: str = OTHER, **settings: Any) -> None:
        super().__init__(list(names), **settings)
        self.section = section

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return how messages name the option: by its first two flags."""
        return " / ".join(self.opts[:2])


class Command(click.Command):
    """A command whose help groups its options by section.

    ``python`` names the class or function whose parameters its flags are: in_flags tells its messages in flags.
    """

    def __init__(self, *args: Any, python: str | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.python = python

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; -k is asked of a map of units too, which has a grid instead."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name == "-k" and any(param.name == "grid" for param in self.params):
                raise click.UsageError(f"{self.name} has no -k: give its rows and columns with --grid.", ctx) from error
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections in the order of their first options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", OTHER), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


class Verbs(click.Group):
    """A group that says what may have been meant by a name it does not have."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command that was named."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(self.missing(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def missing(self, ctx: click.Context, name: str, what: str = "command") -> str:
        """Return what to say of a name that is not there."""
        known = self.list_commands(ctx)
        close = alike(name.lower().replace("_", "-"), known)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Choose among: {', '.join(known)}."
        return f"There is no {what} {name!r}. {hint}"


def alike(word: str, known: Sequence[str]) -> list[str]:
    """Return the names a word may stand for: a part of a name, its short form (fa, ica, ipca), or nearly the name."""
    import difflib

    def short_forms(name: str) -> set[str]:
        parts = name.split("-")
        return {*parts, "".join(part[0] for part in parts), "".join(part[0] for part in parts[:-1]) + parts[-1]}

    found = [name for name in known if word in short_forms(name)]
    found = found or [name for name in known if len(word) > 2 and word in name]
    return found[:3] or difflib.get_close_matches(word, known, n=1)


class Names(click.ParamType):
    """Names with commas between them; one that holds a comma stands in double quotes."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the list of names."""
        if not isinstance(value, str):
            return value
        import csv

        names = [name.strip() for name in next(csv.reader([value], skipinitialspace=True), [])]
        if not names or not all(names):
            self.fail(f"{value!r} holds an empty name. Write names with commas between them: a,b,c.", param, ctx)
        return names


class MemorySize(click.ParamType):
    """An amount of memory."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number of bytes."""
        from lowland.run.memory import parse_bytes

        try:
            return parse_bytes(value)
        except ParameterError:
            self.fail(f"{value!r} is not an amount of memory. Write it as 1GB, 512MB or a number of bytes.", param, ctx)


def file_argument(name: str, metavar: str) -> click.Argument:
    """Return the argument that names a file to read; the library says what is wrong with it."""
    return click.Argument([name], metavar=metavar, type=click.Path(path_type=Path))


def joined(ctx: click.Context, param: click.Parameter, lists: Any) -> list[str] | None:
    """One list of the names of an option that may be given more than once."""
    return [name for names in lists for name in names] or None


def data_options(label: str | None = None) -> list[click.Parameter]:
    """Return the options that select columns; ``label`` is the sentence of --label, where it makes sense."""
    found: list[click.Parameter] = [
        Option([flag], section=DATA, type=Names(), metavar=names, help=text, multiple=True, callback=joined)
        for flag, names, text in (
            ("--columns", "a,b,c", 'Use only these columns, in this order; a name with a comma as "x, y".'),
            ("--drop", "a,b", 'Leave these columns out; a name with a comma as "x, y".'),
        )
    ]
    if label is not None:
        found.append(Option(["--label"], section=DATA, metavar="NAME", help=label))
    return found


def covariance_option() -> click.Option:
    """Return the option that says that a file is no table of rows."""
    text = "FILE is no table of rows but the covariance or correlation matrix of N of them."
    return Option(["--covariance-of"], section=DATA, type=click.IntRange(min=2), metavar="N", help=text)


def work_options() -> list[click.Parameter]:
    """Return the options that say how the work is done."""
    memory = "Working memory to stay within, such as 1GB. [default: half of the machine's]"
    threads = "Threads to use; the result is the same. [default: every core]"
    progress = "Show progress on stderr. [default: on a terminal]"
    return [
        Option(["--memory"], section=WORK, type=MemorySize(), metavar="SIZE", help=memory),
        Option(["--threads"], section=WORK, type=click.IntRange(min=1), metavar="N", help=threads),
        Option(["--progress/--no-progress"], section=WORK, default=None, help=progress),
    ]


def to_option(text: str, *, required: bool = False) -> click.Option:
    """Return the option that says where a table goes."""
    text = f"{text} The ending says how: .parquet, .csv, .csv.gz or .npy."
    return Option(
        ["--to"], section=OUTPUT, type=click.Path(path_type=Path), metavar="FILE", required=required, help=text
    )


def model_option() -> click.Option:
    """Return the option that says where a fitted model goes."""
    text = "Save the fitted model here, for lowland transform, inverse, predict and inspect."
    return Option(["--model"], section=OUTPUT, type=click.Path(path_type=Path), metavar="FILE", help=text)


def force_option() -> click.Option:
    """Return the option that allows to overwrite."""
    return Option(["--force"], section=OUTPUT, is_flag=True, help="Overwrite files that exist.")


def json_option() -> click.Option:
    """Return the option for machines."""
    return Option(["--json", "as_json"], section=OTHER, is_flag=True, help="Print one JSON object instead of text.")


def debug_option() -> click.Option:
    """Return the option for those who look for a fault; ``main`` reads it from the words of the call."""
    return Option(["--debug"], section=OTHER, is_flag=True, expose_value=False, help="Show the traceback of an error.")


def mapping_command(
    name: str, callback: Callable[..., Any], summary: str, about_file: str, *, to: str, label: str | None = None,
    more: Sequence[click.Parameter] = (),
) -> Command:  # fmt: skip
    """Return a command that takes a model and a file and writes another file: transform, inverse, predict."""
    return Command(
        name,
        callback=callback,
        params=[
            file_argument("model", "MODEL"),
            file_argument("file", "FILE"),
            *data_options(label),
            to_option(to, required=True),
            *more,
            force_option(),
            *work_options(),
            json_option(),
            debug_option(),
        ],
        help=f"{summary}\n\nMODEL is a file that lowland fit --model wrote. {about_file}",
        short_help=summary,
    )


def working(memory: int | None, threads: int | None, progress: bool | None) -> AbstractContextManager[Any]:
    """Put the options of the work into force for a ``with`` block."""
    from lowland.run.settings import config

    return config(memory=memory, threads=threads, progress="auto" if progress is None else progress)


def names_of_points(est: Any, file: Path, columns: Any, drop: Any, *, square: bool = False) -> str | None:
    """Return the first column of a file of distances, kernel values or affinities, if it holds text: names of points.

    ``square``: the file is such a matrix, whatever the method's metric, kernel or affinity.
    """
    said = (str(getattr(est, name, None)) for name in ("metric", "dissimilarity", "kernel", "affinity"))
    square = square or any(word.startswith("precomputed") for word in said)
    if not square or columns is not None or _is_nameless(file):
        return None
    from lowland.data.files import text_at_the_start

    name = text_at_the_start(file)
    return None if name in (drop or ()) else name


def open_file(file: Path, columns: list[str] | None, drop: list[str] | None, label: str | None = None) -> Any:
    """Open the rows of a file, without the columns that are dropped or serve as labels."""
    from lowland.data.open import open_rows

    if label is not None and _is_nameless(file):
        raise ParameterError(
            f"{str(file)!r} has no column names, so --label cannot be used with it. Write the labels as a column of a "
            ".csv or .parquet file."
        )
    left_out = [*(drop or []), *([label] if label is not None else [])]
    return open_rows(file, columns=columns, drop=left_out)


def open_for(est: Any, file: Path, columns: list[str] | None, drop: list[str] | None, label: str | None) -> Any:
    """Open the rows of a file for a model, which takes its columns by name where the file has them all.

    Otherwise the label it was fitted with is left out, and whoever compares the columns says what is missing.
    """
    if columns is None and not _is_nameless(file):
        from lowland.data.files import table_at

        names, fitted_label = table_at(file).names, getattr(est, "label_name_", None)
        fitted = [str(name) for name in getattr(est, "feature_names_in_", ())]
        if fitted and set(fitted) <= {*names} - {*(drop or []), label}:
            columns = fitted
        elif label is None and fitted_label in names:
            label = fitted_label
    return open_file(file, columns, drop, label)


def _is_nameless(file: Path) -> bool:
    return file.suffix.lower() in (".npy", ".npz")
