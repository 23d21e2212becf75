"""UMAP: what the map keeps, labels, densities, new rows, the inverse transform, and bad input."""

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, make_swiss_roll
from sklearn.manifold import trustworthiness
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import lowland
from lowland import UMAP
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run

RUN = Run()
IRIS = load_dataset("iris")
DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS, DIGIT = DIGITS[:600], DIGIT[:600]


def short(**options):
    return UMAP(**{"n_neighbors": 10, "n_epochs": 100, "random_state": 0, **options})


def separation(Z, y):
    """Variance between the classes over the total."""
    means = np.array([Z[y == c].mean(axis=0) for c in y])
    return ((means - Z.mean(axis=0)) ** 2).sum() / ((Z - Z.mean(axis=0)) ** 2).sum()


@pytest.fixture(scope="module")
def fitted():
    return UMAP(random_state=0).fit(DIGITS)


def test_arguments_have_the_order_of_umap_learn():
    """As in umap-learn 0.5.12; only ``disconnected`` is our own."""
    theirs = (
        "n_neighbors n_components metric metric_kwds output_metric output_metric_kwds n_epochs learning_rate init "
        "min_dist spread low_memory n_jobs set_op_mix_ratio local_connectivity repulsion_strength negative_sample_rate "
        "transform_queue_size a b random_state angular_rp_forest target_n_neighbors target_metric target_metric_kwds "
        "target_weight transform_seed transform_mode force_approximation_algorithm verbose tqdm_kwds unique densmap "
        "dens_lambda dens_frac dens_var_shift output_dens disconnection_distance precomputed_knn"
    )
    ours = inspect.signature(UMAP).parameters.values()
    assert [p.name for p in ours if p.kind is p.POSITIONAL_OR_KEYWORD] == theirs.split()
    assert [p.name for p in ours if p.kind is p.KEYWORD_ONLY] == ["disconnected"]


# --- the map ---------------------------------------------------------------------------------------------------------


def test_neighbors_stay_neighbors(fitted):
    assert trustworthiness(DIGITS, fitted.embedding_, n_neighbors=10) > 0.97
    knn = KNeighborsClassifier(10).fit(fitted.embedding_[::2], DIGIT[::2])
    assert knn.score(fitted.embedding_[1::2], DIGIT[1::2]) > 0.9


def test_the_objective_decreases(fitted):
    trace = fitted.solver_.trace
    assert trace[-1] < trace[0]
    assert fitted.cross_entropy_ == trace[-1]
    assert fitted.n_epochs_ == fitted.n_iter_ == 500


@pytest.mark.parametrize("k", [1, 3])
def test_other_numbers_of_components(k):
    Z = short(n_components=k).fit_transform(DIGITS)
    assert Z.shape == (600, k)
    assert trustworthiness(DIGITS, Z, n_neighbors=10) > (0.8 if k == 1 else 0.96)


def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads():
    maps = []
    for threads in (1, 2, 16):
        with lowland.config(threads=threads):
            model = short(densmap=True, n_epochs=30).fit(DIGITS)
            maps.append((model.embedding_, model.transform(DIGITS[:50] + 0.1)))
    for Z, new in maps[1:]:
        assert np.array_equal(Z, maps[0][0])
        assert np.array_equal(new, maps[0][1])


def test_given_neighbors_give_the_same_map(fitted):
    to, length = nearest_neighbors(DIGITS, 14, RUN).table()
    rows = np.arange(600)[:, None]
    knn = (np.hstack([rows, to]), np.hstack([0.0 * rows, length]), None)
    model = UMAP(random_state=0, precomputed_knn=knn).fit(DIGITS)
    assert np.array_equal(model.embedding_, fitted.embedding_)


def test_wider_tables_of_neighbors_in_any_order_give_the_same_graph(fitted, rng):
    to, length = nearest_neighbors(DIGITS, 30, RUN).table()
    rows = np.arange(600)[:, None]
    order = rng.permuted(np.tile(np.arange(31), (600, 1)), axis=1)
    to, length = (np.take_along_axis(np.hstack(each), order, axis=1) for each in ((rows, to), (0.0 * rows, length)))
    for indices in (to, to.astype(float)):
        model = UMAP(random_state=0, n_epochs=1, precomputed_knn=(indices, length)).fit(DIGITS)
        np.testing.assert_allclose(model.graph_.toarray(), fitted.graph_.toarray(), atol=1e-6)


