"""Messages of the library on the command line: one line, with flags in place of Python parameters."""

from __future__ import annotations

import re

import click

from lowland.cli.shared.commands import Command
from lowland.cli.shared.show import printable

_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_ABBREVIATIONS = ("tol", "eps")  # parameters without an underscore that are never ordinary words


def in_flags(text: str, command: click.Command) -> str:
    """Return a message of the library with the Python parameters replaced by the flags of a command.

    ``Isomap(radius=0.1, n_neighbors=None)`` becomes ``--radius 0.1 --n-neighbors none``, and ``n_neighbors`` becomes
    ``--n-neighbors``. Most names without an underscore may be ordinary words, so alone they are not replaced.
    """
    if not isinstance(command, Command) or command.python is None:
        return text
    options = {p.name: p for p in command.params if isinstance(p, click.Option) and p.name}
    pair = rf"({'|'.join(options)})=({_QUOTED}(?:(?:, | or ){_QUOTED})*|\[[^]]*\]|(?:[-+\w]|\.(?=\w))+)"

    def flag(name: str) -> str:
        if "-k" in options[name].opts:
            return "-k"
        own = f"--{name.replace('_', '-')}"
        return own if own in options[name].opts else options[name].opts[-1]

    def given(found: re.Match[str]) -> str:
        name, value = found[1], found[2].replace("'", "").replace('"', "")
        if options[name].secondary_opts and value in ("True", "False"):
            return flag(name) if value == "True" else options[name].secondary_opts[-1]
        if value.startswith("["):
            value = value.strip("[]").replace(", ", ",")
        return f"{flag(name)} {'none' if value == 'None' else value}"

    def call(found: re.Match[str]) -> str:
        return " ".join(re.sub(pair, given, found[1]).split(", "))

    text = re.sub(r"(?<=: )n_features=(\d+)", r"the data has \1 columns", text)
    text = re.sub(r"(?<=columns) \(n_features=\d+\)|n_samples=(?=\d+ rows)", "", text)  # for scikit-learn's checks
    text = re.sub(r"such as \((\d+), (\d+)\)", r"such as \1,\2", text)
    text = re.sub(rf"\b{command.python}\(({pair}(?:, {pair})*)\)", call, text)
    text = re.sub(rf"(?<![\w(.]){pair}", given, text)
    text = re.sub(r"(?<!['\"])\bNone\b(?!['\"])", "none", text)
    bare = "|".join(name for name in options if "_" in name or name in _ABBREVIATIONS)
    return re.sub(rf"(?<![\w'\"./-])({bare})(?![\w(='\"/])", lambda found: flag(found[1]), text) if bare else text


def one_line(text: str) -> str:
    """Return a message of the library as one line, with flags in place of ``lowland.config``."""
    text = re.sub(r":\n- (.*(?:\n- .*)*)\n", lambda found: f": {found[1].replace(chr(10) + '- ', ', ')}. ", text)
    text = re.sub(r'lowland\.config\(memory="([^"]+)"\)', r"--memory \1", text)
    text = re.sub(r" on the command line, [^)]*\([^)]*\) in Python(?=\))", "", text)
    text = re.sub(r"\(--label, y\)|\(y, --label\)", "(--label)", text)
    return printable(" ".join(text.split()))
