"""Errors name their cause: too little memory is not a damaged file, nor a full disk."""

import errno

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors

import lowland
from lowland import PCA
from lowland.cli.main import exit_code_of
from lowland.data.write import write_chunks
from lowland.errors import FileProblem, LowlandError, MemoryBudgetError, file_error

X = np.arange(12.0).reshape(6, 2) ** 2


def no_memory(*_, **__):
    raise OSError(errno.ENOMEM, "Cannot allocate memory")


def written(folder, suffix):
    path = folder / f"x{suffix}"
    if suffix == ".npz":
        np.savez(path, X=X)
    elif suffix == ".lowland":
        lowland.save(PCA(1).fit(X), path)
    else:
        write_chunks([X], path, ["a", "b"])
    return path


@pytest.mark.parametrize(
    ("suffix", "module", "name"),
    [
        (".npy", np, "load"),
        (".npz", np, "load"),
        (".csv", pa, "input_stream"),
        (".parquet", pq, "ParquetFile"),
        (".lowland", safetensors, "safe_open"),
    ],
)
def test_too_little_memory_does_not_blame_the_file(tmp_path, monkeypatch, suffix, module, name):
    path = written(tmp_path, suffix)
    monkeypatch.setattr(module, name, no_memory)
    with pytest.raises(LowlandError, match=r"(?i)memory") as caught:
        lowland.load(path) if suffix == ".lowland" else list(lowland.open_rows(path).chunks())
    assert isinstance(caught.value, MemoryError)
    assert str(path) in str(caught.value)
    for blame in ("valid", "damaged", "truncated", "rite it again", "disk"):
        assert blame not in str(caught.value)


def test_too_little_memory_does_not_blame_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("os.replace", no_memory)
    with pytest.raises(MemoryBudgetError, match="memory"):
        write_chunks([X], tmp_path / "x.npy", ["a", "b"])
    assert list(tmp_path.iterdir()) == []


def test_other_errors_of_a_file_are_kept():
    damaged = FileProblem("damaged")
    assert file_error("x.npy", OSError(errno.ENOSPC, "No space left on device"), damaged) is damaged
    assert "x.npy" in str(file_error("x.npy", MemoryError(), damaged))


def test_the_command_line_reports_too_little_memory(capsys):
    assert exit_code_of(no_memory, as_json=False, debug=False) == 1
    assert "Not enough memory" in capsys.readouterr().err


def interrupted_in_a_kernel(*_, **__):
    raise SystemError("a compiled function returned a result with an exception set") from KeyboardInterrupt()


def test_ctrl_c_inside_a_compiled_function_is_ctrl_c(monkeypatch, capsys):
    monkeypatch.setattr(PCA, "_solve", interrupted_in_a_kernel)
    with pytest.raises(KeyboardInterrupt):
        PCA(1).fit(X)
    assert exit_code_of(interrupted_in_a_kernel, as_json=False, debug=False) == 130
    assert "Interrupted" in capsys.readouterr().err
