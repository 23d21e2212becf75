"""Printing: plain tables, rich tables on a terminal, JSON. Nothing is computed here."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import click

SHOWN_VALUES = 12
SHOWN_FRACTIONS = 10
SHOWN_COLUMNS = 40
_SIGNS = {"add": "+", "remove": "−", "find": "best subset"}


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False), err=_output_is_table())


def _output_is_table() -> bool:
    """Whether a table is written to standard output (--to -), so that the summary goes to standard error."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and bool(ctx.meta.get("lowland.output_is_table"))


def print_columns(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table; on a terminal, the last column is wrapped.

    Written without rich, whose import would double the time of a listing.
    """
    widths = [max(len(row[j]) for row in (head, *rows)) for j in range(len(head) - 1)]
    indent = sum(widths) + 2 * len(widths)
    lines = []
    for row in (head, *rows):
        begin = "".join(f"{cell:<{width}}  " for cell, width in zip(row, widths, strict=False))
        lines.append((begin + f"\n{' ' * indent}".join(_wrapped(row[-1], indent))).rstrip())
    click.echo("\n".join(lines))


def _wrapped(text: str, indent: int) -> list[str]:
    """Return the lines of a text after an indent; one line without a terminal or if there is too little room."""
    if not sys.stdout.isatty():
        return [text]
    import shutil
    import textwrap

    room = shutil.get_terminal_size().columns - indent
    return textwrap.wrap(text, room, break_long_words=False) if text and room >= 30 else [text]


def print_facts(
    title: str,
    facts: list[tuple[str, str]],
    fractions: list[float | None] | None = None,
    fractions_of: str = "the variance",
) -> None:
    """Print facts in two columns, and below them the explained variance ratio of the first components."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in facts:
        table.add_row(name, Text(printable(text)))
    parts: list[Any] = [Text(printable(title), style="bold"), Text(), table]
    if fractions:
        parts += [Text(), Text(f"Fraction of {fractions_of} explained"), _fraction_table(fractions)]
        if len(fractions) > SHOWN_FRACTIONS:
            parts.append(
                Text(f"and {len(fractions) - SHOWN_FRACTIONS} more; {_percent(_sums(fractions)[-1])} in total")
            )
    _print(parts)


def _fraction_table(fractions: list[float | None]) -> Any:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for name in ("Component", "Explained", "Cumulative"):
        table.add_column(name, justify="right", no_wrap=True)
    for i, (fraction, total) in enumerate(zip(fractions[:SHOWN_FRACTIONS], _sums(fractions), strict=False), start=1):
        table.add_row(str(i), _percent(fraction), _percent(total))
    return table


def _sums(fractions: list[float | None]) -> list[float]:
    return list(accumulate(fraction or 0.0 for fraction in fractions))


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{fraction:.2%}"


def _print(parts: list[Any]) -> None:
    from rich.console import Console

    if sys.stdout.isatty() and not _output_is_table():
        console = Console(highlight=False, markup=False, emoji=False)
        for part in parts:
            console.print(part)
        return
    # no terminal: as wide as needed, no colors, no trailing blanks
    console = Console(width=100_000, force_terminal=False, no_color=True, highlight=False, markup=False, emoji=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part, soft_wrap=not hasattr(part, "columns"))
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()), err=_output_is_table())


