"""How kernels are compiled: without the GIL, cached on disk, single-threaded."""

import functools
import gc
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core import event
from numba.core.dispatcher import Dispatcher

from lowland import kernels


class _CompileListener(event.Listener):
    """Notifies the watcher: a first call takes seconds, and the progress display should say why.

    A compiler calls back into Python, and Python cannot raise an error through the compiler: it reports Ctrl-C during
    such a call as ignored. The listener raises it when the compilation ends.

    The garbage collector rests meanwhile: the compiler makes millions of objects, and looking through all of them again
    and again takes a sixth of the time. Then they count as old, so that it does not look at them at once.
    """

    depth = 0  # kernels that call kernels compile recursively, all under numba's own lock

    begun = 0.0
    interrupted = False

    def on_start(self, event: event.Event | None) -> None:
        self.depth += 1
        if self.depth == 1:
            self.begun, self.interrupted = time.perf_counter(), False
            self.ignored, sys.unraisablehook = sys.unraisablehook, self._ignored
            self.collects = gc.isenabled()
            gc.disable()
        self._notify(True)

    def on_end(self, event: event.Event | None) -> None:
        outermost = self.depth == 1
        if outermost:
            kernels.compiling["seconds"] += time.perf_counter() - self.begun
            sys.unraisablehook = self.ignored
            if self.collects:
                gc.freeze()
                gc.unfreeze()
                gc.enable()
        self._notify(False)
        self.depth -= 1
        if outermost and self.interrupted:
            raise KeyboardInterrupt

    def _ignored(self, error: Any) -> None:
        if error.exc_type is not None and issubclass(error.exc_type, KeyboardInterrupt):
            self.interrupted = True
        else:
            self.ignored(error)

    def _notify(self, begins: bool) -> None:
        if self.depth == 1 and kernels.watchers:
            kernels.watchers[-1](begins)


event.register("numba:compile", _CompileListener())


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its first call and cache the machine code beside it, or in the user's cache folder."""
    return _compiled(function)


def vector_kernel(function: Callable[..., Any]) -> Any:
    """The same for loops over many floats: sums may be reordered, so that the loops are vectorized.

    NaN and infinity keep their meaning, and a division by zero returns them instead of raising an error.
    """
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy")


def inner_loop(function: Callable[..., Any]) -> Any:
    """A ``vector_kernel`` that only other kernels call, always inlined.

    Python cannot call it: the code that unpacks arguments from Python would be compiled in vain.
    A copy that is not inlined may be compiled twice, with sums in another order, and a first run and a cached one would
    take different copies: the results would differ in the last bits.
    """
    inlined = {"forceinline": True, "no_cpython_wrapper": True}
    return _compiled(function, fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", **inlined)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    options |= {"nogil": True, "no_cfunc_wrapper": True}  # nobody calls kernels through pointers from C
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no writable cache folder, as in a read-only install without a home: compile each time
        compiled = numba.njit(**options)(function)
    if isinstance(compiled, Dispatcher):  # with NUMBA_DISABLE_JIT, it is the function itself
        template = functools.partial(_template_without_constants, compiled.get_call_template)
        compiled.get_call_template = template  # type: ignore[method-assign]
    return compiled


def _template_without_constants(template: Callable[..., Any], arguments: Any, keywords: dict[str, Any]) -> Any:
    """Resolve a call from another kernel by types alone: numba would compile one more copy for every constant."""
    return template([types.unliteral(a) for a in arguments], {k: types.unliteral(a) for k, a in keywords.items()})
