"""Mini-batches: every row once, equal from chunks; noise; standardization."""

import numpy as np
import pytest

from lowland.arrays.engines import Engine
from lowland.data.open import open_rows
from lowland.math.networks import batches
from lowland.math.networks.batches import (
    MiniBatches,
    Noise,
    ValueRange,
    choose_validation_rows,
    double_moments,
    rounded_scaling,
    windows,
)
from lowland.run.local import LocalRun


def batches_of(X, size=8, fraction=0.2, engine=None, window=None, seed=0):
    rows = open_rows(X)
    columns = LocalRun().fold(rows, double_moments)
    held = choose_validation_rows(columns.rows, fraction, 10**6, np.random.default_rng(seed))
    return MiniBatches(rows, LocalRun(), columns.rows, rounded_scaling(columns), engine or Engine("numpy"), held, size)


def test_every_row_is_in_one_batch_or_in_the_validation_set(rng, monkeypatch):
    monkeypatch.setattr(batches, "WINDOW_BYTES", 4 * 3 * 40)  # forty rows
    X = np.arange(303.0).reshape(101, 3) ** 1.1
    source = batches_of(X)
    found = list(source.epoch(rng, None))
    assert len(found) == source.steps_per_epoch
    assert {len(batch) for batch in found} <= {6, 7, 8, 9, 10}
    together = np.concatenate([*found, source.validation_rows()])
    np.testing.assert_allclose(np.sort(together[:, 0]), np.sort(source.scaling.apply(X)[:, 0]), rtol=1e-6)
    assert len(source.validation_rows()) == 20
    again = list(source.epoch(rng, None))
    assert not np.array_equal(found[0], again[0])  # shuffled again


def test_chunks_and_arrays_give_the_same_batches(monkeypatch):
    monkeypatch.setattr(batches, "WINDOW_BYTES", 4 * 3 * 40)
    X = np.random.default_rng(1).standard_normal((211, 3)) + 1000
    whole, parts = batches_of(X), batches_of([X[:1], X[1:90], X[90:]])
    kept = list(whole.epoch(np.random.default_rng(3), whole.training_rows()))
    read = list(whole.epoch(np.random.default_rng(3), None))
    other = list(parts.epoch(np.random.default_rng(3), None))
    for a, b, c in zip(kept, read, other, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(whole.validation_rows(), parts.validation_rows())


def test_rows_are_standardized(rng):
    X = rng.standard_normal((400, 5)) * np.array([1, 2, 3, 4, 50]) + 1e5
    Y = rounded_scaling(double_moments(X)).apply(X)
    assert np.abs(Y.mean(axis=0)).max() < 1e-3
    assert np.mean(Y**2) == pytest.approx(1, abs=1e-3)
    flat = rounded_scaling(double_moments(np.full((4, 2), 3.0)))
    np.testing.assert_array_equal(flat.apply(np.full((4, 2), 3.0)), 0)


def test_the_number_of_validation_rows(rng):
    assert [len(choose_validation_rows(n, 0.1, 100, rng)) for n in (9, 10, 20, 49, 60, 100)] == [0, 2, 4, 5, 6, 10]
    assert len(choose_validation_rows(1000, 0.5, 100, rng)) == 100
    assert len(choose_validation_rows(1000, 0.0, 100, rng)) == 0


def test_noise(rng):
    Y = np.ones((2000, 10), dtype=np.float32)
    masked = Noise("masking", 0.3).corrupted(Y, rng)
    assert set(np.unique(masked)) == {0, 1}
    assert masked.mean() == pytest.approx(0.7, abs=0.02)
    loud = Noise("gaussian", 0.5).corrupted(Y, rng)
    assert loud.std() == pytest.approx(0.5, abs=0.02)
    assert loud.dtype == np.float32


def test_windows_keep_the_order_of_rows_for_any_chunks():
    X = np.arange(22.0).reshape(11, 2)
    for parts in ([X], [X[:1], X[1:9], X[9:]], [X[:4], X[4:8], X[8:]]):
        found = list(windows(parts, 4))
        assert [len(window) for window in found] == [4, 4, 3]
        np.testing.assert_array_equal(np.concatenate(found), X)


def test_the_range_of_values_merges():
    whole = ValueRange.of(np.array([[1.0, -2.0]])) + ValueRange.of(np.array([[5.0, 0.0]]))
    assert (whole.low, whole.high, whole.is_finite()) == (-2, 5, True)
    assert not ValueRange.of(np.array([[np.inf]])).is_finite()
