"""Distances compared with scipy and scikit-learn: metrics, sparse and incomplete rows, and invalid matrices."""

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import _VALID_METRICS, PAIRWISE_DISTANCE_FUNCTIONS, nan_euclidean_distances
from sklearn.utils import get_tags

import lowland
from lowland.arrays.namespace import to_numpy
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, ParameterError
from lowland.math.distances import metrics
from lowland.math.distances.kernel_functions import KernelWith
from lowland.math.distances.metrics import METRICS, check_metric, function_name
from lowland.math.distances.sparse_rows import csr, manhattan, squared_distances, unit
from lowland.math.distances.to_points import DistancesTo, check_distances, dissimilarities, distance_matrix
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.run import Run

NAMES = ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "minkowski", "cosine", "correlation", "hamming"]


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("metric", NAMES)
def test_scipy_agrees(metric, d, library, rng):
    xp = pytest.importorskip(library)
    A, B = rng.standard_normal((20, d)) + 2, rng.standard_normal((30, d)) + 2
    if metric == "hamming":
        A, B = np.round(A), np.round(B)
    params = {"p": 3} if metric == "minkowski" else {}
    found = DistancesTo(xp.asarray(B), metric, params)(xp.asarray(A))
    assert type(found) is type(xp.asarray(A))
    np.testing.assert_allclose(to_numpy(found), cdist(A, B, metric, **params), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("d", [3, 50])
def test_near_rows_far_from_the_origin_keep_their_digits(d, rng):
    A = rng.standard_normal((50, d)) * 10
    B = A + 1e-7 * rng.standard_normal((50, d))
    found = np.diagonal(DistancesTo(B)(A))
    np.testing.assert_allclose(found, np.linalg.norm(A - B, axis=1), rtol=1e-6)
    assert np.all(np.diagonal(DistancesTo(A)(A)) == 0)


def test_a_function_of_two_rows_and_other_names(rng):
    A = rng.standard_normal((5, 3))
    found = distance_matrix(A, Run(), lambda a, b, power: float(np.sum(np.abs(a - b) ** power)), {"power": 2})
    np.testing.assert_allclose(found, cdist(A, A, "sqeuclidean"), atol=1e-12)
    for name, theirs in (("l2", "euclidean"), ("l1", "cityblock"), ("manhattan", "cityblock")):
        np.testing.assert_allclose(METRICS[name].of(A, A), cdist(A, A, theirs), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matrices_are_symmetric_and_keep_their_precision(dtype, rng, monkeypatch):
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 10_000)
    X = rng.standard_normal((300, 20)).astype(dtype)
    D = distance_matrix(X, Run())
    assert D.dtype == dtype
    check_distances(D)
    np.testing.assert_allclose(D, cdist(X, X), rtol=1e-5 if dtype == np.float32 else 1e-10, atol=1e-6)


def matrix(i=None, j=None, value=None, mirror=None):
    D = cdist(np.arange(5.0)[:, None], np.arange(5.0)[:, None])
    if i is not None:
        D[i, j] = value
        D[j, i] = value if mirror is None else mirror
    return D


def test_invalid_distance_matrices_are_refused():
    check_distances(matrix())
    check_distances(matrix(1, 2, np.nan), missing=True)
    for D, words in (
        (np.zeros((3, 4)), r"3 x 4.*square"),
        (matrix(1, 2, -1.0), r"-1 in row 2, column 3.*negative"),
        (matrix(1, 2, np.inf), r"inf in row 2, column 3.*not connected"),
        (matrix(1, 2, np.nan), r"nan in row 2, column 3.*missing"),
        (matrix(1, 2, 1.0, 1.5), r"in row 2, column 3.*not symmetric"),
        (matrix(3, 3, 0.5), r"0\.5 in row 4, column 4.*diagonal"),
    ):
        with pytest.raises(DataError, match=words):
            check_distances(D)
    with pytest.raises(DataError, match="not symmetric"):
        check_distances(matrix(1, 2, np.nan, 1.0), missing=True)


def test_rounding_errors_are_corrected():
    rng = np.random.default_rng(0)
    D = matrix()
    noisy = D + 1e-14 * rng.standard_normal(D.shape)
    kept = noisy.copy()
    corrected = check_distances(noisy)
    np.testing.assert_allclose(corrected, D, atol=1e-12)
    assert np.array_equal(corrected, corrected.T)
    assert np.array_equal(noisy, kept)
    assert np.all(corrected >= 0)
    assert np.all(np.diagonal(corrected) == 0)
    assert check_distances(D) is D
    with pytest.raises(DataError, match=r"D \+ D.T"):
        check_distances(np.triu(D))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_a_row_of_zeros_is_at_distance_zero_from_itself(library, rng):
    xp = pytest.importorskip(library)
    X = np.vstack([rng.standard_normal((5, 3)), np.zeros((2, 3))])
    D = to_numpy(distance_matrix(xp.asarray(X), Run(), "cosine"))
    assert np.all(np.diagonal(D) == 0)
    assert D[5, 6] == 1
    largest = to_numpy(distance_matrix(xp.asarray(X), Run(), "minkowski", {"p": float("inf")}))
    np.testing.assert_allclose(largest, cdist(X, X, "chebyshev"))


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
@pytest.mark.parametrize(
    ("metric", "params"),
    [
        *((name, {}) for name in ("canberra", "braycurtis", "haversine", "seuclidean", "mahalanobis")),
        ("seuclidean", {"V": [1.0, 2.0]}),
        ("mahalanobis", {"VI": [[2.0, 1.0], [1.0, 3.0]]}),
        ("minkowski", {"p": 3, "w": [1.0, 2.0]}),
        ("minkowski", {"p": np.inf, "w": [0.0, 2.0]}),
    ],
    ids=str,
)
def test_scikit_learn_agrees_on_its_other_metrics(metric, params, library, rng):
    xp = pytest.importorskip(library)
    X = rng.uniform(0, 1, (30, 2))
    found = distance_matrix(xp.asarray(X), Run(), metric, params)
    assert type(found) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(found), pairwise_distances(X, metric=metric, **params), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["jaccard", "dice", "rogerstanimoto", "russellrao", "sokalsneath", "yule"])
