"""How every kernel is compiled: without the interpreter's lock, kept on disk, no threads of its own."""

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Any:
    """Compile ``function`` on its first call and keep the machine code beside it, or in the user's cache folder."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no folder may be written, as in a read-only install without a home: compile each time
        return numba.njit(nogil=True)(function)
