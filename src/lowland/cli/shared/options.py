"""The options that commands share: data, computation, output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from lowland.cli.shared.values import Choice
from lowland.errors import ParameterError

OUTPUT_FORMATS = ("csv", "jsonl", "parquet", "npy")  # of standard output
DATA, READING, WORK, OUTPUT, OTHER = "Data", "Reading", "Computation", "Output", "Other"


class Option(click.Option):
    """An option in a section of the help, set by ``in_section``."""

    section = OTHER

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name of the option in messages: its first two flags."""
        return " / ".join(self.opts[:2])


def in_section(section: str, options: Iterable[Option]) -> list[click.Parameter]:
    """Return the options, put into a section of the help."""
    found: list[click.Parameter] = []
    for option in options:
        option.section = section
        found.append(option)
    return found


class Names(click.ParamType):
    """Names separated by commas; a name that contains a comma is quoted with double quotes."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the list of names."""
        if not isinstance(value, str):
            return value
        import csv

        names = [name.strip() for name in next(csv.reader([value], skipinitialspace=True), [])]
        if not names or not all(names):
            self.fail(f"{value!r} contains an empty name. Separate names by commas: a,b,c.", param, ctx)
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
            self.fail(f"{value!r} is not an amount of memory. Write 1GB, 512MB or a number of bytes.", param, ctx)


def file_argument(name: str, metavar: str) -> click.Argument:
    """Return the argument for a file to read; the library reports problems with it."""
    return click.Argument([name], metavar=metavar, type=click.Path(path_type=Path))


def names_option(flag: str, metavar: str, text: str) -> Option:
    """Return an option that takes names and may be repeated."""
    return Option([flag], type=Names(), metavar=metavar, help=text, multiple=True, callback=_flattened)


def _flattened(ctx: click.Context, param: click.Parameter, lists: Any) -> list[str] | None:
    return [name for names in lists for name in names] or None


def file_option(flag: str, text: str, *, metavar: str = "FILE", required: bool = False) -> Option:
    """Return an option for a file or folder."""
    return Option([flag], type=click.Path(path_type=Path), metavar=metavar, required=required, help=text)


def data_options(label: str | None = None, *, carried: bool = False, weight: bool = False) -> list[click.Parameter]:
    """Return the options that select columns; ``label`` is the help text of --label, if there is one.

    ``carried`` adds the columns that are copied to the output, ``weight`` that of sample weights.
    """
    found = [
        names_option(
            "--columns", "a,b,c", 'Use only these columns, in this order. Quote a name that contains a comma: "x, y".'
        ),
        names_option("--drop", "a,b", 'Exclude these columns. Quote a name that contains a comma: "x, y".'),
    ]
    if label is not None:
        found.append(Option(["--label"], metavar="NAME", help=label))
    if carried:
        ids = "Column of row ids: not a feature, copied to the output. [default: an unnamed first column, or an index]"
        found.append(Option(["--id"], metavar="NAME", help=ids, expose_value=False, callback=_collect_role))
        kept = "Columns that are not features, copied to the output."
        found.append(Option(["--keep"], type=Names(), metavar="a,b", help=kept, expose_value=False,
                            callback=_collect_role))  # fmt: skip
    if weight:
        text = "Column of sample weights, not a feature."
        found.append(Option(["--weight"], metavar="NAME", help=text, expose_value=False, callback=_collect_role))
    return [*in_section(DATA, found), *read_options()]


