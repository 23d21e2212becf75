"""How many threads BLAS may use: one while a run uses its own threads, and one for small problems.

The threads of BLAS wait for each other by spinning. For a small problem they cost more than they save, and next to a
busy process each of many short waits may last as long as a time slice.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

_NEVER_SPLIT = 9e3  # multiplications: BLAS does not start threads for fewer
_WORTH_SPLITTING = 1e8  # multiplications, about two milliseconds of one core

_lock = threading.Lock()
_inside = 0  # how many callers hold BLAS to one thread
_libraries: list[Any] | None = None
_before: list[int] = []


@contextmanager
def blas_on_one_thread() -> Iterator[None]:
    """Limit BLAS to one thread, for instance while runs use their own threads; calls may overlap."""
    _hold()
    try:
        yield
    finally:
        _let_go()


@contextmanager
def blas_on_all_threads() -> Iterator[None]:
    """Lift the limit within a run, for code of the caller."""
    _let_go()
    try:
        yield
    finally:
        _hold()


def blas_threads_for(work: float) -> AbstractContextManager[None]:
    """Limit BLAS to one thread for a problem of ``work`` multiplications, unless it is large.

    LAPACK rounds differently on several threads, so a limited problem has the same bits however many there are.
    """
    return blas_on_one_thread() if _NEVER_SPLIT < work < _WORTH_SPLITTING else nullcontext()


def _hold() -> None:
    global _inside, _libraries, _before
    with _lock:
        if _libraries is None:
            import scipy.linalg  # noqa: F401  its BLAS must be loaded before the libraries are listed
            import threadpoolctl

            # faiss, where it is loaded, has its own BLAS; only the thread that limited its OpenMP could lift the limit
            found = threadpoolctl.ThreadpoolController().lib_controllers
            _libraries = [lib for lib in found if lib.user_api == "blas" and "faiss" not in lib.filepath]
        if _inside == 0:
            _before = [lib.get_num_threads() for lib in _libraries]
            _set([1] * len(_libraries))
        _inside += 1


def _let_go() -> None:
    global _inside
    with _lock:
        _inside -= 1
        if _inside == 0:
            _set(_before)


def _set(counts: list[int]) -> None:
    """Set the number of threads of each library, and allow any thread to set it again.

    Since threadpoolctl 3.8, only the thread that set it first may otherwise do so.
    """
    if all(count == 1 for count in _before):  # they always have one thread, and setting it takes time
        return
    for library, count in zip(_libraries or (), counts, strict=True):
        library.set_num_threads(count)
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear()
