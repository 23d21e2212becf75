"""Persistent worker processes, one per core, so that a hang or a segmentation fault is one line of the table."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from hunt.cases import Area, Verdict

ROOT = Path(__file__).parent.parent
SECOND_TRY = 4  # a case over its limit is repeated in a new process with this multiple of the limit
RENEW = 3000  # cases after which a worker is replaced, so that leaks do not add up
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class Helper:
    """One worker process, seen from the hunt."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._answered, self._hung = 0, False

    def ask(self, area: Area, seed: int) -> Verdict:
        """Run a case; one that exceeds its limit gets a second, longer try before it counts as hung."""
        verdict = self._ask_once(area, seed, area.limit)
        if verdict.outcome == "hung":  # perhaps a compilation, or a busy machine
            verdict = self._ask_once(area, seed, area.limit * SECOND_TRY)
        if area.alone:
            self.close()
        return verdict

    def close(self) -> None:
        """End the process and everything it started; one that does not hang may remove its files first."""
        if self._process is not None:
            assert self._process.stdin is not None
            with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self._process.stdin.close()
                self._process.wait(timeout=0 if self._hung else 5)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process, self._hung = None, False

    def _ask_once(self, area: Area, seed: int, limit: float) -> Verdict:
        if self._process is None or self._answered >= RENEW:
            self._start()
        assert self._process is not None
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        start = time.monotonic()
        with contextlib.suppress(BrokenPipeError):
            stdin.write(f"{area.name} {seed}\n".encode())
            stdin.flush()
        ready, _, _ = select.select([stdout], [], [], limit)
        line = stdout.readline() if ready else b""
        self._answered += 1
        if line:
            verdict = Verdict(**json.loads(line))
            if (verdict.area, verdict.seed) == (area.name, seed):
                return verdict
            self._hung = True  # out of step: a child of a case answered in its place
            self.close()
            return Verdict(area.name, seed, "crashed", f"the answer to another case: {verdict.repeat}", 0.0)
        seconds = round(time.monotonic() - start, 2)
        if not ready:
            self._hung = True
            self.close()
            return Verdict(area.name, seed, "hung", f"no end after {limit:.0f} s", seconds)
        code = self._process.wait()
        self.close()
        return Verdict(area.name, seed, "crashed", f"the interpreter ended with code {code}", seconds)

    def _start(self) -> None:
        self.close()
        env = {**os.environ, **dict.fromkeys(_THREADS, "1"), "PYTHONHASHSEED": "0"}
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), env.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hunt.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env=env,
            start_new_session=True,
            preexec_fn=_default_interrupt,
        )
        self._answered = 0


def _default_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores Ctrl-C


def run_all(cases: Iterable[tuple[Area, int]], jobs: int, seconds: float | None) -> Iterator[Verdict]:
    """Yield the verdicts of all cases as they end; start no case after the given seconds."""
    todo = iter(cases)
    lock, verdicts = threading.Lock(), queue.SimpleQueue[Verdict | None]()
    end = time.monotonic() + seconds if seconds is not None else float("inf")
    stop = threading.Event()
    helpers = [Helper() for _ in range(jobs)]

    def work(helper: Helper) -> None:
        try:
            while not stop.is_set() and time.monotonic() < end:
                with lock:
                    case = next(todo, None)
                if case is None:
                    return
                verdicts.put(helper.ask(*case))
        finally:
            helper.close()
            verdicts.put(None)

    threads = [threading.Thread(target=work, args=(helper,), daemon=True) for helper in helpers]
    for thread in threads:
        thread.start()
    try:
        for _ in threads:
            yield from iter(verdicts.get, None)
    finally:
        stop.set()
        for helper in helpers:
            helper.close()
