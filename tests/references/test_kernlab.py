"""Agreement with R's kernlab::kpca."""

import numpy as np
import pytest

from lowland import KernelPCA
from lowland.data import load_dataset
from lowland.math.distances.kernel_functions import KernelWith

from .test_references import reference


def root_laplace(x, y):
    """kernlab's laplacedot takes the Euclidean distance, scikit-learn's laplacian and ours the sum of differences."""
    return float(np.exp(-0.1 * np.linalg.norm(x - y)))


KERNELS = {
    "rbf_sigma0.2": {"kernel": "rbf", "gamma": 0.2},
    "rbf_sigma0.02": {"kernel": "rbf", "gamma": 0.02},
    "poly_deg3": {"kernel": "poly", "gamma": 1.0, "degree": 3, "coef0": 1.0},
    "linear": {"kernel": "linear"},
    "laplace0.1": {"kernel": root_laplace},
}


@pytest.mark.parametrize("part", KERNELS)
def test_kpca_iris(part):
    expected, X = reference("kernlab_kpca_iris")[part], load_dataset("iris").X
    first = KernelWith(X[:5], **KERNELS[part])(X[:1])[0]
    np.testing.assert_allclose(first, expected["kernel_row1_first5"], rtol=1e-12)
    kpca = KernelPCA(4, **KERNELS[part])
    Z = kpca.fit_transform(X)
    # its eigenvalues are over n, its scores are √n times ours
    np.testing.assert_allclose(kpca.eigenvalues_ / 150, expected["eig"], rtol=1e-9)
    scores = np.array(expected["rotated_first10"]) / np.sqrt(150)
    signs = np.sign(np.sum(scores * Z[:10], axis=0))
    np.testing.assert_allclose(Z[:10], scores * signs, atol=1e-9 * np.abs(Z).max())
    np.testing.assert_allclose(kpca.transform(X[:10]), scores * signs, atol=1e-9 * np.abs(Z).max())


@pytest.mark.parametrize("part", KERNELS)
def test_kpca_iris_all_eigenvalues(part):
    expected, X = reference("kernlab_kpca_iris")[part], load_dataset("iris").X
    values = KernelPCA(10, remove_zero_eig=True, **KERNELS[part]).fit(X).eigenvalues_
    truth = np.array(expected["centred_kernel_eigenvalues_first10"])[: len(values)]
    np.testing.assert_allclose(values, truth, rtol=1e-9, atol=1e-11 * truth[0])


@pytest.mark.parametrize("part", KERNELS)
def test_kpca_iris_new_rows(part):
    expected, X = reference("kernlab_kpca_iris")[part], load_dataset("iris").X
    kpca = KernelPCA(2, **KERNELS[part]).fit(X[:120])
    Z = kpca.transform(X[120:])
    scores = np.array(expected["train120_test30_predict"]) / np.sqrt(120)
    np.testing.assert_allclose(Z, scores * np.sign(np.sum(scores * Z, axis=0)), atol=1e-9 * np.abs(Z).max())
