"""Maps computed from moments: chunks merge, and the problem is solved when a result is first read."""

from dataclasses import dataclass

import numpy as np
import pytest

from lowland import PCA, Whitening
from lowland.errors import DataError
from lowland.methods.base.moments import in_library_of


def test_partial_fits_give_the_result_of_one_fit(iris):
    parts = Whitening().partial_fit(iris.X[:40]).partial_fit(iris.X[40:])
    np.testing.assert_allclose(parts.transform(iris.X), Whitening().fit(iris.X).transform(iris.X), atol=1e-9)


def test_only_reading_a_result_runs_the_solver(iris):
    model = PCA(2).partial_fit(iris.X)
    assert "components_" not in vars(model)
    assert not hasattr(model, "no_such_name")
    assert "components_" not in vars(model)
    assert model.components_.shape == (2, 4)
    assert "components_" in vars(model)


def test_a_failed_solve_does_not_prevent_further_partial_fits(iris):
    model = PCA(2).partial_fit(iris.X[:1])
    assert not hasattr(model, "components_")  # one row has no variance
    with pytest.raises(DataError):
        model.transform(iris.X)
    assert model.partial_fit(iris.X[1:]).n_samples_ == 150


def test_a_statistic_moves_to_the_library_of_another():
    torch = pytest.importorskip("torch")

    @dataclass(frozen=True)
    class Sums:
        n: float
        total: object

    here, there = Sums(2.0, np.ones(3)), Sums(1.0, torch.zeros(3, dtype=torch.float64))
    moved = in_library_of(here, there)
    assert isinstance(moved.total, torch.Tensor)
    assert moved.n == 2.0
    assert in_library_of(here, here) is here
