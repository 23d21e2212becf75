"""Time of a trial without compilation, time limit, peak memory."""

import time

import numpy as np
import pytest

from lowland.study.trials.resources import Clock, PeakMemory


def test_compilation_does_not_count_as_fitting_time():
    from lowland import kernels

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


def test_memory_is_sampled_where_the_peak_cannot_be_reset(monkeypatch):
    from lowland.study.trials import resources

    monkeypatch.setattr(resources, "_reset_peak", lambda: False)
    with PeakMemory() as peak:
        held = np.ones(5_000_000)
        time.sleep(0.1)
        del held
    assert peak.bytes is None or 30e6 < peak.bytes < 80e6
    monkeypatch.setattr(resources, "resident", lambda: None)
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
