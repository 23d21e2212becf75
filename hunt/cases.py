"""What a case is: an area and a seed. All choices of a case are drawn from its seed, so that it can be repeated."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

Outcome = Literal["done", "refused", "skipped", "wrong", "crashed", "hung"]
FAILURES: tuple[Outcome, ...] = ("wrong", "crashed", "hung")


class Wrong(Exception):
    """The package returned a wrong result, or damaged a file, without an error."""


class Crashed(Exception):
    """The package ended with an error that is not its own, or without one."""


class Skipped(Exception):
    """The case cannot be run on this machine; the text says why."""


@dataclass(frozen=True)
class Area:
    """A kind of hostile input. ``run(rng, seed, folder)`` tries one; it returns a description of what it tried.

    It raises Wrong for a wrong result; an error of Lowland that is allowed is returned as a description that starts
    with "refused". Every other exception is a crash.
    """

    name: str
    title: str
    run: Callable[[np.random.Generator, int, Path], str]
    cases: int  # of a run without --cases
    limit: float  # seconds per case
    alone: bool = False  # whether its process is of no use to other cases

    def rng(self, seed: int) -> np.random.Generator:
        """The random numbers of a case."""
        return np.random.default_rng([zlib.crc32(self.name.encode()), seed])


@dataclass(frozen=True)
class Verdict:
    """What came of a case."""

    area: str
    seed: int
    outcome: Outcome
    text: str
    seconds: float

    @property
    def repeat(self) -> str:
        """The command that runs the case again."""
        return f"python -m hunt --case {self.area}:{self.seed}"
