"""The software versions and the machine of a study."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

import numpy as np

from lowland import __version__


@functools.cache
def code_version() -> str:
    """Return the version of the code; for a development version, also when a source file last changed."""
    if "dev" not in __version__:
        return __version__
    files = Path(__file__).parents[1].rglob("*.py")
    return f"{__version__} {max(file.stat().st_mtime_ns for file in files)}"


def versions() -> dict[str, str]:
    """Return the versions of Lowland, Python and the libraries."""
    import scipy
    import sklearn

    found = {"lowland": __version__, "python": platform.python_version()}
    return found | {library.__name__: library.__version__ for library in (np, scipy, sklearn)}


def machine() -> dict[str, str]:
    """Return a description of the machine: system, processor, cores, memory."""
    found = {"system": f"{platform.system()} {platform.machine()}", "processor": _processor()}
    found["cores"] = str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        found["memory"] = f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError, AttributeError):
        found["memory"] = "unknown"
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"
