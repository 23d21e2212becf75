"""The Amari distance: its zeros, its bounds, its invariances, and invalid input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowland import quality
from lowland.errors import DataError


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), extra=st.integers(0, 3))
def test_the_index_is_zero_for_scaled_permutations_and_bounded(seed, k, extra):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((k + extra, k))
    scale = rng.uniform(0.1, 10, k) * rng.choice([-1, 1], k)
    W = (np.linalg.pinv(A) * scale[:, None])[rng.permutation(k)]
    assert quality.amari_distance(W, A).value == pytest.approx(0, abs=1e-7)
    other = rng.standard_normal((k, k + extra))
    value = quality.amari_distance(other, A).value
    assert 0 <= value <= 1
    turned = (other * np.sign(scale)[:, None])[rng.permutation(k)]
    assert quality.amari_distance(turned, A).value == pytest.approx(value)


def test_by_hand_and_the_worst():
    P = np.array([[1.0, 0.5], [0.25, 2.0]])
    # rows: 0.5 + 0.125, columns: 0.25 + 0.25; over 2k(k − 1) = 4
    assert quality.amari_distance(P, np.eye(2)).value == pytest.approx((0.5 + 0.125 + 0.25 + 0.25) / 4)
    assert quality.amari_distance(np.ones((3, 3)), np.eye(3)).value == pytest.approx(1)
    found = quality.amari_distance(P, np.eye(2))
    assert found.better == "lower"
    assert "Amari" in str(found)


def test_tensors_and_lists():
    torch = pytest.importorskip("torch")
    assert quality.amari_distance(torch.eye(2), [[0.0, 1.0], [1.0, 0.0]]).value == 0


def test_wrong_shapes_and_values():
    with pytest.raises(DataError, match=r"unmixing.*\(3, 3\).*mixing.*\(2, 2\).*components_"):
        quality.amari_distance(np.eye(3), np.eye(2))
    with pytest.raises(DataError, match="full rank"):
        quality.amari_distance(np.zeros((2, 2)), np.eye(2))
    with pytest.raises(DataError, match="NaN"):
        quality.amari_distance(np.full((2, 2), np.nan), np.eye(2))
