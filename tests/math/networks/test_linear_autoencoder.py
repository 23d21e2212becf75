"""Linear autoencoders of a covariance, by hand and compared with its eigenvectors."""

import numpy as np
import pytest

from lowland.math.networks.linear_autoencoder import ENCODERS, linear_autoencoder

S = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 along (1, 1) and 1 along (1, -1)


@pytest.mark.parametrize("encoder", list(ENCODERS))
def test_two_columns_by_hand(encoder):
    found = linear_autoencoder(S, 1, encoder=encoder)
    assert found.loss == pytest.approx(1)
    assert abs(found.D[0, 0]) == pytest.approx(abs(found.D[1, 0]), rel=1e-6)
    np.testing.assert_allclose(found.D @ found.F.T, 0.5, atol=1e-6)  # the projection on (1, 1)
    assert found.outcome.converged
    assert (np.diff(found.outcome.trace) <= 0).all()


def test_a_given_step_size_is_used_and_mini_batches_agree(rng):
    Y = rng.standard_normal((200, 3)) * [3, 1, 0.3]
    Y -= Y.mean(axis=0)
    C = Y.T @ Y / 200
    expected = np.linalg.eigvalsh(C)[0]
    given = linear_autoencoder(C, 2, step=0.01)
    assert (given.step, given.loss) == (pytest.approx(0.01), pytest.approx(expected))

    def batches():
        return (Y[start : start + 50] for start in range(0, 200, 50))

    by_batches = linear_autoencoder(C, 2, batches=batches, batch_size=50, tol=1e-6)
    assert by_batches.loss == pytest.approx(expected, rel=1e-6)
