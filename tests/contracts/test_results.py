"""The same result from every kind of input, engine and number of threads."""

import functools
import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import lowland
from lowland.arrays.namespace import to_numpy
from lowland.methods.base.params import attributes_of
from lowland.methods.base.traits import traits_of

from .battery import (
    COUNTING,
    METHODS,
    ORDER_FREE,
    SPARSE,
    STREAMING,
    agreement,
    labels,
    load_method,
    make,
    make_for,
    table,
    table_for,
)


@pytest.fixture
def small_slabs(monkeypatch):
    """Many slabs from little data."""
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 1000)
    monkeypatch.setattr("lowland.data.rows.SPARSE_SLAB_ROWS", 20)


def fitted(name, X):
    est = make(name).fit(X, labels(X.shape[0] if hasattr(X, "shape") else len(X)))
    return est, to_numpy(est.transform(X))


@functools.cache
def usual(name, dtype=np.float64):
    """The model of the usual table, and its coordinates. Tests share them, and change neither."""
    return fitted(name, table_for(name, dtype=dtype))


def coordinates(name):
    """Those of the usual table."""
    return usual(name)[1]


@pytest.mark.parametrize("name", METHODS)
def test_same_bits_on_any_number_of_threads(name, small_slabs):
    X = table_for(name, 300)
    results = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            results.append(make(name).fit(X, labels(300)).transform(X))
    assert all(np.array_equal(results[0], other) for other in results[1:])


@pytest.mark.parametrize("name", METHODS)
def test_same_seed_same_bits(name):
    X = table_for(name)
    assert np.array_equal(fitted(name, X)[1], coordinates(name))


@pytest.mark.parametrize("name", METHODS)
def test_input_is_untouched(name):
    X = table_for(name)
    X.setflags(write=False)
    assert np.array_equal(fitted(name, X)[1], coordinates(name))
    assert np.array_equal(X, table_for(name))


@pytest.mark.parametrize("name", METHODS)
def test_memory_layout_does_not_matter(name):
    X, Z = table_for(name), coordinates(name)
    wide = np.zeros((240, 12))
    wide[::2, ::2] = X
    for other in (np.asfortranarray(X), wide[::2, ::2], X.tolist()):
        np.testing.assert_allclose(fitted(name, other)[1], Z, atol=agreement(name, Z))


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # a table of few zeros and ones is degenerate
@pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool])
@pytest.mark.parametrize("name", METHODS)
def test_integers_are_float64_unless_columns_are_kept(name, dtype):
    X = (table_for(name) * 2 + 60).astype(dtype) if dtype is not bool else table() > 0
    est, Z = fitted(name, X)
    single = np.float32 if traits_of(est).single else np.float64
    assert Z.dtype == (X.dtype if traits_of(est).selects_columns else single)
    np.testing.assert_allclose(Z, fitted(name, X.astype(float))[1], atol=agreement(name, Z))


@pytest.mark.parametrize("name", METHODS)
def test_float32_stays_float32_and_agrees(name):
    X = table_for(name, dtype=np.float32)
    est, Z = fitted(name, X)
    assert Z.dtype == np.float32
    reference = fitted(name, X.astype(np.float64))[1]
    np.testing.assert_allclose(Z, reference, atol=agreement(name, reference, 2e-5))
    if hasattr(est, "inverse_transform"):
        assert est.inverse_transform(Z).dtype == np.float32


