"""Products with a few columns."""

import numpy as np
import pytest

from lowland.kernels.products import add_product


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("m", "k"), [(1, 1), (4, 3), (7, 5), (9, 12)])
def test_products_are_summed_in_double_precision(dtype, m, k):
    rng = np.random.default_rng(0)
    A, V, start = rng.normal(1000, 1, (m, 5000)).astype(dtype), rng.normal(size=(k, 5000)), rng.normal(size=(m, k))
    for squared, shift in ((False, 0.0), (True, 0.0), (True, 0.5)):
        P, wide = start.copy(), A.astype(np.float64)
        add_product(A, V, squared, shift, P)
        wide = wide * (wide + shift) if squared else wide
        np.testing.assert_allclose(P, start + wide @ V.T, rtol=0, atol=1e-13 * np.abs(wide).sum(axis=1).max())
