"""Description of the machine, without names of hosts, people or folders."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARIES = ("lowland", "numpy", "scipy", "scikit-learn", "numba", "pyarrow")


def describe() -> dict[str, str]:
    """Return processor, cores, memory, system, Python, libraries and BLAS."""
    return {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": _system(),
        "Python": platform.python_version(),
        "libraries": ", ".join(f"{name} {_version(name)}" for name in _LIBRARIES),
        "BLAS": _blas(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from the source tree
        return __import__(name).__version__


def _blas() -> str:
    import scipy.linalg  # noqa: F401  its BLAS is listed once it is loaded
    from threadpoolctl import threadpool_info

    libraries = [info for info in threadpool_info() if info["user_api"] == "blas"]
    found = {
        f"{i['internal_api']} {i['version']} ({i.get('architecture')}, {i['num_threads']} threads)" for i in libraries
    }
    return ", ".join(sorted(found))