@pytest.mark.parametrize("name", STREAMING)
def test_chunked_equals_whole(name, small_slabs, tmp_path):
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    X = table_for(name, 311)
    Z = make(name).fit(X, labels(311)).transform(X)
    arrow = pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])})
    np.save(tmp_path / "x.npy", X)
    pa.parquet.write_table(arrow, tmp_path / "x.parquet", row_group_size=100)
    pa.csv.write_csv(arrow, tmp_path / "x.csv")
    (tmp_path / "parts").mkdir()
    pa.parquet.write_table(arrow.slice(0, 200), tmp_path / "parts" / "0.parquet")
    pa.parquet.write_table(arrow.slice(200), tmp_path / "parts" / "1.parquet")
    sources = [tmp_path / "x.npy", tmp_path / "x.parquet", tmp_path / "x.csv", str(tmp_path / "parts")]
    for source in [*sources, [X[:1], X[1:100], X[100:]], arrow]:
        np.testing.assert_allclose(make(name).fit(source, labels(311)).transform(source), Z, atol=agreement(name, Z))


@settings(max_examples=6, deadline=None)
@given(cuts=st.lists(st.integers(1, 119), max_size=6), far=st.sampled_from([0.0, 1e6]))
@pytest.mark.parametrize("name", STREAMING)
def test_any_chunking_gives_the_same_answer(name, cuts, far):
    X = table_for(name) + far
    borders = [0, *sorted(set(cuts)), len(X)]
    chunks = [X[a:b] for a, b in itertools.pairwise(borders)]
    whole, parts = make(name).fit(X, labels()), make(name).fit(chunks, labels())
    Z = whole.transform(X)
    np.testing.assert_allclose(parts.transform(X), Z, atol=agreement(name, Z))


@pytest.mark.parametrize("name", ORDER_FREE)
def test_permuting_rows_permutes_the_result(name):
    X = table_for(name)
    order = np.random.default_rng(1).permutation(len(X))
    Z = make(name).fit(X, labels()).transform(X)
    permuted = make(name).fit(X[order], labels()[order]).transform(X[order])
    np.testing.assert_allclose(permuted, Z[order], atol=agreement(name, Z))


SINGLE = {"TSNE": 2e-5}  # rounding errors of float32 grow in its descent, on some processors beyond 1e-5


@pytest.mark.parametrize(
    ("library", "dtype"), [("torch", "float32"), ("torch", "float64"), ("array_api_strict", "float64")]
)
@pytest.mark.parametrize("name", METHODS)
def test_other_array_libraries_agree(name, library, dtype):
    xp = pytest.importorskip(library)
    X, (here, Z) = table_for(name, dtype=dtype), usual(name, np.dtype(dtype).type)
    est = make(name).fit(xp.asarray(X), labels())
    result = est.transform(xp.asarray(X))
    assert type(result) is type(xp.asarray(X))
    assert str(result.dtype).endswith("float32" if traits_of(est).single else dtype)
    np.testing.assert_allclose(
        to_numpy(result), Z, atol=agreement(name, Z, 1e-9 if dtype == "float64" else SINGLE.get(name, 1e-5))
    )
    if hasattr(est, "inverse_transform"):
        assert type(est.inverse_transform(result)) is type(result)
    # a model fitted there transforms numpy arrays here, and the other way round
    np.testing.assert_allclose(est.transform(X), Z, atol=agreement(name, Z, SINGLE.get(name, 1e-5)))
    assert type(here.transform(xp.asarray(X))) is type(result)


@pytest.mark.filterwarnings("ignore:.*(disconnected|sink components|contains? only zeros)")
@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_sparse_agrees_with_dense(name, kind, small_slabs):
    X = np.where(np.random.default_rng(0).random((150, 8)) < 0.3, table_for(name, 150, 8), 0.0)
    Z = fitted(name, X)[1]
    est = make(name).fit(kind(X), labels(150))
    got = est.transform(kind(X))
    assert scipy.sparse.issparse(got) == traits_of(load_method(name)).selects_columns
    got = got.toarray() if scipy.sparse.issparse(got) else got
    np.testing.assert_allclose(got, Z, atol=agreement(name, Z, 1e-8))


