import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lowland.math.embeddings.descent import DescentStep  # noqa: E402
from lowland.math.embeddings.pair_forces import LocalAdjustment, PairForces, pair_phases  # noqa: E402
from lowland.math.embeddings.pairs import further_pairs, given_pairs  # noqa: E402
from lowland.math.embeddings.row_blocks import Together  # noqa: E402
from lowland.run.local import LocalRun  # noqa: E402

SERIAL = Together(None, 1)
RNG = np.random.default_rng(0)
N = 400


def pairs(m):
    P = RNG.integers(0, N, (m, 2))
    return given_pairs(P[P[:, 0] != P[:, 1]], N)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("iteration", [5, 201, 212])
def test_the_gradient_and_the_value_are_those_of_the_host(local, iteration):
    near, mid = pairs(3000), pairs(2000)
    far = further_pairs(near, 8, 0, LocalRun())
    adjustment = LocalAdjustment(10.0, 200, near, 3) if local else None
    host = PairForces(near, mid, far, pair_phases((100, 100, 250), 1.0), adjustment)
    other = PairForces(near, mid, far, pair_phases((100, 100, 250), 1.0), adjustment)
    Z = (5 * RNG.standard_normal((N, 2))).astype(np.float32)
    device = other.on_device(torch.as_tensor(Z))
    step = DescentStep(iteration, 450, 2, {"neighbors": 2.0, "mid_near": 3.0, "further": 1.0})
    G, T = np.empty_like(Z), torch.empty(N, 2)
    host.gradient(Z, step, G, SERIAL)
    device.gradient(torch.as_tensor(Z), step, T, SERIAL)
    np.testing.assert_allclose(T.numpy(), G, atol=1e-4 * np.abs(G).max())
    assert device.value(torch.as_tensor(Z), step, SERIAL) == pytest.approx(host.value(Z, step, SERIAL), rel=1e-4)
