"""Ctrl-C, an ended job and a closed pipe: no unfinished file, no traceback, the right exit code."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest

import lowland as ll
from lowland.methods.registry import cache_folder

COMMAND = [sys.executable, "-m", "lowland.cli.main"]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_leaves_no_file(folder, rng, sent, code):
    ll.save(ll.PCA().fit(rng.standard_normal((50, 30))), "m.lowland")
    big = np.lib.format.open_memmap("big.npy", mode="w+", dtype=np.float32, shape=(3_000_000, 30))  # zeros: no disk
    del big
    before = set(os.listdir(folder))
    work = subprocess.Popen(
        [*COMMAND, "transform", "m.lowland", "big.npy", "--to", "z.csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # background jobs of a shell ignore Ctrl-C, and this process would inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    limit = time.monotonic() + 60
    while work.poll() is None and not _has_begun(folder) and time.monotonic() < limit:
        time.sleep(0.05)
    work.send_signal(sent)
    out, err = work.communicate(timeout=60)
    assert work.returncode == code, err
    assert out == ""
    assert set(os.listdir(folder)) == before
    assert "Traceback" not in err
    if sent == signal.SIGINT:
        assert err == "lowland: Interrupted. No incomplete file was written.\n"


def _has_begun(folder) -> bool:
    return any(name.endswith(".part") and os.path.getsize(folder / name) for name in os.listdir(folder))


def test_ctrl_c_while_fitting(lowland, table, folder, monkeypatch):
    from lowland.methods.pca import PCA

    def interrupted(self, *_):
        raise KeyboardInterrupt

    monkeypatch.setattr(PCA, "_solve", interrupted)
    before = set(os.listdir(folder))
    result = lowland("fit", "pca", table, "--to", "z.csv", "--model", "m")
    assert result.exit_code == 130
    assert result.stderr == "lowland: Interrupted. No incomplete file was written.\n"
    assert set(os.listdir(folder)) == before


def test_ctrl_c_during_a_callback_that_cannot_raise_is_not_lost(lowland, table, monkeypatch):
    from lowland.methods.pca import PCA

    class Held:
        pass

    def interrupted(_):
        raise KeyboardInterrupt

    def solve(self, *_):
        held = Held()
        callback = weakref.ref(held, interrupted)
        del held  # the callback of the weak reference is called; Python cannot raise its error
        until = time.monotonic() + 30
        while time.monotonic() < until:
            time.sleep(0.01)  # in short pieces: it is raised between two of them
        del callback

    monkeypatch.setattr(PCA, "_solve", solve)
    result = lowland("fit", "pca", table, "--to", "z.csv")
    assert result.exit_code == 130
    assert result.stderr == "lowland: Interrupted. No incomplete file was written.\n"


@pytest.mark.parametrize("json_too", [False, True])
def test_ctrl_c_during_a_descent_keeps_the_map(lowland, table, folder, monkeypatch, json_too):
    from lowland.math.embeddings.kl_divergence import KLDivergence

    gradient = KLDivergence.gradient

    def interrupted(self, Z, step, G, blocks):
        if step.iteration == 60:
            raise KeyboardInterrupt
        gradient(self, Z, step, G, blocks)

    monkeypatch.setattr(KLDivergence, "gradient", interrupted)
    words = ["fit", "tsne", table, "--perplexity", "2,3", "--to", "z.csv", "--model", "m"]
    result = lowland(*words, *(["--json"] if json_too else []))
    assert result.exit_code == 130, result.stderr
    assert "Ctrl-C" in result.stderr
    assert "60 of 1000" in result.stderr
    assert "unfinished" in result.stderr
    assert os.path.exists("z.csv")
    assert ll.load("m").interrupted_
    if json_too:
        assert json.loads(result.stdout)["interrupted"]


def test_ctrl_c_while_a_worker_fits(folder, rng):
    """Finished trials are reported, the worker process is stopped, and its folder is removed."""
    np.save("big.npy", rng.standard_normal((3000, 80)))
    home = folder / "home"
    index = next(cache_folder().glob("methods-*.json"))  # another process would collect the methods again
    (home / "lowland").mkdir(parents=True)
    shutil.copy(index, home / "lowland")
    places = {"XDG_CACHE_HOME": str(home), "TMPDIR": str(home)}
    work = subprocess.Popen(
        [*COMMAND, "compare", "big.npy", "--methods", "pca,mds,sammon", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **places},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    limit = time.monotonic() + 100
    while work.poll() is None and len(list(home.glob("lowland/studies/*/arrays.npz"))) < 2 and time.monotonic() < limit:
        time.sleep(0.05)  # until the table and PCA are in the cache
    time.sleep(0.5)  # and MDS has begun, which takes seconds
    work.send_signal(signal.SIGINT)
    out, err = work.communicate(timeout=60)
    assert work.returncode == 130, err
    facts = json.loads(out)
    assert not facts["complete"]
    assert facts["trials"][0]["status"] == "done"
    assert facts["trials"][-1]["status"] == "stopped"
    assert os.listdir(home) == ["lowland"]


def test_a_closed_output_pipe(folder):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*COMMAND, "methods"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("lowland: ")
