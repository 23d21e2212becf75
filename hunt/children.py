"""Forked children that can be killed, interrupted and limited; a fork of a loaded worker starts in milliseconds."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hunt.cases import Crashed

INTERRUPTED = 130


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code (negative: the signal), what it returned or printed, and the seconds it took."""

    code: int
    value: Any
    stderr: str
    seconds: float
    after_signal: float  # seconds from the signal to the end; 0 without one


def run_child(work: Callable[[], Any], *, signal_after: tuple[int, float] | None = None, limit: float = 60.0) -> Ended:
    """Run a function in a forked child; send it a signal after some seconds. Its value must be JSON."""
    reading, writing = os.pipe()
    errors_out, errors_in = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    start = time.monotonic()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a signal waits until the child is ready for it
    child = os.fork()
    if child == 0:
        _become_child(work, writing, errors_in)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.close(writing)
    os.close(errors_in)
    due = start + signal_after[1] if signal_after else float("inf")
    parts: dict[int, list[bytes]] = {reading: [], errors_out: []}
    code, sent = None, 0.0
    while code is None:
        now = time.monotonic()
        if now >= due and not sent and signal_after:
            os.kill(child, signal_after[0])
            sent, now = now, time.monotonic()
        if now > start + limit:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for each in (reading, errors_out):
                os.close(each)
            raise TimeoutError(f"no end after {limit:.0f} s")
        wait = min(0.005, max(0.0, due - now)) if not sent else 0.005
        ready, _, _ = select.select([reading, errors_out], [], [], wait)
        for each in ready:
            parts[each].append(os.read(each, 1 << 16))
        if ready and not any(parts[each][-1] for each in ready):
            time.sleep(0.001)
        pid, status = os.waitpid(child, os.WNOHANG)
        code = os.waitstatus_to_exitcode(status) if pid else None
    end = time.monotonic()
    for each in (reading, errors_out):
        os.set_blocking(each, False)
        try:
            while block := os.read(each, 1 << 16):
                parts[each].append(block)
        except BlockingIOError:  # a grandchild still holds the pipe
            pass
        os.close(each)
    text = b"".join(parts[reading]).decode()
    value = json.loads(text) if text.endswith("\n") else None
    return Ended(
        code, value, b"".join(parts[errors_out]).decode(errors="replace"), end - start, end - sent if sent else 0.0
    )


def _become_child(work: Callable[[], Any], writing: int, errors: int) -> None:
    """The life of the child: run, answer, and leave without the cleanup of the parent."""
    code = 70
    try:
        code = _exit_code(work, writing, errors)
    except KeyboardInterrupt:  # between the end of the command and that of the child
        code = INTERRUPTED
    finally:
        try:
            sys.stderr.flush()
        finally:
            os._exit(code)


def _exit_code(work: Callable[[], Any], writing: int, errors: int) -> int:
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(errors, 2)
        sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        value = work()
        os.write(writing, json.dumps(value).encode() + b"\n")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BaseException:
        traceback.print_exc()
        return 70
    return 0


def command(*words: str) -> Callable[[], None]:
    """The command line as a function that exits with its code."""

    def work() -> None:
        from lowland.cli.main import cli

        cli.main(list(words), prog_name="lowland")

    return work


def raw_error(ended: Ended) -> str | None:
    """What is raw about the end of a child, if anything is: a signal, a traceback, an unexpected error."""
    if ended.code < 0:
        return f"the interpreter ended with signal {-ended.code}: {ended.stderr[-300:]}"
    if "Traceback" in ended.stderr or "Unexpected error" in ended.stderr:
        return ended.stderr.strip()[-400:]
    return None


def expect_clean(ended: Ended, codes: Sequence[int], case: str) -> None:
    """Raise Crashed if a child ended with a raw error or another exit code."""
    raw = raw_error(ended)
    if raw is not None:
        raise Crashed(f"{case}: {raw}")
    if ended.code not in codes:
        raise Crashed(f"{case}: exit code {ended.code}, expected one of {tuple(codes)}: {ended.stderr[-300:]}")