def test_scikit_learn_agrees_on_boolean_metrics(metric, rng):
    X = rng.integers(0, 2, (30, 6)) * 2.5
    X = X[X.any(axis=1)]
    found = distance_matrix(X, Run(), metric)
    theirs = pairwise_distances(X != 0, metric=metric)
    np.fill_diagonal(theirs, 0)  # theirs of russellrao is not
    np.testing.assert_allclose(found, theirs, atol=1e-12)


@pytest.mark.parametrize("metric", ["braycurtis", "canberra", "dice", "jaccard", "sokalsneath"])
def test_two_rows_of_zeros_are_at_distance_zero(metric):
    X = np.vstack([np.zeros((2, 3)), np.ones((1, 3))])
    np.testing.assert_allclose(distance_matrix(X, Run(), metric)[0], [0, 0, 3 if metric == "canberra" else 1])


def test_undefined_metric_values_are_refused():
    X = np.vstack([np.eye(2), -np.eye(2)])
    for metric, params, words in (
        ("braycurtis", {}, "divides by zero"),
        ("seuclidean", {}, "column 1"),
        ("mahalanobis", {}, "pinv"),
        ("haversine", {}, "two columns"),
    ):
        table = np.column_stack([X, X[:, :1]]) if metric == "haversine" else X.copy()
        if metric in ("seuclidean", "mahalanobis"):
            table[:, 1] = 3.0
        with pytest.raises(DataError, match=words):
            distance_matrix(table, Run(), metric, params)
    for metric, params, words in (
        ("seuclidean", {"V": [1.0]}, "V has shape"),
        ("mahalanobis", {"VI": np.eye(3)}, "VI has shape"),
        ("mahalanobis", {"VI": -np.eye(2)}, "negative eigenvalues"),
    ):
        with pytest.raises(ParameterError, match=words):
            distance_matrix(X, Run(), metric, params)


def test_every_metric_of_scikit_learn_is_supported_or_listed_as_unsupported():
    """Not supported: names that scipy has removed, and scikit-learn at last as well."""
    theirs = set(PAIRWISE_DISTANCE_FUNCTIONS) | set(_VALID_METRICS)
    assert theirs - set(metrics.METRICS) - {"sokalmichener"} == {"precomputed", "wminkowski", "matching"}


# --- dissimilarities --------------------------------------------------------------------------------------------------