def test_neighbors_that_are_no_neighbors_are_refused():
    near = NearestNeighbors(n_neighbors=10).fit(IRIS.X + np.arange(150)[:, None] * 1e-3)
    length, to = near.kneighbors()
    with pytest.raises(DataError, match=r"indices first and distances second.*kneighbors"):
        short(precomputed_knn=(length, to)).fit(IRIS.X)
    with pytest.raises(DataError, match="row numbers"):
        short(precomputed_knn=(to + 0.5, length)).fit(IRIS.X)
    twice = to.copy()
    twice[3, 4] = twice[3, 1]
    with pytest.raises(DataError, match="row 3 lists the same neighbor twice"):
        short(precomputed_knn=(twice, length)).fit(IRIS.X)
    with pytest.raises(ParameterError, match=r"precomputed_knn.*or a graph to fit"):
        short(precomputed_knn=(to, length)).fit(IRIS.X, graph=near.kneighbors_graph(mode="distance"))


def test_distances_give_the_same_graph(fitted):
    D = np.sqrt(np.maximum(((DIGITS[:, None] - DIGITS[None]) ** 2).sum(axis=2), 0))
    model = UMAP(random_state=0, metric="precomputed", n_epochs=10).fit(D)
    np.testing.assert_allclose(model.graph_.toarray(), fitted.graph_.toarray(), atol=1e-5)
    new = model.transform(D[:5] + 0.01)
    assert np.isfinite(new).all()
    with pytest.raises(ParameterError, match="no rows"):
        model.inverse_transform(new)
    to, length = nearest_neighbors(DIGITS, 14, RUN).table()
    stored = scipy.sparse.csr_array((length.ravel(), to.ravel(), np.arange(601) * 14), shape=(600, 600))
    model = UMAP(random_state=0, metric="precomputed", n_epochs=10).fit(stored)
    np.testing.assert_allclose(model.graph_.toarray(), fitted.graph_.toarray(), atol=1e-5)


def test_sparse_rows_give_the_map_of_dense_rows():
    dense, sparse = short().fit(DIGITS), short().fit(scipy.sparse.csr_array(DIGITS))
    np.testing.assert_allclose(sparse.graph_.toarray(), dense.graph_.toarray(), atol=1e-5)
    assert trustworthiness(DIGITS, sparse.embedding_, n_neighbors=10) > 0.95
    back = sparse.inverse_transform(sparse.embedding_[:5])
    assert back.shape == (5, 64)


def test_another_metric():
    Z = short(metric="correlation").fit_transform(DIGITS + 1)
    assert trustworthiness(DIGITS, Z, n_neighbors=10) > 0.9


@pytest.mark.parametrize("init", ["pca", "random", "array"])
def test_starts(init):
    start = DIGITS[:, 20:22] + np.random.default_rng(0).normal(size=(600, 2)) if init == "array" else init
    assert trustworthiness(DIGITS, UMAP(init=start, random_state=0).fit_transform(DIGITS), n_neighbors=10) > 0.95


# --- targets ----------------------------------------------------------------------------------------------------------


def test_labels_separate_classes_more(fitted):
    X, y = IRIS.X, IRIS.y
    plain, labeled = short().fit_transform(X), short().fit_transform(X, y)
    assert separation(labeled, y) > separation(plain, y)
    strong = short(target_weight=0.95).fit(X, y).graph_.toarray()
    codes = np.unique(y, return_inverse=True)[1]
    assert strong[codes[:, None] != codes[None, :]].sum() < 1e-3 * strong.sum()


def test_unknown_labels():
    X, codes = IRIS.X, np.unique(IRIS.y, return_inverse=True)[1]
    half = np.where(np.arange(150) % 2 == 0, codes, -1)
    nan = np.where(half == -1, np.nan, half)
    assert np.array_equal(short().fit_transform(X, half), short().fit_transform(X, nan))
    known, unknown = (
        np.mean([separation(short(random_state=seed).fit_transform(X, y), codes) for seed in range(5)])
        for y in (half, None)
    )
    assert known > unknown
    assert np.isfinite(short().fit_transform(X, np.full(150, -1))).all()


