"""NIPALS: on complete rows the principal components; on incomplete ones, scores of rows are regressions."""

import numpy as np

from lowland.data.open import open_rows
from lowland.math.missing.nipals import DeflatedRows, nipals
from lowland.math.statistics.available import AvailableColumns
from lowland.run.local import LocalRun


def test_complete_rows_give_the_principal_components():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5)) * [5, 3, 2, 1, 0.5] @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    found = nipals(open_rows(X), LocalRun(), 3, AvailableColumns.of(X), np.ones(5), tol=1e-12)
    C = X - X.mean(axis=0)
    _, s, Vt = np.linalg.svd(C, full_matrices=False)
    np.testing.assert_allclose(np.abs(found.axes @ Vt[:3].T), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(found.squares, s[:3] ** 2, rtol=1e-9)
    np.testing.assert_allclose(found.left[3], np.sum(s[3:] ** 2), rtol=1e-9)


def test_the_score_of_a_row_is_its_regression_on_the_axis():
    axis, mean = np.array([[0.6, 0.8, 0.0]]), np.array([1.0, 2.0, 3.0])
    rows = np.array([[1.6, np.nan, 3.0], [np.nan, np.nan, 5.0], [1.6, 2.8, 3.0]])
    Z = DeflatedRows(axis, mean, np.ones(3))(rows)
    np.testing.assert_allclose(Z[:, 0], [1.0, 0.0, 1.0])  # no information about the axis: 0
    np.testing.assert_allclose(DeflatedRows(axis, mean, np.ones(3)).completed(rows)[0], [1.6, 2.8, 3.0])