def found(X, metric="euclidean", **options):
    options = {"owner": "MDS", "missing": False, **options}
    return dissimilarities(ArrayRows(X), Run(), metric, None, **options)


def test_a_given_matrix_is_checked(rng):
    D = cdist(*[rng.standard_normal((4, 2))] * 2)
    assert found(D, "precomputed").X is None
    with pytest.raises(DataError, match="square"):
        found(D[:3], "precomputed")
    D[0, 1] = D[1, 0] = np.nan
    with pytest.raises(DataError, match=r"row 1, column 2, which is missing"):
        found(D, "precomputed")
    assert np.isnan(found(D, "precomputed", missing=True).D[0, 1])


def test_values_whose_squares_overflow_are_rescaled(rng):
    X = rng.standard_normal((5, 2)) * 1e200
    data = found(X)
    assert 0.1 < data.D.max() < 10
    np.testing.assert_allclose(data.D * data.unit, data.matrix)
    Z = rng.standard_normal((5, 2))
    np.testing.assert_array_equal(data.in_unit(data.in_unit_of_distances(Z * data.unit)), Z * data.unit)


def test_a_row_of_zeros_has_cosine_distance_one():
    A = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0], [5.0, 0.0]])
    np.testing.assert_allclose(METRICS["cosine"].of(A, A)[1:, 1:], [[0, 1, 0], [1, 0, 1], [0, 1, 0]], atol=1e-15)
    np.testing.assert_array_equal(METRICS["cosine"].of(A, A)[0], 1)


def test_invalid_metric_arguments_are_refused():
    check_metric("minkowski", {"p": 3})
    check_metric("precomputed", None)
    for metric, params, words in (
        ("euclid", None, "no metric 'euclid'.*'euclidean'"),
        ("euclidean", {"p": 3}, "takes no arguments, not 'p'"),
        ("minkowski", {"q": 3}, "takes p and w, not 'q'"),
        ("gower", {"weigths": [1]}, "takes categorical, ordered and weights, not 'weigths'.*mean 'weights'"),
        ("minkowski", {"p": 0}, "must be a number above 0"),
    ):
        with pytest.raises(ParameterError, match=words):
            check_metric(metric, params)


def test_the_arguments_of_metric_functions_are_checked():
    def distance(a, b, power=1):
        return abs(a - b).sum() ** power

    check_metric(distance, {"power": 2})
    with pytest.raises(ParameterError, match="'distance' cannot be called with two rows"):
        check_metric(distance, {"strength": 2})
    assert function_name(distance) == "'distance'"


@pytest.mark.parametrize(("name", "remedy"), [("matching", "'hamming'"), ("sokalmichener", "'rogerstanimoto'")])
def test_names_of_other_libraries_have_a_remedy(name, remedy):
    with pytest.raises(ParameterError, match=remedy) as error:
        check_metric(name, {})
    assert "pairwise_distances" not in str(error.value)


@pytest.mark.parametrize("sparse", [False, True])
def test_angular_and_hellinger_are_euclidean_distances_of_scaled_rows(sparse):
    X = np.abs(rows())
    X[3] = 0
    given = scipy.sparse.csr_array(X) if sparse else X
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    root = np.sqrt(X / np.maximum(X.sum(axis=1, keepdims=True), 1e-300))
    for name, points, scale in (("angular", unit, 1.0), ("hellinger", root, 0.5**0.5)):
        D = DistancesTo.of(given, name, {})(given)
        others = np.arange(len(X)) != 3
        np.testing.assert_allclose(D[others][:, others], scale * cdist(points, points)[others][:, others], atol=1e-7)
        assert np.allclose(D[3, others], 2**0.5 if name == "angular" else 1.0)
        found = nearest_neighbors(given, 5, metric=name).table()[1]
        np.testing.assert_allclose(found[others], np.sort(D, axis=1)[others, 1:6], atol=1e-7)


def test_a_metric_may_return_its_gradient_too():
    def with_gradient(a, b):
        return float(np.abs(a - b).sum()), np.sign(a - b)

    X = rows()
    np.testing.assert_allclose(DistancesTo.of(X, with_gradient, {})(X), cdist(X, X, "cityblock"))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("value", ["x", None, [1.0, 2.0]])
