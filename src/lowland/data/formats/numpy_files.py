"""Numpy files: .npy, memory-mapped, and .npz, which may contain a sparse matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from lowland.data.formats.arrow import first_line
from lowland.data.paths import suffix_of
from lowland.errors import DataError, FileProblem, ParameterError, file_error


def load_numpy(path: Path, array: str | None = None) -> Any:
    """Return the array in a .npy file, memory-mapped, or the one named X (or the only one) in a .npz file.

    ``array`` names another array of a .npz file.
    A .npz file may also contain a sparse matrix, as scipy.sparse.save_npz writes it.
    """
    try:
        if suffix_of(path) == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            if array is not None and array in archive.files:
                return archive[array]
            name = "X" if "X" in archive.files else archive.files[0] if len(archive.files) == 1 else None
            if name is not None and array is None:
                return archive[name]
            if {"format", "shape"} <= set(archive.files) and array is None:
                return _sparse_matrix(path)
            held = archive.files
    except Exception as error:  # zipfile, zlib, pickle and OS errors: a damaged archive fails in many ways
        damaged = (
            f"{str(path)!r} is not a valid {suffix_of(path)} file of numbers: {first_line(error)}. Write it again."
        )
        raise file_error(path, error, FileProblem(damaged)) from error
    if not held:
        raise DataError(f"{str(path)!r} contains no array. Write it again.")
    names = ", ".join(map(repr, held))
    if array is not None:
        raise ParameterError(f"`array={array!r}`: {str(path)!r} contains only the arrays {names}.")
    raise DataError(
        f"{str(path)!r} contains the arrays {names}. Choose one, such as `array={held[0]!r}`, or name it 'X'."
    )


def _sparse_matrix(path: Path) -> Any:
    import scipy.sparse

    matrix = scipy.sparse.load_npz(path)  # no pickle: scipy forbids it
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # an index beyond the shape would read outside the array
    return matrix
