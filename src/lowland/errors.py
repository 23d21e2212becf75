"""The exceptions and the warning of Lowland.

Each message says what happened and what to do. Each exception also inherits from the built-in exceptions that callers
expect, those of scikit-learn's classes among them.
"""

import errno
import math
import re
import reprlib
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any


class LowlandError(Exception):
    """Base class of all exceptions of Lowland.

    A message marks parameters and other Python by backticks: "Raise `n_neighbors`, or set `disconnected='connect'`."
    Python shows the text without the marks, the command line shows flags instead.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__(unmarked(text))
        self.marked = text


class DataError(LowlandError, ValueError):
    """The data cannot be used as it is."""


class DataTypeError(DataError, TypeError):
    """The data has a type that cannot be used, such as text where numbers are needed, or sparse rows."""


class DisconnectedError(DataError, RuntimeError):
    """A neighbor graph is disconnected, and its components cannot be connected."""


class ParameterError(LowlandError, ValueError, TypeError):
    """A parameter has an invalid type or value: as in scikit-learn, one error for both.

    >>> raise ParameterError("the data has 4 columns.", "Choose at most 4.", method="PCA", n_components=5)
    Traceback (most recent call last):
    lowland.errors.ParameterError: PCA(n_components=5): the data has 4 columns. Choose at most 4.
    """

    def __init__(
        self, reason: str, remedy: str = "", *, method: str = "", given: Mapping[str, object] | None = None,
        **parameters: Any,
    ) -> None:  # fmt: skip
        """``given`` holds parameters whose names are also arguments here, such as ``{"method": "em"}``."""
        parameters = {**(given or {}), **parameters}
        self.reason, self.remedy, self.method, self.parameters = reason, remedy, method, parameters
        pairs = ", ".join(f"{name}={shown(value)}" for name, value in parameters.items())
        call = f"{method}({pairs})" if method and pairs else pairs
        subject = f"`{call}`" if call and "`" not in call else call or method
        super().__init__(" ".join(filter(None, [f"{subject}:" if subject else "", reason, remedy])))

    def with_remedy(self, remedy: str) -> "ParameterError":
        """Return the error with a further remedy."""
        remedy = f"{self.remedy} {remedy}".strip()
        return type(self)(self.reason, remedy, method=self.method, given=self.parameters)


class UnsupportedError(ParameterError, NotImplementedError):
    """No algorithm exists for this combination of parameters."""


class FileProblem(LowlandError, OSError):
    """A file cannot be read or written."""


class MissingFile(LowlandError, FileNotFoundError):
    """A file or folder does not exist."""


class ModelFileError(LowlandError, ValueError):
    """A model file is damaged, was not written by Lowland, or needs a newer version."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra. Lowland is not on PyPI yet, so it installs from a checkout."""
    return f'pip install ".[{extra}]" (in a checkout of Lowland)'


class MissingExtra(LowlandError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed. Install it with: {install_command(extra)}")


class MemoryBudgetError(LowlandError, MemoryError):
    """The computation needs more memory than the memory budget allows, or than the machine has."""


class Stopped(LowlandError, RuntimeError):
    """A progress callback stopped the computation."""


class DataWarning(UserWarning):
    """The data was used, but the result may be unreliable."""


def unmarked(text: str) -> str:
    """Return a message without the backticks that mark parameters."""
    return MARKED.sub(lambda found: found["mark"] or (f"`{found['kept']}`" if found["kept"] else found[0]), text)


# A mark, or a quoted name, such as that of a column: its backticks belong to the name. Python shows a mark in double
# backticks in single ones, as some messages of scikit-learn do.
MARKED = re.compile(r"""(?<!\w)(?:'[^']*'|"[^"]*")(?!\w)|``(?P<kept>[^`]+)``|`(?P<mark>[^`\s][^`]*)`""")


def marked_text(message: BaseException | str) -> str:
    """Return the text of an error or a warning with its marks, if it has any."""
    return str(getattr(message, "marked", message))


def shown(value: object) -> str:
    """Return a value for a message: as repr does, but a long one shortened, and an array by its shape.

    >>> shown([[0.5, 1.5]] * 1000)
    '[[0.5, 1.5], [0.5, 1.5], [0.5, 1.5], [0.5, 1.5], ...]'
    """
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and math.prod(shape) > _FEW:
        return f"<{type(value).__name__} of shape {shape}>"
    return " ".join(_SHORT.repr(value).split())


def listed(names: Iterable[object], most: int = 6) -> str:
    """Return names for a message, the first ones of many.

    >>> listed(["a", "b", "c"], 2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


_FEW = 6  # values of an array that are shown
_SHORT = reprlib.Repr()
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxset = _SHORT.maxdict = 4
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 100


def file_error(path: object, error: BaseException, otherwise: LowlandError) -> LowlandError:
    """Return the error of reading or writing a file: ``otherwise``, unless the memory was too small."""
    words = str(error).partition("\n")[0].rstrip(".")
    too_small = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    if not too_small and "Cannot allocate memory" not in words and "malloc of size" not in words:
        return otherwise
    return MemoryBudgetError(
        f"Not enough memory for {str(path)!r} ({words or 'no details'}). Close other programs, or use a smaller file."
    )


@contextmanager
def reading(path: object, source: str, kind: str) -> Iterator[None]:
    """Turn whatever a library raises about the content of a file into one error: damage shows in many ways."""
    try:
        yield
    except (LowlandError, Warning):
        raise
    except Exception as error:
        fact = str(error).partition("\n")[0].rstrip(". ") or type(error).__name__
        words = f"{source} is not a valid {kind} file ({fact}). It may be damaged. Write it again."
        raise file_error(path, error, FileProblem(words)) from error


def was_interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C is the cause. Inside a compiled function, Python raises a SystemError from it."""
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__ or cause.__context__
    return cause is not error and isinstance(cause, KeyboardInterrupt)


def warn(text: str, category: type[Warning] = DataWarning) -> None:
    """Issue a warning that points to the line of the user's code. Python shows it once per line.

    Its attribute ``marked`` keeps the marks of the text.
    """
    warning = category(unmarked(text))
    warning.marked = text  # type: ignore[attr-defined]
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in ("lowland", "sklearn"):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)


@contextmanager
def with_remedy(text: str) -> Iterator[None]:
    """Add a remedy to the errors of blocks, which state only the fact: the caller knows the parameters."""
    try:
        yield
    except ParameterError as error:
        raise error.with_remedy(text) from error
    except DataError as error:
        raise type(error)(f"{error.marked} {text}") from error
