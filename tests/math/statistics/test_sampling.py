"""Samples of rows."""

import numpy as np
import scipy.sparse

from lowland.data.open import open_rows
from lowland.math.statistics.sampling import SelectedRows, count_rows, evenly_spread
from lowland.run.run import run_for


def test_the_sample_is_spread_evenly():
    keep = evenly_spread(1000, 30, np.random.default_rng(0))
    chosen = np.flatnonzero(keep)
    assert len(chosen) == 30
    assert np.abs(chosen - (np.arange(30) + 0.5) * 1000 / 30).max() < 18  # one in each range of 33
    assert evenly_spread(7, 7, np.random.default_rng(0)).all()


def test_marked_rows_of_the_slabs_in_order():
    X = np.arange(20.0).reshape(10, 2)
    keep = np.arange(10) % 3 == 0
    for rows in (X, scipy.sparse.csr_matrix(X)):
        found = SelectedRows.of(rows[:4], keep[:4]) + SelectedRows.of(rows[4:], keep[4:])
        assert found.is_finite()
        picked = found.rows.toarray() if scipy.sparse.issparse(rows) else found.rows
        np.testing.assert_array_equal(picked, X[keep])
    assert SelectedRows.of(X).rows is X
    assert not SelectedRows.of(np.array([[np.nan]])).is_finite()


def test_rows_of_unknown_number_are_counted():
    X = np.ones((7, 2))
    for given in (X, [X[:3], X[3:]]):
        rows = open_rows(given)
        assert count_rows(rows, run_for(rows)) == 7
