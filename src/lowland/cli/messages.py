"""Messages of the library on the command line: one line, with flags in place of Python's parameters."""

from __future__ import annotations

import ast
import json
import re
import shlex
from typing import Any

import click

from lowland.cli.options import Command, flag_names, parameter_options
from lowland.cli.tables import name_list
from lowland.errors import MARKED, marked_text
from lowland.methods.registry import entries, match_method

_NAMES = {  # marks that are no parameters
    "X": "FILE",
    "Z": "COORDINATES",
    "y": "the label column",
    "sample_weight": "--weight",
    "None": "none",
    "True": "yes",
    "False": "no",
    "scale='standard'": "--prepare standardize",
    "float32": "single precision",
    "float64": "double precision",
    "transform": "lowland transform",
    "lowland.save": "lowland fit --model",
    "lowland.TablePreparer": "lowland fit --prepare auto",
    "lowland.quality.evaluate": "lowland evaluate",
}
_MARKED = re.compile(rf" \(`(?P<aside>[^`]*)`\)|{MARKED.pattern}")


def on_command_line(message: BaseException | str, command: click.Command) -> str:
    """Return a message with the flags of a command in place of its marks.

    Python in parentheses that has no flag is left out.
    """

    def shown(found: re.Match[str]) -> str:
        mark = found["mark"] or found["kept"] or found["aside"]
        if mark is None:  # a quoted name
            return found[0]
        words = in_flags(mark, command)
        if found["aside"]:
            return "" if words is None else f" ({words})"
        at_start = found.start() == 0 or found.string[: found.start()].endswith(". ")
        words = mark if words is None else words
        return words[0].upper() + words[1:] if at_start and words.startswith("the ") else words

    return _MARKED.sub(shown, marked_text(message))


def of_method(text: str, name: str) -> str:
    """Return a message about one of several methods, with the flags of its command; given coordinates have none."""
    entry = match_method(name)
    if entry is None:
        return on_command_line(text, click.Command(name))
    return on_command_line(text, Command(entry.verb, params=parameter_options(entry), python=entry.name))


def in_flags(mark: str, command: click.Command) -> str | None:
    """Return the flags for a mark, or None if there are none.

    A mark is the name of a parameter, ``name=value``, or a call such as ``PCA(n_components=2)``, which becomes
    ``lowland fit pca -k 2`` in the commands of other methods.
    """
    if mark in _NAMES:
        data = any(param.name == "data" for param in command.params)
        return "DATA" if mark == "X" and data else _NAMES[mark]
    try:
        call = ast.parse(mark if re.match(r"[\w.]+\(", mark) else f"_({mark})", mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(call, ast.Call):
        return None
    called = ast.unparse(call.func).removeprefix("lowland.")
    own = command.python if isinstance(command, Command) else None
    if called == "_" and call.args:
        return _flag(ast.unparse(call.args[0]), command)
    given = [(each.arg or "", _value(each.value)) for each in call.keywords]
    if called == "impute" and len(call.args) == 2:
        given = [("impute", _value(call.args[1]))]
    elif call.args and isinstance(call.args[0], ast.Constant):
        given = [("n_components", _value(call.args[0])), *given]
    if own == "load_dataset":
        return " ".join(f"--option {name}={json.dumps(value, default=str)}" for name, value in given)
    flags = [_flag(name, command, value) for name, value in given]
    if None in flags or not flags:
        return None
    verb = None if called == own else next((e.verb for e in entries().values() if e.name == called), None)
    return " ".join([*(["lowland fit", verb] if verb else []), *map(str, flags)])


def _flag(name: str, command: click.Command, *value: Any) -> str | None:
    """Return the flag for a parameter, with its value, if any; None if no command has it."""
    options = {param.name: param for param in command.params if isinstance(param, click.Option)}
    read = options.get(f"read_{name}")
    of_method = name in options or name in _parameters()
    option = read if read and (not of_method or (value and isinstance(value[0], list))) else options.get(name)
    if name == "y":
        flag, no = "--label", None
    elif option is not None:  # -k, or the flag with the name of the parameter
        own = f"--{(option.name or '').removeprefix('read_').replace('_', '-')}"
        flag = "-k" if "-k" in option.opts else own if own in option.opts else option.opts[-1]
        no = next(iter(option.secondary_opts), None)
    else:
        kinds = _parameters().get(name)
        if kinds is None and name not in ("impute", "memory"):
            return None
        flag, no = flag_names(name)[0], f"--no-{name.replace('_', '-')}" if kinds == ["bool"] else None
    if not value or value[0] is ...:
        return flag
    if no is not None and isinstance(value[0], bool):
        return flag if value[0] else no
    if isinstance(value[0], list | tuple):
        return f"{flag} {shlex.quote(name_list(list(map(str, value[0]))))}"
    return f"{flag} {_NAMES.get(str(value[0])) or shlex.quote(str(value[0]))}"


def _value(node: ast.expr) -> Any:
    """Return the value of an expression; numbers as they are written."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)
    return ast.unparse(node) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _parameters() -> dict[str, list[str]]:
    """The parameters of all methods, with the kinds of values that they take."""
    return {flag.name: flag.kinds for entry in entries().values() for flag in entry.flags}