def test_a_numeric_target_is_intersected_as_umap_learn_does():
    """The graph of y has the direction from each row to its neighbors only, also in umap-learn."""
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(60, 3)), rng.normal(size=60)
    A = short(n_epochs=1).fit(X).graph_.toarray()
    d = np.abs(t[:, None] - t)
    B = np.zeros((60, 60))
    for i, near in enumerate(np.argsort(d, axis=1)[:, 1:8]):
        rest = d[i, near] - d[i, near[0]]
        low, high = 1e-9, 1e3
        for _ in range(100):  # the scale that makes the weights sum to log2(8)
            middle = (low + high) / 2
            low, high = (low, middle) if np.exp(-rest / middle).sum() > 3 else (middle, high)
        B[i, near] = np.exp(-rest / low)
    both = (A > 0) | (B > 0)
    least = max(A[A > 0].min() / 2, 1e-8), min(max(B[B > 0].min() / 2, 1e-8), 1e-4)
    W = np.where(both, np.where(A > 0, A, least[0]) ** (0.3 / 0.7) * np.where(B > 0, B, least[1]), 0)
    W /= W.max(axis=1, keepdims=True)
    found = short(n_epochs=1, target_metric="euclidean", target_weight=0.7, target_n_neighbors=8).fit(X, t).graph_
    np.testing.assert_allclose(found.toarray(), W + W.T - W * W.T, atol=1e-4)


@pytest.mark.parametrize("unique", [False, True])
def test_a_numeric_target_may_have_several_columns(unique):
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(60, 3)), rng.normal(size=60)
    model = short(target_metric="euclidean", unique=unique, random_state=0)
    alone = model.fit(X, t).graph_.toarray()
    for same in (np.column_stack([t, np.ones(60)]), pd.DataFrame({"t": 0.6 * t, "u": 0.8 * t})):
        np.testing.assert_allclose(model.fit(X, same).graph_.toarray(), alone, atol=1e-5)
    assert not np.allclose(model.fit(X, np.column_stack([t, X[:, 0]])).graph_.toarray(), alone)
    with pytest.raises(DataError, match="60 rows"):
        model.fit(X, np.ones((59, 2)))
    with pytest.raises(DataError, match="one value per row"):
        short(unique=unique).fit(X, np.ones((60, 2)))


def test_a_numeric_target_orders_the_map():
    rng = np.random.default_rng(0)
    X, t = rng.normal(size=(300, 5)), np.linspace(0, 1, 300)

    def error(Z):
        to, _ = nearest_neighbors(np.ascontiguousarray(Z), 10, RUN).table()
        return np.mean(np.abs(t[to].mean(axis=1) - t))

    guided = short(target_metric="euclidean", target_weight=0.7).fit_transform(X, t)
    assert error(guided) < 0.5 * error(short().fit_transform(X))
    with pytest.raises(DataError, match="target_metric"):
        short(target_metric="euclidean").fit(X, np.repeat(["a", "b"], 150))
    with pytest.raises(DataError, match="values of y are equal"):
        short(target_metric="euclidean").fit(X, np.ones(300))
    with pytest.raises(DataError, match="target_metric"):
        short().fit(X, t)


# --- densities --------------------------------------------------------------------------------------------------------


def test_densmap_keeps_densities():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(200, 5)) * s + 30 * i for i, s in enumerate((0.2, 1.0, 4.0))])
    plain, dense = short(output_dens=True).fit(X), short(densmap=True, n_epochs=200).fit(X)

    def agreement(model):
        return np.corrcoef(model.rad_orig_, model.rad_emb_)[0, 1]

    assert dense.cross_entropy_ > 0 > dense.solver_.trace[-1]  # which includes the density term
    assert agreement(dense) > 0.8
    assert agreement(dense) > agreement(plain) + 0.1
    Z, of_rows, in_map = short(output_dens=True).set_output(transform="pandas").fit_transform(X)  # as umap-learn
    assert np.array_equal(Z, plain.embedding_)
    assert np.array_equal(of_rows, plain.rad_orig_)
    assert np.array_equal(in_map, plain.rad_emb_)
    new = dense.transform(X[::10] + 1e-3)
    extent = np.ptp(dense.embedding_, axis=0).max()
    assert np.median(np.linalg.norm(new - dense.embedding_[::10], axis=1)) < 0.05 * extent


