"""Greedy searches: invariants of their moves."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.errors import DataError
from lowland.math.selection import greedy_search
from lowland.math.selection.exhaustive_search import exhaustive
from lowland.math.selection.greedy_search import first_best, floating_forward, forward

from .cases import Table


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
    assert [m.features for m in forward(table, 2)] == [(0,), (0, 1)]
    four = {**scores, (3,): 1, (0, 3): 5.5, (1, 3): 4, (2, 3): 4, (0, 1, 3): 6.5, (0, 2, 3): 6.5, (1, 2, 3): 12}
    table = Table(4, lambda S: {**four, (0, 1, 2, 3): 12}[tuple(sorted(S))])
    path = list(floating_forward(table, 3))
    assert [(m.action, m.feature) for m in path] == [("add", 0), ("add", 1), ("add", 2), ("remove", 0), ("add", 3)]
    assert path[-1].features == (1, 2, 3)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6))
def test_every_move_changes_one_column_and_reports_its_score(seed, k):
    """Each move changes one column and records its score; a backward step beats all earlier subsets of that size."""
    scores = noise(6, seed)
    ends = {}
    for name in ("forward", "backward", "floating_forward", "floating_backward"):
        S = set() if "forward" in name else set(range(6))
        best = {}
        for move in getattr(greedy_search, name)(scores, k):
            S ^= {move.feature}
            assert tuple(sorted(S)) == move.features
            assert move.score == scores.of(frozenset(S))
            assert (move.feature in S) == (move.action == "add")
            if (move.action == "remove") == ("forward" in name):
                assert move.score > best[len(S)]
            best[len(S)] = max(move.score, best.get(len(S), -1))
        assert len(S) == k
        ends[name] = best.get(k, scores.of(frozenset(range(6))))
    *_, found = exhaustive(scores, k)
    assert found.score == max(scores.of(frozenset(S)) for S in itertools.combinations(range(6), k))
    assert found.score >= max(ends.values())


def test_ties_go_to_the_first_and_nan_is_ignored():
    assert first_best(np.array([np.nan, 1.0, 1.0 + 1e-13, 0.5]), 1e-12) == 1
    assert first_best(np.array([1.0, 1.0 + 1e-13]), 0.0) == 1
    with pytest.raises(DataError, match="fewer folds"):
        first_best(np.array([np.nan, -np.inf]), 0.0)
