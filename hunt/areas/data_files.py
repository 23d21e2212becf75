"""Damaged data files: an error of Lowland, or the rows that another reader of the format sees."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

import lowland
from hunt.audit import watching
from hunt.cases import Area, Wrong
from hunt.mutations import mutate
from lowland.arrays.namespace import to_numpy
from lowland.errors import LowlandError

FORMATS = (
    *(".csv", ".csv", ".tsv", ".csv.gz", ".parquet", ".npy", ".npz", "sparse.npz"),
    *(".feather", ".jsonl", ".xlsx", ".ods", ".h5ad", "sparse.h5ad"),
)
INSIDE = {".csv.gz": "", ".xlsx": "xl/worksheets/sheet1.xml", ".ods": "content.xml"}  # the text in a compressed file
FORGED = (".jsonl", "sparse.npz", "sparse.h5ad")
HEADER = ("size", "weight", "age")
_SPACES = " ".join(
    f'xmlns:{letter}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for letter, name in (("t", "table"), ("o", "office"), ("x", "text"))
)


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Damage one file, read it, and compare with another reader."""
    suffix = FORMATS[seed % len(FORMATS)]
    content = _file(suffix, seed // len(FORMATS) % 6)
    what, data = mutate(content, _file(suffix, int(rng.integers(6))), rng)
    if suffix in INSIDE and rng.random() < 0.5:  # damage inside a valid archive
        what, data = mutate(_inside(suffix, content), content, rng)
        what, data = f"{what} inside", _around(suffix, content, data)
    elif suffix in FORGED and rng.random() < 0.5:  # a valid file whose content misleads
        what, data = "forged", _forged(suffix, content, rng)
    path = folder / f"x{suffix if suffix.startswith('.') else suffix[len('sparse') :]}"
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


def _forged(suffix: str, content: bytes, rng: np.random.Generator) -> bytes:
    """A file of the format that claims too much: indices outside of a sparse matrix, huge shapes, deep nesting."""
    import h5py

    if suffix == ".jsonl":
        depth = int(rng.choice([10, 99, 101, 3000, 30_000]))
        place = int(rng.integers(len(content)))
        opening = [b"[", b'["]", ', b'{"a":', b"[\n"][int(rng.integers(4))]
        return content[:place] + opening * depth + b"]" * depth * int(rng.integers(2)) + content[place:]
    numbers = [-(2**31), -1, 3, 2**20, 2**31 - 1]
    name, number = str(rng.choice(["indices", "indptr", "shape"])), int(rng.choice(numbers))
    out = io.BytesIO(content)
    if suffix == "sparse.npz":
        with np.load(out) as archive:
            arrays = dict(archive)
        arrays[name][int(rng.integers(len(arrays[name])))] = number
        np.savez(out := io.BytesIO(), **arrays)
    else:
        with h5py.File(out, "r+") as file:
            stored = file["X"].attrs["shape"] if name == "shape" else file["X"][name][:]
            if len(stored):
                stored[int(rng.integers(len(stored)))] = number
            if name == "shape":
                file["X"].attrs["shape"] = stored
            else:
                file["X"][name][:] = stored
    return out.getvalue()


def _dense(chunk: object) -> object:
    return chunk.toarray() if hasattr(chunk, "toarray") else chunk


def _inside(suffix: str, content: bytes) -> bytes:
    """The text in a compressed file."""
    if suffix == ".csv.gz":
        return gzip.decompress(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(INSIDE[suffix])


def _around(suffix: str, content: bytes, text: bytes) -> bytes:
    """A valid archive like ``content``, with another text."""
    if suffix == ".csv.gz":
        return gzip.compress(text, mtime=0)
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w") as new:
        for name in archive.namelist():
            new.writestr(name, text if name == INSIDE[suffix] else archive.read(name))
    return out.getvalue()


@cache
def _file(suffix: str, variant: int) -> bytes:
    """A small intact file, in six variants."""
    import pyarrow as pa
    import pyarrow.feather
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
        return gzip.compress(data, mtime=0) if suffix == ".csv.gz" else data
    if suffix == ".parquet":
        table = pa.table({name: X[:, j].astype("f4" if variant == 1 else "f8") for j, name in enumerate(HEADER)})
        compression = ("none", "snappy", "zstd", "gzip", "none", "snappy")[variant]
        pq.write_table(table, out, row_group_size=3, compression=compression, use_dictionary=variant != 4)
    elif suffix == ".npy":
        np.save(out, X.astype(("f8", "f4", "i4", ">f8", "f2", "u1")[variant]))
    elif suffix == ".npz":
        (np.savez if variant % 2 else np.savez_compressed)(out, X=X)
    elif suffix == ".feather":
        table = pa.table({name: X[:, j].astype("f4" if variant == 1 else "f8") for j, name in enumerate(HEADER)})
        pa.feather.write_feather(table, out, compression=("uncompressed", "lz4", "zstd")[variant % 3], chunksize=3)
    elif suffix == ".jsonl":
        lines = [json.dumps(dict(zip(HEADER, map(float, row), strict=True))) for row in X]
        out.write(("\r\n" if variant == 3 else "\n").join([*lines, ""]).encode())
    elif suffix == ".xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for row in (HEADER, *X.tolist()):
            book.active.append(row)
        book.save(out)
    elif suffix == ".ods":
        names = "".join(f'<t:table-cell o:value-type="string"><x:p>{name}</x:p></t:table-cell>' for name in HEADER)
        cells = ["".join(f'<t:table-cell o:value-type="float" o:value="{float(v)!r}"/>' for v in row) for row in X]
        rows = "".join(f"<t:table-row>{each}</t:table-row>" for each in (names, *cells))
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED if variant % 2 else zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("content.xml", f'<d {_SPACES}><t:table t:name="a">{rows}</t:table></d>')
    elif suffix.endswith(".h5ad"):
        _write_h5ad(out, X.astype("f4" if variant == 1 else "f8"), "sparse" in suffix, variant)
    else:
        scipy.sparse.save_npz(out, scipy.sparse.csr_array(np.where(X > 0, X, 0)), compressed=bool(variant % 2))
    return out.getvalue()


def _write_h5ad(out: io.BytesIO, X: np.ndarray, sparse: bool, variant: int) -> None:
    """An AnnData file of a dense matrix, or of a sparse one by rows or by columns.

    Its strings have a fixed length: HDF5 itself may read a damaged heap of other strings without an end.
    """
    import h5py
    import scipy.sparse

    with h5py.File(out, "w") as file:
        if sparse:
            S = (scipy.sparse.csc_matrix if variant % 2 else scipy.sparse.csr_matrix)(np.where(X > 0, X, 0))
            file.create_group("X").attrs.update({"encoding-type": np.bytes_(f"{S.format}_matrix"), "shape": S.shape})
            for name in ("data", "indices", "indptr"):
                file["X"][name] = getattr(S, name)
        else:
            file.create_dataset("X", data=X, **({"compression": "gzip", "fletcher32": True} if variant % 2 else {}))
        for name, values in (("obs", [f"cell{i}" for i in range(len(X))]), ("var", HEADER)):
            file.create_group(name).attrs["_index"] = np.bytes_("_index")
            file[name]["_index"] = np.array(values, dtype="S")


def _reference(path: Path, suffix: str, data: bytes) -> np.ndarray | str | None:
    """The rows as another reader sees them; None if it refuses; a reason, if it cannot decide."""
    import pyarrow as pa
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
        if suffix == ".feather":
            table = pa.ipc.open_file(io.BytesIO(data)).read_all()
            table.validate(full=True)
            return np.column_stack([table.column(j).to_numpy().astype(float) for j in range(table.num_columns)])
        if suffix.endswith(".h5ad"):
            return _h5ad_rows(path)
        if suffix == ".jsonl":
            return _json_rows(data)
        if suffix in (".xlsx", ".ods"):
            return _sheet_rows(suffix, data)
    except Exception:
        return None
    return _csv_rows(data, suffix)


def _h5ad_rows(path: Path) -> np.ndarray | str:
    import h5py
    import scipy.sparse

    with h5py.File(path) as file:
        X = file["X"]
        if isinstance(X, h5py.Dataset):
            return X[:].astype(float)
        kind = X.attrs.get("encoding-type", b"unknown").decode()
        if kind not in ("csr_matrix", "csc_matrix"):
            return "an unknown encoding"
        parts = (X["data"][:], X["indices"][:], X["indptr"][:])
        S = getattr(scipy.sparse, kind)(parts, shape=tuple(X.attrs["shape"]))
    S.check_format()
    return S.toarray().astype(float)


def _json_rows(data: bytes) -> np.ndarray | str:
    rows = []
    for line in data.splitlines():
        try:
            cells = json.loads(line) if line.strip() else {}
        except ValueError:
            return "a line that is not JSON, or values that go on in the next line"
        if line.strip() and (tuple(cells) != HEADER or not all(type(v) in (float, int) for v in cells.values())):
            return "other keys, or values that are not numbers"
        rows += [list(map(float, cells.values()))] if cells else []
    return np.array(rows).reshape(-1, len(HEADER))


def _sheet_rows(suffix: str, data: bytes) -> np.ndarray | str:
    """The numbers of a sheet, if its elements and attributes are those of an intact file."""
    rows = []
    for line in list(ElementTree.fromstring(_inside(suffix, data)).iter()):
        if line.tag.endswith(("}row", "}table-row")):
            rows.append([_cell(cell) for cell in line])
            if [cell.get("r", "")[:1] for cell in line] not in (["A", "B", "C"], ["", "", ""]) or (
                int(line.get("r", len(rows))) != len(rows) or None in rows[-1]
            ):
                return "other elements or attributes"
    return np.array(rows[1:]).reshape(-1, len(HEADER)) if rows else "no rows"


def _cell(cell: ElementTree.Element) -> float | None:
    """The number in a cell, NaN for text, None if there may be something else."""
    names = {name.rpartition("}")[2]: value for name, value in cell.attrib.items()}
    if names.get("value-type") == "string" or names.get("t") in ("s", "inlineStr"):
        return np.nan
    if cell.tag.endswith("}c") and set(names) == {"r", "t"} and names["t"] == "n":
        text = "".join(each.text or "" for each in cell)
    elif cell.tag.endswith("}table-cell") and set(names) == {"value-type", "value"} and names["value-type"] == "float":
        text = names["value"]
    else:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _csv_rows(data: bytes, suffix: str) -> np.ndarray | str | None:
    """The rows of a text file, read by Python's csv module and float."""
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
        if lines and all(cell.strip("+-.0123456789e") == "" for cell in lines[0]):
            return "a first line of numbers may be a row"
        rows = np.array([[np.nan if not cell else float(cell) for cell in line] for line in lines[1:]])
    except ValueError:
        return "a value such as true, or rows of other lengths"
    return rows.reshape(len(rows), -1) if len(rows) else np.zeros((0, len(lines[0]) if lines else 0))


AREA = Area(
    "data-files",
    "damaged CSV, Parquet, Feather, JSON, npy, npz, h5ad and spreadsheet files",
    run,
    cases=9_000,
    limit=20,
)
