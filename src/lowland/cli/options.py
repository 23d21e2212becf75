"""Commands and options: the flags of a method, made from the index of methods, and the options that commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from lowland.errors import ParameterError
from lowland.methods.registry import entries, match_method
from lowland.suggestions import did_you_mean, suggested

if TYPE_CHECKING:
    from lowland.methods.registry import Entry, Flag

DATA, READING, WORK, OUTPUT, OTHER = "Data", "Reading", "Computation", "Output", "Other"
OUTPUT_FORMATS = ("csv", "jsonl", "parquet", "npy")  # of standard output
PREPARE = ("auto", "standardize", "encode", "none")
IMPUTE = ("mean", "median", "knn", "em", "none")  # repeated from missing_values, whose import would load numpy
DEFAULT_SEED = 0  # a command gives the same result every time; in Python, random_state=None draws a seed
TAKEN = ("memory",)  # on the command line, --memory is the memory budget
# Repeated from math/spectra/component_rules, whose import would load numpy only for the help; a test compares both.
RULES = {
    "cumulative": "cumulative:FRACTION",
    "each-at-least": "each-at-least:FRACTION",
    "eigenvalue-above": "eigenvalue-above:VALUE",
    "kaiser": "kaiser",
    "parallel-analysis": "parallel-analysis",
    "knee": "knee",
}
PYTHON_ONLY = {"downstream": "it needs an estimator"}
_KINDS = {  # of values that a parameter takes: in the help, and in messages
    "rule": ("RULE", f"a rule ({', '.join(RULES.values())})"),
    "bool": ("yes|no", "'yes', 'no'"),
    "numbers": ("NUMBER,NUMBER,…", "numbers separated by commas"),
    "str": ("STRING", ""),
    "none": ("none", "'none'"),
}
_YES, _NO = ("true", "yes", "on"), ("false", "no", "off")
_SHORT = {"n_components": "--components", "n_features_to_select": "--features", "n_clusters": "--clusters"}
_IN_PYTHON = (  # phrases of parameter descriptions in Python, and on the command line
    (r", a splitter, or pairs of (?:training and test rows|row index arrays)", ""),
    (r"[,;]? or an (?:array, )?\(n, n_components\)(?: array)?(?:, wh[^.]*)?", ""),
    (r"[,;]? or an? (?:function|estimator|array)\b[^,.;]*|, a function(?:(?: of two points)?(?=,)| that[^,.;]*)", ""),
    (r", a RandomState, a Generator(?= or)", ""),
    (r"a rule such as \w+\(\)", "a rule"),
    (r"lowland\.config\((\w+)=[^)]*\)", r"--\1"),
    (r"\bNone\b", "'none'"),
    (r"\bX (holds|contains|is)\b", r"FILE \1"),
    (r"\bof y against X\b", "of the labels against the other columns"),
    (r"\bof y\b", "of the labels"),
    (r"\bnumeric y\b", "numeric label"),
    (r"`([a-z]\w*)`", lambda found: flag_names(found[1])[-1]),  # the name of another parameter, marked
    (r"\b([a-z]\w*)_(?!\w)", lambda found: found[1].replace("_", " ")),  # the name of a fitted attribute
    (r"\b([a-z]\w*)='([^']*)'", lambda found: f"{flag_names(found[1])[-1]} {found[2]}"),
    (r"\b[a-z]+(?:_[a-z]+)+\b(?!['(])", lambda found: flag_names(found[0])[-1]),  # the name of another parameter
)


# --- commands and options ---------------------------------------------------------------------------------------------


class Option(click.Option):
    """An option in a section of the help.

    ``kept`` names a group of options whose values are not arguments of the command: ``given`` returns them.
    """

    section = OTHER

    def __init__(self, flags: str, text: str, *, kept: str = "", **settings: Any) -> None:
        if kept:
            settings |= {"expose_value": False, "callback": self.keep}
        super().__init__(flags.split(), help=text, **settings)
        self.kept = kept

    def keep(self, ctx: click.Context, param: click.Parameter, value: Any) -> None:
        """Keep a value that the user gave."""
        if value not in (None, ()):
            ctx.meta.setdefault(f"lowland.{self.kept}", {})[str(self.name).removeprefix("read_")] = value

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name of the option in messages: its first two flags."""
        return " / ".join(self.opts[:2])


