"""The one-standard-error rule on losses with a known result."""

import numpy as np

from lowland.math.selection.one_standard_error import ValidationCurve


def test_the_simplest_model_within_a_standard_error():
    losses = np.array([[5.0, 5.0], [1.1, 1.3], [0.9, 1.3], [1.1, 1.1], [2.0, 2.0]])
    curve = ValidationCurve.of(losses)
    assert curve.chosen("min") == 2  # 1.1 twice: the simpler one
    assert curve.chosen("one-standard-error") == 1
    np.testing.assert_allclose(curve.error[2], 0.2)
    assert ValidationCurve.of(losses[:, :1]).chosen("one-standard-error") == 2
