"""Files: named pipes and standard input, and what a killed process left behind."""

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
from lowland.data.files import _machine, mark, remove_leftovers
from lowland.data.open import open_labelled, open_rows
from lowland.data.write import atomic_write
from lowland.errors import FileProblem

# --- named pipes are read once, without blocking; devices are refused ---


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


TEXT = "a,b,y\n" + "".join(f"{i},{i * i % 7},{'uv'[i % 2]}\n" for i in range(50_000))


def test_a_pipe_is_read_once_and_used_repeatedly(tmp_path, temporary):
    rows, labels, _ = open_labelled(pipe_with(TEXT.encode(), tmp_path / "x.csv"), "y")
    for _ in range(2):
        assert sum(len(chunk) for chunk in rows.chunks()) == len(labels) == 50_000
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


def test_pipes_of_other_formats(tmp_path, temporary):
    X = np.random.default_rng(0).standard_normal((50, 3))
    np.save(tmp_path / "file.npy", X)
    np.testing.assert_array_equal(
        open_rows(pipe_with((tmp_path / "file.npy").read_bytes(), tmp_path / "x.npy")).to_array(), X
    )
    zipped = open_rows(pipe_with(gzip.compress(TEXT.encode()), tmp_path / "x.csv.gz"), drop=["y"])
    assert sum(len(chunk) for chunk in zipped.chunks()) == 50_000
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


@pytest.mark.parametrize("ending", [".csv", ".npy", ".parquet"])
def test_ctrl_c_ends_the_wait_for_a_slow_program(tmp_path, ending):
    pipe = tmp_path / f"x{ending}"
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


# --- temporary files of processes that were killed are removed; no other file is ---


KILLED = """
import os, signal, sys
from lowland.data.write import atomic_write
with atomic_write(sys.argv[1]) as path:
    path.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def ended():
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_next_write_removes_what_a_killed_process_left(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "z.npy")])
    assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 1
    with atomic_write(tmp_path / "other.npy") as path:
        path.write_text("whole")
    assert os.listdir(tmp_path) == ["other.npy"]


def test_only_leftovers_are_removed(tmp_path, ended):
    other = f"{int(_machine(), 16) ^ 1:08x}"
    kept = [
        f".x{mark()}abc.part",  # of this process
        f".x.lowland-{_machine()}-1-abc.part",  # of a process of another user
        f".x.lowland-{other}-{ended}-abc.part",  # of another machine
        f".x.lowland-{_machine()}-{10**30}-abc.part",  # no process has this number
        "z.part", ".z.abc.part", ".z.lowland.part", "data.lowland",  # files of a user
    ]  # fmt: skip
    gone = [f".x.lowland-{_machine()}-{ended}-abc.part", f"lowland-study.lowland-{_machine()}-{ended}-abc"]
    for name in (*kept, gone[0]):
        (tmp_path / name).write_text("x")
    (tmp_path / gone[1]).mkdir()
    (tmp_path / gone[1] / "X.npy").write_text("x")
    remove_leftovers(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted(kept)
    remove_leftovers(tmp_path / "nowhere")


def test_a_link_is_removed_without_what_it_points_to(tmp_path, ended):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    (tmp_path / f".x.lowland-{_machine()}-{ended}-abc").symlink_to(tmp_path / "precious")
    remove_leftovers(tmp_path)
    assert os.listdir(tmp_path) == ["precious"]
    assert os.listdir(tmp_path / "precious") == ["file"]


def test_long_names_leave_room_for_the_mark(tmp_path):
    with atomic_write(tmp_path / ("z" * 250 + ".csv")) as path:
        path.write_text("x")
    assert len(os.listdir(tmp_path)) == 1
