import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lowland.math.embeddings.anchor import Anchor  # noqa: E402
from lowland.math.embeddings.descent import DescentStep  # noqa: E402
from lowland.math.embeddings.grid_repulsion import GridRepulsion  # noqa: E402
from lowland.math.embeddings.kl_divergence import KLDivergence, schedule  # noqa: E402
from lowland.math.embeddings.perplexity import gaussian_affinities  # noqa: E402
from lowland.math.embeddings.repulsion import ExactRepulsion  # noqa: E402
from lowland.math.embeddings.row_blocks import Together  # noqa: E402
from lowland.math.neighbors.search import nearest_neighbors  # noqa: E402

SERIAL = Together(None, 1)
STEP = DescentStep(0, 1, 0, {"exaggeration": 1.5})
RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 6))
P = gaussian_affinities(nearest_neighbors(X, 30), 10)


def both(k, dof=1.0, anchor=None, size=8.0, exact=False):
    """The exact sum on the host; on tensors the same, or a grid in two dimensions."""
    Z = (size * RNG.standard_normal((600, k))).astype(np.float32)
    host = KLDivergence(P, ExactRepulsion(dof), schedule((1, 1), (12, 1), (1, 1), 300, dof), dof, anchor)
    fast = host if exact else KLDivergence(P, GridRepulsion(dof), host.phases, dof, anchor)
    return host, fast.on_device(torch.as_tensor(Z)), Z


@pytest.mark.parametrize(
    ("k", "dof", "exact", "within"),
    [
        (2, 1.0, False, 0.02),
        (2, 0.6, False, 0.02),
        (2, 1.0, True, 1e-4),
        (2, 0.6, True, 1e-4),
        (1, 1.0, False, 1e-4),
        (3, 1.0, False, 1e-4),
    ],
)
def test_the_gradient_and_the_value_are_those_of_the_host(k, dof, exact, within):
    host, device, Z = both(k, dof, exact=exact)
    G, T = np.empty_like(Z), torch.empty(600, k)
    host.gradient(Z, STEP, G, SERIAL)
    device.gradient(torch.as_tensor(Z), STEP, T, SERIAL)
    assert np.linalg.norm(T.numpy() - G) <= within * np.linalg.norm(G)
    assert device.value(torch.as_tensor(Z), STEP, SERIAL) == pytest.approx(host.value(Z, STEP, SERIAL), rel=1e-3)


def test_an_anchor_moves_along():
    anchor = Anchor(RNG.standard_normal((600, 2)), 0.3)
    host, device, Z = both(2, anchor=anchor)
    G, T = np.empty_like(Z), torch.empty(600, 2)
    host.gradient(Z, STEP, G, SERIAL)
    device.gradient(torch.as_tensor(Z), STEP, T, SERIAL)
    assert np.linalg.norm(T.numpy() - G) <= 0.02 * np.linalg.norm(G)
    assert device.name == host.name


def test_the_same_bits_every_time():
    _, device, Z = both(2)
    first, second = torch.empty(600, 2), torch.empty(600, 2)
    device.gradient(torch.as_tensor(Z), STEP, first, SERIAL)
    device.gradient(torch.as_tensor(Z), STEP, second, SERIAL)
    assert torch.equal(first, second)
