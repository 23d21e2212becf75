"""Printing: plain tables, rich tables on a terminal, JSON; and the summary of a fitted method as plain data."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import click

from lowland.cli.options import given
from lowland.errors import ParameterError
from lowland.methods.registry import entries

SHOWN_VALUES = 12
SHOWN_FRACTIONS = 10
SHOWN_COLUMNS = 40
SHOWN_ALIKE = 4  # names of columns that were treated alike
_SIGNS = {"add": "+", "remove": "−", "find": "best subset"}


def report(facts: dict[str, Any], as_text: Callable[[dict[str, Any]], None]) -> None:
    """Print the result of a command: with --json as one object, otherwise as text."""
    if given("output").get("json"):
        print_json(facts)
    else:
        as_text(facts)


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False), err=_output_is_table())


def _output_is_table() -> bool:
    """Whether a table is written to standard output (--to -), so that the summary goes to standard error."""
    return bool(given("output").get("is_table"))


def print_columns(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table; on a terminal, the last column is wrapped."""
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
    title: str, facts: list[tuple[str, str]], fractions: list[float | None] | None = None, of: str = "the variance"
) -> None:
    """Print facts in two columns, and below them the explained variance ratio of the first components."""
    width = max(len(name) for name, _ in facts) + 3
    lines = [click.style(printable(title), bold=True), ""]
    for name, text in facts:
        begin = click.style(name, bold=True) + " " * (width - len(name))
        lines.append((begin + f"\n{' ' * width}".join(_wrapped(printable(text), width))).rstrip())
    if fractions and any(fraction != 0 for fraction in fractions):
        sums = list(accumulate(fraction or 0.0 for fraction in fractions))
        lines += ["", f"Fraction of {of} explained", "Component   Explained   Cumulative"]
        for i, (fraction, total) in enumerate(zip(fractions[:SHOWN_FRACTIONS], sums, strict=False), start=1):
            lines.append(f"{i:>9}   {'–' if fraction is None else f'{fraction:.2%}':>9}   {total:>10.2%}")
        if len(fractions) > SHOWN_FRACTIONS:
            lines.append(f"and {len(fractions) - SHOWN_FRACTIONS} more; {sums[-1]:.2%} in total")
    click.echo("\n".join(lines), err=_output_is_table())


def one_line(text: str) -> str:
    """Return a message as one line."""
    text = re.sub(r":\n- (.*(?:\n- .*)*)\n", lambda found: f": {found[1].replace(chr(10) + '- ', ', ')}. ", text)
    return printable(re.sub(r" (?=[.,;:](?: |$))", "", " ".join(text.split())))


