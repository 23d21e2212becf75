"""PaCMAP: quality, determinism, pairs given, metrics, reduction of columns, new rows, hostile data."""

import inspect

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import lowland
from lowland import LocalMAP, PaCMAP
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.neighbors.search import nearest_neighbors
from lowland.quality import continuity, trustworthiness

DIGITS, LABELS = load_digits(return_X_y=True)
SHORT = {"num_iters": (20, 20, 40), "random_state": 0}
BOTH = pytest.mark.parametrize("Method", [PaCMAP, LocalMAP])


def cloud(n=150, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


# --- the map ----------------------------------------------------------------------------------------------------------


# pacmap 0.9.1, mean of five seeds: trustworthiness and continuity of 15 neighbors, accuracy of 10-NN, random triplets
@pytest.mark.parametrize(
    ("Method", "reference"),
    [(PaCMAP, (0.9813, 0.9800, 0.9777, 0.6784)), (LocalMAP, (0.9884, 0.9771, 0.9750, 0.6691))],
)
def test_digits_are_mapped_as_well_as_by_the_reference(Method, reference):
    rng = np.random.default_rng(0)
    i, j, k = rng.integers(0, len(DIGITS), (3, 20_000))
    found = []
    for seed in range(2):
        Z = Method(random_state=seed).fit_transform(DIGITS.astype(np.float32))
        nearer = [np.linalg.norm(Y[i] - Y[j], axis=1) < np.linalg.norm(Y[i] - Y[k], axis=1) for Y in (DIGITS, Z)]
        accuracy = cross_val_score(KNeighborsClassifier(10), Z, LABELS, cv=5).mean()
        found.append(
            [
                float(trustworthiness(DIGITS, Z, 15)),
                float(continuity(DIGITS, Z, 15)),
                accuracy,
                np.mean(nearer[0] == nearer[1]),
            ]
        )
    assert np.all(np.mean(found, axis=0) > np.array(reference) - (0.003, 0.003, 0.006, 0.012))


@BOTH
@pytest.mark.parametrize("k", [2, 3])
def test_bits_do_not_depend_on_the_threads(Method, k):
    X = cloud(400)
    maps = []
    for threads in (1, 2, 16):
        with lowland.config(threads=threads):
            model = Method(k, num_iters=(10, 10, 35), random_state=0).fit(X)
            maps.append((model.embedding_, model.transform(cloud(50, seed=1))))
    for Z, new in maps[1:]:
        np.testing.assert_array_equal(Z, maps[0][0])
        np.testing.assert_array_equal(new, maps[0][1])


def test_the_outcome_reports_pairs_and_objective():
    model = PaCMAP(random_state=0).fit(cloud())
    assert "1,500 pairs of neighbors, 750 mid-near and 3,000 further pairs" in model.solver_.reason
    assert len(model.solver_.trace) == 9
    assert (model.n_neighbors_, model.n_mid_near_, model.n_further_) == (10, 5, 20)
    assert model.solver_.trace[-1] < model.solver_.trace[4]  # within the last phase


def test_the_number_of_neighbors_grows_with_the_rows():
    X = cloud(12_000, 3)
    assert PaCMAP(n_neighbors=None, num_iters=(1, 1, 1), random_state=0).fit(X).n_neighbors_ == 11


def test_one_number_of_iterations_is_that_of_the_last_phase():
    a, b = (PaCMAP(num_iters=each, random_state=0).fit(cloud()) for each in (30, np.array([100, 100, 30])))
    assert a.n_iter_ == 230
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


# --- start and scale --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("init", ["random", cloud(150, 2, 3)])
def test_other_starts(init):
    Z = PaCMAP(random_state=0, init=init).fit_transform(cloud())
    assert np.isfinite(Z).all()
    assert not np.allclose(Z, PaCMAP(random_state=0).fit_transform(cloud()))


def test_more_columns_than_100_are_reduced():
    X = cloud(300, 140)
    model = PaCMAP(**SHORT).fit(X)
    assert model.points_.shape == (300, 100)
    assert model.reduction_.axes.shape == (140, 100)
    np.testing.assert_array_equal(model.transform(X[:7]), model.embedding_[:7])
    whole = PaCMAP(apply_pca=False, **SHORT).fit(X)
    assert whole.points_.shape == (300, 140)
    assert whole.reduction_ is None
    sparse = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0))
    assert PaCMAP(**SHORT).fit(sparse).points_.shape == (300, 100)


