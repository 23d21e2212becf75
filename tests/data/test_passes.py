"""Rows that change between two passes are noticed, in every method that makes several."""

import contextlib
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

import lowland
from lowland.data import rows as rows_module
from lowland.data.open import open_rows
from lowland.errors import DataError, FileProblem
from lowland.methods.registry import entries


class Changing:
    """Chunks that differ from one pass to the next: ``tables`` in turn, then the last again."""

    def __init__(self, *tables, step=100):
        self.tables, self.step, self.begun = tables, step, -2  # opening looks at the first chunk

    def __iter__(self):
        X = self.tables[min(max(self.begun, 0), len(self.tables) - 1)]
        self.begun += 1
        return iter([X[i : i + self.step] for i in range(0, len(X), self.step)])


@pytest.fixture
def X(rng):
    return rng.standard_normal((400, 5)) * [5, 4, 3, 2, 1]


def passes(rows, count=2):
    for _ in range(count):
        for _chunk in rows.chunks():
            pass


def test_the_same_rows_can_be_read_many_times(X, tmp_path):
    np.save(tmp_path / "x.npy", X)
    for source in (
        Changing(X),
        [X[:100], X[100:]],
        [sp.csr_array(X)] * 2,
        [tmp_path / "x.npy"] * 2,
        tmp_path / "x.npy",
    ):
        passes(open_rows(source), 4)


class Recut(Changing):
    """The same rows in other chunks each time."""

    def __iter__(self):
        self.step += 10
        return super().__iter__()


def test_other_chunks_of_the_same_rows_are_no_change(X):
    passes(open_rows(Recut(X)), 4)


def test_fewer_rows_in_the_second_pass(X):
    rows = open_rows(Changing(X, X, X[:-3]))
    passes(rows, 1)
    with pytest.raises(DataError, match=r"changed between two passes.*400 rows.*397"):
        passes(rows, 3)


SEVERAL_PASSES = (
    "Autoencoder", "ClassicalMDS", "CorrespondenceAnalysis", "FastICA", "MultipleCorrespondenceAnalysis",
    "ProjectionPursuit", "SelfOrganizingMap", "VectorQuantizer",
)  # fmt: skip


class Fewer:
    """Fewer rows in each pass, and the number of passes."""

    def __init__(self, rng):
        self.rng, self.begun = rng, 0

    def __iter__(self):
        self.begun += 1
        # positive: also for methods of counts
        return iter([self.rng.exponential(size=(50 - self.begun, 4)) for _ in range(3)])


@pytest.mark.parametrize("name", sorted(entries()))
@pytest.mark.filterwarnings("ignore")  # random rows have no structure
def test_a_method_makes_one_pass_or_notices_the_change(name, rng):
    opened, fitted = Fewer(rng), Fewer(rng)
    open_rows(opened)
    changes = pytest.raises(DataError, match="changed between two passes")
    with changes if name in SEVERAL_PASSES else contextlib.nullcontext():
        getattr(lowland, name)().fit(fitted, np.arange(3 * (50 - opened.begun - 1)) % 2)
    assert fitted.begun - opened.begun == 1 + (name in SEVERAL_PASSES)


def test_a_solver_that_reads_repeatedly(rng):
    with pytest.raises(DataError, match="changed between two passes"):
        lowland.PCA(2, svd_solver="randomized", random_state=0).fit(Fewer(rng))


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
def test_a_file_written_between_two_passes(X, tmp_path, ending):
    path = tmp_path / f"x{ending}"
    write(X, path)
    rows = open_rows(path)
    passes(rows, 2)
    write(X + 1, tmp_path / f"other{ending}")
    os.replace(tmp_path / f"other{ending}", path)
    with pytest.raises(FileProblem, match="written or removed while it was read"):
        passes(rows, 1)


def test_a_memory_mapped_file_written_during_a_pass(X, tmp_path, monkeypatch):
    monkeypatch.setattr(rows_module, "SLAB_BYTES", 40 * 50)
    np.save(tmp_path / "x.npy", X)
    chunks = open_rows(tmp_path / "x.npy").chunks()
    next(chunks)
    written = np.lib.format.open_memmap(tmp_path / "x.npy", mode="r+")
    written[:] = 0
    written.flush()
    os.utime(tmp_path / "x.npy")
    with pytest.raises(FileProblem, match="written or removed"):
        list(chunks)


def test_a_file_of_a_list_written_between_two_passes(X, tmp_path):
    paths = [tmp_path / f"{i}.parquet" for i in range(2)]
    for path in paths:
        write(X, path)
    rows = open_rows(paths)
    passes(rows, 1)
    other = X.copy()
    other[7] = 0  # a row outside of the sample
    write(other, paths[1])
    with pytest.raises(DataError, match=r"Chunk 1, .*1\.parquet.* written since the first pass"):
        passes(rows, 1)


def write(X, path):
    table = pa.table({name: X[:, j] for j, name in enumerate("abcde")})
    if path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path)


def test_fit_transform_opens_chunks_once(X):
    chunks = Changing(X)
    opened = chunks.begun
    Z = lowland.PCA(2).fit_transform(chunks)
    in_fit_transform = chunks.begun - opened
    model = lowland.PCA(2).fit(chunks)
    in_fit = chunks.begun - opened - in_fit_transform
    np.testing.assert_allclose(Z, model.transform(X), atol=1e-12)
    assert in_fit_transform == in_fit + 1  # one more pass, not one more opening
