"""The plan of a fit: what it will do, how long it takes, how much memory it needs, and what would be cheaper."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lowland.arrays.namespace import is_sparse, on_accelerator
from lowland.data.rows import DaskRows, Rows
from lowland.errors import DataError, DataWarning, MemoryBudgetError, ParameterError, warn
from lowland.run import memory
from lowland.run.cost import REFERENCE, CostStep, Rates, Size, Steps, machine_rates, peak_bytes
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
_LANDMARKS = "The map is computed from 1,000 points, and the others are placed by their distances to them."
# parameters that make a fit cheaper, if they are not set already, and what they cost
_CHEAPER: tuple[tuple[dict[str, Any], str], ...] = (
    ({"n_landmarks": LANDMARKS}, _LANDMARKS),
    ({"neighbors_algorithm": "approximate"}, "Neighbors may be missed. `recall_` is the fraction found."),
    ({"n_neighbors": 15}, "A graph of 15 neighbors replaces the kernel of all pairs."),
    ({"affinity": "nearest_neighbors"}, "A graph of neighbors replaces the kernel of all pairs."),
    ({"svd_solver": "randomized"}, "The eigenvalues agree to the tolerance of the solver."),
    ({"statistic": "pearson"}, "Only linear relations count."),
    ({"training": "batch"}, "The rows are read in chunks, and the map is another one of about the same quality."),
    ({"hidden_layer_sizes": None}, "The layers have the usual width."),
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
    slab = 0 if isinstance(rows, DaskRows) else rows.slab_bytes  # workers hold the blocks of a cluster
    return Size(n, rows.d, rows.dtype.itemsize, density, rows.in_memory, classes, slab)


def steps_of(est: Method, size: Size, **changed: Any) -> Steps:
    """Return the steps of a fit with the parameters of the estimator, of which some may be changed."""
    traits = est._traits
    assert traits.cost is not None
    params = SimpleNamespace(**{**vars(est._params), **changed, "method_name": type(est).__name__})
    steps = traits.cost(size, params)
    if size.in_memory or traits.reads_in_chunks(params):
        return steps
    return (CostStep("reading the rows", {"bytes": 8 * size.bytes}, 2 * size.bytes, size.bytes, 1), *steps)


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
    steps = steps_of(est, size)
    planned = tuple(PlannedStep(s.name, seconds_of((s,)), s.peak) for s in steps)
    return Plan(
        type(est).__name__, size.n, size.d, planned, sum(s.passes for s in steps) or 1, seconds_of(steps),
        peak_bytes(steps), size.bytes if rows.in_memory else 0.0, size.budget,
        settings().thread_count, tuple(cheaper(est, size, rows)), tuple(notes),
    )  # fmt: skip


def cheaper(est: Method, size: Size, rows: Rows | None = None) -> Iterator[Cheaper]:
    """Yield the ways that take at most two thirds of the time or of the memory, the fastest first."""
    steps = steps_of(est, size)
    seconds, most, params = seconds_of(steps), peak_bytes(steps), vars(est._params)
    found = []
    for changes, accuracy in _CHEAPER:
        fresh = all(name in params and params[name] != value for name, value in changes.items())
        few = {"n_landmarks", "n_neighbors"} & changes.keys() and (params.get("n_landmarks") or size.n) <= LANDMARKS
        if not fresh or few:
            continue
        if "n_neighbors" in changes and params["n_neighbors"] is not None:
            continue
        other = steps_of(est, size, **changes)
        time, used = seconds_of(other), peak_bytes(other)
        faster, smaller = 1.5 * time < seconds > 0.01, 1.5 * used < most > 1e6
        saves = (faster or smaller) and time < 1.5 * seconds
        if saves or used <= size.budget < most:
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


def admit(est: Method, rows: Rows, classes: int = 2) -> float | None:
    """Raise an error if a fit needs more memory than the budget; return how long it will take, None if not long.

    Warn if it takes minutes and there is a much faster way. The rates are measured only if the fit is not short on any
    machine.
    """
    size = size_of(rows, rows.n or max(rows.d, est._traits.min_rows), classes)  # of chunks, the number may not be known
    if size is None or est._traits.cost is None:  # a method that a user has written may not say what it costs
        return None
    try:
        steps = steps_of(est, size)
    except (ParameterError, TypeError, ValueError):  # the fit refuses such a parameter, or does not need it for a graph
        return None
    needed = peak_bytes(steps)
    if needed > size.budget:
        raise _refusal(est, size, steps, rows)
    if rows.n is None or seconds_of(steps, REFERENCE) < SLOW / 10:
        return None
    seconds = seconds_of(steps)
    better = next(cheaper(est, size, rows), None) if seconds > SLOW else None
    if better is not None and better.seconds is not None and MUCH * better.seconds < seconds:
        warn(
            f"{type(est).__name__} of {size.n:,} rows takes {_about(seconds)} and "
            f"{show_bytes(needed)} of memory. `{better.change}` takes "
            f"{_about(better.seconds)}. {better.accuracy}",
            DataWarning,
        )
    return seconds


def _refusal(est: Method, size: Size, steps: Steps, rows: Rows) -> MemoryBudgetError:
    """The error for a fit beyond the budget: the step that needs most, and what needs less."""
    largest, needed = max(steps, key=lambda step: max(step.peak, step.held)), peak_bytes(steps)
    less = next((c for c in cheaper(est, size, rows) if c.bytes is not None and c.bytes <= size.budget), None)
    remedy = _smaller(est, size) if less is None else f"Use `{less.change}`, which takes {_about(less.seconds or 0)}"
    count = "" if rows.n is None else f"{size.n:,} rows and "
    what = f"{type(est).__name__} of {count}{size.d:,} columns ({largest.name})"
    return memory.beyond(what, needed, size.budget, remedy)


def _smaller(est: Method, size: Size) -> str:
    """Which number saves memory if it is smaller: a parameter, or that of rows or columns."""
    params, needed = vars(est._params), 0.9 * peak_bytes(steps_of(est, size))
    for name in ("n_landmarks", "n_neighbors"):
        if name in params and peak_bytes(steps_of(est, size, **{name: (params[name] or size.n) // 4 + 1})) < needed:
            return f"Set a smaller `{name}`" if params[name] else f"Set `{name}`"
    halves = {"rows": replace(size, n=size.n // 2 + 1), "columns": replace(size, d=size.d // 2 + 1)}
    words = min(halves, key=lambda words: peak_bytes(steps_of(est, halves[words])))
    return f"Use fewer {words}"


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
