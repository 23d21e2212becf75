"""Agreement with R's vegan."""

import numpy as np
import pytest

from lowland import Isomap
from lowland.math.graphs.geodesics import residual_variances

from .test_references import reference


@pytest.mark.parametrize("name", ["k8", "k12", "eps5", "eps6"])
def test_vegan_isomap(name):
    whole = reference("vegan_isomap")
    expected = whole["swissroll300"][name]
    k, epsilon = expected["args"].get("k"), expected["args"].get("epsilon")
    model = Isomap(2, n_neighbors=k, radius=epsilon).fit(np.array(whole["X"]))
    D = model.dist_matrix_
    assert D.sum() / 2 == pytest.approx(expected["geodesic_sum"], rel=1e-12)
    assert D.max() == pytest.approx(expected["geodesic_max"], rel=1e-12)
    np.testing.assert_allclose(D[0], expected["geodesic_row1"], atol=1e-11)
    np.testing.assert_allclose(model.eigenvalues_, expected["eig_first10"][:2], rtol=1e-10)
    points = np.array(expected["points"])
    points *= np.sign(np.sum(points * model.embedding_, axis=0))
    np.testing.assert_allclose(model.embedding_, points, atol=1e-7)
    np.testing.assert_allclose(residual_variances(D, 5), expected["residual_variance_1to5"], atol=1e-10)
    np.testing.assert_allclose(model.residual_variances_[:5], expected["residual_variance_1to5"], atol=1e-10)
