"""The plan of a fit: what it will do, how long it takes, how much memory it needs, and what would be cheaper."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lowland.arrays.namespace import is_sparse, on_accelerator
from lowland.data.rows import DaskRows, Rows
from lowland.errors import DataError, DataWarning, warn
from lowland.run import memory
from lowland.run.cost import REFERENCE, Rates, Size, Steps, machine_rates, peak_bytes
from lowland.run.memory import show_bytes
from lowland.run.progress import in_words
from lowland.run.settings import settings

if TYPE_CHECKING:
    from lowland.methods.base.method import Method

SLOW = 60.0  # seconds from which a fit says how long it takes, if there is a much faster way
MUCH = 5  # times as fast
SAMPLED = 2**20  # bytes of a text file from which its number of rows is estimated
SAMPLE = 2_000  # rows of a sample that stands for all
LANDMARKS = 1000  # a number of landmarks that is usually enough
_LANDMARKS = "The map is computed from 1,000 rows; the others are placed by their distances to them."
# parameters that make a fit cheaper, if they are not set already, and what they cost
_CHEAPER: tuple[tuple[dict[str, Any], str], ...] = (
    ({"n_landmarks": LANDMARKS}, _LANDMARKS),
    ({"neighbors_algorithm": "approximate"}, "Neighbors may be missed. `recall_` is the fraction found."),
    ({"n_neighbors": 15}, "A graph of 15 neighbors replaces the kernel of all pairs."),
    ({"svd_solver": "randomized"}, "The eigenvalues agree to the tolerance of the solver."),
)  # fmt: skip


@dataclass(frozen=True)
class PlannedStep:
    """A step of a fit, with its expected time and its memory beyond the table."""

    name: str
    seconds: float
    bytes: float


@dataclass(frozen=True)
class Cheaper:
    """A way to make a fit cheaper: what to change, the expected time and memory, and what it costs in accuracy."""

    change: str
    seconds: float | None
    bytes: float | None
    accuracy: str


@dataclass(frozen=True)
class Plan:
    """What a fit is expected to do. Times and memory are estimates; ``print`` shows them all."""

    method: str
    rows: int
    columns: int
    steps: tuple[PlannedStep, ...]
    passes: float  # over the rows
    seconds: float  # without the time to compile, on an otherwise idle machine
    bytes: float  # at the peak, beyond a table in memory
    table_bytes: float  # as floats; 0 if the table is read in chunks
    budget: int
    threads: int
    cheaper: tuple[Cheaper, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether the memory is within the budget."""
        return self.bytes <= self.budget

    @property
    def algorithm(self) -> str:
        """The steps in words."""
        return ", ".join(step.name for step in self.steps)

    def __str__(self) -> str:
        size = f"{self.rows:,} rows × {self.columns:,} columns"
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        held = f", and {show_bytes(self.table_bytes)} for the table" if self.table_bytes else ""
        over = "" if self.fits else f"; the memory budget is {show_bytes(self.budget)}"
        lines = [
            f"{self.method}, {size}", "",
            f"Time      {_about(self.seconds)} on {threads}",
            f"Memory    about {show_bytes(self.bytes)}{held}{over}",
            f"Passes    {self.passes:g} over the rows", "",
        ]  # fmt: skip
        width = max(len(step.name) for step in self.steps)
        for step in self.steps:
            name = step.name[0].upper() + step.name[1:]
            lines.append(f"{name:<{width}}  {in_words(step.seconds):>12}  {show_bytes(step.bytes):>8}")
        for each in self.cheaper:
            known = each.seconds is not None and each.bytes is not None
            costs = f": {_about(each.seconds)}, {show_bytes(each.bytes)}" if known else ""  # type: ignore[arg-type]
            lines += ["", f"Cheaper: {each.change}{costs}. {each.accuracy}"]
        lines += [line for note in self.notes for line in ("", note)]
        return "\n".join(lines)

    __repr__ = __str__


def _about(seconds: float) -> str:
    words = in_words(seconds)
    return words if words.startswith("under") else f"about {words}"


# --- estimates --------------------------------------------------------------------------------------------------------


def size_of(rows: Rows, n: int | None = None, classes: int = 2) -> Size | None:
    """Return what the cost depends on; None if the number of rows is not known."""
    n = rows.n if n is None else n
    if n is None:
        return None
    X: Any = getattr(rows, "X", None)
    density = X.nnz / max(1, X.shape[0] * X.shape[1]) if is_sparse(X) else 1.0
    return Size(n, rows.d, rows.dtype.itemsize, density, rows.in_memory, classes)


def steps_of(est: Method, size: Size, **changed: Any) -> Steps:
    """Return the steps of a fit with the parameters of the estimator, of which some may be changed."""
    cost, params = est._traits.cost, vars(est._params)
    assert cost is not None
    return cost(size, type(type(est).__name__, (), {**params, **changed}))


def seconds_of(steps: Steps, rates: Rates | None = None) -> float:
    """Return the time of the steps, on this machine unless rates are given."""
    return sum((rates or own_rates()).seconds(step, settings().thread_count) for step in steps)


def own_rates() -> Rates:
    """Return the rates of this machine, measured at the first call."""
    from lowland.methods.registry import cache_folder

    return machine_rates(cache_folder())


