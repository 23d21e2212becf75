"""Searches over subsets against brute force, and closed forms against models that are fitted."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit, cross_val_score

from lowland.blocks.selection import subset_search as selection
from lowland.blocks.selection.closed_form_scores import LeastSquaresScores, Tally, Wilks
from lowland.blocks.selection.scorers import model_of, scores_for
from lowland.errors import DataError, ParameterError


class Table:
    """Scores that are looked up: any function of the subset."""

    tie = 0.0

    def __init__(self, d, of):
        self.d, self.of = d, of

    def with_each(self, S, J):
        return np.array([self.of(frozenset((*S, int(j)))) for j in J])

    def without_each(self, S):
        return np.array([self.of(frozenset(S) - {j}) for j in S])

    def many(self, subsets):
        return np.array([self.of(frozenset(S)) for S in np.asarray(subsets).tolist()])


def noise(d, seed):
    values = {}
    rng = np.random.default_rng(seed)
    for size in range(d + 1):
        for S in itertools.combinations(range(d), size):
            values[frozenset(S)] = float(rng.random() + 0.2 * size)
    return Table(d, values.__getitem__)


def rows(n=60, d=7, seed=0, classes=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d))) + 5
    if classes is None:
        return X, X @ rng.standard_normal(d) + 2 * rng.standard_normal(n)
    y = rng.integers(0, classes, n)
    return X + 0.7 * rng.standard_normal((classes, d))[y], y


def by(model, X, y, closed=True, scoring=None, cv=4):
    return scores_for(model, X, y, scoring=scoring, cv=cv, n_jobs=None, closed=closed, tally=Tally())[0]


# --- searches


def test_a_pair_that_only_counts_together_is_found_by_going_back():
    """Column 0 is best alone, 1 and 2 are best together: forward keeps 0, floating drops it again."""
    scores = {(): 0, (0,): 5, (1,): 3, (2,): 3, (0, 1): 6, (0, 2): 6, (1, 2): 9, (0, 1, 2): 9.5}
    table = Table(3, lambda S: scores[tuple(sorted(S))])
    assert [m.features for m in selection.forward(table, 2)] == [(0,), (0, 1)]
    four = {**scores, (3,): 1, (0, 3): 5.5, (1, 3): 4, (2, 3): 4, (0, 1, 3): 6.5, (0, 2, 3): 6.5, (1, 2, 3): 12}
    table = Table(4, lambda S: {**four, (0, 1, 2, 3): 12}[tuple(sorted(S))])
    path = list(selection.floating_forward(table, 3))
    assert [(m.action, m.feature) for m in path] == [("add", 0), ("add", 1), ("add", 2), ("remove", 0), ("add", 3)]
    assert path[-1].features == (1, 2, 3)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
def test_laws_of_the_searches(seed, k):
    """Each move changes one column and tells the score of what it leaves; a step back beats all of that size before."""
    scores = noise(6, seed)
    ends = {}
    for name in ("forward", "backward", "floating_forward", "floating_backward"):
        S = set() if "forward" in name else set(range(6))
        best = {}
        for move in getattr(selection, name)(scores, k):
            S ^= {move.feature}
            assert tuple(sorted(S)) == move.features
            assert move.score == scores.of(frozenset(S))
            assert (move.feature in S) == (move.action == "add")
            if (move.action == "remove") == ("forward" in name):
                assert move.score > best[len(S)]
            best[len(S)] = max(move.score, best.get(len(S), -1))
        assert len(S) == k
        ends[name] = best.get(k, scores.of(frozenset(range(6))))
    *_, found = selection.exhaustive(scores, k)
    assert found.score == max(scores.of(frozenset(S)) for S in itertools.combinations(range(6), k))
    assert found.score >= max(ends.values())


def test_exhaustive_with_a_least_gain_stops_at_the_size_that_gains_too_little():
    scores = Table(4, lambda S: [0, 1.0, 1.5, 1.6, 1.9][len(S)] + 0.001 * min(S))
    assert [len(m.features) for m in selection.exhaustive(scores, 4, least_gain=0.3)] == [1, 2]


def test_ties_go_to_the_first_and_nan_is_no_score():
    assert selection.first_best(np.array([np.nan, 1.0, 1.0 + 1e-13, 0.5]), 1e-12) == 1
    assert selection.first_best(np.array([1.0, 1.0 + 1e-13]), 0.0) == 1
    with pytest.raises(DataError, match="fewer folds"):
        selection.first_best(np.array([np.nan, -np.inf]), 0.0)


@pytest.mark.parametrize("classes", [None, 3])
@pytest.mark.parametrize("seed", range(4))
def test_branch_and_bound_finds_what_brute_force_finds(classes, seed):
    X, y = rows(50, 9, seed, classes)
    criterion = Wilks.of(X, y, classes, Tally())
    for k in (1, 3, 6, 8, 9):
        values = {S: criterion.value(S) for S in itertools.combinations(range(9), k)}
        *_, found = selection.branch_and_bound(criterion, k)
        assert found.features == max(values, key=values.__getitem__)
        assert found.score == pytest.approx(max(values.values()), rel=1e-12)


def test_branch_and_bound_looks_at_few():
    X, y = rows(300, 20, 1)
    criterion = Wilks.of(X, y, None, Tally())
    assert list(selection.branch_and_bound(criterion, 6))
    assert criterion.tally.n < 38760 / 10  # of all subsets of 6 of 20
    *_, slow = selection.every_subset(Wilks.of(X[:, :12], y, None, Tally()), 3)
    *_, fast = selection.branch_and_bound(Wilks.of(X[:, :12], y, None, Tally()), 3)
    assert slow.features == fast.features


# --- scores


def test_wilks_is_r2_of_training_and_the_ratio_of_determinants():
    X, y = rows()
    S = (1, 3, 4)
    criterion = Wilks.of(X, y, None, Tally())
    assert criterion.value(S) == pytest.approx(LinearRegression().fit(X[:, S], y).score(X[:, S], y), abs=1e-12)
    X, y = rows(classes=3)
    criterion = Wilks.of(X, y, 3, Tally())
    Y = X[:, S]
    C, R = Y - Y.mean(0), Y - np.stack([Y[y == c].mean(0) for c in range(3)])[y]
    ratio = np.linalg.det(R.T @ R) / np.linalg.det(C.T @ C)
    assert criterion.value(S) == pytest.approx(1 - ratio, abs=1e-12)
    J = np.array([0, 2, 6])
    np.testing.assert_allclose(criterion.with_each(S, J), [criterion.value((*S, j)) for j in J], atol=1e-12)
    np.testing.assert_allclose(criterion.without_each(S), criterion.many([(3, 4), (1, 4), (1, 3)]), atol=1e-12)


def test_wilks_of_collinear_columns_counts_them_once():
    X, y = rows()
    criterion = Wilks.of(np.column_stack([X, X[:, 0]]), y, None, Tally())
    assert not criterion.is_regular
    assert criterion.value((0, 7)) == pytest.approx(criterion.value((0,)), abs=1e-12)
    assert criterion.with_each((0, 1), np.array([7]))[0] == pytest.approx(criterion.value((0, 1)), abs=1e-12)
    *_, found = selection.exhaustive(criterion, 2)
    assert found.score >= max(criterion.value((0, j)) for j in range(1, 7))


@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(5.0)])
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error", "neg_root_mean_squared_error"])
def test_least_squares_from_moments_is_least_squares(model, scoring):
    X, y = rows()
    X = X * np.geomspace(1e-2, 1e2, 7)
    cv = ShuffleSplit(3, test_size=0.3, random_state=0)  # parts that overlap
    scores = by(model, X, y, scoring=scoring, cv=cv)
    assert type(scores).__name__ == "LeastSquaresScores"

    def truth(S):
        return cross_val_score(model, X[:, S], y, cv=cv, scoring=scoring).mean() / scores.unit

    J = np.array([0, 4, 6])
    np.testing.assert_allclose(scores.with_each((1, 3), J), [truth([1, 3, j]) for j in J], rtol=1e-9)
    np.testing.assert_allclose(scores.with_each((), J), [truth([j]) for j in J], rtol=1e-9)
    np.testing.assert_allclose(scores.without_each((1, 3, 4)), [truth([3, 4]), truth([1, 4]), truth([1, 3])], rtol=1e-9)
    np.testing.assert_allclose(scores.many(np.array([[0, 1], [2, 6]])), [truth([0, 1]), truth([2, 6])], rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_discriminants_by_updates_classify_as_those_that_are_fitted(classes):
    X, y = rows(120, 7, 3, classes)
    scores = by(LinearDiscriminantAnalysis(), X, y)
    assert type(scores).__name__ == "DiscriminantScores"

    def truth(S):
        return cross_val_score(LinearDiscriminantAnalysis(), X[:, S], y, cv=4).mean()

    J = np.array([0, 4, 6])
    assert scores.with_each((1, 3), J).tolist() == [truth([1, 3, j]) for j in J]
    assert scores.with_each((), J).tolist() == [truth([j]) for j in J]
    assert scores.without_each((1, 3, 4)).tolist() == [truth([3, 4]), truth([1, 4]), truth([1, 3])]
    assert scores.many(np.array([[0, 1], [2, 6]])).tolist() == [truth([0, 1]), truth([2, 6])]


def awkward(y=None):
    """A repeated column, a sum of two, one of zeros, one that is constant in most training parts."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 5))
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], np.zeros(40), np.arange(40) < 10])
    return X, X[:, :5] @ rng.standard_normal(5) + 0.5 * rng.standard_normal(40)


