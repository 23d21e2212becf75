"""Rank correlation against scipy, and its p-values compared with all permutations of few rows."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from lowland.math.selection.rank_correlation import Spearman, ranks


def test_ranks_agree_with_scipy():
    rng = np.random.default_rng(0)
    x, y = np.round(3 * rng.standard_normal((2, 50)))
    np.testing.assert_array_equal(ranks(x), scipy.stats.rankdata(x))
    measure = Spearman.to(y)
    np.testing.assert_allclose(measure(measure.prepare(x, 0), 0), scipy.stats.spearmanr(x, y), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 5, 7])
@pytest.mark.parametrize("ties", [False, True])
def test_p_values_of_few_rows_enumerate_all_permutations(n, ties):
    rng = np.random.default_rng(n)
    x, y = rng.standard_normal((2, n))
    x, y = (np.round(x), np.round(2 * y)) if ties else (x, y)
    x[0], y[0] = 9, 9  # neither is constant
    measure = Spearman.to(y)
    z = measure.prepare(x, 0)
    r, p = measure(z, 0)
    all_of_them = [abs(measure(z[list(order)], 0)[0]) for order in itertools.permutations(range(n))]
    assert p == pytest.approx(np.mean(np.array(all_of_them) >= abs(r) - 1e-9))


def test_p_values_of_few_rows_are_not_too_small():
    x = np.arange(30.0)
    for n in (6, 9, 12, 30):
        measure = Spearman.to(x[:n])
        assert measure(measure.prepare(x[:n] ** 3, 0), 0)[1] >= 2 / math.factorial(n) * (1 - 1e-9)
