"""The settings a user may change for all of Lowland: memory, threads, progress, output."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from lowland.errors import ParameterError
from lowland.run.memory import parse_bytes


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is in force now."""

    memory: int | None = None  # bytes; None: half of the machine's memory
    threads: int | None = None  # None: every core this process may use
    progress: Literal["auto"] | bool | Callable[[Any], Any] = "auto"
    output: Literal["default", "frame"] = "default"
    budget: int = dataclasses.field(init=False, repr=False, compare=False)  # bytes of working memory

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", self.memory or _half_of_memory())

    @property
    def thread_count(self) -> int:
        """Return the threads a run may use."""
        return (
            self.threads or len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else self.threads or os.cpu_count() or 1
        )


def _half_of_memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (ValueError, OSError, AttributeError):
        return 4 * 2**30


in_force = Settings()  # changed by ``config`` alone


def settings() -> Settings:
    """Return the settings in force."""
    return in_force


class _Restore(contextlib.AbstractContextManager):
    """What ``config`` returns: used with ``with``, it puts the former settings back at the end."""

    def __init__(self, former: Settings) -> None:
        self.former = former

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global in_force
        in_force = self.former

    def __repr__(self) -> str:
        return repr(in_force)


def config(
    *,
    memory: str | int | None = ...,  # type: ignore[assignment]
    threads: int | None = ...,  # type: ignore[assignment]
    progress: Literal["auto"] | bool | Callable[[Any], Any] = ...,  # type: ignore[assignment]
    output: Literal["default", "frame"] = ...,  # type: ignore[assignment]
) -> contextlib.AbstractContextManager:
    """Change settings for the rest of the program, or for a ``with`` block.

    Parameters
    ----------
    memory : the budget for working memory, such as "1GB" or a number of bytes; None: half of the machine's.
    threads : how many threads a run uses; None: every core. Results do not depend on it.
    progress : "auto" shows a bar on a terminal for long work, True always, False never; a function is called with
        each ``Progress`` event and stops the work by returning False.
    output : "frame" returns frames with named columns where frames came in; "default" returns arrays.

    Examples
    --------
    >>> import lowland
    >>> with lowland.config(memory="1GB", threads=1):
    ...     pass
    """
    global in_force
    given = {name: value for name, value in locals().items() if value is not ...}
    if given.get("memory") is not None and "memory" in given:
        given["memory"] = parse_bytes(given["memory"])
    if given.get("threads") is not None and (not isinstance(threads, int) or threads < 1):
        raise ParameterError(f"config(threads={threads!r}): give a whole number of at least 1, or None for every core.")
    if given.get("output", "default") not in ("default", "frame"):
        raise ParameterError(f"config(output={output!r}): choose 'default' or 'frame'.")
    shown = given.get("progress", "auto")
    if not (callable(shown) or shown in ("auto", True, False)):
        raise ParameterError(f"config(progress={progress!r}): choose 'auto', True, False, or pass a function.")
    former, in_force = in_force, dataclasses.replace(in_force, **given)
    return _Restore(former)