def _collect_role(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep the role of a column for ``inputs.roles``."""
    if value is not None:
        ctx.meta.setdefault("lowland.roles", {})[param.name] = value


def read_options() -> list[click.Parameter]:
    """Return the options of reading a file; ``inputs.read_options`` collects them."""
    texts = {
        "separator": ("CHAR", "Separator of the cells of a text file, such as ';' or tab. [default: detected]"),
        "decimal": ("CHAR", "Decimal mark, . or , [default: detected]"),
        "thousands": ("CHAR", "Separator of thousands. [default: detected]"),
        "encoding": ("NAME", "Encoding of a text file, such as cp1252. [default: detected]"),
        "missing": ("a,b", 'Marks of missing values, such as "?,-". NA, NaN, null and empty cells are always missing.'),
        "array": ("NAME", "Array of a .npz file; X, a layer or obsm of a .h5ad file. [default: X]"),
        "sheet": ("NAME", "Sheet of a spreadsheet. [default: the first]"),
    }
    found = [
        Option([f"--{name}", f"read_{name}"], metavar=metavar, help=text, expose_value=False, callback=_collect)
        for name, (metavar, text) in texts.items()
    ]
    header = "Whether the first row contains column names. [default: unless it contains only numbers]"
    found.insert(
        4,
        Option(
            ["--header/--no-header", "read_header"], default=None, help=header, expose_value=False, callback=_collect
        ),
    )
    return in_section(READING, found)


def _collect(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep an option of reading for ``inputs.read_options``."""
    if value is None:
        return
    name = str(param.name).removeprefix("read_")  # a method may have a parameter of the same name
    if name == "separator":
        value = {"tab": "\t", "\\t": "\t", "space": " "}.get(value, value)
    if name == "missing":
        value = tuple(mark.strip() for mark in value.split(","))
    ctx.meta.setdefault("lowland.read", {})[name] = value


def _collect_format(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep the format of standard output for ``outputs.output_format``."""
    if value is not None:
        ctx.meta["lowland.format"] = value


def covariance_option() -> list[click.Parameter]:
    """Return the option for a file that contains a covariance matrix instead of rows."""
    text = "FILE is the covariance or correlation matrix of N rows, not a table of rows."
    return in_section(DATA, [Option(["--covariance-of"], type=click.IntRange(min=2), metavar="N", help=text)])


def work_options() -> list[click.Parameter]:
    """Return the options for memory, threads and progress."""
    memory = "Memory budget, such as 1GB. [default: half of the machine's memory]"
    threads = "Number of threads; does not change the result. [default: all cores]"
    progress = "Show progress on stderr. [default: only on a terminal]"
    return in_section(
        WORK,
        [
            Option(["--memory"], type=MemorySize(), metavar="SIZE", help=memory),
            Option(["--threads"], type=click.IntRange(min=1), metavar="N", help=threads),
            Option(["--progress/--no-progress"], default=None, help=progress),
        ],
    )


def output_options(
    to: str, *, required: bool = False, model: bool = False, more: Sequence[Option] = ()
) -> list[click.Parameter]:
    """Return the options for output files; ``to`` is the help text of --to, ``model`` adds --model."""
    found = [
        file_option(
            "--to",
            f"{to} Format by extension: .parquet, .csv, .csv.gz, .jsonl or .npy; - is standard output.",
            required=required,
        ),
        Option(["--format"], type=Choice(OUTPUT_FORMATS), expose_value=False, callback=_collect_format,
               help="Format of standard output: csv, jsonl, parquet or npy. [default: csv]"),
    ]  # fmt: skip
    if model:
        text = "Save the fitted model to this file, for lowland transform, inverse, predict and inspect."
        found.append(file_option("--model", text))
    return in_section(OUTPUT, [*found, *more, force_option()])


def force_option() -> Option:
    """Return the option to overwrite files."""
    return Option(["--force"], is_flag=True, help="Overwrite existing files.")


def json_option() -> Option:
    """Return the option for JSON output."""
    return Option(["--json", "as_json"], is_flag=True, help="Print one JSON object instead of text.")


def debug_option() -> Option:
    """Return the option for tracebacks; ``main`` reads it from the arguments."""
    return Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")


def working(memory: int | None, threads: int | None, progress: bool | None) -> AbstractContextManager[Any]:
    """Apply the options for memory, threads and progress in a ``with`` block."""
    from lowland.run.settings import config

    return config(memory=memory, threads=threads, progress="auto" if progress is None else progress)