def printable(text: str) -> str:
    """Return a text with control characters escaped: names from a file must not control the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# --- fitted methods ---------------------------------------------------------------------------------------------------


def coordinate_refusal(est: Any) -> str | None:
    """Return why a method has no coordinates (its parameters make it a classifier only), or None if it has some."""
    try:
        if hasattr(est, "_encoding"):
            est._encoding()
    except ParameterError as error:
        return error.marked
    except AttributeError:  # not fitted: its parameters allow coordinates
        pass
    return None


def model_facts(est: Any) -> dict[str, Any]:
    """Return the summary of a fitted method as plain data: parameters, solver, results."""
    from lowland.plain import to_plain

    # These two first: after partial_fit, reading a result runs the solver.
    components, own = None if coordinate_refusal(est) else est._n_features_out, est._facts()
    known, found = entries()[type(est).__name__], vars(est)
    solver, choice = found.get("solver_"), found.get("choice_")
    how = {"name": getattr(solver, "name", str(solver)), "reason": getattr(solver, "reason", None)}
    facts = {
        "method": known.verb,
        "class": known.name,
        "parameters": {flag.name: found[flag.name] for flag in known.flags},
        "columns_in": est.n_features_in_,
        "components": components,
        "choice": None if choice is None else {"rule": choice.rule, "reason": choice.reason},
        "solver": None if solver is None else how,
        "iterations": found.get("n_iter_"),
        "converged": found.get("converged_", getattr(solver, "converged", None)),
        "stopped_because": found.get("stopped_because_"),
        "explained_variance_ratio_of": own.pop("explained variance ratio of", "the variance"),
        "facts": own,
        "explained_variance": found.get("explained_variance_"),
        "explained_variance_ratio": found.get("explained_variance_ratio_"),
    }
    return to_plain(facts)


def model_lines(facts: dict[str, Any], *, every_parameter: bool = False) -> list[tuple[str, str]]:
    """Return the facts of a model as lines; ``every_parameter``: also those at their defaults."""
    defaults = {flag.name: flag.default for flag in entries()[facts["class"]].flags}
    changed = {name: value for name, value in facts["parameters"].items() if value != defaults.get(name)}
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
    chosen = f" ({facts['choice']['reason']})" if facts["choice"] else ""
    classifies = facts["components"] is None
    found = "none (a classifier only; use lowland predict)" if classifies else f"{facts['components']}{chosen}"
    lines.append(("Components", found))
    return [*lines, *fact_lines(facts["facts"])]


def prepared_lines(facts: dict[str, Any], *, every: bool = False) -> list[tuple[str, str]]:
    """Return what was done with the columns and with missing values as lines.

    Columns that were treated alike share a line, unless ``every`` column is asked for; of many lines, the first ones.
    """
    alike: dict[str, list[str]] = {}
    for name, words in (facts["prepared"] or {}).items():
        alike.setdefault(f"{name}: {words}" if every else words, []).append(name)
    texts = [words if every else _treated(names, words) for words, names in alike.items()]
    more = [f"and {len(texts) - SHOWN_COLUMNS} more"] if len(texts) > SHOWN_COLUMNS else []
    lines = list(zip(["Prepared", *[""] * len(texts)], [*texts[:SHOWN_COLUMNS], *more], strict=False))
    return lines + ([("Missing", facts["missing"])] if facts["missing"] else [])


def _treated(names: list[str], words: str) -> str:
    """Return how columns were treated: the columns, if they are many only the first ones, and what was done."""
    few = names if len(names) <= SHOWN_ALIKE + 1 else names[:SHOWN_ALIKE]
    more = f" and {len(names) - len(few)} more" if len(few) < len(names) else ""
    return f"{', '.join(few)}{more}: {words}"


def print_prepared(facts: dict[str, Any], *, every: bool = False) -> None:
    """Print what was done with the columns and with missing values, if anything, and an empty line."""
    lines = prepared_lines(facts, every=every)
    if lines:
        click.echo("\n".join([*(printable(f"{name:<9} {words}") for name, words in lines), ""]))


def wrapped(text: str, indent: str = "") -> str:
    """Return a paragraph, on a terminal in lines that fit, with an indent."""
    return indent + f"\n{indent}".join(_wrapped(printable(text), len(indent)))


def fact_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the further facts of a method as lines, without those that are None."""
    found: list[tuple[str, str]] = []
    for name, value in facts.items():
        if value is None:
            continue
        texts = (value.splitlines() or [""]) if isinstance(value, str) else [in_words(value)]
        if isinstance(value, dict) and value and all(isinstance(item, list) for item in value.values()):
            texts = [f"{key}: {in_words(item)}" for key, item in value.items()]
            if len(texts) > SHOWN_VALUES:
                texts[SHOWN_VALUES:] = [f"and {len(texts) - SHOWN_VALUES} more"]
        found += zip([name[:1].upper() + name[1:], *[""] * len(texts)], texts, strict=False)
    return found


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


def written(facts: dict[str, Any]) -> str:
    """Return the name of a file that was written, with what it holds."""
    place = f", obsm/{facts['obsm']}" if "obsm" in facts else ""
    size = table_size(facts["rows"], facts["columns"]) if "rows" in facts else "the model"
    return f"{facts['file']}{place}, {size}"


def seconds(value: float) -> str:
    """Return a time as text."""
    if value < 60:
        return f"{value:.2g} s" if value < 9.95 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