# --- metrics, graphs and pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "canberra"])
def test_metrics(metric):
    X = cloud()
    model = PaCMAP(distance=metric, **SHORT).fit(X)
    given = PaCMAP(distance="precomputed", init=model.embedding_, **SHORT).fit(
        cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    )
    rows = PaCMAP(distance=metric, init=model.embedding_, **SHORT).fit(X)
    np.testing.assert_allclose(given.embedding_, rows.embedding_, atol=1e-3)
    new = cloud(20, seed=1)
    np.testing.assert_allclose(
        given.transform(cdist(new, X, {"manhattan": "cityblock"}.get(metric, metric))), rows.transform(new), atol=1e-3
    )


def test_a_given_graph_is_used():
    X = cloud()
    graph = nearest_neighbors(X, 60).matrix()
    np.testing.assert_array_equal(PaCMAP(**SHORT).fit(X, graph=graph).embedding_, PaCMAP(**SHORT).fit_transform(X))
    fewer = PaCMAP(**SHORT).fit(X, graph=nearest_neighbors(X, 3).matrix())
    assert "450 pairs of neighbors" in fewer.solver_.reason


def test_a_sparse_matrix_of_distances():
    X = cloud()
    graph = nearest_neighbors(X, 60).matrix()
    with pytest.raises(ParameterError, match=r"mid-near.*MN_ratio=0"):
        PaCMAP(distance="precomputed", **SHORT).fit(graph)
    model = PaCMAP(distance="precomputed", MN_ratio=0, **SHORT).fit(graph)
    assert np.isfinite(model.transform(graph[:5])).all()


def test_given_pairs_are_used():
    X = cloud()
    rng = np.random.default_rng(0)
    rows = np.repeat(np.arange(150), 4)
    pairs = np.column_stack([rows, (rows + rng.integers(1, 150, 600)) % 150])
    for name in ("pair_neighbors", "pair_MN", "pair_FP"):
        model = PaCMAP(**{name: pairs}, **SHORT).fit(X)
        assert "600" in model.solver_.reason
        shuffled = PaCMAP(**{name: pairs[rng.permutation(600)]}, **SHORT).fit_transform(X)
        np.testing.assert_allclose(shuffled, model.embedding_, atol=1e-2)


@pytest.mark.parametrize("name", ["pair_neighbors", "pair_MN", "pair_FP"])
@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        (np.zeros((5, 3), dtype=int), "shape"),
        (np.array([[0, 150]]), "row number 150"),
        (np.array([[0.5, 1]]), "integers"),
    ],
)
def test_wrong_pairs_are_refused(name, pairs, words):
    with pytest.raises(DataError, match=rf"(?s){words}.*{name}"):
        PaCMAP(**{name: pairs}, **SHORT).fit(cloud())


def test_pairs_given_for_all_rows_do_not_fit_the_largest_component():
    X = np.concatenate([cloud(90), cloud(60) + 1e3])
    model = PaCMAP(disconnected="largest", pair_FP=np.array([[0, 1]]), n_neighbors=2, **SHORT)
    with pytest.warns(DataWarning, match="largest"), pytest.raises(ParameterError, match=r"pair_FP.*largest"):
        model.fit(X)


# --- new rows ---------------------------------------------------------------------------------------------------------


@BOTH
def test_new_rows_do_not_depend_on_their_batch(Method):
    model = Method(**SHORT).fit(DIGITS[:1000])
    new = DIGITS[1000:1200]
    whole = model.transform(new)
    np.testing.assert_array_equal(np.concatenate([model.transform(new[i : i + 7]) for i in range(0, 200, 7)]), whole)
    np.testing.assert_array_equal(model.transform(new[::-1]), whole[::-1])
    np.testing.assert_array_equal(model.transform(new[:1]), whole[:1])


@BOTH
def test_training_rows_land_at_their_place(Method):
    X = DIGITS[:900]
    model = Method(random_state=0).fit(X)
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    moved = model.transform(X + 1e-9)  # not at distance 0 anymore
    gaps = np.linalg.norm(moved - model.embedding_, axis=1) / np.ptp(model.embedding_, axis=0).max()
    assert np.median(gaps) < 0.005
    assert np.quantile(gaps, 0.95) < 0.015


@BOTH
def test_held_out_rows_are_classified_like_training_rows(Method):
    model = Method(random_state=0).fit(DIGITS[:1200])
    near = KNeighborsClassifier(10).fit(model.embedding_, LABELS[:1200])
    assert near.score(model.transform(DIGITS[1200:]), LABELS[1200:]) > 0.92