def plan_of(est: Method, rows: Rows, n: int | None = None, classes: int = 2) -> Plan:
    """Return the plan of a fit to rows, of which there are n, if the source does not tell."""
    notes = []
    if n is None and rows.n is None:
        n = counted(rows)
        notes.append(f"The number of rows was estimated from the size of {rows.source}.")
    size = size_of(rows, n, classes)
    assert size is not None
    if on_accelerator(getattr(rows, "X", None)):
        notes.append("The rows are on a device. Time and memory are those of this computer's processor.")
    steps, streams = steps_of(est, size), est._traits.streams
    loaded = not rows.in_memory and not streams and not (est._traits.streams_with_landmarks and est.n_landmarks)
    planned = tuple(PlannedStep(s.name, seconds_of((s,)), s.peak) for s in steps)
    return Plan(
        type(est).__name__, size.n, size.d, planned, sum(s.passes for s in steps) or 1, seconds_of(steps),
        peak_bytes(steps) + (2 * size.bytes if loaded else 0), size.bytes if rows.in_memory else 0.0, size.budget,
        settings().thread_count, tuple(cheaper(est, size, rows)), tuple(notes),
    )  # fmt: skip


def cheaper(est: Method, size: Size, rows: Rows | None = None) -> Iterator[Cheaper]:
    """Yield the ways that take at most two thirds of the time or of the memory, the fastest first."""
    steps = steps_of(est, size)
    seconds, most, params = seconds_of(steps), peak_bytes(steps), vars(est._params)
    found = []
    for changes, accuracy in _CHEAPER:
        fresh = all(name in params and params[name] != value for name, value in changes.items())
        if not fresh or (params.get("n_landmarks") or size.n) <= LANDMARKS:
            continue
        if "n_neighbors" in changes and params["n_neighbors"] is not None:
            continue
        other = steps_of(est, size, **changes)
        time, used = seconds_of(other), peak_bytes(other)
        if min(time / max(seconds, 1e-3), used / max(most, 1e6)) < 2 / 3 and time < 1.5 * seconds:
            change = ", ".join(f"{name}={value!r}" for name, value in changes.items())
            found.append(Cheaper(f"{type(est).__name__}({change})", time, used, accuracy))
    if est._traits.study.beyond == "sample" and size.n > 2 * SAMPLE:
        part = steps_of(est, replace(size, n=SAMPLE))
        change = f"fit(X[:{SAMPLE}]) on rows in random order, then transform(X)"
        found.append(Cheaper(change, seconds_of(part), peak_bytes(part), "The other rows are placed as new rows."))
    yield from sorted(found, key=lambda each: each.seconds or 0.0)
    if est._traits.streams and seconds > SLOW and not isinstance(rows, DaskRows):
        yield Cheaper("a Dask array, on several machines", None, None, "The result agrees to the last digits.")
    on_host = "torch" in sys.modules and seconds > 1 and not on_accelerator(getattr(rows, "X", None))
    if on_host and sys.modules["torch"].cuda.is_available():
        yield Cheaper("a tensor on the GPU", None, None, "The result agrees to the precision of its float type.")


# --- before the work of a fit -----------------------------------------------------------------------------------------


def expected_seconds(est: Method, rows: Rows) -> float | None:
    """Return how long a fit is expected to take, and warn if there is a much faster way; None for a short fit.

    The rates are measured only if the fit is not short on any machine.
    """
    size = size_of(rows)
    if size is None or est._traits.cost is None or est._params is None:
        return None
    if seconds_of(steps_of(est, size), REFERENCE) < SLOW / 10:
        return None
    steps = steps_of(est, size)
    seconds, needed = seconds_of(steps), peak_bytes(steps)
    better = next(cheaper(est, size, rows), None) if seconds > SLOW and needed <= size.budget else None
    if better is not None and better.seconds is not None and MUCH * better.seconds < seconds:
        warn(
            f"{type(est).__name__} of {size.n:,} rows takes {_about(seconds)} and "
            f"{show_bytes(needed)} of memory. `{better.change}` takes "
            f"{_about(better.seconds)}. {better.accuracy}",
            DataWarning,
        )
    return seconds


def require_memory(est: Method, size: Size, remedy: str) -> None:
    """Raise an error if a fit needs more memory than the budget; it names what needs less, or else the remedy."""
    steps = steps_of(est, size)
    if (needed := peak_bytes(steps)) <= size.budget:
        return
    less = next((c for c in cheaper(est, size) if c.seconds and c.bytes and c.bytes <= size.budget), None)
    if less is not None and less.seconds is not None:
        remedy = f"Use `{less.change}`, which takes {_about(less.seconds)}"
    what = f"{type(est).__name__} of {size.n:,} rows, which takes {_about(seconds_of(steps))},"
    memory.require(needed, size.budget, what, remedy)


# --- the number of rows -----------------------------------------------------------------------------------------------


def counted(rows: Rows) -> int:
    """Estimate the number of rows of a text file from its beginning; raise an error for another source."""
    paths = [path for path in getattr(rows, "stamps", {}) if path.is_file() and path.suffix not in (".xlsx", ".ods")]
    if not paths:
        raise DataError(
            f"The number of rows of {rows.source} is not known before it is read. Pass it: `plan(X, n_rows=...)`."
        )
    return max(1, round(sum(_lines(path) for path in paths)))


def _lines(path: Path) -> float:
    """The number of lines of a text file, from the first of them."""
    with path.open("rb") as raw:
        text = (gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw).read(SAMPLED)
        used = raw.tell()
    size = path.stat().st_size
    lines = text.count(b"\n") + (size <= used and not text.endswith(b"\n"))
    return lines * max(1.0, size / max(1, used)) - 1 if size > used else lines - 1
