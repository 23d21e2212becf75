"""The plan of a fit: its formulas, and what uses them."""

import gzip
import io

import numpy as np
import pytest
import scipy.sparse

import lowland
from lowland.errors import DataError, DataTypeError, MissingFile, ParameterError
from lowland.methods.base import plan as plans
from lowland.methods.base.params import check_parameters
from lowland.methods.registry import entries, load_method
from lowland.run import progress
from lowland.run.cost import REFERENCE, CostStep, Size, machine_rates, peak_bytes


@pytest.mark.parametrize("name", list(entries()))
def test_every_method_has_a_cost_that_grows_with_the_rows(name):
    est = load_method(name)()
    check_parameters(est)
    costs = []
    for n in (30_000, 300_000, 3_000_000):
        steps = plans.steps_of(est, Size(n, 20))
        costs.append((plans.seconds_of(steps, REFERENCE), peak_bytes(steps)))
        assert all(step.name and step.peak >= 0 for step in steps)
    assert costs == sorted(costs), "more rows need more time"
    assert costs[0][0] > 0
    assert costs[0][1] <= costs[2][1]


def test_the_peak_counts_what_earlier_steps_keep():
    steps = (CostStep("graph", peak=5, held=3), CostStep("distances", peak=4, held=10), CostStep("solve", peak=2))
    assert peak_bytes(steps) == 15
    assert peak_bytes(()) == 0


def test_the_plan_reads_the_shape_of_every_kind_of_table(tmp_path):
    X = np.random.default_rng(0).normal(size=(3_000, 5)).round(3)
    da, pd, torch = pytest.importorskip("dask.array"), pytest.importorskip("pandas"), pytest.importorskip("torch")
    whole = lowland.PCA(2).plan(X)
    assert (whole.rows, whole.columns, whole.fits) == (3_000, 5, True)
    assert "covariance" in str(whole)

    def never(block):
        raise AssertionError("the plan computed a block")

    lazy = da.from_array(X, chunks=(1_000, 5)).map_blocks(never, meta=np.empty((0, 0)))
    frame = pd.DataFrame(X, columns=list("abcde"))
    sparse = scipy.sparse.csr_array(X)
    frame.to_parquet(tmp_path / "t.parquet")
    np.save(tmp_path / "t.npy", X)
    for source in (lazy, frame, sparse, torch.asarray(X), tmp_path / "t.parquet", tmp_path / "t.npy", [X, X[:0:-1]]):
        found = lowland.PCA(2).plan(source, n_rows=3_000)
        assert (found.rows, found.columns) == (3_000, 5)
    assert lowland.PCA(2).plan(frame, "e").columns == 4
    text = io.StringIO()
    frame.to_csv(text, index=False)
    (tmp_path / "t.csv").write_text(text.getvalue())
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write(text.getvalue())
    for name in ("t.csv", "t.csv.gz"):
        found = lowland.PCA(2).plan(tmp_path / name)
        assert found.rows == pytest.approx(3_000, rel=0.01)
        assert "estimated" in found.notes[0]


def test_errors_are_those_of_fit(tmp_path):
    X = np.zeros((50, 3))
    with pytest.raises(ParameterError, match=r"n_neighbors=50\): the data has 50 rows"):
        lowland.Isomap(n_neighbors=50).plan(X)
    with pytest.raises(ParameterError, match="n_neighbors"):
        lowland.Isomap(n_neighbors=0).plan(X)
    with pytest.raises(DataTypeError, match="sparse"):
        lowland.MDS().plan(scipy.sparse.csr_array(X))
    with pytest.raises(MissingFile):
        lowland.PCA().plan(tmp_path / "none.csv")
    with pytest.raises(DataError, match="at least 2"):
        lowland.PCA().plan(X[:1])
    with pytest.raises(DataError, match="n_rows"):
        lowland.PCA().plan([X, X])


def test_nothing_is_fitted_or_changed():
    est = lowland.UMAP(n_neighbors=7)
    est.plan(np.zeros((500, 4)))
    assert not est.__sklearn_is_fitted__()
    assert not hasattr(est, "n_features_in_")


def test_what_is_cheaper_is_named_with_its_cost():
    found = lowland.Isomap(n_neighbors=8).plan(np.zeros((40_000, 3), dtype=np.float32))
    first = found.cheaper[0]
    assert "n_landmarks=1000" in first.change
    assert first.seconds < found.seconds / 3
    assert first.bytes < found.bytes / 3
    assert not lowland.PCA(2).plan(np.zeros((500, 4))).cheaper
    sample = lowland.MDS().plan(np.zeros((20_000, 3))).cheaper[-1]
    assert "transform" in sample.change


def test_memory_beyond_the_budget_does_not_fit():
    X = np.zeros((20_000, 3))
    with lowland.config(memory="1GB"):
        found = lowland.Isomap().plan(X)
        assert not found.fits
        assert "budget is 1 GB" in str(found)
        with pytest.raises(lowland.errors.MemoryBudgetError, match=r"n_landmarks=1000"):
            lowland.Isomap().fit(X)


def test_rates_are_measured_once_and_kept(tmp_path):
    machine_rates.cache_clear()
    try:
        found = machine_rates(tmp_path)
        (file,) = tmp_path.glob("rates-*.json")
        machine_rates.cache_clear()
        assert machine_rates(tmp_path) == found
        file.write_text("{")
        machine_rates.cache_clear()
        assert machine_rates(tmp_path).product32 > 0
    finally:
        machine_rates.cache_clear()


def test_the_bar_shows_how_long_the_fit_takes():
    shown = []

    class Screen:
        def open(self, event):
            return 1

        def update(self, task, text, done, total):
            shown.append(text)

        def close(self, task):
            pass

    bar = progress._Bar(Screen())
    with progress.expecting(150.0):
        bar(progress.Progress("shortest paths", 1, 10, 1.0))
    bar(progress.Progress("shortest paths", 1, 10, 1.0))
    assert shown == ["shortest paths, of a fit of about 2.5 min", "shortest paths"]


def test_graphs_of_millions_of_points_fit_into_8_gb():
    X = np.broadcast_to(np.float32(0), (5_000_000, 100))
    with lowland.config(memory="8GB"):
        for est in (lowland.SpectralEmbedding(n_neighbors=15), lowland.UMAP(), lowland.Isomap(n_landmarks=1000)):
            assert est.plan(X).fits


def test_chunks_of_unknown_length_are_refused_once_their_number_is_known():
    chunks = [np.zeros((2_000, 2)), np.zeros((2_000, 2))]
    with lowland.config(memory="50MB"), pytest.raises(lowland.errors.MemoryBudgetError, match=r"4,000 rows.*fewer|X\["):
        lowland.MDS().fit(chunks)
