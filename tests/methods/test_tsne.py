"""t-SNE: maps, options, new rows."""

import re

import numpy as np
import pytest
import scipy.sparse
import sklearn.manifold
from scipy.spatial.distance import cdist, pdist

import lowland
from lowland import TSNE
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.embeddings import repulsion
from lowland.math.embeddings.repulsion import ExactRepulsion

DIGITS = load_dataset("digits")
X, Y = DIGITS.X[:600].astype(np.float64), np.asarray(DIGITS.y[:600]).astype(int)
FAST = {"max_iter": 500, "random_state": 0, "perplexity": 15.0}


def purity(Z, y=Y, k=5):
    """The fraction of rows whose k nearest rows in the map have the same label by majority."""
    near = np.argsort(cdist(Z, Z) + 1e9 * np.eye(len(Z)), axis=1)[:, :k]
    return np.mean([np.bincount(votes).argmax() for votes in y[near]] == y)


def distances_kept(Z):
    """The rank correlation of the distances of all pairs."""
    from scipy.stats import spearmanr

    return spearmanr(pdist(X), pdist(Z))[0]


@pytest.fixture(scope="module")
def model():
    return TSNE(**FAST).fit(X)


def test_the_divergence_is_lower_than_scikit_learns_and_computed_by_the_same_formula(model):
    from sklearn.manifold import _t_sne

    theirs = sklearn.manifold.TSNE(max_iter=500, random_state=0, perplexity=15.0).fit(X)
    assert model.kl_divergence_ <= theirs.kl_divergence_
    P = _t_sne._joint_probabilities_nn(
        sklearn.neighbors.kneighbors_graph(X, 46, mode="distance").power(2), 15.0, 0
    ).toarray()
    w = 1 / (1 + cdist(model.embedding_, model.embedding_, "sqeuclidean"))
    np.fill_diagonal(w, 0)
    at = P > 0
    assert model.kl_divergence_ == pytest.approx((P[at] * np.log(P[at] / (w / w.sum())[at])).sum(), rel=1e-3)
    assert purity(model.embedding_) >= purity(theirs.embedding_) - 0.01


def test_the_course_is_reported(model):
    assert model.n_iter_ == model.solver_.iterations == 500
    assert len(model.solver_.trace) == 10
    assert model.solver_.trace[-1] == min(model.solver_.trace) == pytest.approx(model.kl_divergence_, rel=1e-6)
    assert model.solver_.name == "exact"
    assert model.learning_rate_ == 300
    assert model.n_neighbors_ == 46


@pytest.mark.parametrize("on_grid", [False, True])
def test_bits_are_equal_on_any_number_of_threads(on_grid, monkeypatch):
    if on_grid:
        monkeypatch.setitem(repulsion._GRID, 2, (0.0, 0.0))
        monkeypatch.setattr(repulsion, "_NODE", 0)
    maps = []
    for threads in (1, 2, 16):
        with lowland.config(threads=threads):
            maps.append(TSNE(max_iter=60, random_state=0).fit_transform(X))
    assert all((maps[0] == Z).all() for Z in maps)


def test_the_grid_reaches_the_divergence_of_the_exact_sum(model, monkeypatch):
    exact = model.kl_divergence_
    monkeypatch.setitem(repulsion._GRID, 2, (0.0, 0.0))
    monkeypatch.setattr(repulsion, "_NODE", 0)
    on_grid = TSNE(**FAST).fit(X)
    assert on_grid.solver_.name == "interpolation by FFT"
    assert on_grid.kl_divergence_ == pytest.approx(exact, rel=0.1)  # descents from rounding errors on differ


@pytest.mark.parametrize("k", [1, 3, 4])
def test_other_numbers_of_dimensions(k):
    Z = TSNE(k, **FAST).fit_transform(X)
    assert Z.shape == (600, k)
    assert purity(Z) > 0.85


@pytest.mark.parametrize(("method", "name"), [("exact", "exact"), ("barnes_hut", "interpolation by FFT")])
def test_the_exact_method_is_exact_on_a_device_too(method, name, monkeypatch):
    torch = pytest.importorskip("torch")
    for module in ("tsne", "base.neighbor_embedding"):
        monkeypatch.setattr(f"lowland.methods.{module}.is_on_device", lambda X: not isinstance(X, np.ndarray))
    monkeypatch.setitem(repulsion._GRID, 2, (0.0, 0.0))  # the host would take a grid, too
    options = {"perplexity": 10, "max_iter": 20, "learning_rate": 10.0, "init": X[:200, 20:22] + 0.1 * X[:200, 30:32]}
    host = TSNE(method="exact", **options).fit(X[:200])
    device = TSNE(method=method, **options).fit(torch.as_tensor(X[:200]))
    assert device.solver_.name == name
    assert "device" in device.solver_.reason
    moved = np.linalg.norm(np.asarray(host.embedding_) - options["init"])
    error = np.linalg.norm(np.asarray(device.embedding_) - np.asarray(host.embedding_)) / moved
    assert (error < 1e-4) == (method == "exact")


