"""Temporary files of processes that were killed are removed; no other file is."""

import os
import signal
import subprocess
import sys

import pytest

from lowland.data.files import _machine, mark, remove_leftovers
from lowland.data.write import atomic_write

KILLED = """
import os, signal, sys
from lowland.data.write import atomic_write
with atomic_write(sys.argv[1]) as path:
    path.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="leftovers are removed on POSIX only")


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