# --- new rows ---------------------------------------------------------------------------------------------------------


def test_training_rows_are_placed_at_their_place(fitted):
    assert np.array_equal(fitted.transform(DIGITS), fitted.embedding_)


def test_rows_almost_equal_to_training_rows_land_near_them(fitted):
    off = np.linalg.norm(fitted.transform(DIGITS + 1e-6) - fitted.embedding_, axis=1)
    extent = np.ptp(fitted.embedding_, axis=0).max()
    assert np.median(off) < 0.01 * extent
    assert np.quantile(off, 0.95) < 0.05 * extent


def test_a_place_does_not_depend_on_the_batch(fitted):
    new = DIGITS[:40] + np.random.default_rng(0).normal(size=(40, 64))
    Z = fitted.transform(new)
    assert np.array_equal(fitted.transform(new[::-1])[::-1], Z)
    assert np.array_equal(np.vstack([fitted.transform(new[i : i + 7]) for i in range(0, 40, 7)]), Z)


# --- the inverse transform --------------------------------------------------------------------------------------------


def test_the_inverse_transform_and_its_error(fitted):
    back = fitted.inverse_transform(fitted.embedding_)
    spread = ((DIGITS - DIGITS.mean(axis=0)) ** 2).sum()
    assert np.sqrt(((back - DIGITS) ** 2).sum() / spread) < fitted.inverse_error_ < 0.7


def test_the_inverse_of_a_surface():
    rng = np.random.default_rng(0)
    plane = rng.uniform(size=(500, 2)) @ rng.normal(size=(2, 6))
    assert short(n_epochs=200).fit(plane).inverse_error_ < 0.15


# --- graphs that are disconnected, duplicates -------------------------------------------------------------------------


def two_groups():
    rng = np.random.default_rng(0)
    return np.r_[rng.normal(size=(60, 4)), rng.normal(size=(40, 4)) + 100]


def test_a_disconnected_graph_by_policy():
    X = two_groups()
    model = short().fit(X)
    assert model.n_connected_components_ == 2
    group = np.repeat([0, 1], [60, 40])
    assert separation(model.embedding_, group) > 0.5
    with pytest.warns(DataWarning, match="largest"):
        largest = short(disconnected="largest").fit(X)
    assert np.isnan(largest.embedding_[60:]).all()
    assert largest.graph_.shape == (100, 100)
    assert largest.graph_[60:].nnz == 0
    assert np.isfinite(largest.transform(X[60:] - 100)).all()
    with pytest.raises(DataError, match="disconnected"):
        short(disconnected="error").fit(X)
    with pytest.warns(DataWarning, match="connected by"):
        joined = short(disconnected="connect").fit(X)
    between = joined.graph_.toarray()[:60, 60:]
    assert between.max() > 0.01
    assert np.count_nonzero(between) == joined.n_edges_added_ == 1


def test_a_distance_that_disconnects():
    model = short(disconnection_distance=3.0).fit(IRIS.X)
    assert np.isfinite(model.embedding_).all()
    with pytest.warns(DataWarning, match=r"points have no neighbor.*NaN.*Raise disconnection_distance"):
        model = short(disconnection_distance=0.3, output_dens=True).fit(IRIS.X)
    alone = np.sort(cdist(IRIS.X, IRIS.X), axis=1)[:, 1] >= 0.3
    assert np.array_equal(np.isnan(model.embedding_).any(axis=1), alone)
    assert np.array_equal(np.isnan(model.rad_orig_), alone)
    assert 0 < model.n_excluded_ == alone.sum() < model.n_connected_components_
    with pytest.raises(ParameterError, match="disconnection_distance"):
        short(disconnection_distance=1e-9).fit(np.random.default_rng(0).normal(size=(50, 3)))


