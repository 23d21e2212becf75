"""Errors about missing values and about text among numbers end with the complete command that works."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from lowland.errors import DataError, DataTypeError


@contextmanager
def with_command() -> Iterator[None]:
    """Add the complete command that works to errors about missing values and about text among numbers."""
    from lowland.data.problems import TableProblems
    from lowland.data.rows import IncompleteRows

    ctx = click.get_current_context()
    try:
        yield
    except IncompleteRows as error:
        if not error.fact:
            raise
        empty = ["--drop", name_list(error.empty)] if error.empty else []
        gaps = ["--impute", "median"] if error.has_gaps or not empty else []
        drop = "Or drop" if error.remedy else "Drop"
        how = (
            f"{drop} the rows with --drop-missing, or replace the values (mean, median, knn or em):" if gaps else "Use:"
        )
        if gaps and error.has_categories:
            gaps, how = ["--drop-missing"], f"{drop} the rows:"
        text = f"{error.fact} {error.remedy}".strip()
        raise _with_note(DataError(f"{text} {how}"), command_with(*empty, *gaps)) from error
    except TableProblems as error:
        if error.texts or not (error.marks or error.drop):
            raise
        given = ctx.meta.get("lowland.read", {}).get("missing", ())
        words = ["--missing", ",".join((*given, *error.marks))] if error.marks else []
        words += ["--drop", name_list(error.drop)] if error.drop else []
        handled = {"--impute", "--drop-missing", "--missing-values"} & {
            word.split("=")[0] for word in ctx.meta["lowland.words"]
        }
        words += ["--impute", "median"] if error.missing and not handled else []
        raise _with_note(DataTypeError(f"{error.marked} For instance:"), command_with(*words)) from error


def _with_note(error: DataError, command: str) -> DataError:
    """Return the error with a command that is printed as it is, not translated."""
    error.add_note(command)
    return error


def command_with(*words: str) -> str:
    """Return the command that the user typed, with further words."""
    return shlex.join(["lowland", *click.get_current_context().meta["lowland.words"], *words])


def name_list(names: Sequence[str]) -> str:
    """Return names of columns as one word of the command line."""
    return ",".join(f'"{name}"' if "," in name else name for name in names)
