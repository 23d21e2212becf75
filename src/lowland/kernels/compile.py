"""How every kernel is compiled: without the interpreter's lock, kept on disk, no threads of its own."""

import time
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event

from lowland import kernels


class _CompileListener(event.Listener):
    """Tells the watcher: a first call takes seconds, and nothing else would say why."""

    depth = 0  # loops that call loops compile within each other, all under numba's own lock

    begun = 0.0

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.begun = time.perf_counter()
        self._tell(True)

    def on_end(self, event: event.Event) -> None:
        if self.depth == 1:
            kernels.compiling["seconds"] += time.perf_counter() - self.begun
        self._tell(False)
        self.depth -= 1

    def _tell(self, begins: bool) -> None:
        if self.depth == 1 and kernels.watchers:
            kernels.watchers[-1](begins)


event.register("numba:compile", _CompileListener())


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its first call and keep the machine code beside it, or in the user's cache folder."""
    return _compiled(function)


def vector_kernel(function: Callable[..., Any]) -> Any:
    """The same for loops over many floats: sums may be taken in any order, so that they fill the vector registers.

    NaN and infinity keep their meaning, and a division by zero gives them instead of an error.
    """
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no folder may be written, as in a read-only install without a home: compile each time
        return numba.njit(nogil=True, **options)(function)
