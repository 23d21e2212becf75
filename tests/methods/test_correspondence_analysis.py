"""Correspondence analysis: inertias of published tables, transition formulas, decompositions, supplementary points."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lowland import CorrespondenceAnalysis, config
from lowland.errors import DataError, DataWarning

SMOKING = np.array([[4, 2, 3, 2], [4, 3, 7, 4], [25, 10, 12, 4], [18, 24, 33, 13], [10, 6, 7, 2]])  # Greenacre 1984
CAITHNESS = np.array(  # Fisher 1940: eye color (rows) and hair color of 5387 children
    [[326, 38, 241, 110, 3], [688, 116, 584, 188, 4], [343, 84, 909, 412, 26], [98, 48, 403, 681, 85]]
)
HAIR_EYE = np.array([[68, 20, 15, 5], [119, 84, 54, 29], [26, 17, 14, 14], [7, 94, 10, 16]])  # R: HairEyeColor, summed
PUBLISHED = {  # principal inertias to four digits
    "smoking": (SMOKING, [0.0748, 0.0100, 0.0004]),
    "caithness": (CAITHNESS, [0.1992, 0.0301, 0.0009]),
    "hair and eyes": (HAIR_EYE, [0.2088, 0.0222, 0.0026]),
}
TABLES = arrays(np.int64, st.tuples(st.integers(3, 8), st.integers(3, 6)), elements=st.integers(1, 60))


def residuals(N):
    """The standardized residuals of the textbook."""
    P = N / N.sum()
    expected = np.outer(P.sum(axis=1), P.sum(axis=0))
    return (P - expected) / np.sqrt(expected)


@pytest.mark.parametrize("name", PUBLISHED)
def test_inertias_of_published_tables(name):
    N, inertias = PUBLISHED[name]
    np.testing.assert_allclose(CorrespondenceAnalysis(3).fit(N).eigenvalues_, inertias, atol=5e-5)


@settings(max_examples=40, deadline=None)
@given(N=TABLES)
def test_the_textbook(N):
    S = residuals(N)
    ca = CorrespondenceAnalysis(None).fit(N)
    singular = np.linalg.svd(S, compute_uv=False)[: min(N.shape) - 1]
    np.testing.assert_allclose(np.sqrt(ca.eigenvalues_), singular, atol=1e-7)
    expected = np.outer(N.sum(axis=1), N.sum(axis=0)) / N.sum()
    chi2 = ((N - expected) ** 2 / expected).sum()
    assert ca.total_inertia_ == pytest.approx(chi2 / N.sum(), abs=1e-12)
    assert ca.eigenvalues_.sum() == pytest.approx(ca.total_inertia_, abs=1e-12)
    rows, columns = ca.row_points(N), ca.column_points_
    real = ca.eigenvalues_ > 1e-8
    for points, profiles, other in ((rows, N.T / N.sum(axis=1), columns), (columns, N / N.sum(axis=0), rows)):
        np.testing.assert_allclose(points.masses.sum(), 1)
        np.testing.assert_allclose(points.contributions.sum(axis=0)[real], 1)
        np.testing.assert_allclose(points.inertias.sum(), ca.total_inertia_, atol=1e-12)
        far = points.inertias / points.masses > 1e-8
        np.testing.assert_allclose(points.cos2.sum(axis=1)[far], 1, atol=1e-5)
        # transition formula: a point is the mean of the other side's standard coordinates, weighted by its profile
        np.testing.assert_allclose(
            points.coordinates[:, real], (profiles.T @ other.standard_coordinates)[:, real], atol=1e-7
        )
        np.testing.assert_allclose(points.masses @ points.coordinates, 0, atol=1e-9)


def test_rows_of_equal_profile_can_be_merged():
    """Distributional equivalence: merging rows of equal profile changes nothing."""
    split = np.concatenate([SMOKING[:4], SMOKING[4:] * 0.25, SMOKING[4:] * 0.75])
    one, other = CorrespondenceAnalysis(3).fit(SMOKING), CorrespondenceAnalysis(3).fit(split)
    np.testing.assert_allclose(other.eigenvalues_, one.eigenvalues_, atol=1e-14)
    np.testing.assert_allclose(other.column_points_.coordinates, one.column_points_.coordinates, atol=1e-12)


def test_supplementary_points():
    ca = CorrespondenceAnalysis(2).fit(SMOKING)
    mean = SMOKING.sum(axis=0, keepdims=True)
    np.testing.assert_allclose(ca.transform(mean), 0, atol=1e-14)  # the average profile is the origin
    np.testing.assert_allclose(ca.transform([[1, 0, 0, 0]])[0], ca.column_points_.standard_coordinates[0])
    again = ca.supplementary_columns(SMOKING, SMOKING)
    for what in ("coordinates", "cos2", "masses", "contributions", "inertias"):
        np.testing.assert_allclose(getattr(again, what), getattr(ca.column_points_, what), atol=1e-12)
    drinks = np.array([[0, 11], [1, 17], [5, 46], [10, 78], [7, 18]])  # Greenacre's supplementary columns
    sup = ca.supplementary_columns(SMOKING, drinks)
    profiles = drinks / drinks.sum(axis=0)
    np.testing.assert_allclose(sup.coordinates, profiles.T @ ca.row_points(SMOKING).standard_coordinates)
    assert np.all(sup.cos2.sum(axis=1) <= 1 + 1e-12)
    with pytest.raises(DataError, match="columns has 4 rows"):
        ca.supplementary_columns(SMOKING, drinks[:4])
    with pytest.raises(DataError, match="negative"):
        ca.supplementary_columns(SMOKING, -drinks)


def test_names_of_columns():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(SMOKING, columns=["none", "light", "medium", "heavy"])
    assert CorrespondenceAnalysis().fit(frame).column_points_.names.tolist() == ["none", "light", "medium", "heavy"]
    assert CorrespondenceAnalysis().fit(SMOKING).column_points_.names is None


def test_a_row_and_a_column_of_zeros_change_nothing():
    padded = np.zeros((6, 5))
    padded[:5, :4] = SMOKING
    with pytest.warns(DataWarning, match=r"1 (row|column) contains only zeros in X") as caught:
        ca = CorrespondenceAnalysis(3).fit(padded)
    assert len(caught) == 2
    plain = CorrespondenceAnalysis(3).fit(SMOKING)
    np.testing.assert_allclose(ca.eigenvalues_, plain.eigenvalues_, atol=1e-14)
    np.testing.assert_allclose(ca.transform(padded)[:5], plain.transform(SMOKING), atol=1e-12)
    assert not ca.transform(padded)[5].any()
    assert not ca.column_points_.coordinates[4].any()
    assert not ca.row_points(padded).cos2[5].any()


@pytest.mark.parametrize("N", [SMOKING - 3, np.zeros((4, 3))])
def test_tables_that_are_no_counts(N):
    with pytest.raises(DataError, match=r"Negative values|zero"):
        CorrespondenceAnalysis().fit(N)


def test_independence_has_no_inertia():
    ca = CorrespondenceAnalysis(None).fit(np.outer([1, 2, 3], [4, 5, 6, 7]))
    assert ca.total_inertia_ == pytest.approx(0, abs=1e-15)
    assert not ca.transform([[1, 9, 1, 1]]).any()


def test_sparse_rows_lie_at_the_origin_where_rows_and_columns_are_independent():
    X = scipy.sparse.csr_array(np.full((30, 3), 127.0))
    np.testing.assert_allclose(CorrespondenceAnalysis().fit_transform(X), 0, atol=1e-12)


def test_a_wide_sparse_table(monkeypatch):
    """Iterative solver on sparse rows and row facts agree with the dense table."""
    N = scipy.sparse.random_array((300, 80), density=0.1, random_state=np.random.default_rng(0), format="csr")
    N.data = np.ceil(N.data * 9)
    N.indices, N.indptr = N.indices.astype(np.int32), N.indptr.astype(np.int32)  # older versions of scipy: int64
    dense = N.toarray()
    keep = dense.sum(axis=1) > 0
    N, dense = N[keep], dense[keep]
    expected = CorrespondenceAnalysis(3).fit(dense)
    monkeypatch.setattr("lowland.math.spectra.principal_axes._WIDE", 10)
    ca = CorrespondenceAnalysis(3).fit(N)
    np.testing.assert_allclose(ca.eigenvalues_, expected.eigenvalues_, rtol=1e-8)
    ours, theirs = ca.row_points(N), expected.row_points(dense)
    np.testing.assert_allclose(ours.cos2, theirs.cos2, atol=1e-6)
    with config(memory="140kB"):  # less than the 80 x 80 matrix needs: matrix-free
        free = CorrespondenceAnalysis(2).fit(N)
    assert free.solver_.name == "randomized"
    np.testing.assert_allclose(free.eigenvalues_, expected.eigenvalues_[:2], rtol=1e-6)
