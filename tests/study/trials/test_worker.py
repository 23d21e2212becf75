"""The worker process: same results, killed at the limit, restarted, its folder removed."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import lowland
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun
from lowland.study.plan import Planned
from lowland.study.trials.fit import SharedInputs, fit_trial
from lowland.study.trials.worker import DONE, FITTED, Worker


@pytest.fixture
def shared(rng):
    X = rng.standard_normal((300, 5)) * [5, 4, 1, 1, 1]
    return SharedInputs(X, graph=nearest_neighbors(X, 10, LocalRun()))


def test_a_worker_fits_trials_and_ends(shared):
    ticks = []
    with Worker(shared) as worker:
        isomap = Planned("Isomap", "Isomap", {"n_neighbors": 10}, shared_neighbors=10)
        here, there = fit_trial(isomap, shared), worker.fit(isomap, 60, ticks.append)
        assert there.status == "done", there.error
        np.testing.assert_allclose(np.abs(there.Z), np.abs(here.Z), atol=1e-8)
        assert there.memory is None or there.memory >= 0
        assert there.curves["residual variance"].y.shape == (10,)
        assert sum(ticks) > 0
        first = worker._process.pid

        failing = worker.fit(Planned("PCA", "PCA", {"n_components": 9}), 60)
        assert failing.status == "failed"
        assert "at most 5" in failing.error
        assert worker._process.pid == first  # an error does not cost the process

        os.kill(worker._process.pid, signal.SIGSTOP)  # so that it cannot answer in time
        late = worker.fit(Planned("MDS", "MDS", {}), 0.2)
        assert late.status == "timed out"

        again = worker.fit(Planned("PCA", "PCA", {"n_components": 2}), 60)
        assert again.status == "done", again.error
        np.testing.assert_allclose(again.Z, lowland.PCA(2).fit_transform(shared.X), atol=1e-10)
        assert worker._process.pid != first

        os.kill(worker._process.pid, signal.SIGSTOP)  # so that it cannot answer before it is killed
        os.kill(worker._process.pid, signal.SIGKILL)
        killed = worker.fit(Planned("PCA", "PCA", {"n_components": 2}), 60)
        assert killed.status == "failed"
        assert "memory" in killed.error
        place, process = worker.place, worker._process
        assert process is None
    assert not place.exists()


def test_an_interrupted_worker_leaves_nothing(shared):
    def interrupt(seconds):
        raise KeyboardInterrupt

    begun = time.perf_counter()
    worker = Worker(shared)
    with pytest.raises(KeyboardInterrupt):
        worker.fit(Planned("PCA", "PCA", {}), None, interrupt)
    process = worker._process
    worker.close()
    assert process.poll() is not None
    assert not worker.place.exists()
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize(("first", "end"), [(FITTED, "received"), ("a line of a library", "timed out")])
def test_the_limit_is_on_the_fit_not_on_the_measures_after_it(shared, monkeypatch, first, end):
    monkeypatch.setattr("lowland.study.trials.worker.GRACE", 0.0)
    monkeypatch.setattr("lowland.study.trials.worker.MEASURING", 10_000)
    with Worker(shared) as worker:
        worker._lines.put(first)
        timer = threading.Timer(0.5, worker._lines.put, [DONE])
        timer.start()
        assert worker._wait_for(DONE, 0.05, lambda seconds: None) == end
        timer.cancel()


def test_folders_of_killed_studies_are_removed(shared, tmp_path, monkeypatch):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Worker(shared) as worker:
        folder = worker.place.name
        left = tmp_path / folder.replace(f"-{os.getpid()}-", f"-{ended.pid}-")
        left.mkdir()
        (left / "X.npy").write_text("x")
        (tmp_path / "lowland-study-mine").mkdir()  # of a user
        with Worker(shared):
            assert not left.exists()
            assert worker.place.exists()
    assert os.listdir(tmp_path) == ["lowland-study-mine"]
