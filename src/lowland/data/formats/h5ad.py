"""AnnData objects, and AnnData files (.h5ad) by h5py: X, a layer or obsm are rows, coordinates are added to obsm."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import float_dtype, to_numpy
from lowland.data.read_options import ReadOptions
from lowland.data.reader import RowsReader
from lowland.data.rows import (
    SPARSE_SLAB_ROWS,
    ArrayRows,
    Rows,
    StreamRows,
    as_floats,
    checked_sparse,
    stamps_of,
)
from lowland.data.write import atomic_write
from lowland.errors import DataError, MissingExtra, ParameterError, reading
from lowland.run.settings import require_memory

_BYTES_PER_NAME = 100  # in memory


class H5adReader(RowsReader):
    """X, or the matrix named by ``array``, with the columns of obs beside it; the observation names are ids."""

    def __init__(self, path: Path, source: str, read: ReadOptions) -> None:
        with _opened(path, source) as file:
            self.place = _place(file, source, read)
            obs, self.shape = file["obs"], _shape(file[self.place])
            index = _text(obs.attrs.get("_index", "_index"))
            beside = [name for name in map(_text, obs.attrs.get("column-order", ())) if name in obs]
            beside += [index] * (index in obs)
            self.n, d = self.shape
            require_memory(_BYTES_PER_NAME * d, f"{source}, with {d:,} variables,")
            if self.place.startswith("obsm/"):
                self.names = [f"{self.place[5:]} {j + 1}" for j in range(d)]
            else:
                var = file["var"]
                self.names = [_text(name) for name in _column(var[_text(var.attrs.get("_index", "_index"))])]
            if len(self.names) != d:
                raise ValueError(f"{self.place} has {d} columns, but there are {len(self.names)} names of variables")
        self.path, self.source, self.stamps, self.beside = path, source, stamps_of([path]), tuple(beside)
        self.id_name = index if index in beside else None
        labels = [name for name in beside if name != index]
        said = f"; columns of obs: {', '.join(labels)}." if len(beside) > 1 else "."
        self.notes.append(f"{source}: {self.place}, {self.n:,} observations of {d:,} variables{said}")

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the variables at these positions as Rows: sparse if the matrix is sparse."""
        import h5py

        path, place, source, (n, d) = self.path, self.place, self.source, self.shape
        chosen = tuple(self.names[j] for j in keep)
        columns = None if keep == list(range(d)) else np.asarray(keep, dtype=np.int64)
        with _opened(path, source) as file:
            stored = file[place]
            is_sparse = not isinstance(stored, h5py.Dataset)
            if is_sparse:
                kind = _text(stored.attrs.get("encoding-type", stored.attrs.get("h5sparse_format", "unknown")))
                if kind[:3] not in ("csr", "csc"):
                    raise DataError(
                        f"{stored.name} of {source} has the encoding {kind!r}, not csr_matrix or csc_matrix. "
                        "Choose another matrix (`array=...`)."
                    )
                if kind.startswith("csc"):
                    require_memory(2 * (stored["data"].nbytes + stored["indices"].nbytes), source)
                    parts = (stored["data"][:], stored["indices"][:], stored["indptr"][:])
                    X = checked_sparse(scipy.sparse.csc_matrix(parts, shape=(n, d)), source)
                    return ArrayRows(X if columns is None else X[:, columns], chosen, source)
                ends = stored["indptr"]
                if len(ends) != n + 1 or ends[0] != 0 or ends[-1] != len(stored["data"]):
                    raise ValueError("its index pointers do not fit its shape")
            dtype = float_dtype(stored["data"].dtype if is_sparse else stored.dtype)

        def read(slab: int) -> Iterator[Any]:
            with _opened(path, source) as file:
                stored = file[place]
                for start in range(0, n, slab):
                    stop = min(start + slab, n)
                    if not is_sparse:
                        yield stored[start:stop]
                        continue
                    offsets = stored["indptr"][start : stop + 1].astype(np.int64)
                    some = slice(int(offsets[0]), int(offsets[-1]))
                    parts = (stored["data"][some], stored["indices"][some], offsets - offsets[0])
                    yield checked_sparse(scipy.sparse.csr_matrix(parts, shape=(stop - start, d)), source)

        def convert(piece: Any) -> Any:
            return as_floats(piece if columns is None else piece[:, columns], dtype)

        return StreamRows(
            read, convert, n, len(keep), dtype, chosen, source, is_sparse=is_sparse, stamps=self.stamps,
            most_rows=SPARSE_SLAB_ROWS if is_sparse else None,
        )  # fmt: skip

    def _beside(self, name: str) -> np.ndarray:
        with _opened(self.path, self.source) as file:
            return _column(file[f"obs/{name}"])


