import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lowland.arrays.segment_sums import segment_sums  # noqa: E402


def test_sums_of_consecutive_rows():
    values = torch.as_tensor(np.random.default_rng(0).standard_normal((10, 2)))
    found = segment_sums(values, torch.as_tensor([3, 0, 5, 2]))
    expected = torch.stack([values[:3].sum(0), torch.zeros(2), values[3:8].sum(0), values[8:].sum(0)])
    torch.testing.assert_close(found, expected)