def printable(text: str) -> str:
    """Return a text with control characters escaped: names from a file must not control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def model_lines(facts: dict[str, Any], *, every_parameter: bool = False) -> list[tuple[str, str]]:
    """Return the facts of a model as lines; ``every_parameter``: also those at their defaults."""
    changed = _changed_parameters(facts)
    lines = [("Method", facts["class"] + _assignments(", ", changed))]
    if every_parameter:
        lines.append(("Defaults", _assignments("", {n: v for n, v in facts["parameters"].items() if n not in changed})))
    if facts["solver"]:
        why = facts["solver"]["reason"]
        lines.append(("Solver", facts["solver"]["name"] + (f": {why}" if why else "")))
    if facts["iterations"]:
        lines.append(("Iterations", str(facts["iterations"])))
    if facts["converged"] is False or (facts["converged"] and facts["iterations"]):
        why = facts["stopped_because"]
        lines.append(("Converged", ("yes" if facts["converged"] else "no") + (f": {why}" if why else "")))
    lines.append(("Components", _components(facts)))
    return [*lines, *fact_lines(facts["facts"])]


def prepared_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was done with each column and with missing values as lines; of many columns, the first ones."""
    texts = [f"{name}: {words}" for name, words in (facts["prepared"] or {}).items()]
    more = [f"and {len(texts) - SHOWN_COLUMNS} more columns"] if len(texts) > SHOWN_COLUMNS else []
    lines = list(zip(["Prepared", *[""] * len(texts)], [*texts[:SHOWN_COLUMNS], *more], strict=False))
    return lines + ([("Missing", facts["missing"])] if facts["missing"] else [])


def print_prepared(facts: dict[str, Any]) -> None:
    """Print what was done with each column and with missing values, if anything, and an empty line."""
    lines = prepared_lines(facts)
    if lines:
        click.echo("\n".join([*(printable(f"{name:<9} {words}") for name, words in lines), ""]))


def _changed_parameters(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters whose values are not the defaults."""
    from lowland.methods.registry import entries

    defaults = {flag.name: flag.default for flag in entries()[facts["class"]].flags}
    return {name: value for name, value in facts["parameters"].items() if value != defaults.get(name)}


def fact_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the further facts of a method as lines, without those that are None."""
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        texts = [] if value is None else _texts(value)
        found += zip([name[:1].upper() + name[1:], *[""] * len(texts)], texts, strict=False)
    return found


def _texts(value: Any) -> list[str]:
    """Return the lines of a value: the lines of a string, one per item of a dictionary of lists, otherwise one."""
    if isinstance(value, str):
        return value.splitlines() or [""]
    if isinstance(value, dict) and value and all(isinstance(item, list) for item in value.values()):
        lines = [f"{name}: {in_words(item)}" for name, item in value.items()]
        more = [f"and {len(lines) - SHOWN_VALUES} more"] if len(lines) > SHOWN_VALUES else []
        return lines[:SHOWN_VALUES] + more
    return [in_words(value)]


def _components(facts: dict[str, Any]) -> str:
    if facts["components"] is None:
        return "none (a classifier only; use lowland predict)"
    chosen = facts["choice"]
    return f"{facts['components']}" + (f" ({chosen['reason']})" if chosen else "")


def in_words(value: Any) -> str:
    """Return plain data as text: four significant digits, the first of many values."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict) and "action" in value:  # a step of a search
        parts = (_SIGNS[value["action"]], value["column"], in_words(value["score"]))
        return " ".join(part for part in parts if part)
    if isinstance(value, dict):
        value = [f"{name} {in_words(item)}" for name, item in value.items()]
    if isinstance(value, list):
        more = f" and {len(value) - SHOWN_VALUES} more" if len(value) > SHOWN_VALUES else ""
        return ", ".join(map(in_words, value[:SHOWN_VALUES])) + more or "none"
    return str(value)


def _assignments(before: str, values: dict[str, Any]) -> str:
    texts = (f"{name}={value if isinstance(value, str) else repr(value)}" for name, value in values.items())
    return before + ", ".join(texts) if values else ""


def table_size(rows: int | None, columns: int) -> str:
    """Return a shape as text."""
    count = "rows not counted" if rows is None else f"{rows:,} row{'s' * (rows != 1)}"
    return f"{count} × {columns:,} column{'s' * (columns != 1)}"


def seconds(value: float) -> str:
    """Return a time as text."""
    if value < 60:
        return f"{value:.2g} s" if value < 9.95 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
