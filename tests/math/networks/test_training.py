"""Training: both optimizers on a problem with a known result, the learning rate, and early stopping."""

import numpy as np
import pytest

from lowland.arrays.engines import Engine, choose_engine
from lowland.data.open import open_rows
from lowland.errors import MissingExtra, ParameterError
from lowland.math.networks.batches import MiniBatches, choose_validation_rows, double_moments, rounded_scaling
from lowland.math.networks.layers import Network, NetworkLoss
from lowland.math.networks.training import (
    TrainingSchedule,
    bytes_of_lbfgs,
    mean_loss,
    train_by_adam,
    train_by_lbfgs,
)
from lowland.math.optimize.outcome import Divergence
from lowland.run.local import LocalRun


def linear_problem(dtype, fraction=0.0):
    """Rows near a line, a network without activations: the least loss is the variance off the first principal axis."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) @ [[2.0, 1.0, -1.0]] + 0.2 * rng.standard_normal((200, 3))
    columns = double_moments(X)
    scaling = rounded_scaling(columns)
    held = choose_validation_rows(200, fraction, 100, rng)
    rows = MiniBatches(open_rows(X), LocalRun(), 200, scaling, Engine("numpy", dtype=dtype), held, 20)
    loss = NetworkLoss(Network.of(3, (), 1, (), ("identity", "identity", "identity")))
    Y = scaling.apply(X)
    values = np.linalg.svd(Y - Y.mean(axis=0), compute_uv=False) ** 2
    return rows, loss, values[1:].sum() / Y.size, rng


def test_lbfgs_finds_the_optimal_plane():
    rows, loss, least, rng = linear_problem("float64")
    found = train_by_lbfgs(loss.net.start(rng), loss, rows, TrainingSchedule(500, 100, 1e-9), LocalRun())
    assert found.loss == pytest.approx(least, rel=1e-4)
    assert found.validation_loss is None
    assert found.validation_losses == ()
    assert found.outcome.converged
    assert found.best == found.outcome.iterations == len(found.outcome.trace)
    assert bytes_of_lbfgs(rows, 10) == 8 * (2 * 200 * 3 + 50 * 10)


def test_adam_approaches_the_optimum_and_keeps_the_best_weights():
    rows, loss, least, rng = linear_problem("float32", fraction=0.2)
    schedule = TrainingSchedule(60, 60, 1e-4, 0.05)
    found = train_by_adam(loss.net.start(rng), loss, rows, None, rng, schedule, LocalRun())
    assert found.loss < 1.5 * least < 0.1  # of the variance
    assert found.validation_loss == min(found.validation_losses)
    assert found.validation_loss == pytest.approx(mean_loss(loss, found.theta, [rows.validation_rows()]))
    assert found.outcome.stopped_because == "the learning rate schedule ended"


def test_training_without_improvement_stops_early():
    rows, loss, _, rng = linear_problem("float32", fraction=0.2)
    schedule = TrainingSchedule(500, 3, 0.5, 0.01, "constant")
    found = train_by_adam(loss.net.start(rng), loss, rows, None, rng, schedule, LocalRun())
    assert found.outcome.converged
    assert found.outcome.iterations < 100
    assert "validation loss did not decrease for 3 iterations" in found.outcome.stopped_because


def test_a_learning_rate_too_large_diverges():
    rows, loss, _, rng = linear_problem("float32")
    with pytest.raises(Divergence, match="diverged in epoch"):
        train_by_adam(loss.net.start(rng), loss, rows, None, rng, TrainingSchedule(50, 50, 0.0, 1e12), LocalRun())


def test_both_engines_take_the_same_steps(rng):
    pytest.importorskip("torch")
    start, slopes = rng.standard_normal(50), rng.standard_normal((30, 50))
    found = []
    for engine in (Engine("numpy", dtype="float64"), Engine("torch", dtype="float64")):
        theta = engine.copy(start)
        adam = engine.adam(theta)
        for i, g in enumerate(slopes):
            adam.step(engine.array(g), 0.1 / (i + 1))
        found.append(np.asarray(theta))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    assert np.abs(found[0] - start).max() > 0.1


def test_the_first_step_of_adam_is_the_learning_rate(rng):
    theta = np.zeros(4)
    Engine("numpy", dtype="float64").adam(theta).step(np.array([3.0, -2.0, 1e-3, 5.0]), 0.1)
    np.testing.assert_allclose(theta, [-0.1, 0.1, -0.1, -0.1], rtol=1e-4)


def test_a_missing_torch_is_reported(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    home = np.zeros(3)
    assert choose_engine("auto", None, home, "float32") == Engine("numpy")
    with pytest.raises(MissingExtra, match=r"lowland\[torch\]"):
        choose_engine("torch", None, home, "float32")
    with pytest.raises(ParameterError, match=r"numpy.*CPU"):
        choose_engine("auto", "cuda", home, "float32")


def test_a_missing_device_is_reported():
    torch = pytest.importorskip("torch")
    for device in ("cuda:99", "nowhere"):
        with pytest.raises(ParameterError, match=device) as refused:
            choose_engine("auto", device, np.zeros(3), "float32")
        assert ("or 'cuda'" in str(refused.value)) == torch.cuda.is_available()


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


def test_early_stopping_ignores_the_extremes_of_the_learning_rate():
    parts = np.linspace(0, 1, 101)
    cycle = [TrainingSchedule(10, 5, 0.0, 0.2, "one-cycle").is_informative(part) for part in parts]
    assert not any(cycle[:15])  # the rate rises
    assert all(cycle[15:80])
    assert not any(cycle[90:])  # the rate is almost zero
    assert all(TrainingSchedule(10, 5, 0.0, 0.2, "constant").is_informative(part) for part in parts)
