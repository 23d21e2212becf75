"""Products of sparse rows against dense ones."""

import numpy as np
import scipy.sparse

from lowland.kernels.csr import add_gram


def test_the_weighted_gram_matrix_is_added_to_the_lower_triangle():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random_array((15, 6), density=0.4, format="csr", rng=rng)
    X.sort_indices()
    weights, G = rng.random(15), np.ones((6, 6))
    add_gram(X.data, X.indices, X.indptr, weights, G)
    dense = X.toarray()
    np.testing.assert_allclose(np.tril(G - 1), np.tril(dense.T @ (weights[:, None] * dense)), atol=1e-12)
    assert (np.triu(G, 1)[np.triu_indices(6, 1)] == 1).all()