def test_a_function_that_returns_no_number_is_named(value, sparse):
    def mine(a, b):
        return value

    X = np.arange(12.0).reshape(4, 3)
    with pytest.raises(DataError, match=r"'mine' returned .*must return a finite number") as error:
        DistancesTo.of(X, mine, {})(scipy.sparse.csr_array(X) if sparse else X)
    assert repr(value) in str(error.value)


def rows(n=40, d=30, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, d)) < 0.2, rng.standard_normal((n, d)), 0.0)


def test_distances_of_sparse_rows():
    A, B = rows(), rows(25, seed=1)
    B[:5], B[7] = A[:5], 0.0
    np.testing.assert_allclose(squared_distances(csr(A), csr(B)), cdist(A, B, "sqeuclidean"), atol=1e-12)
    np.testing.assert_allclose(manhattan(csr(A), csr(B)), cdist(A, B, "cityblock"), atol=1e-12)


def test_distances_of_near_sparse_rows_far_from_the_origin_are_accurate():
    A = rows() * 1e6
    B = A + 0.1 * rows()  # where A has zeros, so has B
    S = squared_distances(csr(A), csr(B))
    np.testing.assert_allclose(np.diag(S), np.sum((A - B) ** 2, axis=1), rtol=1e-8, atol=1e-12)
    K = KernelWith(csr(A), "rbf", 10.0)(csr(B))
    np.testing.assert_allclose(np.diag(K), np.exp(-10 * np.sum((A - B) ** 2, axis=1)), rtol=1e-6)


def test_rows_of_unit_length():
    A = rows()
    A[3] = 0.0
    A[4] *= 1e200  # its square overflows
    lengths = np.sqrt(np.sum(unit(csr(A)).toarray() ** 2, axis=1))
    np.testing.assert_allclose(lengths, np.any(A != 0, axis=1).astype(float))


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_infinite_values_in_sparse_rows_are_detected(kernel):
    A = rows()
    A[3, 2] = -np.inf
    assert np.isnan(KernelWith(csr(rows()), kernel)(scipy.sparse.csr_array(A))).any()


SCALED = ["Isomap", "MDS", "ClassicalMDS", "SammonMapping", "DiffusionMap"]


def holes(n=90, d=12, fraction=0.15, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).cumsum(axis=1)
    X[rng.random(X.shape) < fraction] = np.nan
    return X


def test_nan_euclidean_is_that_of_scikit_learn():
    X, Y = holes(), holes(20, seed=1)
    X[5] = X[3]
    of = METRICS["nan_euclidean"].of
    np.testing.assert_allclose(of(X, Y), nan_euclidean_distances(X, Y), atol=1e-9)
    np.testing.assert_allclose(of(X + 1e6, Y + 1e6), of(X, Y), atol=1e-8)  # scikit-learn's loses three digits here
    D = distance_matrix(X, Run(), "nan_euclidean")
    assert D[3, 5] == 0
    full = np.nan_to_num(X)
    euclidean = distance_matrix(full, Run(), "euclidean")
    np.testing.assert_allclose(distance_matrix(full, Run(), "nan_euclidean"), euclidean, atol=1e-6)


def test_rows_that_share_no_column_have_no_distance():
    X = np.array([[1.0, np.nan], [np.nan, 1.0], [2.0, 2.0]])
    D = METRICS["nan_euclidean"].of(X, X)
    assert np.isnan(D[0, 1])
    assert D[0, 2] == pytest.approx(np.sqrt(2))
    graph = nearest_neighbors(X, 1, metric="nan_euclidean")
    assert graph.to.tolist()[:2] == [2, 2]
    with pytest.raises(DataError, match="both have a value"):
        lowland.ClassicalMDS(metric="nan_euclidean", n_components=1).fit(X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SCALED)
def test_methods_embed_incomplete_rows_as_their_distances(name):
    X = holes()
    D = nan_euclidean_distances(X)
    make = getattr(lowland, name)
    by_rows, by_distances = (
        make(n_components=2, metric="nan_euclidean").fit(X),
        make(n_components=2, metric="precomputed").fit(D),
    )
    np.testing.assert_allclose(np.abs(by_rows.embedding_), np.abs(by_distances.embedding_), atol=1e-6)
    assert np.isfinite(by_rows.transform(holes(10, seed=2))).all()
    np.testing.assert_allclose(by_rows.transform(X[:4]), by_rows.embedding_[:4], atol=0.1)
    assert get_tags(by_rows).input_tags.allow_nan


