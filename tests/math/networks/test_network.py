"""Networks: their gradient by three routes, activations, and the fitted maps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland.math.networks.network import (
    FeedForward,
    Network,
    NetworkLoss,
    ReconstructionErrors,
    Sparsity,
    activate,
    activation_slope,
)
from lowland.math.networks.training import double_moments, rounded_scaling

ACTIVATIONS = ["relu", "elu", "silu", "tanh", "logistic", "identity"]


def objective(activation="tanh", end="identity", sparsity=None, at_code="identity"):
    net = Network.of(5, (4,), 2, (3, 4), (activation, at_code, end))
    moved = {} if end == "identity" else {"output_scale": 1.7, "output_offset": np.linspace(-1, 1, 5)}
    return NetworkLoss(net, sparsity=sparsity, **moved)


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
    *[objective(activation) for activation in ACTIVATIONS],
    *[objective("elu", end) for end in ("logistic", "tanh", "relu")],
    objective("silu", sparsity=Sparsity("l1", 0.3, 0.05)),
    objective("tanh", sparsity=Sparsity("kl", 0.3, 0.05), at_code="logistic"),
]


@pytest.mark.parametrize("loss", CASES)
def test_the_gradient_agrees_with_finite_differences_and_torch(loss, rng):
    theta = loss.net.start(rng) + 0.1 * rng.standard_normal(loss.net.size)
    Y, seen = rng.standard_normal((2, 7, 5))
    value, g = loss.gradient(theta, Y)
    np.testing.assert_allclose(g, numerical(loss, theta, Y), atol=1e-7)
    assert value == loss.value(theta, Y)
    np.testing.assert_allclose(loss.gradient(theta, Y, seen)[1], numerical(loss, theta, Y, seen), atol=1e-7)
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(theta, requires_grad=True)
    loss.value(tensor, torch.tensor(Y)).backward()  # by their automatic differentiation of our forward pass
    np.testing.assert_allclose(tensor.grad.numpy(), g, atol=1e-12)
    ours = loss.gradient(torch.tensor(theta), torch.tensor(Y))[1]  # by our backward pass, in their library
    np.testing.assert_allclose(ours.numpy(), g, atol=1e-12)


@settings(max_examples=10, deadline=None)
@given(a=st.floats(-700, 700))
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_are_finite_and_agree_with_their_derivative(activation, a):
    a = np.array([a])
    h = activate(a, activation)
    near = (activate(a + 1e-6, activation) - activate(a - 1e-6, activation)) / 2e-6
    assert np.isfinite(h).all()
    if abs(a[0]) > 1e-5:  # relu and elu have a corner
        np.testing.assert_allclose(activation_slope(a, h, activation), near, atol=1e-3)


def test_initialization_preserves_the_scale_of_activations(rng):
    Y = rng.standard_normal((200, 100))
    for activation in ACTIVATIONS:
        net = Network.of(100, (100, 100), 100, (100,), (activation, "identity", "identity"))
        sums, _ = NetworkLoss(net)._forward(net.start(rng), Y)
        sizes = [float(np.sqrt(np.mean(a**2))) for a in sums]
        if activation not in ("logistic", "tanh", "silu"):
            assert all(0.5 < size < 2 for size in sizes), (activation, sizes)
        assert all(np.isfinite(sizes))


def test_the_sparsity_penalty_does_not_depend_on_the_scale_of_the_codes(rng):
    Z, D = rng.standard_normal((9, 3)), rng.standard_normal((3, 4))
    sparsity = Sparsity("l1", 0.5, 0.05)
    assert sparsity.penalty(Z, D)[0] == pytest.approx(sparsity.penalty(Z / 8, D * 8)[0])


def test_stacked_layers_give_the_network_in_original_units(rng):
    loss = objective("silu", "logistic")
    theta, X = loss.net.start(rng), 3 * rng.standard_normal((6, 5)) + 100
    layers = tuple(loss.net.layers(theta))
    scaling = rounded_scaling(double_moments(X))
    code = FeedForward(layers[:2], loss.net.activations[:2], scaling.shift, scaling.unit)
    offset = scaling.shift + scaling.unit * loss.output_offset
    back = FeedForward(layers[2:], loss.net.activations[2:], scale=loss.output_scale * scaling.unit, offset=offset)
    lost = loss.value(theta, scaling.apply(X))
    assert np.mean((back(code(X)) - X) ** 2) / scaling.unit**2 == pytest.approx(lost)
    np.testing.assert_allclose(code(X.astype(np.float32)), code(X), atol=1e-5)


def test_one_layer_by_hand():
    """x = (1, 2) through W = (1, 1)' and b = 1 is 4; back through (0.5, 0.5) it is (2, 2): the error is 1."""
    encode = FeedForward(((np.array([[1.0], [1.0]]), np.array([1.0])),), ("relu",))
    decode = FeedForward(((np.array([[0.5, 0.5]]), np.zeros(2)),), ("identity",))
    x = np.array([[1.0, 2.0]])
    assert encode(x).tolist() == [[4.0]]
    assert decode(encode(x)).tolist() == [[2.0, 2.0]]
    assert ReconstructionErrors(encode, decode)(x).tolist() == [[1.0]]
    assert (encode.widest, decode.widest) == (1, 2)
