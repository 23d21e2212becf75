"""The memory budget, measured: the peak memory of a child stays below the budget and a constant, or there is an error.

Files are larger than the budget, or small and expand: compressed constants, huge shapes, one huge cell.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import lowland
from hunt.cases import Area, Wrong
from hunt.children import expect_clean, run_child
from lowland.errors import LowlandError
from lowland.run.processes import PeakMemory

SLACK = 160e6  # bytes beyond the budget: libraries that are loaded, buffers of readers, pages that are not yet returned
ROWS = 1_000_000


def _numbers(rows: int = ROWS, columns: int = 4) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((rows, columns)) * np.arange(1, columns + 1)


def _csv(path: Path) -> None:
    block = "".join(",".join(f"{v:.6f}" for v in row) + "\n" for row in _numbers(20_000))
    path.write_text("a,b,c,d\n" + block * (ROWS * 3 // 20_000))


def _csv_gz(path: Path) -> None:
    block = b"".join(b"%d,1.5,-2.25,%d\n" % (i, i * i) for i in range(1000))
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b,c,d\n")
        for _ in range(2000):
            file.write(block)


def _jsonl(path: Path) -> None:
    lines = (json.dumps(dict(zip("abcd", row, strict=True))) for row in np.round(_numbers(20_000), 4).tolist())
    path.write_text(("\n".join(lines) + "\n") * 20)


def _npy(path: Path) -> None:
    np.save(path, _numbers(3 * ROWS))


def _npz(path: Path) -> None:
    np.savez_compressed(path, X=np.zeros((30 * ROWS, 2)))


def _parquet(path: Path) -> None:
    _write_parquet(path, _numbers(3 * ROWS), 1_500_000)


def _constant_parquet(path: Path) -> None:
    _write_parquet(path, np.full((60 * ROWS, 1), 1.5), 60 * ROWS)


def _write_parquet(path: Path, X: np.ndarray, group: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])}), path, row_group_size=group)


def _feather(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.feather

    X = np.round(_numbers(3 * ROWS))
    pa.feather.write_feather(pa.table({f"c{j}": X[:, j] for j in range(4)}), path, compression="zstd")


def _wide_sparse(path: Path) -> None:
    empty = {"indices": np.zeros(0, np.int32), "indptr": np.zeros(11, np.int32), "data": np.zeros(0)}
    np.savez(path, format=b"csr", shape=np.array([10, 2 * 10**9]), **empty)


def _long_sparse(path: Path) -> None:
    np.savez_compressed(
        path, format=b"csr", shape=np.array([40 * ROWS, 3]), indices=np.zeros(0, np.int32),
        indptr=np.zeros(40 * ROWS + 1, np.int32), data=np.zeros(0),
    )  # fmt: skip


def _one_cell(path: Path) -> None:
    """A sheet of a few hundred kilobytes with a cell of 400 MB."""
    import openpyxl

    book, small = openpyxl.Workbook(), io.BytesIO()
    for row in (["a", "b"], [1, 2], [3, 4]):
        book.active.append(row)
    book.save(small)
    with zipfile.ZipFile(small) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != "xl/worksheets/sheet1.xml":
                new.writestr(name, old.read(name))
        begin, _, end = old.read("xl/worksheets/sheet1.xml").partition(b"</row></sheetData>")
        with new.open("xl/worksheets/sheet1.xml", "w") as file:
            file.write(begin + b'<c r="C3" t="inlineStr"><is><t>')
            for _ in range(400):
                file.write(b"x" * 10**6)
            file.write(b"</t></is></c></row></sheetData>" + end)


def _long_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"a,b\n1,2\n3,")
        for _ in range(400):
            file.write(b"4" * 10**6)


FILES: dict[str, Callable[[Path], None]] = {
    "x.csv": _csv,
    "x.csv.gz": _csv_gz,
    "x.jsonl": _jsonl,
    "x.npy": _npy,
    "x.npz": _npz,
    "x.parquet": _parquet,
    "constant.parquet": _constant_parquet,
    "x.feather": _feather,
    "wide.npz": _wide_sparse,
    "long.npz": _long_sparse,
    "cell.xlsx": _one_cell,
    "line.csv": _long_line,
}
WORK: dict[str, Callable[[Path], Any]] = {
    "PCA": lambda path: lowland.PCA(1).fit(path),
    "TruncatedSVD": lambda path: lowland.TruncatedSVD(1).fit(path),
    "Whitening": lambda path: lowland.Whitening().fit(path),
    "TablePreparer": lambda path: lowland.TablePreparer().fit(path),
    "look": lambda path: lowland.look(path),
    "VectorQuantizer": lambda path: lowland.VectorQuantizer(2, max_iter=2).fit(path),
    "TSNE": lambda path: lowland.TSNE(max_iter=250).fit(path),
    "MDS": lambda path: lowland.MDS().fit(path),
    "transform": lambda path: sum(len(Z) for Z in lowland.PCA(1).fit(path).transform_chunks(path)),
}


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Open one file and work on it with one budget, in a child."""
    files, works = list(FILES), list(WORK)
    name, work = files[seed % len(files)], works[seed // len(files) % len(works)]
    budget = int(rng.choice([40, 80, 150])) * 10**6
    _load_libraries()
    source = _file(name)
    mapped = source.stat().st_size if name == "x.npy" else 0  # pages of the file, which the system takes back
    threads = int(rng.integers(1, 3))

    def limited() -> dict[str, Any]:
        error = ""
        with PeakMemory() as peak, lowland.config(memory=budget, threads=threads):
            try:
                WORK[work](source)
            except LowlandError as found:
                error = str(found)
        return {"peak": peak.bytes or 0, "error": error}

    ended = run_child(limited, limit=200)
    case = f"{work} of {name}, {budget / 1e6:.0f} MB"
    expect_clean(ended, (0,), case)
    peak, error = ended.value["peak"], ended.value["error"]
    if peak > budget + mapped + SLACK:
        raise Wrong(f"{case}: the peak is {peak / 1e6:.0f} MB. {error[:200]}")
    return f"{'refused' if error else 'done'}: {case}, peak {peak / 1e6:.0f} MB: {error}"[:300]


@cache
def _load_libraries() -> None:
    """In this process: children find all libraries loaded and all kernels compiled."""
    import pandas as pd

    frame = pd.DataFrame(_numbers(300), columns=list("abcd"))
    with tempfile.TemporaryDirectory(prefix="lowland-hunt-") as folder:
        path = Path(folder) / "x"
        frame.to_csv(path.with_suffix(".csv"), index=False)
        frame.to_csv(path.with_suffix(".csv.gz"), index=False)
        frame.to_json(path.with_suffix(".jsonl"), orient="records", lines=True)
        frame.to_parquet(path.with_suffix(".parquet"))
        frame.to_feather(path.with_suffix(".feather"))
        frame.to_excel(path.with_suffix(".xlsx"), index=False)
        for each in Path(folder).iterdir():
            lowland.PCA(1).fit(each)
        for work in WORK.values():
            work(path.with_suffix(".csv"))


@cache
def _file(name: str) -> Path:
    from hunt.writers import _inputs

    path = _inputs() / name
    if not path.exists():
        FILES[name](path)
    return path


AREA = Area("budgets", "memory budgets, measured by peak memory", run, cases=108, limit=220)