# --- hostile data -----------------------------------------------------------------------------------------------------


@BOTH
def test_duplicates_are_mapped(Method):
    X = np.repeat(cloud(12), 12, axis=0)
    Z = Method(random_state=0).fit_transform(X)
    assert np.isfinite(Z).all()
    centers = Z.reshape(12, 12, 2).mean(axis=1)
    own = np.linalg.norm(Z - np.repeat(centers, 12, axis=0), axis=1)
    assert np.median(own) < np.median(cdist(centers, centers)[np.triu_indices(12, 1)]) / 3


def test_duplicates_in_tiny_float32_units_are_mapped():
    """Their scale, a tiny fraction of the mean, is zero in float32."""
    X = np.ldexp(np.repeat(cloud(20), 2, axis=0), -120).astype(np.float32)
    X[:20] = X[0]
    model = PaCMAP(**SHORT).fit(X)
    assert np.isfinite(model.transform(X)).all()


def test_arguments_have_the_order_of_pacmap():
    """As in pacmap 0.9.1, without knn_backend, the last one."""
    theirs = (
        "n_components n_neighbors MN_ratio FP_ratio pair_neighbors pair_MN pair_FP distance lr num_iters verbose "
        "apply_pca intermediate intermediate_snapshots random_state save_tree"
    )
    for Method, names in ((PaCMAP, theirs), (LocalMAP, theirs + " low_dist_thres")):
        ours = inspect.signature(Method).parameters.values()
        assert [p.name for p in ours if p.kind is p.POSITIONAL_OR_KEYWORD] == names.split()


@BOTH
@pytest.mark.parametrize("n", [4, 12, 36])
def test_few_rows(Method, n):
    Z = Method(n_neighbors=None, **SHORT).fit_transform(cloud(n))
    assert Z.shape == (n, 2)
    assert np.isfinite(Z).all()
    assert np.ptp(Z, axis=0).min() > 0
    if n <= 35:
        with pytest.warns(DataWarning, match=f"n_neighbors=10.*{n} rows.*Set n_neighbors"):
            np.testing.assert_array_equal(Method(**SHORT).fit_transform(cloud(n)), Z)


@BOTH
@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"FP_ratio": 0.01}, "FP_ratio=0.01.*further"),
        ({"num_iters": (1, 2)}, "num_iters"),
        ({"num_iters": (1, 2, -3)}, "num_iters"),
        ({"init": np.zeros((3, 2))}, r"init"),
        ({"init": np.zeros((len(cloud()), 2))}, r"equal.*init"),
        ({"distance": "euclidian"}, "euclidean"),
        ({"intermediate": True}, "intermediate.*callback"),
    ],
)
def test_wrong_parameters_are_refused(Method, params, words):
    with pytest.raises((ParameterError, DataError), match=words):
        Method(**params).fit(cloud())


def test_too_few_rows_are_refused():
    with pytest.raises(DataError, match="minimum of 4"):
        PaCMAP().fit(cloud(3))


def test_the_radius_of_local_map_matters():
    X = cloud(300)
    a, b = (LocalMAP(low_dist_thres=r, random_state=0).fit_transform(X) for r in (2, 10))
    assert not np.allclose(a, b, atol=0.1)


@BOTH
def test_equal_rows_have_one_place_which_transform_finds(Method):
    X = np.round(cloud(200, 4))
    model = Method(**SHORT).fit(X)
    extent = np.ptp(model.embedding_, axis=0).max()
    assert np.abs(model.transform(X) - model.embedding_).max() < 0.01 * extent


def test_the_pairs_of_a_fit_can_be_read_and_passed_on():
    X = cloud()
    model = PaCMAP(**SHORT).fit(X)
    assert model.pair_neighbors_.shape == (150 * model.n_neighbors_, 2)
    assert model.pair_MN_.shape == (150 * model.n_mid_near_, 2)
    assert model.pair_FP_.shape == (150 * model.n_further_, 2)
    again = PaCMAP(pair_neighbors=model.pair_neighbors_, pair_MN=model.pair_MN_, pair_FP=model.pair_FP_, **SHORT).fit(X)
    np.testing.assert_allclose(again.embedding_, model.embedding_, atol=1e-4)


def test_the_angular_distance_compares_directions():
    X = cloud()
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    near = PaCMAP(distance="angular", **SHORT).fit(X * np.linspace(1, 9, 150)[:, None]).pair_neighbors_
    np.testing.assert_array_equal(near, PaCMAP(**SHORT).fit(unit).pair_neighbors_)
