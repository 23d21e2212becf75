"""``run_for``: the engine for some rows."""

from __future__ import annotations

from lowland.data.rows import DaskRows, Rows
from lowland.run.local import LocalRun, Result, RunsTogether, Task, all_finite

Run = LocalRun  # the type of an engine, for annotations: that of Dask is one, too

__all__ = ["Result", "Run", "RunsTogether", "Task", "all_finite", "run_for"]


def run_for(rows: Rows) -> Run:
    """Return the engine for these rows: Dask for Dask arrays, threads on this machine otherwise."""
    if isinstance(rows, DaskRows):
        from lowland.run.dask import DaskRun

        return DaskRun()
    return LocalRun()
