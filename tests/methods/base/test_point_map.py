"""Common properties of the methods that embed distances."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland import MDS, ClassicalMDS, DiffusionMap, Isomap, SammonMapping
from lowland.arrays.namespace import to_numpy
from lowland.errors import DataError, DataWarning, ParameterError

SCALINGS = {
    "ClassicalMDS": ClassicalMDS,
    "MDS": MDS,
    "non-metric": lambda *args, **options: MDS(*args, metric_mds=False, **options),
    "SammonMapping": SammonMapping,
}
each = pytest.mark.parametrize("name", SCALINGS)


def rows(n=40, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d)) * np.linspace(3, 1, d) + 1


# --- the caller's array ---


@each
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_later_changes_of_the_rows_do_not_affect_the_model(name, metric, library):
    xp = pytest.importorskip(library)
    X, new = xp.asarray(rows()), xp.asarray(rows(5, seed=1))
    model = SCALINGS[name](metric=metric).fit(X)
    placed = to_numpy(model.transform(new)).copy()
    D = to_numpy(model.dissimilarity_matrix_).copy()
    X[...] = 0
    np.testing.assert_array_equal(to_numpy(model.transform(new)), placed)
    np.testing.assert_array_equal(to_numpy(model.dissimilarity_matrix_), D)


# --- distances of new points ---


@each
def test_distances_of_new_points_are_checked(name):
    X, new = rows(), rows(4, seed=1)
    D = cdist(new, X)
    model = SCALINGS[name](metric="precomputed").fit(cdist(X, X))
    placed = model.transform(D)
    for value, words in ((-1.0, r"3.*-1.*negative"), (np.inf, r"3.*inf.*infinite")):
        wrong = D.copy()
        wrong[2, 3] = value
        with pytest.raises(DataError, match=words):
            model.transform(wrong)
    wrong[2, 3] = np.nan
    if name in ("MDS", "non-metric"):
        assert np.abs(model.transform(wrong) - placed).max() < 0.5
        wrong[2] = np.nan
        with pytest.raises(DataError, match="No distance of a new point"):
            model.transform(wrong)
    else:
        with pytest.raises(DataError, match=r"3.*nan.*missing"):
            model.transform(wrong)
    with pytest.raises(DataError, match=r"distances of the new rows to these 40 training rows: an \(m, 40\) array"):
        model.transform(D[:, :9])
    D[1, 5] = 0.0
    rounded = D.copy()
    rounded[1, 5] = -1e-16
    np.testing.assert_array_equal(model.transform(rounded), model.transform(D))


def test_of_landmarks_only_their_distances_are_read():
    D = cdist(rows(), rows())
    model = ClassicalMDS(metric="precomputed", n_landmarks=10, random_state=0).fit(D)
    point = int(model.landmarks_[4])
    for column, wrong in ((point, True), (point + 1, False)):
        broken = D.copy()
        broken[7, column] = -2.0
        assert (point + 1 not in model.landmarks_) or wrong
        if wrong:
            with pytest.raises(DataError, match=rf"{point}\b.*-2"):
                model.transform(broken)
        else:
            np.testing.assert_array_equal(model.transform(broken), model.embedding_)


# --- units ---


@pytest.mark.filterwarnings("ignore:.*squared distances are beyond the range")  # of a stress, not of coordinates
@each
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float32", 2.0**80), ("float64", 2.0**600), ("float64", 2.0**-600)],
)
def test_the_unit_of_given_distances_does_not_matter(name, dtype, scale):
    """As that of rows, which a contract checks."""
    X, new = rows(), rows(4, seed=1)
    D, asked = (cdist(Y, X).astype(dtype) for Y in (X, new))
    plain, other = (SCALINGS[name](metric="precomputed").fit(D * D.dtype.type(c)) for c in (1.0, scale))
    factor, Z = 1.0 if name == "non-metric" else scale, plain.embedding_
    near = {"atol": (1e-3 if dtype == "float32" else 1e-7) * np.abs(Z).max()}
    assert other.embedding_.dtype == dtype
    np.testing.assert_allclose(other.embedding_.astype(float) / factor, Z, **near)
    placed = other.transform(asked * D.dtype.type(scale)).astype(float)
    np.testing.assert_allclose(placed / factor, plain.transform(asked), **near)
    np.testing.assert_allclose(
        other.dissimilarity_matrix_.astype(float) / scale, plain.dissimilarity_matrix_, rtol=1e-6
    )


@pytest.mark.filterwarnings("ignore:.*squared distances are beyond the range")  # of a stress, not of coordinates
@pytest.mark.parametrize("scale", [1e-180, 1e180])
def test_the_unit_of_files_and_chunks_does_not_matter(scale, tmp_path):
    X = rows()
    np.save(tmp_path / "x.npy", X * scale)
    Z = ClassicalMDS().fit_transform(X)
    for source in (tmp_path / "x.npy", [X[:15] * scale, X[15:] * scale]):
        np.testing.assert_allclose(ClassicalMDS().fit(source).embedding_ / scale, Z, atol=1e-9)
    landmarks = {"metric": "manhattan", "n_landmarks": 20, "add_constant": True, "random_state": 0}
    plain, other = ClassicalMDS(**landmarks).fit(X), ClassicalMDS(**landmarks).fit(tmp_path / "x.npy")
    np.testing.assert_allclose(other.embedding_ / scale, plain.embedding_, atol=1e-9)
    assert other.additive_constant_ / scale == pytest.approx(plain.additive_constant_)
    lowland.save(other, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland").transform(X * scale)
    np.testing.assert_allclose(again / scale, plain.embedding_, atol=1e-9)


def test_large_computed_matrices_in_extreme_units_stay_float64(monkeypatch):
    monkeypatch.setattr("lowland.math.distances.to_points.SINGLE_ABOVE", 20)
    plain, other = MDS().fit(rows()), MDS().fit(rows() * 2.0**200)
    assert plain.dissimilarity_matrix_.dtype == np.float32
    assert other.dissimilarity_matrix_.dtype == np.float64
    np.testing.assert_allclose(other.embedding_ / 2.0**200, plain.embedding_, atol=1e-4)


# --- coincident points, and matrices passed as rows ---


@each
@pytest.mark.parametrize("given", [False, True])
def test_points_that_coincide_are_reported_and_lie_at_zero(name, given):
    X = np.zeros((5, 5)) if given else np.full((5, 3), 0.1)
    with pytest.warns(DataWarning, match="coincide"):
        model = SCALINGS[name](2, **({"metric": "precomputed"} if given else {})).fit(X)
    assert model.embedding_.shape == (5, 2)
    assert (model.embedding_ == 0).all()
    assert np.isfinite(model.transform(X + 1)).all()


@pytest.mark.parametrize("name", ["ClassicalMDS", "MDS", "SammonMapping"])
def test_distances_passed_as_rows_give_a_warning(name):
    with pytest.warns(DataWarning, match=f"{name}: X looks like a distance matrix"):
        SCALINGS[name]().fit(cdist(rows(20), rows(20)))


# --- metrics ---


@each
def test_arguments_that_a_metric_does_not_take(name):
    def crow(a, b, power=2):
        return float(np.abs(a - b).sum() ** (1 / power))

    for options, words in (
        ({"metric": "euclidean", "metric_params": {"p": 3}}, "'euclidean' takes no arguments, not 'p'"),
        ({"metric": "minkowski", "metric_params": {"q": 3}}, "'minkowski' takes p and w, not 'q'"),
        ({"metric": "minkowski", "metric_params": {"p": -1}}, "above 0"),
        ({"metric": "precomputed", "metric_params": {"p": 3}}, "'precomputed' takes no arguments"),
        ({"metric": crow, "metric_params": {"speed": 3}}, "'crow' cannot be called.*speed"),
    ):
        with pytest.raises(ParameterError, match=words):
            SCALINGS[name](**options).fit(rows())
    SCALINGS[name](metric=crow, metric_params={"power": 1}).fit(rows(10))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis", "canberra", "braycurtis"])
def test_new_rows_have_the_distances_of_the_fit_also_by_metrics_estimated_from_the_rows(metric):
    X = np.abs(rows())
    model = ClassicalMDS(metric=metric).fit(X)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-10)
    assert np.ptp(model.embedding_) > 0


@each
def test_a_function_that_returns_nan_is_reported(name):
    def crow(a, b):
        return float("nan") if a[0] > 2 > b[0] else float(np.abs(a - b).sum())

    with pytest.raises(DataError, match="metric 'crow' returned nan for the rows"):
        SCALINGS[name](metric=crow).fit(rows())


@each
@pytest.mark.parametrize("metric", ["hamming", "canberra", lambda a, b: float(a[0] != b[0])])
def test_new_rows_with_nan_are_refused_by_every_metric(name, metric):
    X = np.round(rows())
    model = SCALINGS[name](1, metric=metric).fit(X)
    new = X[:3].copy()
    new[1, 2] = np.nan
    with pytest.raises(DataError, match=r"NaN \(1 value\) in column 2"):
        model.transform(new)


@each
def test_a_frame_whose_rows_are_in_another_order_than_its_columns_is_refused(name):
    pandas = pytest.importorskip("pandas")
    names = list("abcdefghij")
    D = pandas.DataFrame(cdist(rows(10), rows(10)), index=names, columns=names)
    shuffled = D.loc[["b", "a", *names[2:]]]
    with pytest.raises(DataError, match="order of its columns"):
        SCALINGS[name](metric="precomputed").fit(shuffled)
    model = SCALINGS[name](metric="precomputed").fit(D)
    with pytest.raises(DataError, match="same order"):
        model.transform(D[names[::-1]])


@pytest.mark.parametrize("cls", [MDS, SammonMapping, ClassicalMDS, Isomap, DiffusionMap])
def test_a_metric_that_returns_a_negative_number_is_refused(cls):
    with pytest.raises(DataError, match="negative"):
        cls(2, metric=lambda a, b: -1.0).fit(rows())


@pytest.mark.parametrize("size", [1e-20, 1e20, 1e160])
@pytest.mark.parametrize(("cls", "options"), [(MDS, {}), (MDS, {"metric_mds": False}), (SammonMapping, {})])
def test_the_size_of_an_initial_configuration_does_not_matter(cls, options, size):
    X = rows()
    init = np.random.default_rng(1).standard_normal((len(X), 2))
    here, there = (cls(2, **options).fit(X, init=each) for each in (init, size * init))
    assert there.stress_ < 4 * here.stress_  # another local minimum at most, not a collapse
    assert there.embedding_.std() == pytest.approx(here.embedding_.std(), rel=0.1)


# --- values of pairs that are not finite ---


@pytest.mark.parametrize(
    ("name", "words", "options"),
    [
        ("Isomap", "distances", {"metric": "precomputed"}),
        ("TSNE", "distances", {"metric": "precomputed", "perplexity": 5}),
        ("TSNE", "affinities", {"affinity": "precomputed"}),
        ("UMAP", "distances", {"metric": "precomputed"}),
        ("PaCMAP", "distances", {"distance": "precomputed"}),
        ("SpectralEmbedding", "affinities", {"affinity": "precomputed"}),
        ("KernelPCA", "kernel values", {"kernel": "precomputed"}),
    ],
)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_of_a_pair_that_is_not_finite_is_named_by_its_place_and_never_imputed(name, words, options, bad):
    X = rows()
    D = cdist(X, X)
    D[4, 6] = D[6, 4] = bad
    with pytest.raises(DataError, match=rf"\(2 values\).*row 5, column 7.*Compute these {words}") as error:
        getattr(lowland, name)(**options).fit(D)
    assert "impute" not in str(error.value)


def test_given_distances_that_are_all_zero_are_no_matter_of_columns():
    with pytest.raises(DataError, match=r"distances are zero.*distance matrix"):
        lowland.Isomap(metric="precomputed").fit(np.zeros((40, 40)))