def test_duplicate_rows():
    X = np.repeat(np.random.default_rng(0).normal(size=(40, 3)), 12, axis=0)
    assert np.isfinite(short(n_neighbors=5).fit_transform(X)).all()
    model = short(n_neighbors=5, unique=True).fit(X)
    assert model.embedding_.shape == (480, 2)
    assert len(np.unique(model.embedding_, axis=0)) == 40
    assert model.graph_.shape == (40, 40)
    assert np.array_equal(model.transform(X[::12]), model.embedding_[::12])
    assert np.isfinite(model.inverse_transform(model.embedding_[:3])).all()


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"min_dist": 2.0}, "min_dist=2.*spread"),
        ({"output_metric": "cosine"}, "output_metric"),
        ({"transform_mode": "graph"}, "transform_mode"),
        ({"precomputed_knn": (np.zeros((3, 15)), np.zeros((3, 15)))}, "precomputed_knn"),
        ({"unique": True, "metric": "precomputed"}, "unique"),
        ({"target_n_neighbors": 1}, "target_n_neighbors=1.*at least 2"),
    ],
)
def test_parameters_that_do_not_fit(options, words):
    X = np.abs(IRIS.X @ IRIS.X.T) if options.get("metric") else IRIS.X
    with pytest.raises(ParameterError, match=words):
        short(**options).fit(X)


def test_a_model_file_holds_what_transform_needs_and_not_the_graph(tmp_path):
    X = np.random.default_rng(0).standard_normal((200, 5))
    model = UMAP(n_neighbors=8, n_epochs=30, densmap=True, random_state=0).fit(X)
    lowland.save(model, tmp_path / "map.lowland")
    loaded = lowland.load(tmp_path / "map.lowland")
    assert not hasattr(loaded, "graph_")
    assert (loaded.transform(X[:9] + 0.1) == model.transform(X[:9] + 0.1)).all()


# --- as in umap-learn -------------------------------------------------------------------------------------------------


def test_more_neighbors_than_rows_are_all_rows():
    X = IRIS.X[:30]
    with pytest.warns(DataWarning, match="larger than the dataset size"):
        many = short(n_neighbors=200).fit(X)
    assert (many._a, many._b) == (many.a_, many.b_)
    np.testing.assert_array_equal(many.embedding_, short(n_neighbors=30).fit(X).embedding_)
    assert np.isfinite(many.transform(X + 0.01)).all()


def test_the_continuity_from_a_random_start_is_as_good_as_from_eigenvectors():
    """The steps must be long at first, or else parts of the map stay torn apart."""
    from lowland.quality import continuity

    X, _ = make_swiss_roll(1000, random_state=0)
    maps = [UMAP(init="random", random_state=seed).fit_transform(X) for seed in (0, 1)]
    found = [float(continuity(X, Z, n_neighbors=15)) for Z in maps]
    assert np.mean(found) > 0.975  # 0.955 with the steps of a spectral start, 0.994 from eigenvectors


@pytest.mark.parametrize("init", ["random", "pca", DIGITS[:, :2] + np.arange(600)[:, None] * 1e-6])
def test_the_first_steps_are_longer_unless_the_start_is_unfolded(init):
    fixed = UMAP(init=init, n_epochs=60, random_state=0).fit(DIGITS)
    assert fixed.n_iter_ == 60
    assert trustworthiness(DIGITS, fixed.embedding_, n_neighbors=10) > 0.95


@pytest.mark.parametrize("sparse", [False, True])
def test_equal_rows_have_one_place_which_transform_finds(sparse):
    X = np.round(np.random.default_rng(0).normal(size=(200, 4)))
    given = scipy.sparse.csr_array(X) if sparse else X
    model = short().fit(given)
    extent = np.ptp(model.embedding_, axis=0).max()
    assert np.abs(model.transform(given) - model.embedding_).max() < 0.01 * extent
    assert len(np.unique(model.embedding_, axis=0)) == len(np.unique(X, axis=0))


def test_duplicates_with_distances_and_with_missing_values():
    X = np.round(np.random.default_rng(0).normal(size=(120, 3)))
    D = cdist(X, X)
    model = short(metric="precomputed").fit(D)
    np.testing.assert_array_equal(model.transform(D), model.embedding_)
    X[::7, 0] = np.nan  # distance zero does not mean equal here
    Z = short(metric="nan_euclidean").fit_transform(X)
    assert len(np.unique(Z, axis=0)) == len(Z)


