"""Truncated SVD."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import TruncatedSVD as TheirSVD

import lowland
from lowland import TruncatedSVD
from lowland.data import load_dataset


@pytest.mark.parametrize("algorithm", ["arpack", "randomized"])
@pytest.mark.parametrize("budget", ["1GB", "300kB"])
def test_results_agree_with_scikit_learn(algorithm, budget):
    X = scipy.sparse.random_array((500, 120), density=0.05, random_state=np.random.default_rng(0), format="csr")
    with lowland.config(memory=budget):  # the small budget makes it matrix-free
        ours = TruncatedSVD(4, algorithm=algorithm, random_state=0).fit(X)
    theirs = TheirSVD(4, algorithm="arpack").fit(X)
    np.testing.assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-3)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-4)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-4)


def test_best_approximation_of_its_rank():
    """Eckart and Young: the squared error of rank k is the sum of the squares of the other singular values."""
    X = load_dataset("iris").X
    s = np.linalg.svd(X, compute_uv=False)
    svd = TruncatedSVD(2).fit(X)
    error = np.sum((X - svd.inverse_transform(svd.transform(X))) ** 2)
    assert error == pytest.approx(np.sum(s[2:] ** 2))


def test_far_from_the_origin_the_second_direction_keeps_its_digits():
    X = np.random.default_rng(0).standard_normal((200, 5)) * [5, 4, 3, 2, 1] + 1e6
    s = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(TruncatedSVD(4).fit(X).singular_values_, s[:4], rtol=1e-6)


def test_latent_semantic_analysis_groups_topics():
    """Latent semantic analysis: words of one topic are close to each other."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = ["river water bank", "water flows river", "money bank loan", "loan interest money", "river flood water"] * 5
    X = TfidfVectorizer().fit_transform(texts)
    Z = TruncatedSVD(2, random_state=0).fit_transform(X)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    assert Z[0] @ Z[4] > 0.9
    assert Z[1] @ Z[3] < 0.5
