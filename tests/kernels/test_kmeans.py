"""The loops of k-means compared with numpy."""

import numpy as np
import pytest

from lowland.kernels.kmeans import add_rows, nearest_codes, scale_rows


def test_scaling_the_nearest_and_the_sums():
    rng = np.random.default_rng(0)
    Y, W = rng.standard_normal((200, 4)), rng.standard_normal((7, 4))
    seen, single = np.zeros_like(Y), np.ones((len(Y), 5), dtype=np.float32)
    scale_rows(Y.astype(np.float32), np.arange(4.0), 0.5, seen, single)
    np.testing.assert_array_equal(seen, (Y.astype(np.float32) - np.arange(4.0)) / 2)
    np.testing.assert_array_equal(single, np.column_stack([seen, np.ones(len(Y))]).astype(np.float32))
    squares = (W**2).sum(axis=1)
    for dtype in (np.float32, np.float64):
        D = (squares - 2 * Y @ W.T).astype(dtype)
        first, unsure, others = nearest_codes(Y, np.ascontiguousarray(D.T), (1e-3 * squares).astype(dtype), 1e-3)
        np.testing.assert_array_equal(first, D.argmin(axis=1))
        low = D - 1e-3 * squares
        low[np.arange(len(Y)), first] = np.inf
        bound = 1e-3 * (squares[first] + 2 * (Y**2).sum(axis=1))
        np.testing.assert_array_equal(unsure, ~(low.min(axis=1) - D.min(axis=1) > bound))
        assert 0 < unsure.sum() < len(Y)
        away = np.sqrt(((Y[:, None, :] - W) ** 2).sum(axis=2))
        away[np.arange(len(Y)), first] = np.inf
        assert (others <= away.min(axis=1) + 1e-6).all()  # a lower bound of the distance to the others
        assert (others > 0.9 * away.min(axis=1)).mean() > 0.9
    for weights in (np.empty(0), np.random.default_rng(1).random(len(Y))):
        w = weights if len(weights) else np.ones(len(Y))
        sums, counts = np.zeros_like(W), np.zeros(len(W))
        error = add_rows(Y, first, weights, W, sums, counts)
        M = (first[:, None] == np.arange(len(W))) * w[:, None]
        np.testing.assert_allclose(sums, M.T @ Y, atol=1e-12)
        np.testing.assert_allclose(counts, M.sum(axis=0))
        assert error == pytest.approx((w * ((Y - W[first]) ** 2).sum(axis=1)).sum())