def test_distinct_rows_of_a_sparse_matrix():
    X = np.round(np.random.default_rng(0).normal(size=(150, 4)))
    dense = short(unique=True).fit(X)
    sparse = short(unique=True).fit(scipy.sparse.csr_array(X))
    np.testing.assert_array_equal(sparse.unique_index_, dense.unique_index_)
    assert len(np.unique(sparse.embedding_, axis=0)) == len(sparse.unique_index_)


@pytest.mark.parametrize("metric", ["jaccard", "hellinger"])
@pytest.mark.parametrize("alone", [1, 5])
def test_rows_that_share_nothing_are_left_out(metric, alone):
    rng = np.random.default_rng(0)
    X = np.zeros((20 + alone, 30 + alone))
    X[:20, :30] = rng.random((20, 30)) < 0.5
    X[np.arange(20, 20 + alone), np.arange(30, 30 + alone)] = 1
    words = "A few of your vertices" if alone == 1 else "A large number of your vertices"
    with pytest.warns(DataWarning, match=words):
        model = short(n_neighbors=5, metric=metric, force_approximation_algorithm=True).fit(X)
    assert np.isnan(model.embedding_[20:]).all()
    assert np.isfinite(model.embedding_[:20]).all()
    assert model.graph_.shape == (20 + alone, 20 + alone)
    assert model.graph_[20:].nnz == 0


@pytest.mark.parametrize("metric", ["ordinal", "count", "string"])
def test_a_target_by_its_own_metric_weakens_edges_the_more_the_farther_apart_values_are(metric):
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = np.repeat([0, 1, 5], 50)
    target = np.array(["aaaa", "aaab", "zzzz"])[np.repeat([0, 1, 2], 50)] if metric == "string" else y
    plain, own = short(n_epochs=0).fit(X), short(n_epochs=0, target_metric=metric, target_weight=0.9).fit(X, target)
    kept = [own.graph_[y == 0][:, y == c].sum() / plain.graph_[y == 0][:, y == c].sum() for c in (0, 1, 5)]
    assert kept[0] > 1.05 * kept[1] > 2 * kept[2]


def test_a_count_is_no_fraction():
    with pytest.raises(DataError, match="not counts"):
        short(target_metric="count").fit(IRIS.X, np.linspace(0, 1, 150))


def test_an_update_has_the_graph_of_all_rows_and_keeps_the_map():
    first, new = np.arange(150) % 4 > 0, np.arange(150) % 4 == 0
    model = short().fit(IRIS.X[first])
    before = model.embedding_
    assert model.update(IRIS.X[new]) is model
    whole = short().fit(np.concatenate([IRIS.X[first], IRIS.X[new]]))
    assert abs(model.graph_ - whole.graph_).sum() < 1e-3
    assert model.embedding_.shape == (150, 2)
    moved = np.linalg.norm(model.embedding_[: first.sum()] - before, axis=1)
    assert np.median(moved) < 0.2 * np.ptp(before)
    for refused, X in (
        (short(metric="precomputed").fit(cdist(IRIS.X, IRIS.X)), cdist(IRIS.X, IRIS.X)),
        (short().fit(IRIS.X, IRIS.y), IRIS.X),
    ):
        with pytest.raises(ParameterError, match="update"):
            refused.update(X)


def test_combined_models():
    """The graph of a product has edges of both, that of a difference those that the second one lacks."""
    a, b = short().fit(IRIS.X[:, :2]), short().fit(IRIS.X[:, 2:])
    for model, least in ((a * b, 0.9), (a + b, 0.9), (a - b, 0.75)):
        assert trustworthiness(IRIS.X, model.embedding_, n_neighbors=10) > least
        assert abs(model.graph_ - model.graph_.T).max() < 1e-6
        with pytest.raises(ParameterError, match="graph alone"):
            model.transform(IRIS.X[:, :2])
    edges = [model.graph_.toarray() > 0 for model in (a, b, a + b, a - b)]
    assert not (edges[2] & ~(edges[0] | edges[1])).any()
    assert not (edges[3] & ~edges[0]).any()
    with pytest.raises(DataError, match="equivalent samples"):
        a + short().fit(IRIS.X[:100])
    with pytest.raises(TypeError):
        a + 1
