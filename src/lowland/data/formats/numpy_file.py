"""Arrays in .npy and .npz files: a .npy file is memory-mapped, an array of images becomes one row per image."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_sparse
from lowland.data.files import suffix_of
from lowland.data.open import checked_shape, no_complex, open_array
from lowland.data.read_options import ReadOptions
from lowland.data.reader import WholeRows
from lowland.data.rows import ArrayRows, stamps_of
from lowland.errors import DataError, ParameterError, reading
from lowland.run.settings import require_memory

SMALLEST_SIDE = 8  # pixels of a square image whose rows of bytes are recognized
LABELS = ("y", "label", "labels", "target", "targets", "class", "classes")  # arrays of a .npz file that are labels


def open_numpy_file(path: Path, source: str, read: ReadOptions) -> WholeRows:
    """Return the array in a file as a table, with the labels beside it in a .npz file, if there are some."""
    stamps = stamps_of([path])
    found = load_numpy(path, read.array)
    if is_sparse(found):
        return WholeRows(ArrayRows(checked_shape(no_complex(found), source), None, source))
    shape = _image_shape(found)
    rows = open_array(found if shape is None else found.reshape(len(found), -1), source)
    if shape is not None:
        rows.image_shape = shape
        rows.notes = (f"{source} contains {len(found):,} images of {shape[1]} × {shape[0]} pixels.",)
    if isinstance(found, np.memmap):
        rows.stamps = stamps
    labels = None if suffix_of(path) == ".npy" else _labels_beside(path, len(found))
    return WholeRows(rows, *labels or ())


def _image_shape(X: np.ndarray) -> tuple[int, ...] | None:
    """Return the shape of images, (height, width) or (height, width, 3): of stacked ones, or of rows of square ones."""
    shape = X.shape[1:]
    if len(shape) == 2 or (len(shape) == 3 and shape[2] in (1, 3)):
        return shape if shape[2:] == (3,) else shape[:2]
    side = math.isqrt(shape[0]) if len(shape) == 1 else 0
    return (side, side) if side >= SMALLEST_SIDE and side * side == shape[0] and X.dtype == np.uint8 else None


def _labels_beside(path: Path, n: int) -> tuple[str, np.ndarray] | None:
    """Return the name and values of an array of labels in a .npz file, one per row."""
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        for name in (name for name in LABELS if name in archive.files):
            values = archive[name]
            if values.shape in ((n,), (n, 1)) and values.dtype.kind in "biufUS":
                return name, values.reshape(n)
    return None


def load_numpy(path: Path, array: str | None = None) -> Any:
    """Return the array in a .npy file, memory-mapped, or the one of a .npz file: X, or the only one besides labels.

    ``array`` names another array of a .npz file.
    A .npz file may also contain a sparse matrix, as scipy.sparse.save_npz writes it.
    """
    with reading(path, repr(str(path)), suffix_of(path)):
        if suffix_of(path) == ".npy":
            return np.load(path, mmap_mode="r", allow_pickle=False)
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            held = archive.files
            others = [each for each in held if each not in LABELS] or held
            only = "X" if "X" in held else others[0] if len(others) == 1 else None
            name = only if array is None else array if array in held else None
            is_sparse_file = name is None and array is None and {"format", "shape"} <= set(held)
            sizes = {info.filename.removesuffix(".npy"): info.file_size for info in archive.zip.infolist()}
            size = sum(sizes.values()) if is_sparse_file else sizes.get(name or "", 0)
            require_memory(size, f"{str(path)!r}, unpacked,")
            if name is not None:
                return archive[name]
            if is_sparse_file:
                import scipy.sparse

                return scipy.sparse.load_npz(path)  # no pickle: scipy forbids it
    if not held:
        raise DataError(f"{str(path)!r} contains no array. Write it again.")
    names = ", ".join(map(repr, held))
    if array is not None:
        raise ParameterError(f"`array={array!r}`: {str(path)!r} contains only the arrays {names}. Choose one.")
    raise DataError(
        f"{str(path)!r} contains the arrays {names}. Choose one, such as `array={held[0]!r}`, or name it 'X'."
    )
