"""Named pipes are read once, without blocking; devices are refused."""

import gc
import gzip
import os
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import lowland
from lowland.data import files as streams
from lowland.data.open import open_labelled, open_rows
from lowland.errors import FileProblem

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes"),
    pytest.mark.timeout(60),
]


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "temporary"


def pipe_with(content, path):
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    return path


TEXT = "a,b,y\n" + "".join(f"{i},{i * i % 7},{'uv'[i % 2]}\n" for i in range(5_000))


def test_a_pipe_is_read_once_and_used_repeatedly(tmp_path, temporary):
    rows, labels, _ = open_labelled(pipe_with(TEXT.encode(), tmp_path / "x.csv"), "y")
    for _ in range(2):
        assert sum(len(chunk) for chunk in rows.chunks()) == len(labels) == 5_000
    assert lowland.VectorQuantizer(3, random_state=0).fit(rows).n_features_in_ == 2
    assert os.listdir(temporary)
    del rows
    assert not os.listdir(temporary)


@pytest.mark.parametrize(
    "method",
    [lowland.PCA(2), lowland.LinearDiscriminantAnalysis(), lowland.KernelPCA(2, n_landmarks=20, random_state=0)],
)
def test_fit_transform_opens_a_pipe_once(tmp_path, temporary, method):
    text = "".join(TEXT.splitlines(keepends=True)[:400])
    (tmp_path / "file.csv").write_text(text)
    expected = method.fit_transform(tmp_path / "file.csv", "y")
    found = method.fit_transform(pipe_with(text.encode(), tmp_path / "x.csv"), "y")
    np.testing.assert_array_equal(found, expected)
    assert method.label_name_ == "y"
    assert not os.listdir(temporary)


@pytest.fixture
def no_collection():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")  # the copy is removed with the last reference to the table
def test_pipes_of_other_formats(tmp_path, temporary):
    X = np.random.default_rng(0).standard_normal((50, 3))
    np.save(tmp_path / "file.npy", X)
    np.testing.assert_array_equal(
        open_rows(pipe_with((tmp_path / "file.npy").read_bytes(), tmp_path / "x.npy")).to_array(), X
    )
    assert not os.listdir(temporary)
    zipped = open_rows(pipe_with(gzip.compress(TEXT.encode()), tmp_path / "x.csv.gz"), drop=["y"])
    assert sum(len(chunk) for chunk in zipped.chunks()) == 5_000
    del zipped
    assert not os.listdir(temporary)


def test_errors_name_the_pipe(tmp_path, temporary):
    with pytest.raises(FileProblem, match=r"x\.parquet"):
        open_rows(pipe_with(b"no Parquet file", tmp_path / "x.parquet"))
    assert not os.listdir(temporary)


def test_a_pipe_to_which_nobody_writes(tmp_path, temporary, monkeypatch):
    monkeypatch.setattr(streams, "WAIT", 0.2)
    os.mkfifo(tmp_path / "x.csv")
    with pytest.raises(FileProblem, match=r"x\.csv.*named pipe.*no program writes"):
        open_rows(tmp_path / "x.csv")
    assert not os.listdir(temporary)


def test_a_device_is_refused(tmp_path):
    (tmp_path / "x.csv").symlink_to("/dev/zero")
    with pytest.raises(FileProblem, match=r"x\.csv.*device"):
        open_rows(tmp_path / "x.csv")


def test_ctrl_c_ends_the_wait_for_a_slow_program(tmp_path):
    pipe = tmp_path / "x.csv"
    os.mkfifo(pipe)
    program = "import sys, lowland; print('begins', flush=True); lowland.PCA(1).fit(sys.argv[1])"
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(pipe)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "begins\n"
        writer = os.open(pipe, os.O_WRONLY)  # waits until the process reads
        os.write(writer, b"a,b\n1,2\n")  # and then nothing more
        process.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in process.communicate(timeout=30)[1]
        os.close(writer)
    finally:
        process.kill()
        process.wait()
