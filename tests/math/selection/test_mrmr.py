"""Minimum redundancy, maximum relevance: the greedy criterion of the literature."""

import numpy as np
import pytest

from lowland.math.selection.mrmr import GreedyChoice, Relevance, correlations
from lowland.math.statistics.moments import Moments


def greedy(relevance, C, k, quotient):
    """The criterion by its definition."""
    chosen = [int(np.argmax(relevance))]
    while len(chosen) < k:
        scores = {}
        for j in set(range(len(relevance))) - set(chosen):
            shared = np.mean([C[j, i] for i in chosen])
            scores[j] = relevance[j] / max(shared, 1e-3) if quotient else relevance[j] - shared
        chosen.append(max(scores, key=scores.get))
    return chosen


@pytest.mark.parametrize("quotient", [False, True])
def test_mrmr_is_greedy(quotient):
    rng = np.random.default_rng(0)
    for _ in range(20):
        relevance, C = rng.random(9), rng.random((9, 9))
        C = (C + C.T) / 2
        found = Relevance(relevance, lambda j, C=C: C[j], np.zeros(9, dtype=bool), 50)
        search = GreedyChoice(found, quotient=quotient)
        moves = list(search.moves(5))
        assert [move.feature for move in moves] == greedy(relevance, C, 5, quotient)
        assert search.ranking()[:5].tolist() == [move.feature for move in moves]
        assert sorted(search.ranking()) == list(range(9))


def test_correlations_of_constant_columns_are_zero():
    X = np.random.default_rng(0).standard_normal((50, 4)) + 7
    X[:, 2] = 3
    C = correlations(Moments.of(X))
    kept = [0, 1, 3]
    np.testing.assert_allclose(C[np.ix_(kept, kept)], np.corrcoef(X[:, kept].T), atol=1e-12)
    assert not C[2].any()
