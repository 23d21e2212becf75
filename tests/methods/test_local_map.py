"""LocalMAP: what differs from PaCMAP. What they share is tested in test_pacmap.py."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from lowland import LocalMAP, PaCMAP
from lowland.errors import ParameterError

DIGITS = load_digits().data


def test_it_is_pacmap_until_the_last_phase():
    X = np.random.default_rng(0).standard_normal((200, 4))
    local, plain = (M(num_iters=(30, 30, 1), random_state=0).fit_transform(X) for M in (LocalMAP, PaCMAP))
    np.testing.assert_array_equal(local, plain)
    local, plain = (M(num_iters=(30, 30, 2), random_state=0).fit_transform(X) for M in (LocalMAP, PaCMAP))
    assert np.any(local != plain)


def test_the_radius_must_be_positive():
    with pytest.raises(ParameterError, match="low_dist_thres"):
        LocalMAP(low_dist_thres=0).fit(DIGITS)