def test_more_exaggeration_is_more_compact():
    extents = [np.ptp(TSNE(exaggeration=e, **FAST).fit_transform(X), axis=0).max() for e in (1.0, 4.0)]
    assert extents[1] < 0.5 * extents[0]


def test_heavier_tails_and_several_perplexities_give_maps_too():
    assert purity(TSNE(dof=0.5, **FAST).fit_transform(X)) > 0.9
    several = TSNE(**{**FAST, "perplexity": [5, 60.0]}).fit(X)
    assert several.n_neighbors_ == 181
    assert purity(several.embedding_) > 0.9


def test_starts():
    spectral = TSNE(init="spectral", **FAST).fit_transform(X)
    assert purity(spectral) > 0.9
    a, b = (TSNE(init="random", max_iter=20, random_state=seed).fit_transform(X) for seed in (0, 1))
    assert not (a == b).all()
    start = np.random.default_rng(0).standard_normal((600, 2)) * 1e-4
    given = TSNE(init=start, **FAST).fit(X)
    assert purity(given.embedding_) > 0.9
    with pytest.raises(DataError, match=r"shape \(600, 2\)"):
        TSNE(init=start[:10]).fit(X)


def test_given_coordinates_are_those_of_all_rows_also_if_some_are_left_out():
    rows, given = np.concatenate([X[:60], X[60:90] + 1e3]), np.random.default_rng(0).standard_normal((90, 2))
    options = {"perplexity": 5.0, "max_iter": 20, "disconnected": "largest"}
    with pytest.warns(DataWarning, match="30 rows are NaN"):
        Z = TSNE(init=given, anchor=given, **options).fit_transform(rows)
    expected = TSNE(init=given[:60], anchor=given[:60], **options).fit_transform(rows[:60])
    np.testing.assert_array_equal(Z[:60], expected)


@pytest.mark.parametrize("name", ["init", "anchor"])
def test_lists_are_accepted_where_arrays_are(name):
    given = 1e-2 * X[:, :2]
    model = TSNE(**{name: given.tolist()}, max_iter=10, random_state=0)
    assert np.array_equal(model.fit_transform(X), TSNE(**{name: given}, max_iter=10, random_state=0).fit_transform(X))
    with pytest.raises(DataError, match=rf"numbers.*shape \(\d+, 2\).*{name}"):
        TSNE(**{name: [[1.0, 2.0], [3.0]]}, max_iter=10).fit(X)


@pytest.mark.parametrize("perplexity", [0.5, [5, 0.5], np.array([0.5]), np.array(5.0), [], "many"])
def test_a_perplexity_is_a_number_of_neighbors(perplexity):
    with pytest.raises(ParameterError, match=r"perplexity.*at least 1"):
        TSNE(perplexity=perplexity, max_iter=10).fit(X)


@pytest.mark.parametrize("anchor", ["pca", "mds"])
def test_an_anchor_keeps_distances_better(model, anchor):
    pulled = TSNE(anchor=anchor, anchor_weight=0.05, **FAST).fit(X)
    assert distances_kept(pulled.embedding_) > distances_kept(model.embedding_) + 0.02
    assert pulled.kl_divergence_ > model.kl_divergence_


# --- distances and affinities ---


def test_given_distances_give_the_map_of_the_rows(model):
    D = cdist(X, X)
    given = TSNE(metric="precomputed", init=1e-4 * X[:, :2], **FAST).fit(D)
    rows = TSNE(init=1e-4 * X[:, :2], **FAST).fit(X)
    assert given.kl_divergence_ == pytest.approx(rows.kl_divergence_, rel=0.05)
    sparse = TSNE(metric="precomputed", **FAST).fit(sklearn.neighbors.kneighbors_graph(X, 60, mode="distance"))
    assert sparse.n_neighbors_ == 46
    assert purity(sparse.embedding_) > 0.9
    np.testing.assert_array_equal(given.transform(D[:5]), given.embedding_[:5])


def test_given_affinities():
    P = sklearn.neighbors.kneighbors_graph(X, 30, mode="connectivity")
    Z = TSNE(affinity="precomputed", **FAST).fit(P)
    assert purity(Z.embedding_) > 0.9
    uniform = TSNE(affinity="uniform", **{**FAST, "perplexity": 29.7 / 3}).fit(X)
    assert Z.kl_divergence_ == pytest.approx(uniform.kl_divergence_, rel=0.1)
    dense = TSNE(affinity="precomputed", max_iter=20).fit(P.toarray())
    assert dense.embedding_.shape == (600, 2)
    with pytest.raises(ParameterError, match="cannot transform"):
        Z.transform(P.toarray()[:3])
    with pytest.raises(DataError, match="square"):
        TSNE(affinity="precomputed").fit(X)
    with pytest.raises(DataError, match="negative"):
        TSNE(affinity="precomputed").fit(-P.toarray())


