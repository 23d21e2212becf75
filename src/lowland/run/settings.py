"""Global settings: memory, threads, progress, output."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from lowland.errors import ParameterError
from lowland.run.memory import memory_limit, parse_bytes, require


@dataclasses.dataclass(frozen=True)
class Settings:
    """The current settings."""

    memory: int | None = None  # bytes; None: half of the memory that the machine, the container or the shell allows
    threads: int | None = None  # None: every core available to this process
    progress: Literal["auto"] | bool | Callable[[Any], Any] = "auto"
    output: Literal["default", "frame"] = "default"
    budget: int = dataclasses.field(init=False, repr=False, compare=False)  # bytes of working memory

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", self.memory or memory_limit() // 2)

    @property
    def thread_count(self) -> int:
        """Number of threads of a run."""
        return (
            self.threads or len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else self.threads or os.cpu_count() or 1
        )


in_force = Settings()  # changed by ``config`` alone


def settings() -> Settings:
    """Return the settings in force."""
    return in_force


def require_memory(needed: float, what: str, remedy: str = "", *, so_far: bool = False) -> None:
    """Raise an error for work that needs more memory than the budget in force: see ``memory.require``."""
    require(needed, in_force.budget, what, remedy, so_far=so_far)


class _Restore(contextlib.AbstractContextManager):
    """The result of ``config``: a context manager that restores the previous settings at its end."""

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
    memory : str or int
        Budget for working memory, such as "1GB" or a number of bytes. None means half of the memory of the machine, or
        of the limit of its container or shell.
    threads : int
        Number of Lowland's threads. None means every core. Results do not depend on it. The environment variable
        OMP_NUM_THREADS limits those of LAPACK, which large matrices use.
    progress : "auto", bool or function
        "auto" shows a progress bar on a terminal and in a notebook, True always, False never. A
        function is called with each ``Progress`` event and stops the work by returning False.
    output : "default" or "frame"
        "frame" returns data frames with named columns for data frames as input, "default" returns arrays.

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
        raise ParameterError(
            "threads must be an integer of at least 1, or `None` for every core.", method="config", threads=threads
        )
    if given.get("output", "default") not in ("default", "frame"):
        raise ParameterError("output must be 'default' or 'frame'.", method="config", output=output)
    shown = given.get("progress", "auto")
    if not (callable(shown) or shown in ("auto", True, False)):
        raise ParameterError(
            "progress must be 'auto', `True`, `False` or a function.", method="config", progress=progress
        )
    former, in_force = in_force, dataclasses.replace(in_force, **given)
    return _Restore(former)