def test_a_diffusion_map_of_neighbors_maps_incomplete_rows(tmp_path):
    X = holes(150)
    model = lowland.DiffusionMap(2, n_neighbors=20, metric="nan_euclidean").fit(X)
    lowland.save(model, tmp_path / "m.lowland")
    np.testing.assert_allclose(lowland.load(tmp_path / "m.lowland").transform(X[:5]), model.embedding_[:5], atol=1e-6)


# --- Gower ---


def by_definition(X, ranges, kinds, w):
    """Gower 1971, with the ranks of ordered columns in place of their values."""
    D = np.empty((len(X), len(X)))
    for i, a in enumerate(X):
        for j, b in enumerate(X):
            total = weight = 0.0
            for c, kind in enumerate(kinds):
                if np.isnan(a[c]) or np.isnan(b[c]):
                    continue
                apart = float(a[c] != b[c]) if kind == "categorical" else abs(a[c] - b[c]) / ranges[c]
                total, weight = total + w[c] * apart, weight + w[c]
            D[i, j] = total / weight if weight else np.nan
    return D


def test_gower_is_its_definition():
    rng = np.random.default_rng(0)
    X = np.column_stack([
        rng.standard_normal(40) * 5, rng.integers(0, 3, 40), rng.integers(0, 4, 40), rng.uniform(1, 2, 40),
    ])  # fmt: skip
    X[rng.random(X.shape) < 0.1] = np.nan
    w = np.array([1.0, 2.0, 1.0, 0.5])
    params = {"categorical": [1], "ordered": [2], "weights": w}
    stretched = X.copy()
    stretched[:, 2] = np.array([0, 1, 10, 11, np.nan])[np.nan_to_num(X[:, 2], nan=4).astype(int)]  # the same order
    ranges = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    expected = by_definition(X, ranges, ["numeric", "categorical", "ordered", "numeric"], w)
    for table in (X, stretched):
        np.testing.assert_allclose(DistancesTo.of(table, "gower", params)(table), expected, atol=1e-12)
    Z = lowland.ClassicalMDS(2, metric="gower", metric_params=params).fit_transform(X)
    assert Z.shape == (40, 2)
    new = DistancesTo.of(X, "gower", params)(np.array([[1e9, 7.0, 9.0, np.nan]]))
    assert np.nanmax(new) <= 1  # beyond the range of the training rows, a difference counts as 1


def test_gower_refuses_wrong_columns():
    X = np.ones((3, 2))
    for params in ({"categorical": [5]}, {"weights": [1.0]}, {"categorical": [1], "ordered": [1]}):
        with pytest.raises(ParameterError, match="gower"):
            DistancesTo.of(X, "gower", params)


def test_hellinger_refuses_a_single_negative_value():
    X = np.random.default_rng(0).random((6, 4))
    X[3, 2] = -0.1
    with pytest.raises(DataError, match=r"hellinger.*negative"):
        DistancesTo(X, "hellinger")(np.abs(X))


def test_a_metric_that_returns_a_negative_number_is_shown_its_two_rows():
    def of(a, b):
        return -1.0 if {a[0], b[0]} == {2.0, 3.0} else abs(a[0] - b[0])

    rows = np.array([[1.0], [2.0], [3.0]])
    with pytest.raises(DataError, match=r"returned -1\.0 for the rows \[2\] and \[3\]"):
        DistancesTo(rows, of)(rows)
    with pytest.raises(DataError, match=r"for the rows \[1, 2, 3, 4\] and"):  # four values are all shown, more are not
        DistancesTo(np.array([[1.0, 2.0, 3.0, 4.0]]), lambda a, b: np.nan)(np.array([[1.0, 2.0, 3.0, 4.0]]))


def test_a_covariance_of_three_very_different_scales_is_singular(rng):
    X = rng.standard_normal((100, 3)) * [1.0, 1e-6, 1e-9]  # eigenvalues 1, 1e-12, 1e-18: the last is rounding error
    with pytest.raises(DataError, match="singular"):
        metrics._of_mahalanobis(X)
    assert metrics._of_mahalanobis(X[:, :2])["root"].shape == (2, 2)