def test_a_given_graph_and_other_metrics():
    graph = sklearn.neighbors.kneighbors_graph(X, 45, mode="distance")
    assert purity(TSNE(**FAST).fit(X, graph=graph).embedding_) > 0.9
    assert purity(TSNE(metric="cosine", **FAST).fit_transform(X)) > 0.9
    assert purity(TSNE(**FAST).fit_transform(scipy.sparse.csr_array(X))) > 0.9


# --- unusual data ---


def test_duplicate_rows_stay_together():
    rows = np.repeat(X[:60], 5, axis=0)
    Z = TSNE(perplexity=8, max_iter=500, random_state=0).fit_transform(rows)
    assert np.isfinite(Z).all()
    spread = Z.reshape(60, 5, 2).std(axis=1).max()
    assert spread < 0.05 * np.ptp(Z, axis=0).max()


def test_mistakes_have_clear_sentences():
    with pytest.raises(ParameterError, match="'n_components' should be at most the number of rows, 3"):
        TSNE(4, perplexity=1).fit(X[:3])
    with pytest.raises(TypeError, match="all pairs, and a sparse matrix lacks some"):
        TSNE(metric="precomputed", method="exact", perplexity=1).fit(scipy.sparse.csr_array([[0, 5.0], [5, 0]]))
    with pytest.raises(ParameterError, match=r"perplexity \(30\) must be less than n_samples \(20\)"):
        TSNE().fit(X[:20])
    for wrong in (0, -3.0, [], [5, -1], [5, "a"]):
        with pytest.raises(ParameterError, match="perplexity"):
            TSNE(perplexity=wrong).fit(X)
    with pytest.raises(ParameterError, match="MDS compares all pairs"):
        TSNE(anchor="mds", max_iter=10).fit(np.random.default_rng(0).standard_normal((5001, 2)))


@pytest.mark.parametrize("name", ["init", "anchor"])
def test_equal_coordinates_are_refused(name):
    with pytest.raises(DataError, match=f"equal.*Check {name}"):
        TSNE(**{name: np.ones((600, 2))}).fit(X)


def test_few_rows():
    assert TSNE(perplexity=1, max_iter=300).fit_transform(X[:2]).shape == (2, 2)
    assert np.isfinite(TSNE(perplexity=2, max_iter=300).fit_transform(X[:4])).all()


# --- new rows ---


def test_new_rows_land_in_their_cluster_whatever_the_batch():
    digits, y = DIGITS.X.astype(np.float64), np.asarray(DIGITS.y).astype(int)
    model = TSNE(random_state=0, max_iter=500).fit(digits[:1000])
    Z = model.transform(digits[1000:1400])
    near = cdist(Z, model.embedding_).argsort(axis=1)[:, :10]
    votes = np.array([np.bincount(each).argmax() for each in y[:1000][near]])
    assert (votes == y[1000:1400]).mean() > 0.93
    np.testing.assert_array_equal(np.vstack([model.transform(digits[i : i + 1]) for i in range(1000, 1010)]), Z[:10])
    np.testing.assert_array_equal(model.transform(digits[:50]), model.embedding_[:50])
    moved = model.transform(digits[:1000] + 1e-6) - model.embedding_
    assert np.median(np.linalg.norm(moved, axis=1)) < 0.005 * np.ptp(model.embedding_, axis=0).max()


def test_steps_so_long_that_the_map_would_oscillate_are_shortened():
    longest = TSNE(perplexity=10, learning_rate=1e6, max_iter=400).fit(X[:60])
    assert longest.solver_.converged
    assert longest.learning_rate_ == 30
    np.testing.assert_array_equal(longest.embedding_, TSNE(perplexity=10, max_iter=400).fit_transform(X[:60]))
    assert TSNE(perplexity=10, learning_rate=20, max_iter=260).fit(X[:60]).learning_rate_ == 20


# --- repeated rows, light tails ---


def divergence_of(model, X, perplexity):
    """KL by brute force, with the affinities of scikit-learn."""
    from sklearn.manifold import _t_sne

    near = sklearn.neighbors.kneighbors_graph(X, int(3 * perplexity + 1), mode="distance")
    P = _t_sne._joint_probabilities_nn(near.power(2), perplexity, 0).tocoo()
    w = 1 / (1 + cdist(model.embedding_, model.embedding_, "sqeuclidean"))
    np.fill_diagonal(w, 0)
    kept = P.data > 0
    p, q = P.data[kept] / P.data.sum(), (w / w.sum())[P.row[kept], P.col[kept]]
    return (p * np.log(p / q)).sum()


