"""What a fit costs: steps with their operations and bytes, and the rates at which this machine does them.

A method declares its steps as a function of the size of the table and of its parameters. The rates are measured once,
in about a second, by the time of the processor, which other programs change little.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np

from lowland.arrays.blas_threads import blas_on_one_thread
from lowland.run.settings import settings

# multiplications of a matrix product in float32 and float64, n³ of eigenvectors by LAPACK, bytes of an array that is
# read or written, nanoseconds of compiled loops on all threads, of those on one, and of Python code, on the machine on
# which the formulas were measured
Kind = Literal["product32", "product64", "lapack", "bytes", "loop", "serial", "python"]
Work = dict[Kind, float]
TOGETHER = ("product32", "product64", "bytes", "loop")  # what all threads do together
SPEEDUP = 0.85  # power of the number of threads by which they are faster


@dataclass(frozen=True)
class Size:
    """The size of a table, and what else the cost of a fit depends on."""

    n: int
    d: int
    itemsize: int = 8
    density: float = 1.0  # fraction of the values that sparse rows store
    in_memory: bool = True
    classes: int = 2
    slab_bytes: float | None = None  # of the rows that are read together; None: those of an array
    budget: int = field(default_factory=lambda: settings().budget)

    @property
    def product(self) -> Kind:
        """The kind of products of the rows."""
        return "product32" if self.itemsize == 4 else "product64"

    @property
    def values(self) -> float:
        """The number of values that are stored."""
        return self.n * self.d * self.density

    @property
    def bytes(self) -> float:
        """The bytes of the table as floats."""
        return self.values * (self.itemsize if self.density == 1 else self.itemsize + 4)


@dataclass(frozen=True)
class CostStep:
    """A step of a fit: its operations by kind, and its memory in bytes beyond the table and what earlier steps keep."""

    name: str
    work: Work = field(default_factory=dict)
    peak: float = 0.0
    held: float = 0.0  # kept for the later steps
    passes: float = 0.0  # over the rows


Steps = tuple[CostStep, ...]


@dataclass(frozen=True)
class Rates:
    """Operations of one core in a second; loops and Python code in nanoseconds of the machine of the formulas."""

    product32: float = 4.9e10
    product64: float = 2.4e10
    lapack: float = 3.8e9
    bytes: float = 5.4e10
    loop: float = 1e9
    python: float = 1e9

    @property
    def serial(self) -> float:
        """Loops on one thread, such as those of a sparse factorization: the same on one core."""
        return self.loop

    def seconds(self, step: CostStep, threads: int = 1) -> float:
        """Return the time of a step."""
        return sum(
            amount / getattr(self, kind) / (threads**SPEEDUP if kind in TOGETHER else 1)
            for kind, amount in step.work.items()
        )


REFERENCE = Rates()  # the machine on which the constants of the formulas were measured


def peak_bytes(steps: Steps) -> float:
    """Return the most memory that the steps need at a time, beyond the table."""
    held = most = 0.0
    for step in steps:
        most = max(most, held + step.peak)
        held += step.held
        most = max(most, held)
    return most


# --- the rates of this machine ----------------------------------------------------------------------------------------


@cache
def machine_rates(folder: Path) -> Rates:
    """Return the rates of this machine: from the folder, or measured now and kept there."""
    path = folder / f"rates-{_machine()}.json"
    with suppress(OSError, ValueError, TypeError):  # none there, or a damaged one
        return Rates(**json.loads(path.read_text(encoding="utf-8")))
    found = measured_rates()
    with suppress(OSError):  # a folder that cannot be written: measured again in the next process
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(asdict(found)), encoding="utf-8")
        fresh.replace(path)
    return found


def _machine() -> str:
    """A name of this machine and of what else determines its rates."""
    processor = platform.processor()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next((line for line in lines if line.startswith("model name")), processor)
    return sha256(f"{platform.node()} {processor} {np.__version__} 1".encode()).hexdigest()[:12]


def measured_rates() -> Rates:
    """Measure the rates, in about a second."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((768, 768))
    S, F = A[:320, :320] + A[:320, :320].T, A.astype(np.float32)
    short, long = rng.standard_normal(1_000_000), np.ones(12_000_000)
    with blas_on_one_thread():
        return Rates(
            len(A) ** 3 / _seconds(lambda: F @ F),
            len(A) ** 3 / _seconds(lambda: A @ A),
            len(S) ** 3 / _seconds(lambda: np.linalg.eigh(S)),
            2 * long.nbytes / _seconds(lambda: np.add(long, 1.0, out=long)),
            _LOOP / _seconds(lambda: np.cumsum(short)),
            _PYTHON / _seconds(lambda: sum(i & 7 for i in range(50_000))),
        )


_LOOP, _PYTHON = 3.34e6, 1.53e6  # nanoseconds of these two on the machine of the formulas


def _seconds(call: Callable[[], object]) -> float:
    """Return the shortest of a few runs; the first warms up."""
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < 4 or (len(times) < 12 and time.perf_counter() - begun < 0.1):
        began = time.thread_time()
        call()
        times.append(time.thread_time() - began)
    return max(min(times[1:]), 1e-9)
