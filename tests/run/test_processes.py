"""Worker processes: tasks, events, limits and crashes. Time without compilation, and peak memory."""

import os
import signal
import time

import numpy as np
import pytest

from lowland import kernels
from lowland.run import processes
from lowland.run.processes import Clock, PeakMemory, Task, WorkerProcess, memory_of

WORK = """
import os, time
from lowland.errors import DataError

def double(message, send):
    send({"event": "progress", "fraction": 0.5})
    print("a line of a library")
    return {"twice": 2 * message["x"], "columns": ["x" * 250] * message.get("columns", 0)}

def fail(message, send):
    raise DataError("The rows are wrong. Change them.")

def crash(message, send):
    os._exit(3)

def wait(message, send):
    time.sleep(message.get("first", 0))
    send({"event": message.get("event", "progress"), "seconds": 0.0})
    time.sleep(600)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("work")
    (place / "some_work.py").write_text(WORK, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(place))
        yield place


@pytest.fixture
def worker(folder):
    found = WorkerProcess(folder / "log", ["some_work"])
    yield found
    found.close()
    assert not found.log.exists()


def task(function, **more):
    limits = {name: more.pop(name) for name in ("seconds", "memory", "on_event", "on_wait") if name in more}
    return Task(
        {"task": f"some_work:{function}", **more},
        "The map",
        remedy="Start it again.",
        crash_remedy="Start it again.",
        **limits,
    )


def test_one_process_works_on_one_task_after_the_other(worker):
    events, waited = [], []
    found = worker.run(task("double", x=3, on_event=events.append, on_wait=waited.append))
    assert (found.status, found.error, found.result["twice"]) == ("done", None, 6)
    assert events == [{"event": "progress", "fraction": 0.5}]
    assert sum(waited) > 0
    found = worker.run(task("fail"))
    assert (found.status, found.error) == ("failed", "The rows are wrong. Change them.")
    assert worker.run(task("unknown")).error.startswith("AttributeError: ")
    assert len(worker.run(task("double", x=1, columns=30_000)).result["columns"]) == 30_000
    found = worker.run(task("crash"))
    assert found.status == "broken"
    assert found.error.startswith("The process that computed the map ended unexpectedly (exit code 3). Start it again.")
    assert not worker.alive


def test_a_process_that_is_killed_from_outside_is_told(worker):
    def kill(event):
        os.kill(worker.pid, signal.SIGKILL)

    found = worker.run(task("wait", on_event=kill))
    assert found.status == "broken"
    assert "was killed from outside" in found.error


def test_a_task_that_is_canceled_or_interrupted_ends_at_once(worker):
    wanted = task("wait")
    wanted.on_event = lambda event: wanted.cancel()
    found = worker.run(wanted)
    assert found.status == "canceled"
    assert found.error == "The map was canceled. Start it again if needed."
    assert not worker.alive


def test_time_and_memory_are_limited(folder):
    for limits, status, text in (
        ({"seconds": 0.2}, "timed out", "The map took longer than 0 s, the limit. Start it again."),
        ({"memory": 10**6}, "failed", "The map needs more than 1 MB of memory, the limit. Start it again."),
    ):
        worker = WorkerProcess(folder / "log", ["some_work"])
        found = worker.run(task("wait", **limits))
        assert (found.status, found.error) == (status, text)
        assert not worker.alive
        worker.close()


def test_compilation_does_not_count_as_time(worker):
    wanted = task("wait", event="compiling", seconds=0.1)
    begun = time.monotonic()
    wanted.on_wait = lambda seconds: wanted.cancel() if time.monotonic() - begun > 3 else None
    assert worker.run(wanted).status == "canceled"


def test_a_process_that_cannot_be_understood_is_not_waited_for(folder, monkeypatch):
    monkeypatch.setattr(processes, "BEGIN", "import time; print('no JSON', flush=True); time.sleep(600)")
    worker = WorkerProcess(folder / "log")
    assert worker.run(task("double", x=1)).status == "broken"
    worker.close()


def test_a_process_that_does_not_start_is_not_waited_for(folder, monkeypatch):
    monkeypatch.setattr(processes, "BEGIN", "import time; time.sleep(600)")
    monkeypatch.setattr(processes, "START_LIMIT", 0.2)
    worker = WorkerProcess(folder / "log")
    assert "not ready after 0.2 s" in worker.run(task("double", x=1)).error
    worker.close()


def test_the_memory_of_a_process_is_known():
    held = np.ones(2**24)
    assert memory_of(os.getpid()) >= held.nbytes
    assert memory_of(2**22 + 1) == 0


def test_compilation_does_not_count_as_fitting_time():
    clock = Clock()
    kernels.compiling["seconds"] += 100
    assert clock.seconds == 0
    kernels.compiling["seconds"] -= 100
    assert 0 < clock.seconds < 5


def test_memory_is_that_of_the_peak():
    with PeakMemory() as peak:
        held = np.ones(5_000_000)  # 40 MB
        del held
    if peak.bytes is None:
        pytest.skip("the system does not report memory")
    assert 30e6 < peak.bytes < 80e6


def test_memory_is_not_known_where_the_peak_cannot_be_reset(monkeypatch):
    monkeypatch.setattr(processes, "_reset_peak", lambda: False)
    with PeakMemory() as peak:
        pass
    assert peak.bytes is None


def test_a_clock_stops_the_work_at_its_limit_or_when_the_callback_says_so():
    clock = Clock(limit=60)
    assert clock("event")
    clock.limit = 0.0
    assert not clock("event")
    assert clock.past_limit
    answers = iter([None, True, False, None])
    clock = Clock(callback=lambda event: next(answers))
    assert [clock("event") for _ in range(4)] == [True, True, False, False]  # once stopped, it stays so
    assert clock.stop_requested
    assert not clock.past_limit


def test_a_crash_quotes_only_its_own_task(folder, tmp_path):
    process = WorkerProcess(tmp_path / "worker.log")
    assert process.run(Task({"task": "some_work:fail"}, "The first")).status == "failed"
    found = process.run(Task({"task": "some_work:crash"}, "The second"))
    process.close()
    assert found.status == "broken"
    assert "the second" in found.error
    assert "rows are wrong" not in found.error
