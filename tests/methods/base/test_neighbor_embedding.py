"""What neighbor embeddings share: few neighbors, disconnected graphs, labels, snapshots, Ctrl-C."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cityblock
from sklearn.neighbors import NearestNeighbors

import lowland
from lowland import TSNE, UMAP, LocalMAP, PaCMAP
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.embeddings.kl_divergence import KLDivergence
from lowland.math.embeddings.pairs import PairForces

QUICK = {
    TSNE: {"perplexity": 4.0, "max_iter": 120},
    UMAP: {"n_neighbors": 5, "n_epochs": 120},
    PaCMAP: {"n_neighbors": 4, "num_iters": (40, 40, 40)},
    LocalMAP: {"n_neighbors": 4, "num_iters": (40, 40, 40)},
}


@pytest.mark.parametrize("cls", [TSNE, PaCMAP, LocalMAP])
def test_labels_of_an_unsupervised_method_are_ignored(cls, rng):
    """Whatever they are, also where rows are left out."""
    X = np.concatenate([rng.normal(0, 1, (40, 3)), rng.normal(1e3, 1, (30, 3))])
    search = {"perplexity": 2.0} if cls is TSNE else {"n_neighbors": 1}
    model = cls(**{**QUICK[cls], **search}, disconnected="largest", random_state=0)
    graph = np.linalg.norm(X[:, None] - X, axis=2)
    graph[:40, 40:] = graph[40:, :40] = np.inf
    with pytest.warns(DataWarning, match="disconnected"):
        Z = model.fit_transform(X, graph=graph)
    assert np.isnan(Z[40:]).all()
    with pytest.warns(DataWarning, match="disconnected"):
        assert np.array_equal(model.fit_transform(X, ["any"] * 3, graph), Z, equal_nan=True)


@pytest.mark.parametrize("unique", [False, True])
def test_labels_of_a_file_of_unknown_length_are_counted(rng, tmp_path, unique):
    np.savetxt(tmp_path / "x.csv", rng.standard_normal((30, 3)), delimiter=",", header="a,b,c", comments="")
    with pytest.raises(DataError, match="30 rows"):
        UMAP(**QUICK[UMAP], unique=unique).fit(tmp_path / "x.csv", np.zeros(29, dtype=int))


@pytest.mark.parametrize("cls", list(QUICK))
def test_the_solver_says_how_neighbors_were_found(cls, rng):
    X = rng.standard_normal((60, 4))
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = cls(**QUICK[cls], random_state=0)
    assert model.fit(X).solver_.reason.endswith("; neighbors: exact, by comparisons of all pairs")
    assert model.fit(X, graph=D).solver_.reason.endswith("; neighbors: given")
    metric = "distance" if hasattr(model, "distance") else "metric"
    assert "exact, by precomputed distances" in model.set_params(**{metric: "precomputed"}).fit(D).solver_.reason


def test_the_solver_states_the_recall_of_an_approximate_search(rng):
    model = UMAP(**QUICK[UMAP], force_approximation_algorithm=True, random_state=0).fit(rng.standard_normal((300, 4)))
    assert f"approximate (nearest-neighbor descent), recall {model.recall_:.3f} (" in model.solver_.reason
    low, high = model.recall_interval_
    assert 0 <= low <= model.recall_ <= high <= 1


def test_a_callback_that_is_no_function_is_refused(rng):
    with pytest.raises(ParameterError, match=r"UMAP.fit\(callback=3\): callback must be a function"):
        UMAP(**QUICK[UMAP]).fit(rng.standard_normal((60, 4)), callback=3)


@pytest.mark.parametrize("cls", list(QUICK))
def test_a_matrix_that_holds_no_distances_is_refused(cls, rng):
    metric = "distance" if hasattr(cls(), "distance") else "metric"
    D = np.abs(rng.standard_normal((40, 40)))
    for wrong, words in [
        (D[:, :9], "square"),
        (-(D + D.T), "(?i)negative"),
        (np.full((40, 40), np.nan), r"matrix of distances, first in row \d+, column \d+.*Compute these distances"),
    ]:
        with pytest.raises(DataError, match=words):
            cls(**QUICK[cls], **{metric: "precomputed"}).fit(wrong)


@pytest.mark.parametrize("cls", list(QUICK))
def test_ctrl_c_keeps_the_map_so_far(cls, rng):
    X = rng.standard_normal((60, 4))

    def interrupt(snapshot):
        raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="50 of 120 iterations.*unfinished"):
        model = cls(**QUICK[cls], random_state=0).fit(X, callback=interrupt)
    assert model.interrupted_
    assert model.n_iter_ == 50
    assert np.isfinite(model.embedding_).all()
    assert not model.solver_.converged
    assert np.isfinite(model.transform(X[:3])).all()


@pytest.mark.parametrize(("cls", "rate"), [(UMAP, "learning_rate"), (PaCMAP, "lr")])
def test_steps_that_overflow_are_an_error_that_names_the_rate(cls, rate, rng):
    with pytest.raises(ParameterError, match=rf"{rate}=.*not finite.*smaller {rate}"):
        cls(**{**QUICK[cls], rate: 1e40}).fit(rng.normal(0, 1, (60, 3)))


@pytest.mark.parametrize("cls", list(QUICK))
def test_a_loaded_model_asks_for_a_metric_that_was_a_function(cls, rng, tmp_path):
    name, X = "distance" if cls in (PaCMAP, LocalMAP) else "metric", rng.standard_normal((40, 3))
    model = cls(**QUICK[cls], **{name: cityblock}, random_state=0).fit(X)
    with pytest.warns(DataWarning, match="not saved"):
        lowland.save(model, tmp_path / "model")
    loaded = lowland.load(tmp_path / "model")
    with pytest.raises(ParameterError, match=rf"loaded from a file.*set_params\({name}="):
        loaded.transform(X[:3])
    np.testing.assert_array_equal(loaded.set_params(**{name: cityblock}).transform(X[:3]), model.transform(X[:3]))


# --- few neighbors ----------------------------------------------------------------------------------------------------


def given_distances(cls, **options):
    name = {"distance": "precomputed", "MN_ratio": 0} if cls in (PaCMAP, LocalMAP) else {"metric": "precomputed"}
    return cls(**{**QUICK[cls], **options}, **name, random_state=0)


@pytest.mark.parametrize(("cls", "most"), [(TSNE, 13), (UMAP, 4), (PaCMAP, 4), (LocalMAP, 4)])
def test_rows_that_store_few_distances_are_reported(cls, most, rng):
    near = NearestNeighbors(n_neighbors=20).fit(rng.standard_normal((60, 3)))
    enough, few = (near.kneighbors_graph(n_neighbors=k, mode="distance") for k in (most, most - 1))
    given_distances(cls).fit(enough)
    with pytest.warns(DataWarning, match=rf"60 rows of 60 in the sparse X store fewer than {most} distances.*smaller"):
        given_distances(cls).fit(few)


def test_a_sparse_matrix_of_all_distances_has_enough_of_them(rng):
    X = rng.standard_normal((12, 3))
    all_pairs = NearestNeighbors(n_neighbors=11).fit(X).kneighbors_graph(mode="distance")
    model = TSNE(**QUICK[TSNE], metric="precomputed", random_state=0)
    assert model.fit(all_pairs).n_neighbors_ == 11  # 13 are usual at this perplexity


def test_a_perplexity_that_cannot_be_reached_is_reported(rng):
    X = rng.standard_normal((60, 3))
    few = NearestNeighbors(n_neighbors=5).fit(X).kneighbors_graph(mode="distance")
    TSNE(perplexity=4.9, max_iter=5).fit(X, graph=few)
    TSNE(perplexity=5, max_iter=5, affinity="uniform").fit(X, graph=few)
    words = r"perplexity=5\): 60 rows of 60 .*smaller perplexity"
    with pytest.warns(DataWarning, match=words):
        TSNE(perplexity=5, max_iter=5).fit(X, graph=few)
    with pytest.warns(DataWarning, match=words), pytest.warns(DataWarning, match="store fewer than 16"):
        given_distances(TSNE, perplexity=5).fit(few)


# --- disconnected graphs ----------------------------------------------------------------------------------------------


def attraction(model, X, monkeypatch, **given):
    """The weights of the attraction between rows, a sparse matrix (n, n), after a fit."""
    seen, find = [], type(model)._problem

    def watched(*arguments):
        seen.append(find(*arguments))
        return seen[-1]

    monkeypatch.setattr(type(model), "_problem", watched)
    model.fit(X, **given)
    objective = seen[0].objective
    if isinstance(objective, KLDivergence):
        return objective.P
    if isinstance(objective, PairForces):
        near = objective.listed[0]
        return scipy.sparse.csr_array((np.ones(len(near.to)), near.to, near.start), shape=(near.n, near.n))
    return objective.graph.matrix()


@pytest.mark.parametrize("cls", list(QUICK))
@pytest.mark.parametrize("given", [False, True])
def test_components_that_were_connected_attract_each_other(cls, given, rng, monkeypatch):
    X = np.concatenate([rng.normal(0, 1, (80, 3)), rng.normal(100, 1, (80, 3))])
    graph = NearestNeighbors(n_neighbors=8).fit(X).kneighbors_graph(mode="distance") if given else None
    with pytest.warns(DataWarning, match="connected by 1 edge"):
        W = attraction(cls(**QUICK[cls], disconnected="connect", random_state=0), X, monkeypatch, graph=graph)
    between = W[:80, 80:]
    assert between.count_nonzero() == 1
    assert between.sum() > 0.01 * W.data.mean()


@pytest.mark.parametrize("cls", [PaCMAP, LocalMAP])
@pytest.mark.parametrize("policy", ["ignore", "connect"])
def test_added_edges_do_not_change_the_scales_of_rows(cls, policy, rng):
    X = np.concatenate([rng.normal(m, 1, (80, 5)) for m in (0, 100, 300)])
    model = cls(**QUICK[cls], disconnected=policy, random_state=0)
    if policy == "connect":
        with pytest.warns(DataWarning, match="connected by 2 edges"):
            model.fit(X)
    else:
        model.fit(X)
    scales = NearestNeighbors(n_neighbors=6).fit(X).kneighbors()[0][:, 3:].mean(axis=1)
    np.testing.assert_allclose(model.scales_, scales, rtol=1e-6)


@pytest.mark.filterwarnings("ignore:.*too few for this perplexity")  # of a row with an added edge alone
@pytest.mark.parametrize("cls", list(QUICK))
def test_rows_without_a_neighbor_have_no_coordinates(cls, rng):
    """As in umap-learn, and as rows outside of the largest component."""
    X = rng.standard_normal((60, 3))
    D = NearestNeighbors(n_neighbors=59).fit(X).kneighbors_graph(mode="distance").tolil()
    alone = [3, 40]
    D[alone], D[:, alone] = 0, 0
    D = D.tocsr()
    D.eliminate_zeros()
    model = cls(**QUICK[cls], random_state=0)
    with pytest.warns(DataWarning, match=r"2 points have no neighbor.*Add edges"):
        Z = model.fit_transform(X, graph=D)
    assert np.flatnonzero(np.isnan(Z).any(axis=1)).tolist() == alone
    assert np.flatnonzero(~model.embedded_mask_).tolist() == alone
    assert model.n_excluded_ == 2
    assert model.n_connected_components_ == 3
    assert np.isfinite(model.transform(X)).all()  # as new rows, by their distances to the others
    with pytest.warns(DataWarning, match="2 points have no neighbor"), pytest.warns(DataWarning, match="store fewer"):
        stored = given_distances(cls).fit(D)
    assert np.flatnonzero(np.isnan(stored.embedding_).any(axis=1)).tolist() == alone
    with pytest.warns(DataWarning, match="connected by 2 edges"):
        joined = cls(**QUICK[cls], disconnected="connect", random_state=0).fit(X, graph=D)
    assert np.isfinite(joined.embedding_).all()


def test_rows_without_an_affinity_have_no_coordinates(rng):
    P = rng.random((30, 30))
    P[4], P[:, 4] = 0, 0
    with pytest.warns(DataWarning, match=r"1 point has no neighbor.*Add affinities"):
        Z = TSNE(affinity="precomputed", max_iter=20).fit_transform(P)
    assert np.flatnonzero(np.isnan(Z).any(axis=1)).tolist() == [4]
