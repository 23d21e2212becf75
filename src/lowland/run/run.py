"""``Run``, which executes computations, and ``run_for``: the one for some rows."""

from __future__ import annotations

from lowland.data.rows import DaskRows, Rows
from lowland.run.local import Result, Run, RunsTogether, Task, all_finite, serial_run

__all__ = ["Result", "Run", "RunsTogether", "Task", "all_finite", "run_for", "serial_run"]


def run_for(rows: Rows) -> Run:
    """Return the run for these rows: Dask for Dask arrays, threads on this machine otherwise."""
    if isinstance(rows, DaskRows):
        from lowland.run.dask import DaskRun

        return DaskRun()
    return Run()
