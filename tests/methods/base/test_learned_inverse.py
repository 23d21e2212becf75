"""A method that exists only if it was requested."""

import pytest
from sklearn.exceptions import NotFittedError

from lowland.methods.base.learned_inverse import LearnedInverse


class Model:
    def __init__(self, fit_inverse_transform):
        self.fit_inverse_transform = fit_inverse_transform

    @LearnedInverse
    def inverse(self, x):
        """Return one more."""
        return x + 1


def test_a_learned_inverse_exists_only_if_requested():
    assert Model(True).inverse(1) == 2
    assert not hasattr(Model(False), "inverse")
    assert Model.inverse.__doc__ == "Return one more."
    with pytest.raises(NotFittedError, match=r"Fit Model\(fit_inverse_transform=True\)"):
        Model(False).inverse(1)
