"""Networks: their gradient by three routes, the batches they are fed, and the optimizer's twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.arrays.engines import Engine, choose_engine
from lowland.blocks.networks import batches as feeding
from lowland.blocks.networks.batches import Feed, InputScaling, Noise, choose_held, double_moments
from lowland.blocks.networks.layers import Net, NetworkLoss, Passage, Sparsity, bent, slope, widths_of
from lowland.blocks.networks.training import TrainingSchedule
from lowland.data.open import open_rows
from lowland.errors import MissingExtra, ParameterError
from lowland.run.local import LocalRun

BENDS = ["relu", "elu", "silu", "tanh", "logistic", "identity"]


def objective(bend="tanh", end="identity", price=None, at_code="identity"):
    net = Net.of(5, (4,), 2, (3, 4), (bend, at_code, end))
    moved = {} if end == "identity" else {"stretch": 1.7, "offset": np.linspace(-1, 1, 5)}
    return NetworkLoss(net, sparsity=price, **moved)


def numerical(loss, theta, Y, seen=None, step=1e-6):
    """Central differences."""
    out = np.empty_like(theta)
    for i in range(len(theta)):
        ahead, behind = theta.copy(), theta.copy()
        ahead[i] += step
        behind[i] -= step
        out[i] = (loss.gradient(ahead, Y, seen)[0] - loss.gradient(behind, Y, seen)[0]) / (2 * step)
    return out


CASES = [
    *[objective(bend) for bend in BENDS],
    *[objective("elu", end) for end in ("logistic", "tanh", "relu")],
    objective("silu", price=Sparsity("l1", 0.3, 0.05)),
    objective("tanh", price=Sparsity("kl", 0.3, 0.05), at_code="logistic"),
]


@pytest.mark.parametrize("loss", CASES)
def test_the_gradient_is_that_of_finite_differences(loss, rng):
    theta = loss.net.start(rng) + 0.1 * rng.standard_normal(loss.net.size)
    Y, seen = rng.standard_normal((2, 7, 5))
    value, g = loss.gradient(theta, Y)
    np.testing.assert_allclose(g, numerical(loss, theta, Y), atol=1e-7)
    assert value == loss.value(theta, Y)
    np.testing.assert_allclose(loss.gradient(theta, Y, seen)[1], numerical(loss, theta, Y, seen), atol=1e-7)


@pytest.mark.parametrize("loss", CASES)
def test_the_gradient_is_that_of_torch(loss, rng):
    torch = pytest.importorskip("torch")
    theta = loss.net.start(rng) + 0.1 * rng.standard_normal(loss.net.size)
    Y = rng.standard_normal((7, 5))
    g = loss.gradient(theta, Y)[1]
    tensor = torch.tensor(theta, requires_grad=True)
    loss.value(tensor, torch.tensor(Y)).backward()  # by their automatic differentiation of our forward pass
    np.testing.assert_allclose(tensor.grad.numpy(), g, atol=1e-12)
    ours = loss.gradient(torch.tensor(theta), torch.tensor(Y))[1]  # by our backward pass, in their library
    np.testing.assert_allclose(ours.numpy(), g, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(a=st.floats(-700, 700))
@pytest.mark.parametrize("bend", BENDS)
def test_bends_are_finite_and_rise_as_their_slope_says(bend, a):
    a = np.array([a])
    h = bent(a, bend)
    near = (bent(a + 1e-6, bend) - bent(a - 1e-6, bend)) / 2e-6
    assert np.isfinite(h).all()
    if abs(a[0]) > 1e-5:  # relu and elu have a corner
        np.testing.assert_allclose(slope(a, h, bend), near, atol=1e-3)


def test_a_start_keeps_the_size_of_what_passes(rng):
    Y = rng.standard_normal((500, 300))
    for bend in BENDS:
        net = Net.of(300, (300, 300), 300, (300,), (bend, "identity", "identity"))
        sums, _ = NetworkLoss(net)._through(net.start(rng), Y)
        sizes = [float(np.sqrt(np.mean(a**2))) for a in sums]
        if bend not in ("logistic", "tanh", "silu"):
            assert all(0.5 < size < 2 for size in sizes), (bend, sizes)
        assert all(np.isfinite(sizes))


def test_layers_are_views_and_count_every_number():
    net = Net.of(7, (5,), 2, (4,), ("tanh", "identity", "identity"))
    theta = np.zeros(net.size)
    for i, (W, b) in enumerate(net.layers(theta)):
        W += i + 1
        b += i + 1
    assert (theta > 0).all()
    assert net.widths == (7, 5, 2, 4, 7)
    assert net.code == 2
    assert net.size == 7 * 5 + 5 + 5 * 2 + 2 + 2 * 4 + 4 + 4 * 7 + 7


def test_the_price_of_codes_does_not_change_when_they_shrink_and_the_decoder_grows(rng):
    Z, D = rng.standard_normal((9, 3)), rng.standard_normal((3, 4))
    price = Sparsity("l1", 0.5, 0.05)
    assert price.price(Z, D)[0] == pytest.approx(price.price(Z / 8, D * 8)[0])


def test_a_passage_is_the_network_in_the_units_of_the_rows(rng):
    loss = objective("silu", "logistic")
    theta, X = loss.net.start(rng), 3 * rng.standard_normal((6, 5)) + 100
    layers = tuple(loss.net.layers(theta))
    frame = InputScaling.of(double_moments(X))
    code = Passage(layers[:2], loss.net.bends[:2], frame.center, frame.unit)
    offset = frame.center + frame.unit * loss.offset
    back = Passage(layers[2:], loss.net.bends[2:], stretch=loss.stretch * frame.unit, offset=offset)
    lost = loss.value(theta, frame.seen(X))
    assert np.mean((back(code(X)) - X) ** 2) / frame.unit**2 == pytest.approx(lost)
    np.testing.assert_allclose(code(X.astype(np.float32)), code(X), atol=1e-5)


def test_widths_in_all_their_forms():
    assert widths_of((512, 256.0), 4, "A", "h") == (512, 256)
    assert widths_of(7, 4, "A", "h") == (7,)
    assert widths_of((), 4, "A", "h") == ()
    assert [widths_of(None, d, "A", "h") for d in (3, 64, 1000)] == [(16,), (128,), (512,)]
    for bad in ("512", (0,), (1.5,), (True,), ((3,),), (float("nan"),)):
        with pytest.raises(ParameterError, match="whole numbers"):
            widths_of(bad, 4, "A", "h")


# --- feeding


def feed_of(X, size=8, share=0.2, engine=None, window=None, seed=0):
    rows = open_rows(X)
    columns = LocalRun().fold(rows, double_moments)
    held = choose_held(columns.rows, share, 10**6, np.random.default_rng(seed))
    return Feed(rows, LocalRun(), columns.rows, InputScaling.of(columns), engine or Engine("numpy"), held, size)


def test_every_row_is_fed_once_or_held_out(rng, monkeypatch):
    monkeypatch.setattr(feeding, "WINDOW_BYTES", 4 * 3 * 40)  # forty rows
    X = np.arange(303.0).reshape(101, 3) ** 1.1
    feed = feed_of(X)
    batches = list(feed.batches(rng, None))
    assert len(batches) == feed.steps
    assert {len(batch) for batch in batches} <= {6, 7, 8, 9, 10}
    together = np.concatenate([*batches, feed.held_rows()])
    np.testing.assert_allclose(np.sort(together[:, 0]), np.sort(feed.frame.seen(X)[:, 0]), rtol=1e-6)
    assert len(feed.held_rows()) == 20
    again = list(feed.batches(rng, None))
    assert not np.array_equal(batches[0], again[0])  # shuffled anew


def test_chunks_and_what_lies_in_memory_give_the_same_batches(monkeypatch):
    monkeypatch.setattr(feeding, "WINDOW_BYTES", 4 * 3 * 40)
    X = np.random.default_rng(1).standard_normal((211, 3)) + 1000
    whole, parts = feed_of(X), feed_of([X[:1], X[1:90], X[90:]])
    kept = list(whole.batches(np.random.default_rng(3), whole.all_rows()))
    read = list(whole.batches(np.random.default_rng(3), None))
    other = list(parts.batches(np.random.default_rng(3), None))
    for a, b, c in zip(kept, read, other, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    np.testing.assert_array_equal(whole.held_rows(), parts.held_rows())


def test_standard_units(rng):
    X = rng.standard_normal((400, 5)) * np.array([1, 2, 3, 4, 50]) + 1e5
    Y = InputScaling.of(double_moments(X)).seen(X)
    assert np.abs(Y.mean(axis=0)).max() < 1e-3
    assert np.mean(Y**2) == pytest.approx(1, abs=1e-3)
    flat = InputScaling.of(double_moments(np.full((4, 2), 3.0)))
    np.testing.assert_array_equal(flat.seen(np.full((4, 2), 3.0)), 0)


def test_how_many_rows_are_held_out(rng):
    assert [len(choose_held(n, 0.1, 100, rng)) for n in (9, 10, 20, 49, 60, 100)] == [0, 2, 4, 5, 6, 10]
    assert len(choose_held(1000, 0.5, 100, rng)) == 100
    assert len(choose_held(1000, 0.0, 100, rng)) == 0


def test_noise(rng):
    Y = np.ones((2000, 10), dtype=np.float32)
    masked = Noise("masking", 0.3).on(Y, rng)
    assert set(np.unique(masked)) == {0, 1}
    assert masked.mean() == pytest.approx(0.7, abs=0.02)
    loud = Noise("gaussian", 0.5).on(Y, rng)
    assert loud.std() == pytest.approx(0.5, abs=0.02)
    assert loud.dtype == np.float32


# --- engines and the learning rate


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


def test_torch_is_asked_for_where_it_is_not(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    home = np.zeros(3)
    assert choose_engine("auto", None, home, "float32") == Engine("numpy")
    with pytest.raises(MissingExtra, match=r"lowland\[torch\]"):
        choose_engine("torch", None, home, "float32")
    with pytest.raises(ParameterError, match="numpy works on the CPU alone"):
        choose_engine("auto", "cuda", home, "float32")


def test_a_device_that_is_not_there():
    torch = pytest.importorskip("torch")
    for device in ("cuda:99", "nowhere"):
        with pytest.raises(ParameterError, match="torch cannot work there") as told:
            choose_engine("auto", device, np.zeros(3), "float32")
        assert ("or 'cuda'" in str(told.value)) == torch.cuda.is_available()


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


def test_where_a_loss_that_does_not_fall_tells_nothing():
    parts = np.linspace(0, 1, 101)
    cycle = [TrainingSchedule(10, 5, 0.0, 0.2, "one-cycle").tells(part) for part in parts]
    assert not any(cycle[:15])  # it rises
    assert all(cycle[15:80])
    assert not any(cycle[90:])  # it is next to none
    assert all(TrainingSchedule(10, 5, 0.0, 0.2, "constant").tells(part) for part in parts)
