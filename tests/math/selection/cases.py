"""Shared by the tests of subset selection: rows with a target, scores of a model, and scores from a function."""

import numpy as np

from lowland.math.selection.model_scores import scores_for
from lowland.math.selection.subset_scores import Tally


class Table:
    """Scores given by any function of the subset."""

    tie = 0.0

    def __init__(self, d, of):
        self.d, self.of = d, of

    def with_each(self, S, J):
        return np.array([self.of(frozenset((*S, int(j)))) for j in J])

    def without_each(self, S):
        return np.array([self.of(frozenset(S) - {j}) for j in S])

    def many(self, subsets):
        return np.array([self.of(frozenset(S)) for S in np.asarray(subsets).tolist()])


def rows(n=60, d=7, seed=0, classes=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.5 * rng.standard_normal((d, d))) + 5
    if classes is None:
        return X, X @ rng.standard_normal(d) + 2 * rng.standard_normal(n)
    y = rng.integers(0, classes, n)
    return X + 0.7 * rng.standard_normal((classes, d))[y], y


def by(model, X, y, closed=True, scoring=None, cv=4):
    return scores_for(model, X, y, scoring=scoring, cv=cv, n_jobs=None, closed=closed, tally=Tally(), for_numbers="")[0]


def lasso_table(n=60, d=8, seed=0, shared=0.5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + shared * rng.standard_normal((n, 1))
    return X, X[:, :3] @ [2.0, -1.0, 0.5] + rng.standard_normal(n)