class AnnDataReader(RowsReader):
    """X of an AnnData object in memory, with the columns of obs beside it; ``opened`` opens X as Rows."""

    source = "the AnnData object"

    def __init__(self, data: Any, opened: Callable[[Any], Rows]) -> None:
        self.data, self.opened = data, opened
        self.names, (self.n, _) = [str(name) for name in data.var_names], data.shape
        self.id_name = data.obs.index.name or "obs_names"
        self.beside = (self.id_name, *(str(name) for name in data.obs.columns))

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the variables at these positions as Rows: sparse if X is sparse."""
        X = self.data.X
        rows = self.opened(X if keep == list(range(len(self.names))) else X[:, keep])
        rows.names = tuple(self.names[j] for j in keep)
        return rows

    def _beside(self, name: str) -> np.ndarray:
        obs = self.data.obs
        return np.asarray(obs.index if name == self.id_name else obs[name])


def _place(file: Any, source: str, read: ReadOptions) -> str:
    held = [
        *(["X"] if "X" in file else []),
        *(f"{group}/{name}" for group in ("layers", "obsm") for name in file.get(group, {})),
    ]
    wanted = (read.array or "X").replace(":", "/")
    found = [name for name in held if name == wanted or name.partition("/")[2] == wanted]
    if not found or "obs" not in file:
        raise ParameterError(
            f"`array={wanted!r}`: {source} contains only {', '.join(map(repr, held)) or 'no matrix'}. "
            "Choose a matrix of the file."
        )
    return found[0]


def _column(stored: Any) -> np.ndarray:
    """The values of a column: an array, categories with codes, or values with a mask of the missing ones."""
    if not hasattr(stored, "keys"):
        return _decoded(stored[:])
    if "codes" in stored:
        codes = stored["codes"][:]
        values, mask = _column(stored["categories"]).astype(object)[np.maximum(codes, 0)], codes < 0
    else:
        values, mask = _decoded(stored["values"][:]).astype(object), stored["mask"][:]
    values[mask] = None
    return values


def write_obsm(source: Path, to: Path, name: str, chunks: Iterable[Any]) -> int:
    """Write a copy of an AnnData file with the coordinates of its observations in ``obsm``; return their number."""
    Z = np.concatenate([to_numpy(chunk) for chunk in chunks])
    with _opened(source, repr(source.name)) as file:
        obs = file["obs"]
        n = len(_column(obs[_text(obs.attrs.get("_index", "_index"))]))
    if len(Z) != n:
        raise DataError(
            f"{source.name!r} has {n:,} observations, and {len(Z):,} of them have coordinates. A .h5ad file holds "
            "those of all. Write .parquet, which holds some with their names."
        )
    import h5py

    with atomic_write(to) as temporary:
        shutil.copyfile(source, temporary)
        with h5py.File(temporary, "r+") as file:
            group = file.require_group("obsm")
            group.attrs.setdefault("encoding-type", "dict")
            group.attrs.setdefault("encoding-version", "0.1.0")
            if name in group:
                del group[name]
            stored = group.create_dataset(name, data=Z)
            stored.attrs["encoding-type"], stored.attrs["encoding-version"] = "array", "0.2.0"
    return n


def other_files(path: Path) -> list[str]:
    """Return the files that parts of an HDF5 file come from: external links, external storage, virtual data sets."""
    found: list[str] = []

    def look(item: Any) -> None:
        import h5py

        if isinstance(item, h5py.Group):
            links = [item.get(name, getlink=True) for name in item]
            found.extend(link.filename for link in links if isinstance(link, h5py.ExternalLink))
        elif isinstance(item, h5py.Dataset):
            found.extend(file for file, _, _ in item.external or ())
            sources = item.virtual_sources() if item.is_virtual else ()
            found.extend(source.file_name for source in sources if source.file_name != ".")

    with _opened(path, repr(path.name)) as file:
        look(file)
        file.visititems(lambda _, item: look(item))
    return found


@contextmanager
def _opened(path: Path, source: str) -> Iterator[Any]:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra("h5py", "anndata") from error
    with reading(path, source, ".h5ad"), h5py.File(path, "r") as file:
        yield file


def _shape(stored: Any) -> tuple[int, int]:
    shape = stored.shape if hasattr(stored, "shape") else stored.attrs.get("shape", stored.attrs.get("h5sparse_shape"))
    if shape is None or len(shape) != 2:
        raise DataError(f"{stored.name} is not a matrix. Choose another one (`array=...`).")
    return int(shape[0]), int(shape[1])


def _decoded(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "OS":
        return np.array([_text(value) for value in values], dtype=object)
    return values


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