@pytest.mark.parametrize("search", ["forward", "backward"])
@pytest.mark.parametrize("kind", ["numbers", "few rows", "units", "classes"])
def test_both_routes_take_the_same_path_through_awkward_columns(search, kind):
    X, y = awkward()
    model = LinearRegression()
    if kind == "few rows":
        X, y = np.random.default_rng(1).standard_normal((10, 9)), y[:10]
    if kind == "units":
        X = X * np.geomspace(1e-5, 1e5, X.shape[1])
    if kind == "classes":
        model, y = LinearDiscriminantAnalysis(), (y > 0) + 0
        X = np.delete(X, 7, axis=1)  # scikit-learn cannot fit a column of zeros alone
    k = X.shape[1] if search == "forward" else 1
    short, long = (list(getattr(selection, search)(by(model, X, y, closed), k)) for closed in (True, False))
    assert [m.feature for m in short] == [m.feature for m in long]
    np.testing.assert_allclose([m.score for m in short], [m.score for m in long], atol=1e-9)


def test_r2_of_a_test_part_that_does_not_vary_is_scikit_learns():
    X, y = rows(20, 3)
    y[:5] = 1.0
    folds = [(np.arange(5, 20), np.arange(5)), (np.arange(5), np.arange(5, 20))]
    truth = [cross_val_score(LinearRegression(), X[:, [j]], y, cv=folds).mean() for j in range(3)]
    np.testing.assert_allclose(by(LinearRegression(), X, y, cv=folds).with_each((), np.arange(3)), truth, rtol=1e-9)


