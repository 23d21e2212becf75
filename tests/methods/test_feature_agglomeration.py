"""Feature agglomeration."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

import lowland
from lowland import FeatureAgglomeration
from lowland.data import load_dataset
from lowland.data.open import open_rows
from lowland.errors import DataError, DataWarning, MemoryBudgetError, ParameterError
from lowland.math.selection.column_clustering import column_distances
from lowland.run.run import run_for

LINKAGES = ["ward", "complete", "average", "single"]


def table(n=60, d=14, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 20 * rng.standard_normal(d)).astype(dtype)


def distances(X, metric="euclidean"):
    rows = open_rows(X)
    return column_distances(rows, run_for(rows), metric)[0]


def peer(X, **options):
    return sklearn.cluster.FeatureAgglomeration(compute_distances=True, **options).fit(X)


def same_tree(ours, theirs):
    np.testing.assert_array_equal(ours.children_, theirs.children_)
    np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-9, atol=1e-12)


# --- agreement with scikit-learn


@pytest.mark.scikit_learn("1.9")
@pytest.mark.parametrize("metric", ["euclidean", "l2", "manhattan", "l1", "cosine", "correlation", "chebyshev"])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_the_tree_agrees_with_scikit_learn(linkage, metric):
    if linkage == "ward" and metric not in ("euclidean", "l2"):
        return
    X = table()
    for k in (1, 2, 5, 14):
        ours = FeatureAgglomeration(k, metric=metric, linkage=linkage).fit(X)
        theirs = peer(X, n_clusters=k, metric=metric, linkage=linkage)
        same_tree(ours, theirs)
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(
            ours.inverse_transform(ours.transform(X)), theirs.inverse_transform(ours.transform(X))
        )
        assert (ours.n_clusters_, ours.n_leaves_, ours.n_connected_components_) == (k, 14, 1)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_height_cuts_as_scikit_learn_cuts(linkage):
    X = table()
    heights = peer(X, n_clusters=2, linkage=linkage).distances_
    for threshold in (0.0, float(heights[6]), 1e9):
        ours = FeatureAgglomeration(None, distance_threshold=threshold, linkage=linkage).fit(X)
        theirs = peer(X, n_clusters=None, distance_threshold=threshold, linkage=linkage)
        assert ours.n_clusters_ == theirs.n_clusters_
        np.testing.assert_array_equal(ours.labels_, theirs.labels_)


@pytest.mark.filterwarnings("ignore:the number of connected components")
@pytest.mark.parametrize("whole", [True, False, "auto"])
@pytest.mark.parametrize("linkage", LINKAGES)
def test_connectivity_agrees_with_scikit_learn(linkage, whole):
    from sklearn.feature_extraction.image import grid_to_graph

    X = load_dataset("digits").X[:300]
    X = X + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)  # no ties
    links = grid_to_graph(8, 8)
    ours = FeatureAgglomeration(9, connectivity=links, linkage=linkage, compute_full_tree=whole).fit(X)
    theirs = peer(X, n_clusters=9, connectivity=links, linkage=linkage, compute_full_tree=whole)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_array_equal(np.sort(ours.children_), np.sort(theirs.children_))  # rounding may swap a pair
    np.testing.assert_allclose(ours.distances_, theirs.distances_, rtol=1e-9)
    assert ours.transform(X).shape == (300, 9)


def test_connectivity_may_be_a_function_an_array_or_a_list_and_may_be_disconnected():
    X = table(d=6)
    chain = np.eye(6, k=1) + np.eye(6, k=-1)
    found = [
        FeatureAgglomeration(3, connectivity=links).fit(X).labels_
        for links in (chain, chain.tolist(), scipy.sparse.csr_matrix(chain), lambda columns: chain[: len(columns)])
    ]
    assert all(np.array_equal(found[0], other) for other in found)
    groups = [np.flatnonzero(found[0] == g) for g in range(3)]
    assert all(np.array_equal(g, np.arange(g[0], g[-1] + 1)) for g in groups)  # only neighbors were joined
    chain[2, 3] = chain[3, 2] = 0
    with pytest.warns(DataWarning, match="2 connected components"):
        parted = FeatureAgglomeration(3, connectivity=chain).fit(X)
    assert parted.n_connected_components_ == 2


def test_a_matrix_of_distances_and_a_function_of_columns():
    X = table()
    D = squareform(pdist(X.T))
    direct = FeatureAgglomeration(4, linkage="average").fit(X)
    given_matrix = FeatureAgglomeration(4, linkage="average", metric="precomputed").fit(D)
    by_function = FeatureAgglomeration(4, linkage="average", metric=lambda C: squareform(pdist(C))).fit(X)
    for other in (given_matrix, by_function):
        np.testing.assert_array_equal(other.labels_, direct.labels_)
        np.testing.assert_allclose(other.distances_, direct.distances_)
    np.testing.assert_array_equal(given_matrix.transform(X), direct.transform(X))
    with pytest.raises(DataError, match="square"):
        FeatureAgglomeration(4, linkage="average", metric="precomputed").fit(X)
    with pytest.raises(ParameterError, match=r"shape \(14,\)"):
        FeatureAgglomeration(4, linkage="average", metric=lambda C: np.zeros(14)).fit(X)


# --- distances from moments


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "absolute-correlation"])
@pytest.mark.parametrize("far", [0.0, 100.0])
def test_nearly_equal_columns_are_separated_by_every_metric(metric, far):
    rng = np.random.default_rng(0)
    three = rng.standard_normal((200, 1)) + 1e-8 * rng.standard_normal((200, 3))
    X = np.repeat(three, 2, axis=1) + 1e-9 * rng.standard_normal((200, 6)) + far
    if metric == "absolute-correlation":
        X[:, 1::2] *= -1
    model = FeatureAgglomeration(3, metric=metric, linkage="average").fit(X)
    assert len({frozenset(model.labels_[j : j + 2]) for j in (0, 2, 4)}) == 3
    assert all(len(set(model.labels_[j : j + 2])) == 1 for j in (0, 2, 4))


@settings(max_examples=10, deadline=None)
@given(far=st.sampled_from([0.0, 1e3, 1e6]), near=st.sampled_from([1.0, 1e-3, 1e-7]), seed=st.integers(0, 99))
def test_distances_of_near_columns_far_from_the_origin_are_accurate(far, near, seed):
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((40, 3)) + far
    X = np.column_stack([base, base + near * rng.standard_normal((40, 3)), rng.standard_normal(40)])
    np.testing.assert_allclose(distances(X), squareform(pdist(X.T)), rtol=2e-9)


def test_float32_columns_are_compared_in_float64():
    X = table(dtype=np.float32)
    X = np.column_stack([X, X[:, 0] + np.float32(1e-3)])
    np.testing.assert_allclose(distances(X), squareform(pdist(X.astype(float).T)), rtol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "absolute-correlation"])
@pytest.mark.parametrize("far", [0.0, 1e3])
def test_copies_are_at_distance_zero(metric, far):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((200, 5)) + far * rng.standard_normal(5), 3, axis=1)
    model = FeatureAgglomeration(None, distance_threshold=1e-9, metric=metric, linkage="average").fit(X)
    assert model.n_clusters_ == 5
    assert np.all(model.distances_[:10] == 0)


def test_distances_of_near_directions_are_accurate():
    """1 - r of x and x + s·e with e ⊥ x, both centered and of one length, is 1 - 1/√(1 + s²)."""
    A = np.random.default_rng(1).standard_normal((300, 2))
    x, e = np.linalg.qr(A - A.mean(axis=0))[0].T
    assert distances(np.column_stack([x, x + 1e-6 * e]), "correlation")[0, 1] == pytest.approx(5e-13, rel=1e-6)


@pytest.mark.parametrize(
    ("metric", "linkage"),
    [("euclidean", "ward"), ("correlation", "ward"), ("euclidean", "complete"), ("cosine", "average"),
     ("correlation", "single"), ("manhattan", "single"), ("chain", "ward")],
)  # fmt: skip
def test_columns_too_small_to_be_squared_have_the_tree_of_larger_ones(metric, linkage):
    X, links = table(), np.eye(14, k=1) + np.eye(14, k=-1)
    options = {"connectivity": links} if metric == "chain" else {"metric": metric}
    large, small = (FeatureAgglomeration(4, linkage=linkage, **options).fit(Y) for Y in (X, np.ldexp(X, -570)))
    np.testing.assert_array_equal(small.children_, large.children_)
    height = 0 if metric in ("cosine", "correlation") else -570
    np.testing.assert_allclose(small.distances_, np.ldexp(large.distances_, height), rtol=1e-9)


def test_one_small_column_among_large_ones_is_not_constant():
    X, small = table(), table()
    small[:, 2] = np.ldexp(X[:, 2], -570)
    np.testing.assert_allclose(distances(small, "correlation"), distances(X, "correlation"), rtol=1e-9)


def test_correlations():
    X = table()
    R = np.corrcoef(X.T)
    np.testing.assert_allclose(distances(X, "correlation"), 1 - R, atol=1e-12)
    np.testing.assert_allclose(distances(X, "absolute-correlation"), 1 - np.abs(R), atol=1e-12)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(len(X))
    ward = FeatureAgglomeration(4, metric="correlation").fit(X)
    theirs = peer(Z, n_clusters=4)  # Ward of the standardized columns
    same_tree(ward, theirs)
    np.testing.assert_array_equal(ward.labels_, theirs.labels_)
    mirrored = X.copy()
    mirrored[:, ::2] *= -3
    options = {"n_clusters": 4, "metric": "absolute-correlation", "linkage": "complete"}
    np.testing.assert_array_equal(
        FeatureAgglomeration(**options).fit(mirrored).labels_, FeatureAgglomeration(**options).fit(X).labels_
    )


def test_known_groups_of_columns_are_recovered():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 8)
    X = rng.standard_normal((200, 5))[:, truth] + 0.4 * rng.standard_normal((200, 40))
    order = rng.permutation(40)
    for options in ({}, {"linkage": "average", "metric": "correlation"}, {"linkage": "complete"}):
        found = FeatureAgglomeration(5, **options).fit(X[:, order]).labels_
        assert len(set(zip(found, truth[order], strict=True))) == 5


# --- cuts


# --- rows by groups


def test_pooling():
    X = table()
    for name, function in (("mean", np.mean), ("median", np.median), ("max", np.max), ("min", np.min)):
        named, called = (FeatureAgglomeration(4, pooling_func=f).fit(X) for f in (name, function))
        theirs = peer(X, n_clusters=4, pooling_func=function)
        np.testing.assert_allclose(named.transform(X), theirs.transform(X), rtol=1e-12)
        np.testing.assert_array_equal(named.transform(X), called.transform(X))
    spread = FeatureAgglomeration(4, pooling_func=lambda A, axis: A.max(axis=axis) - A.min(axis=axis)).fit(X)
    groups = [X[:, spread.labels_ == g] for g in range(4)]
    np.testing.assert_allclose(spread.transform(X), np.column_stack([np.ptp(g, axis=1) for g in groups]))
    with pytest.raises(ParameterError, match="one number per row"):
        FeatureAgglomeration(4, pooling_func=lambda A, axis: A).fit(X).transform(X)


@pytest.mark.parametrize("pooling", ["mean", "median", "max", "min"])
def test_tensors_are_pooled_like_arrays(pooling):
    torch = pytest.importorskip("torch")
    X = table()
    model = FeatureAgglomeration(4, pooling_func=pooling).fit(X)
    np.testing.assert_allclose(model.transform(torch.asarray(X)).numpy(), model.transform(X), rtol=1e-12)


def test_a_pooling_function_does_not_hide_nan():
    X = table()
    model = FeatureAgglomeration(4, pooling_func=np.nanmean).fit(X)
    X[3, 2] = np.nan
    with pytest.raises(DataError, match=r"NaN \(1 value\) in column 2"):
        model.transform(X)


@pytest.mark.parametrize("function", [np.mean, np.median, np.max, np.min])
def test_numpy_functions_are_saved(function, tmp_path):
    X = table()
    model = FeatureAgglomeration(3, pooling_func=function).fit(X)
    lowland.save(model, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland")
    assert loaded.pooling_func is function
    np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


# --- where the rows come from


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation"])
def test_files_tensors_and_dask_give_the_tree_of_the_array(metric, tmp_path, monkeypatch):
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    X = table(300)
    X[:, 5] = X[:, 4] + 1e-8
    np.save(tmp_path / "x.npy", X)
    whole = FeatureAgglomeration(4, metric=metric, linkage="average").fit(X)
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 4000)
    for other in (tmp_path / "x.npy", torch.asarray(X), da.from_array(X, chunks=(70, 5))):
        found = FeatureAgglomeration(4, metric=metric, linkage="average").fit(other)
        np.testing.assert_array_equal(found.labels_, whole.labels_)
        np.testing.assert_allclose(found.distances_, whole.distances_, rtol=1e-9, atol=1e-14)


def test_a_cache_keeps_the_tree(tmp_path):
    X = table()
    first = FeatureAgglomeration(4, memory=str(tmp_path)).fit(X)
    again = FeatureAgglomeration(3, memory=str(tmp_path)).fit(X)
    assert any(tmp_path.rglob("output.pkl"))
    np.testing.assert_array_equal(first.children_, again.children_)


def test_too_many_columns_for_the_budget():
    with lowland.config(memory="1MB"), pytest.raises(MemoryBudgetError, match="distances of all pairs of columns"):
        FeatureAgglomeration(3).fit(np.random.default_rng(0).standard_normal((5, 500)))


# --- invalid input


def test_constant_columns():
    X = table()
    X[:, 3], X[:, 7] = 5.0, 0.0
    assert FeatureAgglomeration(4).fit(X).labels_.shape == (14,)  # they have distances like other columns
    with pytest.warns(DataWarning, match="Column '3', '7' is constant"):
        model = FeatureAgglomeration(4, metric="correlation", linkage="average").fit(X)
    assert np.isfinite(model.distances_).all()
    with pytest.raises(DataError, match=r"Column '7' is zero in every row.*zero vectors"):
        FeatureAgglomeration(4, metric="cosine", linkage="average").fit(X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": 15}, r"n_clusters=15\).* 14 columns.*Choose at most 14"),
        ({"n_clusters": None}, "exactly one of n_clusters and distance_threshold"),
        ({"distance_threshold": 1.0}, "exactly one of n_clusters and distance_threshold"),
        ({"n_clusters": None, "distance_threshold": 1.0, "compute_full_tree": False}, "compute_full_tree must be True"),
        ({"metric": "manhattan"}, "Ward can only work with euclidean"),
        ({"metric": "absolute-correlation"}, "linkage='average'"),
        ({"metric": "crow", "linkage": "single"}, "metric='crow'.*Choose one of euclidean"),
        ({"connectivity": np.eye(3)}, r"shape \(3, 3\).*14 columns.*\(14, 14\)"),
        ({"connectivity": "neighbours"}, "'connectivity' must be a square matrix"),
        ({"connectivity": [["a"] * 14] * 14}, "not a matrix of numbers"),
        ({"connectivity": np.full((14, 14), np.nan)}, "connectivity.* NaN or infinity"),
        ({"metric": "correlation", "connectivity": np.eye(14)}, "Ward can only"),
    ],
)
def test_wrong_parameters(options, words):
    with pytest.raises(ParameterError, match=words):
        FeatureAgglomeration(**options).fit(table())


def test_one_column_has_nothing_to_join():
    with pytest.raises(DataError, match=r"1 feature\(s\)"):
        FeatureAgglomeration(1).fit(table()[:, :1])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_one_row_is_grouped_as_in_scikit_learn(metric):
    X = table()[:1]
    ours = FeatureAgglomeration(4, metric=metric, linkage="average").fit(X)
    np.testing.assert_array_equal(ours.labels_, peer(X, n_clusters=4, metric=metric, linkage="average").labels_)
    with pytest.raises(DataError, match="only one row"):
        FeatureAgglomeration(4, metric="correlation", linkage="average").fit(X)


def test_a_vector_of_cluster_values_is_one_row(iris):
    model, theirs = (cls(2).fit(iris.X) for cls in (FeatureAgglomeration, sklearn.cluster.FeatureAgglomeration))
    values = np.array([2.0, 5.0])
    np.testing.assert_array_equal(model.inverse_transform(values), theirs.inverse_transform(values))
    np.testing.assert_array_equal(model.inverse_transform(values[None, :])[0], model.inverse_transform(values))
