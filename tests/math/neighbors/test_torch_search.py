"""Search on a torch device, against the search on the host."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from lowland.math.neighbors.search import choose_searcher
from lowland.math.neighbors.torch_search import TorchSearch
from lowland.run.local import LocalRun


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "precomputed"])
def test_torch_agrees_with_the_host(rng, metric):
    torch = pytest.importorskip("torch")
    X = (100 + rng.standard_normal((300, 20))).astype(np.float32)
    X[200:210] = X[0]
    if metric == "precomputed":
        X = cdist(X, X).astype(np.float32)
        X = (X + X.T) / 2
    device = TorchSearch(torch.asarray(X), metric)  # the search for tensors on an accelerator
    host = choose_searcher(X, metric, {}, "products", 6)
    indices, lengths = device.nearest(6, LocalRun())
    expected = host.nearest(6, LocalRun())
    np.testing.assert_array_equal(indices, expected[0])
    np.testing.assert_allclose(lengths, expected[1], rtol=1e-6, atol=1e-12)
    new = device.nearest_to(torch.asarray(X[:5]), 3), host.nearest_to(X[:5], 3)
    np.testing.assert_array_equal(new[0][0], new[1][0])
    radius = float(np.median(lengths[:, -1]))
    for mine, theirs in zip(device.within(radius, LocalRun()), host.within(radius, LocalRun()), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-12)
    labels = np.arange(300) // 100
    rows = np.arange(150)
    np.testing.assert_array_equal(
        device.nearest_in_other_component(rows, labels, LocalRun())[0],
        host.nearest_in_other_component(rows, labels, LocalRun())[0],
    )