@pytest.mark.parametrize("name", METHODS)
def test_frames_in_and_out(name):
    import pandas as pd
    import polars as pl

    X = table_for(name)
    columns = [f"c{j}" for j in range(X.shape[1])]
    pandas_frame = pd.DataFrame(X, columns=columns, index=np.arange(1000, 1120))
    polars_frame = pl.DataFrame(dict(zip(columns, X.T, strict=True)))
    (plain, Z), models = usual(name), []
    for frame in (pandas_frame, polars_frame, polars_frame.to_arrow()):
        est = make(name).fit(frame, labels())
        models.append(est)
        assert list(est.feature_names_in_) == columns
        result = est.transform(frame)
        assert type(result) is np.ndarray
        np.testing.assert_allclose(result, Z, atol=agreement(name, Z))
    of_pandas, of_polars, _ = models
    names = list(of_pandas.get_feature_names_out())
    if traits_of(load_method(name)).selects_columns:
        assert set(names) <= set(columns)
    else:
        assert names[0] == f"{name.lower()}0"
    with lowland.config(output="frame"):
        out = of_pandas.transform(pandas_frame)
        assert list(out.columns) == names
        assert out.index.equals(pandas_frame.index)
        out = of_polars.transform(polars_frame)
        assert isinstance(out, pl.DataFrame)
        assert out.columns == names
        assert type(plain.transform(X)) is np.ndarray
    out = make(name).set_output(transform="polars").fit(polars_frame, labels()).transform(polars_frame)
    assert isinstance(out, pl.DataFrame)


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # no two factors describe these rows
@pytest.mark.parametrize("name", COUNTING)
def test_as_many_columns_as_components_were_asked_for(name):
    X = table_for(name)
    for k in (1, 2):
        est = make_for(name, k).fit(X, labels())
        assert est.transform(X).shape == (120, k)
        assert len(est.get_feature_names_out()) == k


@pytest.mark.parametrize("name", METHODS)
def test_saved_pickled_and_cloned(name, tmp_path):
    X = table_for(name)
    est, Z = usual(name)
    lowland.save(est, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland")
    assert repr(loaded) == repr(est)
    left_out = {each.name for each in attributes_of(type(est)) if not each.saved}
    assert {k for k in vars(est) if k.endswith("_")} - left_out == {k for k in vars(loaded) if k.endswith("_")}
    assert np.array_equal(loaded.transform(X), Z)
    assert np.array_equal(pickle.loads(pickle.dumps(est)).transform(X), Z)
    assert np.array_equal(clone(est).fit(X, labels()).transform(X), Z)
    assert np.array_equal(loaded.fit(X, labels()).transform(X), Z)


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # half of a small table may be degenerate
@pytest.mark.parametrize("name", COUNTING)
def test_in_a_pipeline_under_grid_search(name):
    X, y = table_for(name), labels()
    count = f"{name.lower()}__{traits_of(load_method(name)).width_parameter}"
    pipeline = make_pipeline(make(name), DecisionTreeClassifier(max_depth=2, random_state=0))
    search = GridSearchCV(pipeline, {count: [1, 2]}, cv=2).fit(X, y)
    assert search.best_params_[count] in (1, 2)


@pytest.mark.parametrize("name", METHODS)
def test_dask_agrees_and_stays_lazy(name):
    da = pytest.importorskip("dask.array")
    X, Z = table_for(name), coordinates(name)
    lazy = da.from_array(X, chunks=(37, 4))
    est = make(name).fit(lazy, labels())
    result = est.transform(lazy)
    assert isinstance(result, da.Array)
    assert result.shape == Z.shape
    np.testing.assert_allclose(result.compute(), Z, atol=agreement(name, Z))


@pytest.mark.parametrize("name", [name for name in METHODS if hasattr(load_method(name), "partial_fit")])
def test_two_threads_may_read_a_model_first(name):
    from concurrent.futures import ThreadPoolExecutor

    X = table_for(name, 500)
    for _ in range(5):
        est = make(name).partial_fit(X, labels(500))
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _, est=est: est.transform(X), range(4)))
        assert all(np.array_equal(found[0], other) for other in found[1:])
