"""Messages of the library on the command line: one line, with flags and files in place of Python."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable

import click

from lowland.cli.shared.commands import Command
from lowland.cli.shared.phrases import PHRASES, WORDS
from lowland.cli.shared.show import printable

_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_VALUE = rf"(?:{_QUOTED}(?:(?:, | or ){_QUOTED})*|\[[^]]*\]|(?:[-+\w]|\.(?=\w))+)"
_PAIR = rf"\w+={_VALUE}"
# parameters without an underscore that are never ordinary words
_ALWAYS = ("alpha", "alphas", "coef0", "cv", "eps", "epsilon", "gamma", "tol")
# the others are parameters, not ordinary words, without an article: after one of these, or at the start of a message
_BEFORE = (
    r"(?<!\w)(?:[Rr]aise|[Ll]ower|[Ii]ncrease|[Dd]ecrease|[Rr]educe|[Ss]et|[Cc]hange|support|--?[a-z-]+ (?:or|and)) "
)


def on_command_line(text: str, command: click.Command) -> str:
    """Return a message of the library in the words of the command line: flags, files and columns."""
    text = in_flags(text, command)
    for python, here in PHRASES:
        text = re.sub(python, here, text)
    data = {param.name: "DATA" for param in command.params}.get("data", "FILE")
    return _outside_quotes(text, lambda part: _words(part).replace("FILE", data))


def of_method(text: str, name: str) -> str:
    """Return a message about one of several methods, with the flags of its command; given coordinates have none."""
    from lowland.cli.shared.flags import parameter_options
    from lowland.methods.registry import match_method

    entry = match_method(name)
    if entry is None:
        return on_command_line(text, click.Command(name))
    return on_command_line(text, Command(entry.verb, params=parameter_options(entry), python=entry.name))


def in_flags(text: str, command: click.Command) -> str:
    """Return a message with the parameters of Python replaced by the flags of a command.

    ``Isomap(radius=0.1, n_neighbors=None)`` becomes ``--radius 0.1 --n-neighbors none``, and ``n_neighbors`` becomes
    ``--n-neighbors``. A name that may be an ordinary word is replaced where it stands without an article: ``Raise
    radius``, but not ``the radius``. Another method becomes its command: ``PCA(2)`` is ``lowland fit pca -k 2``.
    """
    options = {p.name: p for p in command.params if isinstance(p, click.Option) and p.name}
    reading = {name.removeprefix("read_"): p for name, p in options.items() if name.startswith("read_")}
    options = {**reading, **options}
    own = command.python if isinstance(command, Command) else None

    def flag(name: str) -> str:
        return flag_of(options[name]) if name in options else f"--{name.replace('_', '-')}"

    def given(found: re.Match[str]) -> str:
        name, value = found[0].split("=", 1)
        if name not in options and name not in _parameters():
            return found[0]
        if value.startswith("["):
            return f"{flag_of(reading[name]) if name in reading else flag(name)} {_names(value)}"
        value = value.replace("'", "").replace('"', "")
        if name == "missing" and own not in _verbs():  # of a method; --missing are the marks in a file
            return f"lowland fit --missing-values {value}"
        no = options[name].secondary_opts if name in options else [f"--no-{name.replace('_', '-')}"]
        if no and value in ("True", "False"):
            return flag(name) if value == "True" else no[-1]
        return f"{flag(name)} {'none' if value == 'None' else value}"

    def call(found: re.Match[str]) -> str:
        name, arguments = found[1], found[2]
        method = _verbs().get(name)
        if own == "load_dataset":  # a data set and its options
            return (
                found[0]
                if name == own
                else f"--option {arguments.replace(chr(39), '').replace('True', 'true').replace('None', 'null')}"
            )
        if name != own and method is None:
            return found[0]
        if re.fullmatch(r"\d+", arguments):
            arguments = f"n_components={arguments}"
        flags = " ".join(re.sub(_PAIR, given, arguments).split(", "))
        flags = re.sub(r"--n-components\b", "-k", flags)
        ours = name == own or all(pair.split("=")[0] in options for pair in arguments.split(", "))
        return flags if ours and (name == own or own not in _verbs()) else f"lowland fit {method} {flags}"

    if own is not None and own not in _verbs():
        text = re.sub(rf"^{own}: ", "", text)  # the function that the command calls
    text = re.sub(rf"\b(\w+)\(({_PAIR}(?:, {_PAIR})*|\d+)\)", call, text)
    text = re.sub(rf"(?<![\w(.]){_PAIR}", given, text)
    known = options.keys() if own in _verbs() else {*options, *_parameters()}
    always = [name for name in known if "_" in name or name in _ALWAYS]
    others = [name for name in options if name not in always and len(name) > 1]
    if always:
        text = re.sub(rf"(?<![\w'\"./-])({'|'.join(always)})(?![\w(='\"/])", lambda found: flag(found[1]), text)
    if others and own in _verbs():
        names = "|".join(others)
        text = re.sub(rf"({_BEFORE})({names})(?![-\w='])", lambda found: found[1] + flag(found[2]), text)
        text = re.sub(rf"({_BEFORE})({names})(?![-\w='])", lambda found: found[1] + flag(found[2]), text)
        text = re.sub(rf"^({names})(?= (?:has|must|contains|is) )", lambda found: flag(found[1]), text)
    return text


def flag_of(option: click.Option) -> str:
    """Return the flag that messages show: -k, or the one with the name of the parameter."""
    if "-k" in option.opts:
        return "-k"
    own = f"--{(option.name or '').removeprefix('read_').replace('_', '-')}"
    return own if own in option.opts else option.opts[-1]


def one_line(text: str) -> str:
    """Return a message as one line."""
    text = re.sub(r":\n- (.*(?:\n- .*)*)\n", lambda found: f": {found[1].replace(chr(10) + '- ', ', ')}. ", text)
    return printable(re.sub(r" (?=[.,;:](?: |$))", "", " ".join(text.split())))


def _names(text: str) -> str:
    """Return a list of Python as names for the shell: ['x y', 'z'] becomes 'x y,z' in quotation marks."""
    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # a list with an ellipsis or names
        return text.strip("[]").replace("'", "").replace('"', "").replace(", ", ",")
    names = [f'"{value}"' if "," in str(value) else str(value) for value in values]
    return shlex.quote(",".join(names))


def _words(text: str) -> str:
    for python, here in WORDS:
        text = re.sub(python, here, text)
    return text


def _outside_quotes(text: str, change: Callable[[str], str]) -> str:
    """Apply a change to the text between quoted names."""
    parts = re.split(r"""((?<!\w)'[^']*'(?!\w)|"[^"]*")""", text)
    return "".join(part if i % 2 else change(part) for i, part in enumerate(parts))


def _verbs() -> dict[str, str]:
    from lowland.methods.registry import entries

    return {entry.name: entry.verb for entry in entries().values()}


def _parameters() -> set[str]:
    """The names of the parameters of all methods."""
    from lowland.methods.registry import entries

    return {flag.name for entry in entries().values() for flag in entry.flags}
