"""Every exception Lowland raises on purpose, and its warning.

Each one says what happened and what to do, and also inherits the built-in that callers expect.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


class LowlandError(Exception):
    """Base of all errors raised on purpose."""


class DataError(LowlandError, ValueError):
    """The data cannot be used as they are."""


class DataTypeError(LowlandError, TypeError):
    """The data are of a kind that has no numbers to reduce."""


class ParameterError(LowlandError, ValueError):
    """A parameter has a value that makes no sense here."""


class FileProblem(LowlandError, OSError):
    """A file cannot be read or written."""


class MissingFile(LowlandError, FileNotFoundError):
    """A file or folder is not there."""


class ModelFileError(LowlandError, ValueError):
    """A model file is damaged, foreign or too new."""


class MissingExtra(LowlandError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed. Install it with: pip install "lowland[{extra}]"')


class MemoryBudgetError(LowlandError, MemoryError):
    """The work needs more memory than the budget allows."""


class Stopped(LowlandError, RuntimeError):
    """A progress callback asked for the work to stop."""


class DataWarning(UserWarning):
    """The data were used, but say less than one might read into the result."""


def warn(text: str, category: type[Warning] = DataWarning) -> None:
    """Warn at the user's own line: Python shows that line, and shows a warning once for each."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("lowland", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


@contextmanager
def with_remedy(text: str) -> Iterator[None]:
    """Add what to do to an error that a block raises as a bare fact: only the caller knows its parameters."""
    try:
        yield
    except (DataError, ParameterError) as error:
        raise type(error)(f"{error} {text}") from error