class NamesOption(Option):
    """An option that takes names separated by commas and may be repeated."""

    def __init__(self, flags: str, text: str, *, metavar: str = "a,b", kept: str = "") -> None:
        super().__init__(flags, text, kept=kept, metavar=metavar, type=Names(), multiple=True)

    def type_cast_value(self, ctx: click.Context, value: Any) -> list[str]:
        """Return all names in one list."""
        return [name for names in super().type_cast_value(ctx, value) for name in names]


def given(group: str) -> dict[str, Any]:
    """Return the kept options of a group that the user gave."""
    ctx = click.get_current_context(silent=True)
    return {} if ctx is None else ctx.meta.get(f"lowland.{group}", {})


def section(name: str, *options: Option) -> list[click.Parameter]:
    """Return the options, put into a section of the help."""
    for option in options:
        option.section = name
    return list(options)


class Command(click.Command):
    """A command whose help groups its options by section, with the settings of memory, threads and progress.

    ``python`` names the class or function whose parameters are its flags: messages then name the flags.
    """

    def __init__(
        self, name: str, params: Sequence[click.Parameter] = (), *, python: str | None = None, prints_json: bool = True,
        **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(name, params=[*params, *([JSON] if prints_json else []), DEBUG], **settings)
        self.python = python

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a self-organizing map has --grid instead of -k."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if error.option_name == "-k" and any(param.name == "grid" for param in self.params):
                text = f"{self.name} has no -k. Set the number of rows and columns of the map with --grid."
                raise click.UsageError(text, ctx) from error
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        if not given("work"):
            return super().invoke(ctx)
        from lowland.run.settings import config

        with config(**given("work")):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the help in sections, in the order of their first options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = None if isinstance(param, click.Argument) else param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(param, "section", OTHER), []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


class CommandGroup(click.Group):
    """A group that suggests similar names for an unknown command."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command by name."""
        command = self.get_command(ctx, args[0])
        if command is not None:
            return args[0], command, args[1:]
        if not args[0].startswith("-"):
            raise click.UsageError(self.missing(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def missing(self, ctx: click.Context, name: str, what: str = "command") -> str:
        """Return the message for an unknown name."""
        known = self.list_commands(ctx)
        close = suggested(name, known)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Choose one of: {', '.join(known)}."
        return f"There is no {what} {name!r}. {hint}"


class MethodCommands(CommandGroup):
    """One command per method in the index, built on demand by ``command_of``."""

    def __init__(self, name: str, command_of: Callable[[Entry], click.Command], **rest: Any) -> None:
        super().__init__(name, **rest)
        self.command_of = command_of

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the methods."""
        return sorted(entry.verb for entry in entries().values())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a method, by its name or its class name, with or without dashes."""
        entry = match_method(cmd_name)
        return None if entry is None else self.command_of(entry)

    def missing(self, ctx: click.Context, name: str, what: str = "method") -> str:
        """Return the message for an unknown method, or for a file name in place of the method."""
        if Path(name).suffix or Path(name).exists():
            return f"{name!r} is not a method. Write the method before the file: lowland {self.name} pca {name}"
        return super().missing(ctx, name, what)


# --- types of values --------------------------------------------------------------------------------------------------


class Choice(click.Choice[str]):
    """A choice that suggests a similar one for a misspelled value."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Return the message for an unknown value."""
        message = super().get_invalid_choice_message(value, ctx)
        return f"{message} {did_you_mean(value, map(str, self.choices))}".rstrip()


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


class ParameterValue(click.ParamType):
    """The type of an option whose parameter takes values of several types."""

    name = "value"

    def __init__(self, flag: Flag) -> None:
        self.flag = flag

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value of a string, or fail with the allowed values."""
        try:
            return value_of(self.flag, value) if isinstance(value, str) else value
        except ParameterError as error:
            self.fail(str(error), param, ctx)


def value_of(flag: Flag, text: str) -> Any:
    """Return the value of a string; tried in order: a choice, none, yes or no, numbers, a rule, a string."""
    word = text.strip().lower()
    for choice in flag.choices or []:
        if word == choice.lower():
            return choice
    if "none" in flag.kinds and word == "none":
        return None
    if "bool" in flag.kinds and word in (*_YES, *_NO):
        return word in _YES
    number = _number(word)
    if isinstance(number, int) and "int" in flag.kinds:
        if number == 0 and flag.name == "n_components":  # in Python, PCA(0) is a model without components
            raise ParameterError("0 components leave no columns. Choose at least 1.")
        return number
    if number is not None and "float" in flag.kinds and ("rule" not in flag.kinds or 0 < number < 1):
        return float(number)
    if "numbers" in flag.kinds:
        several = [_number(part.strip()) for part in word.split(",")]
        if None not in several:
            return several
    rule = _rule(word) if "rule" in flag.kinds else None
    if rule is not None:
        return rule
    if "str" in flag.kinds:
        return text
    if not flag.kinds and not flag.choices:  # of a type that is not in the index: numbers as numbers
        return text if number is None else number
    is_fraction = "rule" in flag.kinds and number is not None and 0 < number < 1
    hint = f"For a fraction of the variance, write cumulative:{word}." if is_fraction else ""
    meant = did_you_mean(word, [*(flag.choices or []), *(RULES if "rule" in flag.kinds else [])])
    raise ParameterError(f"{text!r} is not {allowed_values(flag)}. {meant}{hint}".rstrip())


def _number(word: str) -> int | float | None:
    if re.fullmatch(r"[+-]?\d+", word):
        return int(word)
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) and "_" not in word else None


def _rule(word: str) -> Any:
    """Return the rule for ``kaiser`` or ``cumulative:0.9``; None if there is no such rule."""
    name, _, rest = word.replace("_", "-").removesuffix("()").partition(":")
    if name in PYTHON_ONLY:
        raise ParameterError(
            f"the rule {name!r} is available only in Python: {PYTHON_ONLY[name]}. Choose another rule."
        )
    if name not in RULES:
        return None
    from lowland.math.spectra.component_rules import RULES as CLASSES

    values = [_number(part.strip()) for part in rest.split(",")] if rest else []
    if None in values or (":" in RULES[name] and not values):
        raise ParameterError(f"{word!r} is not a rule. Write {RULES[name]} with a number.")
    try:
        return next(cls for key, cls in CLASSES.items() if dashed(key) == name)(*values)
    except ParameterError:
        raise
    except TypeError as error:
        raise ParameterError(f"{word!r} is not a rule. Write {RULES[name]}.") from error


def dashed(name: str) -> str:
    """Return a class name as it is written on the command line: ``each-at-least`` for EachAtLeast."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def allowed_values(flag: Flag) -> str:
    """Return the allowed values of a flag in words."""
    number = ["a number"] if "float" in flag.kinds else ["an integer"] if "int" in flag.kinds else []
    if {"rule", "float"} <= set(flag.kinds):
        number = ["an integer, a fraction between 0 and 1"]
    words = [words for kind, (_, words) in _KINDS.items() if words and kind in flag.kinds]
    found = [*number, *(f"'{choice}'" for choice in flag.choices or []), *words]
    return " or ".join([", ".join(found[:-1]), found[-1]] if len(found) > 1 else found)


# --- the parameters of a method ---------------------------------------------------------------------------------------


def parameter_options(entry: Entry) -> list[click.Parameter]:
    """Return the options for the parameters of a method, in a section of the help."""
    return section(f"Parameters of {entry.name}", *(option_of(flag) for flag in entry.flags if is_settable(flag)))


def estimator_of(entry: Entry, parameters: dict[str, Any]) -> Any:
    """Create the estimator; an invalid value is reported with the name of its flag."""
    from lowland.methods.base.params import parameters_of
    from lowland.methods.registry import load_method

    ctx = click.get_current_context()
    cls: Any = load_method(entry.name)
    asked: dict[str, Any] = {}
    limits = {p.name: p for p in parameters_of(cls)}
    for option in ctx.command.params:
        name = option.name or ""
        if name not in parameters or ctx.get_parameter_source(name) is ParameterSource.DEFAULT:
            continue
        asked[name] = parameters[name]
        if not limits[name].fits(asked[name]):
            wanted = command_line_text(limits[name].wanted)
            raise click.BadParameter(f"{asked[name]!r}. It must be {wanted}.", ctx, option)
    if "random_state" in limits:
        asked.setdefault("random_state", DEFAULT_SEED)
    return cls(**asked)


def option_of(flag: Flag) -> Option:
    """Return the option for a parameter. The default is only shown; the method sets it."""
    names, doc = flag_names(flag.name), command_line_text(flag.doc)
    if "rule" in flag.kinds:
        doc = f"{doc} Rules: {', '.join(RULES.values())}."
    if flag.kinds == ["bool"] and not flag.choices:
        on, off = names[-1], f"--no-{names[-1][2:]}"
        doc = re.sub(r"\bFalse\b", off, re.sub(r"\bTrue\b", on, doc))
        text = f"{doc} [default: {(on if flag.default else off)[2:]}]"
        return Option(f"{on}/{off} {flag.name}", text, default=None, hidden=has_no_effect(flag))
    if "bool" in flag.kinds:
        doc = re.sub(r"\bFalse\b", "no", re.sub(r"\bTrue\b", "yes", doc))
    kind: Any = ParameterValue(flag)
    if flag.choices and not flag.kinds:
        kind = Choice(flag.choices, case_sensitive=False)
    default = DEFAULT_SEED if flag.name == "random_state" else flag.default
    number = ["NUMBER"] if "float" in flag.kinds else ["INTEGER"] if "int" in flag.kinds else []
    values = [*number, *(flag.choices or []), *(words for name, (words, _) in _KINDS.items() if name in flag.kinds)]
    return Option(
        " ".join([*names, flag.name]), f"{doc} [default: {default_text(default)}]", type=kind, default=None,
        metavar="|".join(values) or "VALUE", hidden=has_no_effect(flag),
    )  # fmt: skip


def command_line_text(doc: str) -> str:
    """Return the description of a parameter for the command line, without values that only Python can express."""
    for python, here in _IN_PYTHON:
        doc = re.sub(python, here, doc)
    return doc


def is_settable(flag: Flag) -> bool:
    """Whether a parameter can be set on the command line.

    A parameter that takes only Python objects has no flag, nor has one whose flag means something else here, or one
    that is deprecated.
    """
    if flag.name in TAKEN or flag.default == "deprecated":
        return False
    if isinstance(flag.default, list | tuple) and not flag.kinds:  # arrays
        return False
    return flag.kinds != ["none"] or bool(flag.choices)


def has_no_effect(flag: Flag) -> bool:
    """Whether a parameter is accepted only for compatibility with another library; the help does not list it."""
    return flag.doc.startswith("Accepted for ")


def flag_names(parameter: str) -> list[str]:
    """Return the flags for a parameter; the last one has its full name."""
    if parameter == "missing":  # --missing names the marks of missing values in a file
        return ["--missing-values"]
    own = f"--{parameter.replace('_', '-')}"
    return ["-k", _SHORT[parameter], own] if parameter in _SHORT else [own]


def default_text(value: Any) -> str:
    """Return a value as it would be written on the command line."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(map(default_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


# --- options that commands share --------------------------------------------------------------------------------------

DEBUG = Option("--debug", "Show the traceback of an error.", is_flag=True, expose_value=False)  # ``main`` reads it
JSON = Option("--json", "Print one JSON object instead of text.", is_flag=True, kept="output")
FORCE = Option("--force", "Overwrite existing files.", is_flag=True)


def file_argument(name: str, metavar: str, *, required: bool = True) -> click.Argument:
    """Return the argument for a file to read; the library reports problems with it."""
    return click.Argument([name], metavar=metavar, type=click.Path(path_type=Path), required=required)


def file_option(flag: str, text: str, *, metavar: str = "FILE", required: bool = False) -> Option:
    """Return an option for a file or folder."""
    return Option(flag, text, type=click.Path(path_type=Path), metavar=metavar, required=required)


def _read_option(name: str, metavar: str, text: str, kind: Any = None) -> Option:
    # a method may have a parameter of the same name
    return Option(f"--{name} read_{name}", text, metavar=metavar, type=kind, kept="read")


READ_OPTIONS = section(
    READING,
    _read_option("separator", "CHAR", "Separator of the cells of a text file, such as ';' or tab. [default: detected]",
                 lambda text: {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)),
    _read_option("decimal", "CHAR", "Decimal mark, . or , [default: detected]"),
    _read_option("thousands", "CHAR", "Separator of thousands. [default: detected]"),
    _read_option("encoding", "NAME", "Encoding of a text file, such as cp1252. [default: detected]"),
    Option("--header/--no-header read_header",
           "Whether the first row contains column names. [default: unless it contains only numbers]", default=None,
           kept="read"),
    _read_option("missing", "a,b",
                 'Marks of missing values, such as "?,-". NA, NaN, null and empty cells are always missing.',
                 lambda text: tuple(mark.strip() for mark in text.split(","))),
    _read_option("array", "NAME", "Array of a .npz file, or X, a layer or obsm of a .h5ad file. [default: X]"),
    _read_option("sheet", "NAME", "Sheet of a spreadsheet. [default: the first]"),
)  # fmt: skip
PREPARE_OPTIONS = section(
    DATA,
    Option("--prepare", "auto: encode categories and dates as numbers, leave out columns that are not features "
           "(identifiers, years, codes, free text, copies of the labels), standardize the numbers if their units "
           "differ, and weight counts by TF-IDF. What was done is printed. standardize: always standardize. encode: "
           "only encode. none: use the columns as they are. [default: auto]", type=Choice(PREPARE), kept="prepare"),
    NamesOption("--use", "Use these columns although they do not look like features.", metavar="a,b", kept="prepare"),
    Option("--impute", "Replace missing values: mean or median of the column, knn (nearest rows), em (probabilistic "
           "PCA), or none: missing values are an error. [default: median, unless the method handles them]",
           type=Choice(IMPUTE), kept="prepare"),
    Option("--drop-missing", "Drop the rows that have missing values.", is_flag=True, kept="prepare"),
)  # fmt: skip
WORK_OPTIONS = section(
    WORK,
    Option("--memory", "Memory budget, such as 1GB. [default: half of the machine's memory]", type=MemorySize(),
           metavar="SIZE", kept="work"),
    Option("--threads", "Number of threads, which does not change the result. [default: all cores]",
           type=click.IntRange(min=1), metavar="N", kept="work"),
    Option("--progress/--no-progress", "Show progress on stderr. [default: only on a terminal]", default=None,
           kept="work"),
)  # fmt: skip


def data_options(label: str | None = None, *, carried: bool = False, weight: bool = False) -> list[click.Parameter]:
    """Return the options that select columns; ``label`` is the help text of --label, if there is one.

    ``carried`` adds the columns that are copied to the output, ``weight`` that of sample weights.
    """
    quote = 'Quote a name that contains a comma: "x, y".'
    found: list[Option] = [
        NamesOption("--columns", f"Use only these columns, in this order. {quote}", metavar="a,b,c", kept="data"),
        NamesOption("--drop", f"Exclude these columns. {quote}", kept="data"),
    ]
    if label is not None:
        found.append(Option("--label", label, metavar="NAME", kept="data"))
    if carried:
        ids = "Column of row ids: not a feature, copied to the output. [default: an unnamed first column, or an index]"
        kept = "Columns that are not features, copied to the output."
        found.append(Option("--id", ids, metavar="NAME", kept="roles"))
        found.append(Option("--keep", kept, type=Names(), metavar="a,b", kept="roles"))
    if weight:
        found.append(Option("--weight", "Column of sample weights, not a feature.", metavar="NAME", kept="roles"))
    return [*section(DATA, *found), *READ_OPTIONS]


def seed_option(text: str = "Random seed. [default: 0]") -> Option:
    """Return the option for the random seed."""
    return Option("--random-state --seed random_state", text, default=0, type=click.IntRange(min=0), metavar="N")


def output_options(
    to: str, *, required: bool = False, model: bool = False, more: Iterable[Option] = ()
) -> list[click.Parameter]:
    """Return the options for output files; ``to`` is the help text of --to, ``model`` adds --model."""
    formats = "Format by extension: .parquet, .csv, .csv.gz, .jsonl or .npy (fit and transform of .h5ad: also .h5ad)."
    formats += " - is standard output."
    shown = "Format of standard output: csv, jsonl, parquet or npy. [default: csv]"
    found = [
        file_option("--to", f"{to} {formats}", required=required),
        Option("--format", shown, type=Choice(OUTPUT_FORMATS), kept="output"),
    ]
    if model:
        text = "Save the fitted model to this file, for lowland transform, inverse, predict and inspect."
        found.append(file_option("--model", text))
    return section(OUTPUT, *found, *more, FORCE)
