"""Mini-batches, both optimizers on a problem with a known result, the learning rate, and early stopping."""

import numpy as np
import pytest

from lowland.arrays.engines import Engine
from lowland.data.open import open_rows
from lowland.math.networks import training
from lowland.math.networks.network import Network, NetworkLoss
from lowland.math.networks.training import (
    MiniBatches,
    Noise,
    TrainingSchedule,
    choose_validation_rows,
    double_moments,
    mean_loss,
    rounded_scaling,
    train_by_adam,
    train_by_lbfgs,
)
from lowland.math.optimize.outcome import Divergence
from lowland.run.run import Run


def batches_of(X, size=8, fraction=0.2, engine=None, window=None, seed=0):
    rows = open_rows(X)
    columns = Run().fold(rows, double_moments)
    held = choose_validation_rows(columns.rows, fraction, 10**6, np.random.default_rng(seed))
    return MiniBatches(rows, Run(), columns.rows, rounded_scaling(columns), engine or Engine("numpy"), held, size)


def test_every_row_is_in_one_batch_or_in_the_validation_set(rng, monkeypatch):
    monkeypatch.setattr(training, "WINDOW_BYTES", 4 * 3 * 40)  # forty rows
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
    monkeypatch.setattr(training, "WINDOW_BYTES", 4 * 3 * 40)
    X = np.random.default_rng(1).standard_normal((211, 3)) + 1000
    whole, parts = batches_of(X), batches_of([X[:1], X[1:90], X[90:]])
    kept = list(whole.epoch(np.random.default_rng(3), whole.training_rows()))
    read = list(whole.epoch(np.random.default_rng(3), None))
    other = list(parts.epoch(np.random.default_rng(3), None))
    for a, b, c in zip(kept, read, other, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(whole.validation_rows(), parts.validation_rows())


def test_the_number_of_validation_rows(rng):
    assert [len(choose_validation_rows(n, 0.1, 100, rng)) for n in (9, 10, 20, 49, 60, 100)] == [0, 2, 4, 5, 6, 10]
    assert len(choose_validation_rows(1000, 0.5, 100, rng)) == 100
    assert len(choose_validation_rows(1000, 0.0, 100, rng)) == 0


def test_noise(rng):
    Y = np.ones((2000, 10), dtype=np.float32)
    masked = Noise("masking", 0.3).corrupt(Y, rng)
    assert set(np.unique(masked)) == {0, 1}
    assert masked.mean() == pytest.approx(0.7, abs=0.02)
    loud = Noise("gaussian", 0.5).corrupt(Y, rng)
    assert loud.std() == pytest.approx(0.5, abs=0.02)
    assert loud.dtype == np.float32


# --- the two solvers


def linear_problem(dtype, fraction=0.0):
    """Rows near a line, a network without activations: the least loss is the variance off the first principal axis."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) @ [[2.0, 1.0, -1.0]] + 0.2 * rng.standard_normal((200, 3))
    columns = double_moments(X)
    scaling = rounded_scaling(columns)
    held = choose_validation_rows(200, fraction, 100, rng)
    rows = MiniBatches(open_rows(X), Run(), 200, scaling, Engine("numpy", dtype=dtype), held, 20)
    loss = NetworkLoss(Network.of(3, (), 1, (), ("identity", "identity", "identity")))
    Y = scaling.apply(X)
    values = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) ** 2
    return rows, loss, values[1:].sum() / Y.size, rng


def test_lbfgs_finds_the_optimal_plane():
    rows, loss, least, rng = linear_problem("float64")
    found = train_by_lbfgs(loss.net.start(rng), loss, rows, TrainingSchedule(500, 100, 1e-9), Run())
    assert found.loss == pytest.approx(least, rel=1e-4)
    assert found.validation_loss is None
    assert found.validation_losses == ()
    assert found.outcome.converged
    assert found.best == found.outcome.iterations == len(found.outcome.trace)


def test_adam_approaches_the_optimum_and_keeps_the_best_weights():
    rows, loss, least, rng = linear_problem("float32", fraction=0.2)
    schedule = TrainingSchedule(60, 60, 1e-4, 0.05)
    found = train_by_adam(loss.net.start(rng), loss, rows, None, rng, schedule, Run())
    assert found.loss < 1.5 * least < 0.1  # of the variance
    assert found.validation_loss == min(found.validation_losses)
    assert found.validation_loss == pytest.approx(mean_loss(loss, found.theta, [rows.validation_rows()]))
    assert found.outcome.stopped_because == "the learning rate schedule ended"


def test_a_learning_rate_too_large_diverges():
    rows, loss, _, rng = linear_problem("float32")
    with pytest.raises(Divergence, match="diverged in epoch"):
        train_by_adam(loss.net.start(rng), loss, rows, None, rng, TrainingSchedule(50, 50, 0.0, 1e12), Run())


def test_learning_rates():
    parts = np.linspace(0, 1, 101)
    cycle = [TrainingSchedule(10, 5, 0.0, 0.2, "one-cycle").rate_at(part) for part in parts]
    assert max(cycle) == pytest.approx(0.2)
    assert 5 < int(np.argmax(cycle)) < 30
    assert cycle[-1] == pytest.approx(0, abs=1e-12)
    cosine = [TrainingSchedule(10, 5, 0.0, 0.2, "cosine").rate_at(part) for part in parts]
    assert cosine[0] == 0.2
    assert np.all(np.diff(cosine) < 0)
    assert {TrainingSchedule(10, 5, 0.0, 0.2, "constant").rate_at(part) for part in parts} == {0.2}
