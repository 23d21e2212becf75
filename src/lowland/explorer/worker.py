"""The worker process: reads tables, prepares their rows, computes maps. It can be killed at any time.

It receives one task per line of JSON on stdin, and reports events as lines of JSON on stdout; the last event of a task
is ``end``, with an ``error`` if it failed. Before its first task it tells when it ``compiles`` and when it is ``idle``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import Any

TASKS = {  # by name: module and function
    "read": "lowland.explorer.reading:read_table",
    "prepare": "lowland.explorer.preparing:prepare_rows",
    "map": "lowland.explorer.mapping:compute_map",
    "estimate": "lowland.explorer.estimating:estimate",
    "place": "lowland.explorer.placing:place_rows",
}
FIRST = ("lowland.explorer.reading",)
LATER = (
    "lowland.explorer.preparing",
    "lowland.explorer.mapping",
    "lowland.methods.pca",
    "lowland.methods.umap",
    "lowland.methods.tsne",
)
Send = Callable[[dict[str, Any]], None]


def main() -> None:
    """Work on tasks until the server closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is handled by the server, which ends this process
    _end_with_the_server()
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="utf-8")
    sys.stdout = sys.stderr  # output of libraries must not mix with the events

    def send(event: dict[str, Any]) -> None:
        try:
            out.write(json.dumps(event, allow_nan=False) + "\n")
            out.flush()
        except (BrokenPipeError, ValueError):  # the server is gone
            os._exit(1)

    _preload(FIRST, wait=True)
    _preload(LATER, wait=False)
    send({"event": "compiles"})
    _load_kernels()
    send({"event": "idle"})
    for line in sys.stdin:
        send({"event": "end", **_done(json.loads(line), send)})


def _preload(names: tuple[str, ...], *, wait: bool) -> None:
    """Load libraries; unless ``wait``, only as long as no task has arrived."""
    for name in names:
        if not wait and not _is_idle():
            return
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _load_kernels() -> None:
    """Load compiled code by small fits, one after the other, as long as no task has arrived."""
    if not _is_idle():
        return
    import warnings

    import numpy as np

    from lowland.methods.registry import load_method

    X = np.random.default_rng(0).normal(size=(60, 3))
    for name in ("UMAP", "TSNE"):
        if _is_idle():
            with contextlib.suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                load_method(name)(n_components=2, random_state=0).fit(X)


def _is_idle() -> bool:
    """Whether no task waits."""
    return os.name != "posix" or not select.select([sys.stdin], [], [], 0)[0]


def _done(message: dict[str, Any], send: Send) -> dict[str, Any]:
    """Do one task; return its result, or the error as a sentence."""
    module, _, name = TASKS[message["task"]].partition(":")
    try:
        work = getattr(importlib.import_module(module), name)
        send({"event": "begin"})
        return work(message, send) or {}
    except Exception as error:  # a task that fails must not end the process
        import traceback

        from lowland.study.trials.fit import in_a_sentence

        traceback.print_exc()
        return {"error": in_a_sentence(error)}


def _end_with_the_server() -> None:
    """Ask Linux to kill this process if the server is killed."""
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
