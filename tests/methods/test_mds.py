"""Least-squares scaling."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import MDS as Theirs
from sklearn.utils import get_tags

import lowland
from lowland import MDS
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, MemoryBudgetError, ParameterError


def points(n=60, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.linspace(2, 1, d)


@pytest.mark.parametrize("options", [{}, {"solver": "gradient"}, {"accelerate": False}], ids=str)
@pytest.mark.parametrize("init", ["classical_mds", "random"])
def test_exact_distances_are_recovered(options, init):
    X = points()
    mds = MDS(3, init=init, eps=1e-16, max_iter=3000, n_init=3 if init == "random" else 1, **options).fit(X)
    np.testing.assert_allclose(pdist(mds.embedding_), pdist(X), atol=1e-5)
    assert mds.stress_ < 1e-8


def test_the_reported_stress_is_correct():
    X = load_dataset("iris").X
    for normalized in (False, True):
        mds = MDS(normalized_stress=normalized).fit(X)
        gaps, d = np.sum((pdist(X) - pdist(mds.embedding_)) ** 2), pdist(mds.embedding_)
        assert mds.stress_ == pytest.approx(np.sqrt(gaps / np.sum(d**2)) if normalized else gaps, rel=1e-9)
        assert mds.stress1_ == pytest.approx(np.sqrt(gaps / np.sum(pdist(X) ** 2)), rel=1e-9)


@pytest.mark.scikit_learn("1.9")
@pytest.mark.parametrize("metric", [True, False])
def test_at_most_the_stress_of_scikit_learn_from_the_same_initialization(metric):
    X = load_dataset("iris").X[::2]
    start = np.random.default_rng(3).uniform(size=(75, 2))
    theirs = Theirs(metric_mds=metric, init="random", n_init=1).fit(X, init=start)
    ours = MDS(metric_mds=metric).fit(X, init=start)
    assert ours.stress_ <= theirs.stress_ * (1 + 1e-6)
    assert ours.n_iter_ <= theirs.n_iter_


def test_the_stress_never_rises():
    for options in ({}, {"metric_mds": False}, {"accelerate": False}, {"solver": "gradient"}):
        trace = MDS(init="random", **options).fit(load_dataset("iris").X[::3]).trace_
        assert (np.diff(trace) <= 0).all()


def test_missing_distances_are_recovered():
    X = points(50, 2)
    D = squareform(pdist(X))
    rng = np.random.default_rng(0)
    gone = np.triu(rng.random(D.shape) < 0.4, 1)
    D[gone | gone.T] = np.nan
    mds = MDS(metric="precomputed", eps=1e-14, max_iter=2000).fit(D)
    np.testing.assert_allclose(pdist(mds.embedding_), pdist(X), atol=1e-4)
    order_only = MDS(metric="precomputed", metric_mds=False).fit(D)
    assert np.corrcoef(pdist(order_only.embedding_), pdist(X))[0, 1] > 0.99


def test_weights_of_zero_are_missing_and_weights_of_two_count_twice():
    D = squareform(pdist(points(30, 4)))
    W = np.ones_like(D)
    W[3, 9] = W[9, 3] = 0
    incomplete = D.copy()
    incomplete[3, 9] = incomplete[9, 3] = np.nan
    options = {"metric": "precomputed", "eps": 1e-13, "max_iter": 2000}
    a, b = MDS(**options).fit(incomplete), MDS(**options).fit(D, weights=W)
    assert a.stress_ == pytest.approx(b.stress_, rel=1e-6)
    doubled = MDS(**options).fit(D, weights=2 * np.ones_like(D))
    assert doubled.stress_ == pytest.approx(2 * MDS(**options).fit(D).stress_, rel=1e-6)
    assert doubled.stress1_ == pytest.approx(MDS(**options).fit(D).stress1_, rel=1e-6)


def test_more_initializations_are_never_worse():
    X = points(40, 8)
    one, many = (MDS(init="random", n_init=n, random_state=0).fit(X) for n in (1, 8))
    assert many.stress_ <= one.stress_
    assert len(many.init_stresses_) == 8
    assert min(many.init_stresses_) == pytest.approx(many.stress_)


def test_only_the_order_counts_in_non_metric_scaling():
    D = squareform(pdist(points(25, 2)))
    options = {"metric": "precomputed", "metric_mds": False, "eps": 1e-12, "max_iter": 3000}
    bent = MDS(**options).fit(D**3)
    assert bent.stress1_ < 1e-3
    assert np.corrcoef(pdist(bent.embedding_), pdist(points(25, 2)))[0, 1] > 0.999
    start = bent.embedding_
    a, b = (MDS(**options).fit(f(D), init=start).embedding_ for f in (np.sqrt, np.log1p))
    np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.scikit_learn("1.9")
def test_the_scale_of_non_metric_results_is_that_of_scikit_learn():
    D = squareform(pdist(points(30, 5)))
    ours = MDS(metric="precomputed", metric_mds=False, eps=1e-10).fit(D)
    theirs = Theirs(metric="precomputed", metric_mds=False, init="classical_mds", n_init=1, eps=1e-10, max_iter=3000)
    theirs.fit(D)
    assert np.sum(pdist(ours.embedding_) ** 2) == pytest.approx(np.sum(pdist(theirs.embedding_) ** 2), rel=1e-2)
    assert ours.stress_ == pytest.approx(theirs.stress_, rel=2e-2)
    assert ours.stress1_ == pytest.approx(np.sin(np.arctan(ours.stress_)), rel=1e-9)


def test_ties_secondary_cost_more():
    D = np.round(squareform(pdist(points(25, 5))))
    stress = [
        MDS(metric="precomputed", metric_mds=False, ties=t, eps=1e-10).fit(D).stress1_ for t in ("primary", "secondary")
    ]
    assert stress[0] < stress[1]


def test_new_rows_of_an_exact_fit_are_placed_exactly():
    X = points(60, 2)
    mds = MDS(2, eps=1e-16).fit(X[:50])
    both = np.vstack([mds.embedding_, mds.transform(X[50:])])
    np.testing.assert_allclose(pdist(both), pdist(X), atol=1e-6)
    given = MDS(2, eps=1e-16, metric="precomputed").fit(cdist(X[:50], X[:50]))
    np.testing.assert_allclose(given.transform(cdist(X[50:], X[:50])), both[50:], atol=1e-6)


def test_new_rows_of_a_non_metric_fit_follow_its_curve():
    X = points(60, 2)
    mds = MDS(metric="precomputed", metric_mds=False, eps=1e-12, max_iter=2000).fit(cdist(X[:50], X[:50]) ** 2)
    both = np.vstack([mds.embedding_, mds.transform(cdist(X[50:], X[:50]) ** 2)])
    assert np.corrcoef(pdist(both), pdist(X))[0, 1] > 0.998


BAD = {
    "not square": (np.ones((4, 3)), "square"),
    "not symmetric": (np.array([[0, 1.0, 2], [1, 0, 3], [2, 4, 0]]), "symmetric"),
    "negative": (np.array([[0, -1.0, 2], [-1, 0, 3], [2, 3, 0]]), "negative"),
    "a diagonal": (np.eye(3) + 1, "diagonal"),
    "infinite": (np.array([[0, np.inf, 2], [np.inf, 0, 3], [2, 3, 0]]), "infinite"),
    "in two parts": (
        np.array([[0, 1, np.nan], [1, 0, np.nan], [np.nan, np.nan, 0]]),
        "known distances is disconnected",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_invalid_matrices_are_refused(what):
    D, words = BAD[what]
    with pytest.raises(DataError, match=words):
        MDS(1, metric="precomputed").fit(D)


def test_invalid_parameters_are_reported():
    X = points(20)
    with pytest.raises(ParameterError, match="at most"):
        MDS(20).fit(X)
    with pytest.raises(ParameterError, match="no metric"):
        MDS(metric="crow").fit(X)
    with pytest.raises(DataError, match="one row"):
        MDS().fit(X, init=X[:5, :2])
    for W, words in ((np.ones((3, 3)), "20 x 20"), (-np.ones((20, 20)), "negative"), (np.tri(20), "symmetric")):
        with pytest.raises(DataError, match=words):
            MDS().fit(X, weights=W)
    with pytest.warns(DataWarning, match="precomputed"):
        MDS().fit(squareform(pdist(X)))
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        assert not MDS(max_iter=2).fit(X).converged_
    with lowland.config(memory="100kB"), pytest.raises(MemoryBudgetError, match=r"200 rows.*fewer rows"):
        MDS().fit(points(200))


@pytest.mark.parametrize("method", [MDS, lowland.SammonMapping])
def test_degenerate_initializations_are_refused(method):
    X = points(30, 2)
    for start in (np.zeros((30, 2)), np.full((30, 2), 3.0)):
        with pytest.raises(ParameterError, match="all points in one place"):
            method().fit(X, init=start)
    line = np.column_stack([X[:, 0], X[:, 0]])
    with pytest.warns(DataWarning, match="spans 1 of 2 dimensions"):
        model = method().fit(X, init=line)
    np.testing.assert_allclose(model.embedding_.std(axis=0), MDS().fit(X).embedding_.std(axis=0), rtol=0.1)


@pytest.mark.scikit_learn("1.9")
@pytest.mark.parametrize(
    ("former", "now"),
    [
        ({"dissimilarity": "precomputed"}, {"metric": "precomputed"}),
        ({"dissimilarity": "euclidean"}, {}),
        ({"metric": False}, {"metric_mds": False}),
        ({"metric": True}, {}),
        ({"metric": False, "dissimilarity": "precomputed"}, {"metric": "precomputed", "metric_mds": False}),
    ],
    ids=str,
)
def test_former_names_of_scikit_learn_are_accepted_with_its_warning(former, now):
    X = points(30, 3)
    X = cdist(X, X) if now.get("metric") == "precomputed" else X
    old, new = MDS(**former), MDS(**now).fit(X)
    assert {name: old.get_params()[name] for name in former} == former  # stored as passed
    with pytest.warns(FutureWarning, match=r"1\.10") as seen:
        theirs = Theirs(**former, init="classical_mds").fit(X)
    with pytest.warns(FutureWarning) as ours:
        old.fit(X)
    assert [str(w.message).partition(".")[0] for w in ours] == [str(w.message).partition(".")[0] for w in seen]
    np.testing.assert_array_equal(old.embedding_, new.embedding_)
    np.testing.assert_array_equal(old.transform(X[:3]), new.transform(X[:3]))
    assert get_tags(old).input_tags.pairwise == get_tags(theirs).input_tags.pairwise
    assert get_tags(clone(old)).input_tags.pairwise == get_tags(new).input_tags.pairwise


def test_former_and_new_name_together_are_refused():
    with pytest.raises(ParameterError, match="both `dissimilarity` and `metric`"):
        MDS(dissimilarity="precomputed", metric="manhattan").fit(points())
    with pytest.raises(ParameterError, match="dissimilarity"):
        MDS(dissimilarity="manhattan").fit(points())
