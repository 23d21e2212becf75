"""Scores of columns in memory: p-values by permutations, constant columns, and a measure for every name."""

import numpy as np
import pytest

from lowland.math.selection.columns import ColumnReader
from lowland.math.selection.dependence import column_scores, measure_for
from lowland.math.selection.distance_correlation import DistanceCorrelation
from lowland.math.selection.rank_correlation import Spearman
from lowland.math.statistics.labels import Target
from lowland.run.local import LocalRun


def test_few_rows_get_their_p_values_from_permutations():
    rng = np.random.default_rng(0)
    y = np.exp(rng.standard_normal(6))
    columns = ColumnReader(np.exp(rng.standard_normal((6, 40))))
    p = column_scores(columns, DistanceCorrelation.to(Target(y, None)), LocalRun()).pvalues
    assert p is not None
    assert (p <= 0.05).mean() <= 0.08


def test_permutations_by_hand():
    """Of six orders of three rows two are as strongly correlated as the order itself."""
    x = np.array([1.0, 2.0, 3.0])
    found = column_scores(ColumnReader(np.column_stack([x, np.ones(3)])), Spearman.to(x), LocalRun(), 2000)
    assert found.values.tolist() == [1, 0]
    assert found.pvalues[0] == pytest.approx(1 / 3, abs=0.05)
    assert found.pvalues[1] == 1
    assert found.signed
    assert found.constant.tolist() == [False, True]


@pytest.mark.parametrize("name", ["spearman", "distance-correlation", "mutual-information"])
def test_every_measure_ranks_the_target_itself_first(name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    measure = measure_for(name, Target.of_numbers(X[:, 2]), np.zeros(4, dtype=bool), 3, 0)
    assert np.argmax(column_scores(ColumnReader(X), measure, LocalRun()).strength) == 2
