"""AnnData files (.h5ad), read in slabs by h5py: X, a layer or obsm as rows, the columns of obs as labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lowland.arrays.precision import float_dtype
from lowland.data.columns import TableFile
from lowland.data.passes import Passes, Slab
from lowland.data.read_options import ReadOptions
from lowland.data.rows import SPARSE_SLAB_ROWS, Rows, SparseRows, as_floats
from lowland.errors import DataError, MissingExtra, ParameterError, reading


class H5adTable(TableFile):
    """The matrix X of an AnnData file, or the one named by ``array``; the names of the observations are the ids."""

    def __init__(self, path: Path, read: ReadOptions | None = None, source: str | None = None) -> None:
        self.path, self.source, self.read = path, source or repr(str(path)), read or ReadOptions()
        self.read.refuse_others(("array",), "a .h5ad file")
        self.passes = Passes(self.source, [path])
        with self._open() as file:
            self.place = self._place(file)
            obs, self.shape = file["obs"], _shape(file[self.place])
            self.n = self.shape[0]
            index = _text(obs.attrs.get("_index", "_index"))
            self.obs = {name: f"obs/{name}" for name in map(_text, obs.attrs.get("column-order", ())) if name in obs}
            self.id_name = index if index in obs else None
            if self.id_name:
                self.obs[index] = f"obs/{index}"
            self.beside = tuple(self.obs)
            self.names = self._names(file)
        self.notes.append(
            f"{self.source}: {self.place}, {self.shape[0]:,} observations of {self.shape[1]:,} variables"
            + (f"; columns of obs: {', '.join(n for n in self.obs if n != index)}." if len(self.obs) > 1 else ".")
        )

    def _open(self) -> AbstractContextManager[Any]:
        return _opened(self.path, self.source)

    def _place(self, file: Any) -> str:
        """Return the path of the matrix within the file."""
        held = [
            *(["X"] if "X" in file else []),
            *(f"{group}/{name}" for group in ("layers", "obsm") for name in file.get(group, {})),
        ]
        wanted = (self.read.array or "X").replace(":", "/")
        found = [name for name in held if name == wanted or name.partition("/")[2] == wanted]
        if not found or "obs" not in file:
            raise ParameterError(
                f"`array={wanted!r}`: {self.source} contains only {', '.join(map(repr, held)) or 'no matrix'}."
            )
        return found[0]

    def _names(self, file: Any) -> list[str]:
        if self.place.startswith("obsm/"):
            return [f"{self.place[5:]} {j + 1}" for j in range(self.shape[1])]
        var = file["var"]
        return [_text(name) for name in var[_text(var.attrs.get("_index", "_index"))][:]]

    def rows_at(self, keep: list[int]) -> Rows:
        """Return the variables at these positions as Rows: sparse if the matrix is sparse."""
        import h5py

        names = tuple(self.names[j] for j in keep)
        columns = None if keep == list(range(self.shape[1])) else np.asarray(keep, dtype=np.int64)
        about: dict[str, Any] = {
            "table": self, "columns": columns, "names": names, "source": self.source, "passes": self.passes,
            "n": self.shape[0], "d": len(keep),
        }  # fmt: skip
        with self._open() as file:
            stored = file[self.place]
            if isinstance(stored, h5py.Dataset):
                return H5Rows(**about, dtype=float_dtype(stored.dtype), is_sparse=False)
            kind = _text(stored.attrs.get("encoding-type", stored.attrs.get("h5sparse_format", "unknown")))
            if kind[:3] not in ("csr", "csc"):
                raise DataError(
                    f"{stored.name} of {self.source} has the encoding {kind!r}, not csr_matrix or csc_matrix. "
                    "Choose another matrix (`array=...`)."
                )
            if kind.startswith("csc"):
                X = _matrix(stored, "csc_matrix", self.shape).tocsr()
                return SparseRows(X if columns is None else X[:, columns], self.source, names)
            ends = stored["indptr"]
            if len(ends) != self.shape[0] + 1 or ends[0] != 0 or ends[-1] != len(stored["data"]):
                raise ValueError("its index pointers do not fit its shape")
            return H5Rows(**about, dtype=float_dtype(stored["data"].dtype), is_sparse=True)

    def _beside_values(self, name: str, *, missing_text: bool) -> np.ndarray:
        """Return a column of obs."""
        with self._open() as file:
            stored = file[self.obs[name]]
            if hasattr(stored, "keys"):  # categories and their codes, or values and a mask
                if "codes" not in stored:
                    values, mask = stored["values"][:], stored["mask"][:]
                    values = _decoded(values).astype(object)
                    values[mask] = None
                    return values
                codes, categories = stored["codes"][:], _decoded(stored["categories"][:])
                values = categories.astype(object)[np.maximum(codes, 0)]
                values[codes < 0] = None
                return values
            return _decoded(stored[:])

    def _values(self, j: int, *, missing_text: bool) -> np.ndarray:
        X = self.rows_at([j]).to_array()
        return np.asarray(X.todense() if hasattr(X, "todense") else X)[:, 0]

    def first_text_column(self) -> str | None:
        """Return None: the variables are numbers."""
        return None


@dataclass(kw_only=True)
class H5Rows(Rows):
    """Rows of a dense matrix or of a sparse one by rows, read in slabs."""

    table: H5adTable
    columns: np.ndarray | None
    names: tuple[str, ...] | None
    source: str
    passes: Passes | None
    n: int
    d: int
    dtype: np.dtype
    is_sparse: bool
    in_memory: bool = field(default=False, init=False)

    @property
    def slab(self) -> int:
        """Rows in a slab."""
        return SPARSE_SLAB_ROWS if self.is_sparse else super().slab

    def pieces(self) -> Iterator[Any]:
        """Yield slabs."""
        assert self.passes is not None
        return self.passes.numbered(self._slabs(), lambda piece: int(piece.shape[0]))

    def _slabs(self) -> Iterator[Any]:
        width = self.table.shape[1]
        with self.table._open() as file:
            stored = file[self.table.place]
            for start in range(0, self.n, self.slab):
                stop = min(start + self.slab, self.n)
                yield _csr_slab(stored, start, stop, width) if self.is_sparse else stored[start:stop]

    def height(self, piece: Slab) -> int:
        """Return the number of rows in a slab."""
        return int(piece.raw.shape[0])

    def prepare(self, piece: Slab) -> Any:
        """Return the slab as floats."""
        assert self.passes is not None
        X = piece.raw if self.columns is None else piece.raw[:, self.columns]
        return self.passes.compare(piece, as_floats(X, self.dtype))


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


def _csr_slab(stored: Any, start: int, stop: int, width: int) -> Any:
    import scipy.sparse

    offsets = stored["indptr"][start : stop + 1].astype(np.int64)
    some = slice(int(offsets[0]), int(offsets[-1]))
    parts = (stored["data"][some], stored["indices"][some], offsets - offsets[0])
    X = scipy.sparse.csr_matrix(parts, shape=(stop - start, width))
    X.check_format(full_check=True)  # an index beyond the shape would read outside the array
    return X


def _matrix(stored: Any, kind: str, shape: tuple[int, int]) -> Any:
    import scipy.sparse

    parts = (stored["data"][:], stored["indices"][:], stored["indptr"][:])
    X = getattr(scipy.sparse, kind)(parts, shape=shape)
    X.check_format(full_check=True)
    return X


def _decoded(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind in "OS":
        return np.array([_text(value) for value in values], dtype=object)
    return values


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
