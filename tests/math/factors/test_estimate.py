"""The result of a search for factors, and its stopping reason."""

from dataclasses import dataclass

import numpy as np
import pytest

from lowland.math.factors.estimate import estimate_at


@dataclass
class End:
    x: np.ndarray

    rounding = 1e-12

    def loadings(self, k):
        return np.ones((len(self.x), k))

    def steepest(self, bottom):
        return 1e-9


@pytest.mark.parametrize(
    ("reason", "steps", "words", "converged"),
    [
        ("the gradient is zero", 3, "the gradient is zero", True),
        ("", 5, "the limit of 5 iterations was reached", False),
        ("", 1, "no step increased the likelihood, but the gradient is not zero", False),
    ],
)
def test_stopping_reasons(reason, steps, words, converged):
    found = estimate_at(
        End(np.log([0.2, 0.5])), 1, np.linspace(3, 1, steps), reason, 5, solver="newton", bottom=-5.0, flat=1e-6
    )
    assert found.outcome.stopped_because == words
    assert found.outcome.converged is converged
    assert found.outcome.iterations == steps
    assert found.deviance == found.outcome.trace[-1]
    np.testing.assert_allclose(found.uniquenesses, [0.2, 0.5])