def test_a_table_of_repeated_rows_has_a_map_of_usual_size_and_its_own_divergence():
    """A grid that does not resolve the similarity drove the groups of equal rows apart without bound."""
    repeated = np.tile(load_dataset("iris").X, (30, 1))
    model = TSNE(perplexity=20, max_iter=500).fit(repeated)
    assert np.ptp(model.embedding_, axis=0).max() < 500
    assert 0 < model.kl_divergence_ < 0.1
    assert model.kl_divergence_ == pytest.approx(divergence_of(model, repeated, 20.0), abs=0.01)
    moved = np.linalg.norm(model.transform(repeated) - model.embedding_, axis=1)
    assert moved.max() < 0.01 * np.ptp(model.embedding_, axis=0).max()


@pytest.mark.filterwarnings("ignore:TSNE.* did not converge")  # light tails may oscillate
@pytest.mark.parametrize(
    ("rows", "given"), [(150, {"dof": 2, "exaggeration": 0.5}), (20, {"dof": 5}), (20, {"dof": 60})]
)
def test_light_tails_do_not_cancel_the_sum_of_similarities(rows, given):
    model = TSNE(perplexity=5, max_iter=500, **given).fit(load_dataset("iris").X[:rows])
    assert np.isfinite(model.embedding_).all()
    assert 0 <= model.kl_divergence_ < 5


def test_an_inaccurate_divergence_is_reported(monkeypatch):
    """The sum of a sample of rows is exact."""
    monkeypatch.setattr("lowland.math.embeddings.repulsion._CHECK", 1e-6)
    wrong = lambda self, Z, G, blocks, iteration=-1: 2 * ExactRepulsion.correct(self, Z, G, blocks)  # noqa: E731
    monkeypatch.setattr(ExactRepulsion, "correct", ExactRepulsion.__call__, raising=False)
    TSNE(perplexity=10, max_iter=260).fit(X[:300])
    monkeypatch.setattr(ExactRepulsion, "__call__", wrong)
    with pytest.warns(DataWarning, match="map is not accurate"):
        TSNE(perplexity=10, max_iter=260).fit(X[:300])


def test_verbose_prints_the_course(capsys):
    calls = []
    model = TSNE(perplexity=10, max_iter=300, verbose=1).fit(X[:60], callback=calls.append)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(calls) + 6 == 12
    assert lines[:2] == [
        "[t-SNE] Computing 31 nearest neighbors...", "[t-SNE] Computed conditional probabilities for sample 60 / 60"
    ]  # fmt: skip
    assert "after 250 iterations with early exaggeration" in lines[8]
    assert "gradient norm = " in lines[9]
    assert float(lines[9].partition("error = ")[2].partition(",")[0]) == pytest.approx(model.kl_divergence_, abs=1e-5)
    assert lines[10] == "[t-SNE] Iteration 300: all iterations were done. Finished."
    assert float(lines[11].partition("300 iterations: ")[2]) == pytest.approx(model.kl_divergence_, abs=1e-5)
    sklearn.manifold.TSNE(perplexity=10, max_iter=300, verbose=1).fit(X[:60])
    sigma = next(line for line in capsys.readouterr().out.splitlines() if "Mean sigma" in line)
    ours, theirs = (float(line.partition("Mean sigma: ")[2]) for line in (lines[2], sigma))
    assert ours == pytest.approx(theirs, rel=1e-5)  # the same affinities
    TSNE(perplexity=10, max_iter=500, min_grad_norm=1.0, verbose=True).fit(X[:60])
    assert re.search(r"gradient norm 0\.\d+\. Finished", capsys.readouterr().out)
    TSNE(perplexity=10, max_iter=300).fit(X[:60])
    assert not capsys.readouterr().out


def test_messages_have_scikit_learns_phrases():
    for given, data, phrase in [
        ({"perplexity": 20}, X[:20], r"perplexity \(20\) must be less than n_samples \(20\)"),
        ({"metric": "precomputed", "perplexity": 1}, np.ones((4, 3)), "square distance matrix"),
        ({"metric": "precomputed", "perplexity": 1}, scipy.sparse.csr_array(np.ones((4, 3))), "square distance matrix"),
        ({"metric": "precomputed", "perplexity": 1}, -1.0 + np.eye(4), "positive"),
        ({"metric": lambda a, b: -1, "perplexity": 1}, X[:4], "All distances .*metric given"),
    ]:
        with pytest.raises(ValueError, match=phrase):
            TSNE(**given).fit(data)
