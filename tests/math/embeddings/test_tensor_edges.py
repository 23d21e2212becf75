import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lowland.math.embeddings.tensor_edges import TensorEdges, on_device  # noqa: E402


def test_sums_over_the_edges_of_each_row():
    rng = np.random.default_rng(0)
    start, to = np.array([0, 2, 2, 5]), np.array([1, 2, 0, 1, 0], dtype=np.int32)
    Z = torch.as_tensor(rng.standard_normal((3, 2)))
    edges = TensorEdges.of(start, to, Z)
    D, d2 = edges.differences(Z)
    expected = np.stack(
        [sum((Z[i] - Z[j]).numpy() for j in to[start[i] : start[i + 1]]) + np.zeros(2) for i in range(3)]
    )
    np.testing.assert_allclose(edges.sums(D).numpy(), expected, atol=1e-12)
    np.testing.assert_allclose(d2.numpy(), (D.numpy() ** 2).sum(axis=1))
    assert on_device(np.float32([1, 2]), Z).dtype == torch.float32
