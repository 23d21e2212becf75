"""The loop of online training compared with numpy."""

import numpy as np
import pytest

from lowland.kernels.som import learn_rows


@pytest.mark.parametrize("bubble", [False, True])
def test_rows_move_the_units_near_their_best_matching_unit(bubble):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((30, 3)), rng.standard_normal((3, 12))  # a grid of 3 rows and 4 columns
    row, column = np.divmod(np.arange(12), 4)
    shift, unit, height = np.array([0.5, 0.0, -0.5]), 2.0, 1.0
    order, radii, rates = rng.permutation(30), np.linspace(2.0, 0.7, 30), np.linspace(0.5, 0.1, 30)
    expected, total = W.copy(), 0.0
    for i, radius, rate in zip(order, radii, rates, strict=True):
        y = (X[i] - shift) / unit
        squares = ((y[:, None] - expected) ** 2).sum(axis=0)
        best = squares.argmin()
        total += np.sqrt(squares[best])
        far = (row - row[best]) ** 2 + (column - column[best]) ** 2.0
        h = (far <= radius**2) * 1.0 if bubble else np.exp(-far / (2 * radius**2))
        expected += rate * h * (y[:, None] - expected)
    error = learn_rows(X, order, shift, unit, W, 2 * column, row, height, radii, rates, bubble)
    np.testing.assert_allclose(W, expected, atol=1e-7)
    assert error == pytest.approx(total, rel=1e-7)
