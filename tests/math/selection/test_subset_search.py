"""Searches over subsets: invariants, brute force, known results."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression

from lowland.errors import DataError, ParameterError
from lowland.math.selection.model_scores import model_of
from lowland.math.selection.subset_scores import Tally, Wilks
from lowland.math.selection.subset_search import (
    Move,
    best_subset,
    branch_and_bound,
    every_subset,
    exhaustive_search,
    final_step,
    first_best,
    n_scores,
    numbered,
    path_table,
    search,
)

from .cases import Table, by, rows


def noise(d, seed):
    values = {}
    rng = np.random.default_rng(seed)
    for size in range(d + 1):
        for S in itertools.combinations(range(d), size):
            values[frozenset(S)] = float(rng.random() + 0.2 * size)
    return Table(d, values.__getitem__)


def test_a_pair_that_is_useful_only_together_is_found_by_floating_search():
    """Column 0 is best alone, 1 and 2 are best together: forward keeps 0, floating drops it again."""
    scores = {(): 0, (0,): 5, (1,): 3, (2,): 3, (0, 1): 6, (0, 2): 6, (1, 2): 9, (0, 1, 2): 9.5}
    table = Table(3, lambda S: scores[tuple(sorted(S))])
    assert [m.features for m in search(table, 2)] == [(0,), (0, 1)]
    four = {**scores, (3,): 1, (0, 3): 5.5, (1, 3): 4, (2, 3): 4, (0, 1, 3): 6.5, (0, 2, 3): 6.5, (1, 2, 3): 12}
    table = Table(4, lambda S: {**four, (0, 1, 2, 3): 12}[tuple(sorted(S))])
    path = list(search(table, 3, "floating-forward"))
    assert [(m.action, m.feature) for m in path] == [("add", 0), ("add", 1), ("add", 2), ("remove", 0), ("add", 3)]
    assert path[-1].features == (1, 2, 3)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
def test_every_move_changes_one_column_and_reports_its_score(seed, k):
    """Each move changes one column and records its score; a backward step beats all earlier subsets of that size."""
    scores = noise(6, seed)
    ends = {}
    for name in ("forward", "backward", "floating-forward", "floating-backward"):
        S = set() if "forward" in name else set(range(6))
        best = {}
        for move in search(scores, k, name):
            S ^= {move.feature}
            assert tuple(sorted(S)) == move.features
            assert move.score == scores.of(frozenset(S))
            assert (move.feature in S) == (move.action == "add")
            if (move.action == "remove") == ("forward" in name):
                assert move.score > best[len(S)]
            best[len(S)] = max(move.score, best.get(len(S), -1))
        assert len(S) == k
        ends[name] = best.get(k, scores.of(frozenset(range(6))))
    *_, found = every_subset(scores, k)
    assert found.score == max(scores.of(frozenset(S)) for S in itertools.combinations(range(6), k))
    assert found.score >= max(ends.values())


def test_ties_go_to_the_first_and_nan_is_ignored():
    assert first_best(np.array([np.nan, 1.0, 1.0 + 1e-13, 0.5]), 1e-12) == 1
    assert first_best(np.array([1.0, 1.0 + 1e-13]), 0.0) == 1
    with pytest.raises(DataError, match="fewer folds"):
        first_best(np.array([np.nan, -np.inf]), 0.0)


@pytest.mark.parametrize(("classes", "seed"), [(None, 0), (None, 1), (3, 2)])
def test_branch_and_bound_agrees_with_brute_force(classes, seed):
    X, y = rows(50, 8, seed, classes)
    criterion = Wilks.of(X, y, classes, Tally())
    for k in (1, 3, 7, 8):
        values = {S: criterion.value(S) for S in itertools.combinations(range(8), k)}
        *_, found = branch_and_bound(criterion, k)
        assert found.features == max(values, key=values.__getitem__)
        assert found.score == pytest.approx(max(values.values()), rel=1e-12)


def test_branch_and_bound_evaluates_few_subsets():
    X, y = rows(300, 20, 1)
    criterion = Wilks.of(X, y, None, Tally())
    assert list(branch_and_bound(criterion, 6))
    assert criterion.tally.n < 38760 / 10  # of all subsets of 6 of 20 columns


@pytest.mark.parametrize("apart", [2e-5, 1e-7])
def test_columns_whose_small_difference_is_the_signal(apart):
    rng = np.random.default_rng(0)
    x, z = rng.standard_normal((2, 100))
    X, y = np.column_stack([x, x + apart * z, rng.standard_normal(100)]), z + 0.01 * rng.standard_normal(100)
    for scoring in (None, "wilks"):
        *_, found = exhaustive_search(by(model_of("linear", y, for_numbers=""), X, y, scoring=scoring), 2)
        assert found.features == (0, 1)
        assert found.score > 0.999
        scores = by(model_of("linear", y, for_numbers=""), X, y, scoring=scoring)
        assert scores.with_each((0,), np.array([1, 2]))[0] > 0.999
    assert by(LinearDiscriminantAnalysis(), X, (z > 0) + 0, scoring="wilks").value((0, 1)) > 0.5


def test_exhaustive_search_stops_where_the_gain_is_below_tol():
    scores = Table(4, lambda S: [0, 1.0, 1.5, 1.6, 1.9][len(S)] + 0.001 * min(S))
    assert [len(m.features) for m in exhaustive_search(scores, 4, least_gain=0.3)] == [1, 2]


def test_an_exhaustive_search_over_too_many_subsets_is_refused():
    scores = Table(60, lambda S: float(len(S)))
    path = exhaustive_search(scores, 60, least_gain=0.1)
    assert [len(next(path).features) for _ in range(2)] == [1, 2]
    with pytest.raises(ParameterError, match="5,461,512 subsets of 5 of the 60"):
        list(exhaustive_search(scores, 5))


def test_the_best_pair_of_three_by_hand():
    """Columns 0 and 1 are nearly equal: each alone is best, together they explain little more than either."""
    R = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    r = np.array([0.7, 0.7, 0.5])
    best = best_subset(R, r, 2)
    assert best.features == (0, 2)
    assert best.score == pytest.approx(0.49 + 0.25)
    assert best_subset(R, r, 1).score == pytest.approx(0.49)
    assert best_subset(R, r, 3).score == pytest.approx(2 * 0.49 / 1.8 + 0.25)
    assert best_subset(9 * R, 6 * r, 2, y_squares=4.0).score == pytest.approx(0.74)  # covariances in other units


def test_moves_are_numbered_and_named():
    moves = [Move("add", 1, 0.5, (1,)), Move("find", None, 0.75, (0, 1))]
    first, second = numbered(moves, ["length", "width"])
    assert (first.number, first.name, first.size) == (1, "width", 1)
    assert (second.number, second.name, second.size, second.feature) == (2, "length, width", 2, None)
    assert path_table([first, second]).splitlines() == [
        "step  action  feature        score  columns",
        "   1  add     width            0.5        1",
        "   2  find    length, width   0.75        2",
    ]


@pytest.mark.parametrize(
    ("direction", "kind"),
    [
        ("forward", "numbers"),
        ("backward", "numbers"),
        ("backward", "few rows"),
        ("forward", "units"),
        ("forward", "classes"),
        ("backward", "classes"),
    ],
)
def test_closed_form_and_refitted_scores_give_the_same_path_on_hard_columns(direction, kind):
    """A repeated column, a sum of two, one of zeros, one that is constant in most training sets."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 4))
    y = X @ rng.standard_normal(4) + 0.5 * rng.standard_normal(40)
    X = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], np.zeros(40), np.arange(40) < 10])
    model = LinearRegression()
    if kind == "few rows":
        X, y = rng.standard_normal((10, 9)), y[:10]
    if kind == "units":
        X = X * np.geomspace(1e-5, 1e5, X.shape[1])
    if kind == "classes":
        model, y = LinearDiscriminantAnalysis(), (y > 0) + 0
        X = np.delete(X, 6, axis=1)  # scikit-learn cannot fit a column of zeros alone
    k = X.shape[1] if direction == "forward" else 1
    short, long = (list(search(by(model, X, y, closed), k, direction)) for closed in (True, False))
    assert [m.feature for m in short] == [m.feature for m in long]
    np.testing.assert_allclose([m.score for m in short], [m.score for m in long], atol=1e-9)


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_the_number_of_scores_is_known_in_advance(direction):
    scores = Wilks.of_covariances(np.eye(6), np.linspace(0.1, 0.3, 6))
    moves = list(search(scores, 2, direction))
    assert len(moves) == (2 if direction == "forward" else 4)
    assert scores.tally.n == n_scores(6, 2, direction)
    assert n_scores(6, 2, "exhaustive") is None


def test_the_result_is_the_best_of_the_last_size():
    moves = [Move("add", 0, 5.0, (0,)), Move("add", 1, 3.0, (0, 1)), Move("remove", 0, 2.0, (1,))]
    moves.append(Move("add", 2, 4.0, (1, 2)))
    path = list(numbered(moves, ["a", "b", "c"]))
    assert final_step(path, "floating-forward").features == (1, 2)
    assert final_step(path, "backward").features == (0,)
