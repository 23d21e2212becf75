"""Damaged data files: an error of Lowland, or the rows that another reader of the format sees."""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path

import numpy as np

import lowland
from hunt.audit import watching
from hunt.cases import Area, Wrong
from hunt.mutations import mutate
from lowland.arrays.namespace import to_numpy
from lowland.errors import LowlandError

FORMATS = (".csv", ".csv", ".tsv", ".csv.gz", ".parquet", ".npy", ".npz", "sparse.npz")
HEADER = ("size", "weight", "age")


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Damage one file, read it, and compare with another reader."""
    suffix = FORMATS[seed % len(FORMATS)]
    content = _file(suffix, seed // len(FORMATS) % 6)
    what, data = mutate(content, _file(suffix, int(rng.integers(6))), rng)
    if suffix == ".csv.gz" and rng.random() < 0.5:  # damage inside a valid archive
        import gzip

        what, data = mutate(gzip.decompress(content), content, rng)
        what, data = f"{what} inside", gzip.compress(data, mtime=0)
    path = folder / f"x{suffix}" if suffix.startswith(".") else folder / "x.npz"
    path.write_bytes(data)
    case = f"{suffix} {seed // len(FORMATS) % 6}, {what}"
    try:
        with watching():
            chunks = [to_numpy(_dense(chunk)) for chunk in lowland.open_rows(path).chunks()]
        ours = np.concatenate(chunks).astype(float) if chunks else np.zeros((0, 3))
    except LowlandError as error:
        if data == content:
            raise Wrong(f"{case}: an intact file is refused: {error}") from None
        return f"refused: {case}: {error}"[:160]
    theirs = _reference(path, suffix, data)
    if theirs is None:
        raise Wrong(f"{case}: {ours.shape[0]} rows are read from a file that another reader refuses")
    if isinstance(theirs, str):
        return f"done: {case}: {theirs}"
    if not ours.size and not theirs.size:
        return f"done: {case}: no rows"
    if ours.shape != theirs.shape or not np.array_equal(ours, theirs, equal_nan=True):
        raise Wrong(f"{case}: read {ours.shape}, another reader {theirs.shape}, or other values")
    return f"done: {case}"


def _dense(chunk: object) -> object:
    return chunk.toarray() if hasattr(chunk, "toarray") else chunk


@cache
def _file(suffix: str, variant: int) -> bytes:
    """A small intact file, in six variants."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import scipy.sparse

    rng = np.random.default_rng(variant)
    X = np.round(rng.standard_normal((int(rng.integers(3, 9)), 3)) * 10, 3)
    if variant == 2:
        X = np.round(X)
    out = io.BytesIO()
    if suffix in (".csv", ".tsv", ".csv.gz"):
        mark, end = "\t" if suffix == ".tsv" else ",", "\r\n" if variant == 3 else "\n"
        names = [f'"{name}"' for name in HEADER] if variant == 4 else HEADER
        text = end.join(mark.join(row) for row in [list(names), *([repr(float(v)) for v in row] for row in X)]) + end
        data = (b"\xef\xbb\xbf" if variant == 5 else b"") + text.encode()
        if suffix == ".csv.gz":
            import gzip

            return gzip.compress(data, mtime=0)
        return data
    if suffix == ".parquet":
        table = pa.table({name: X[:, j].astype("f4" if variant == 1 else "f8") for j, name in enumerate(HEADER)})
        compression = ("none", "snappy", "zstd", "gzip", "none", "snappy")[variant]
        pq.write_table(table, out, row_group_size=3, compression=compression, use_dictionary=variant != 4)
    elif suffix == ".npy":
        np.save(out, X.astype(("f8", "f4", "i4", ">f8", "f2", "u1")[variant]))
    elif suffix == ".npz":
        (np.savez if variant % 2 else np.savez_compressed)(out, X=X)
    else:
        scipy.sparse.save_npz(out, scipy.sparse.csr_array(np.where(X > 0, X, 0)), compressed=bool(variant % 2))
    return out.getvalue()


def _reference(path: Path, suffix: str, data: bytes) -> np.ndarray | str | None:
    """The rows as another reader sees them; None if it refuses; a reason, if it cannot decide."""
    import pyarrow.parquet as pq
    import scipy.sparse

    try:
        if suffix == ".parquet":
            table = pq.ParquetFile(path).read()
            return np.column_stack([table.column(j).to_numpy().astype(float) for j in range(table.num_columns)])
        if suffix == ".npy":
            return np.load(io.BytesIO(data), allow_pickle=False).astype(float)
        if suffix.endswith("npz"):
            with np.load(io.BytesIO(data), allow_pickle=False) as archive:
                if suffix == ".npz" or len(archive.files) == 1:
                    return archive[archive.files[0]].astype(float)
            return scipy.sparse.load_npz(io.BytesIO(data)).toarray().astype(float)
    except Exception:
        return None
    return _csv_rows(data, suffix)


def _csv_rows(data: bytes, suffix: str) -> np.ndarray | str | None:
    """The rows of a text file, read by Python's csv module and float."""
    import gzip

    try:
        text = (gzip.decompress(data) if suffix == ".csv.gz" else data).decode("utf-8-sig")
    except UnicodeDecodeError:
        return "not UTF-8 in a name or a cell that is not read as a number"
    except Exception:
        return None
    if '"' in text.partition("\n")[2] or "\0" in text:
        return "quotes and zeros in cells are read differently by every program"
    try:
        lines = [line for line in csv.reader(io.StringIO(text), delimiter="\t" if suffix == ".tsv" else ",") if line]
    except csv.Error:
        return "a bare carriage return is read differently by every program"
    try:
        rows = np.array([[np.nan if not cell else float(cell) for cell in line] for line in lines[1:]])
    except ValueError:
        return "a value such as true, or rows of other lengths"
    return rows.reshape(len(rows), -1) if len(rows) else np.zeros((0, len(lines[0]) if lines else 0))


AREA = Area("data-files", "damaged CSV, Parquet, npy and npz files", run, cases=9_000, limit=20)
