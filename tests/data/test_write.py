"""Results are written completely or not at all."""

import os
import stat

import numpy as np
import pytest

from lowland.data.open import open_rows
from lowland.data.write import atomic_write, check_writable, write_chunks
from lowland.errors import DataError, FileProblem, MissingFile, ParameterError

ENDINGS = [".npy", ".csv", ".csv.gz", ".parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_written_files_can_be_read(tmp_path, ending, dtype):
    Z = np.random.default_rng(0).standard_normal((100, 3)).astype(dtype)
    path = tmp_path / f"z{ending}"
    assert write_chunks([Z[:30], np.asfortranarray(Z[30:])], path, ["u", "v", "w"]) == 100
    rows = open_rows(path)
    np.testing.assert_allclose(np.concatenate([np.asarray(c) for c in rows.chunks()]), Z, rtol=1e-6)
    assert rows.names == (None if ending == ".npy" else ("u", "v", "w"))
    if ending != ".csv" and ending != ".csv.gz":
        assert rows.dtype == dtype
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file_and_no_other(tmp_path, ending, error):
    path = tmp_path / f"z{ending}"
    path.write_bytes(b"old")

    def chunks():
        yield np.ones((5, 2))
        raise error

    with pytest.raises(error):
        write_chunks(chunks(), path, ["a", "b"])
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_rows(tmp_path, ending):
    with pytest.raises(DataError, match="no rows"):
        write_chunks([], tmp_path / f"z{ending}", ["a"])
    assert not list(tmp_path.iterdir())


def test_unwritable_paths_are_reported(tmp_path):
    with pytest.raises(MissingFile, match="folder"), atomic_write(tmp_path / "no" / "z.npy"):
        pass
    with pytest.raises(FileProblem, match="is a folder"), atomic_write(tmp_path):
        pass
    with pytest.raises(ParameterError, match=r"\.parquet"):
        check_writable("z.xlsx")


def test_files_have_ordinary_permissions(tmp_path):
    (tmp_path / "plain").write_text("x")
    write_chunks([np.ones((2, 2))], tmp_path / "z.npy", ["a", "b"])
    assert (tmp_path / "z.npy").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_half_of_a_surrogate_pair_in_a_name(tmp_path, ending):
    with pytest.raises(DataError, match=r"'b\\udc80'.*surrogate.*Rename"):
        write_chunks([np.eye(2)], tmp_path / f"z{ending}", ["a", "b\udc80"])
    assert not list(tmp_path.iterdir())


def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(FileProblem, match="a device, a pipe or a socket"), atomic_write(tmp_path / "pipe.csv"):
        pass
    assert stat.S_ISFIFO((tmp_path / "pipe.csv").stat().st_mode)