@pytest.mark.parametrize("apart", [2e-5, 1e-6, 1e-7])
def test_columns_whose_small_difference_is_the_signal(apart):
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2, 100))
    X, y = np.column_stack([x, x + apart * z, rng.standard_normal(100)]), z + 0.01 * rng.standard_normal(100)
    for scoring in (None, "wilks"):
        *_, found = selection.exhaustive(by(model_of("linear", y), X, y, scoring=scoring), 2)
        assert found.features == (0, 1)
        assert found.score > 0.999
        scores = by(model_of("linear", y), X, y, scoring=scoring)
        assert scores.with_each((0,), np.array([1, 2]))[0] > 0.999
    assert by(LinearDiscriminantAnalysis(), X, (z > 0) + 0, scoring="wilks").value((0, 1)) > 0.5


def test_where_columns_outnumber_rows_backward_fits_at_once(monkeypatch):
    X, y = np.random.default_rng(0).standard_normal((12, 20)), np.random.default_rng(1).standard_normal(12)
    scores = by(LinearRegression(), X, y, cv=3)
    monkeypatch.setattr(LeastSquaresScores, "_independent", None)  # the search for columns that add nothing, one by one
    assert len(scores.without_each(tuple(range(20)))) == 20
    assert scores.tally.n == 20


def test_an_exhaustive_search_is_refused_at_the_size_that_has_no_end():
    scores = Table(60, lambda S: float(len(S)))
    path = selection.exhaustive(scores, 60, least_gain=0.1)
    assert [len(next(path).features) for _ in range(2)] == [1, 2]
    with pytest.raises(ParameterError, match="5,461,512 subsets of 5 of the 60"):
        list(selection.exhaustive(scores, 5))
