"""Gower's dissimilarity of mixed tables: kinds of columns, weights, new rows, and wrong parameters."""

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

import lowland
from lowland.errors import DataError, DataTypeError, ParameterError
from lowland.math.distances.to_points import DistancesTo

SIZES = ["S", "M", "L"]


def table(ordered=True):
    """Three rows: ranges 20 and 100, and ranks 0, 2 and 1 of the sizes."""
    size = pd.Categorical(["S", "L", "M"], categories=SIZES, ordered=True) if ordered else ["S", "L", "M"]
    columns = {"age": [10, 20, 30], "income": [100.0, 200.0, np.nan], "color": ["red", "red", "blue"], "size": size}
    return pd.DataFrame(columns)


def dissimilarities(X, **params):
    D = lowland.MDS(1, metric="gower", metric_params=params or None).fit(X).dissimilarity_matrix_
    return D[[0, 0, 1], [1, 2, 2]]  # of the rows 1 and 2, 1 and 3, 2 and 3


def test_a_table_worked_by_hand():
    # means over the shared columns of (age, income, color, size): (.5, 1, 0, 1), (1, -, 1, .5) and (.5, -, 1, .5)
    np.testing.assert_allclose(dissimilarities(table()), [2.5 / 4, 2.5 / 3, 2 / 3], rtol=1e-15)
    # the age with weight 2
    np.testing.assert_allclose(dissimilarities(table(), weights={"age": 2}), [3 / 5, 3.5 / 4, 2.5 / 4], rtol=1e-15)
    np.testing.assert_allclose(dissimilarities(table(), weights=[2, 1, 1, 1]), [3 / 5, 3.5 / 4, 2.5 / 4], rtol=1e-15)
    # text is a category unless its levels are given in order; (…, size): 1, 1, 1
    plain = table(ordered=False)
    np.testing.assert_allclose(dissimilarities(plain), [2.5 / 4, 3 / 3, 2.5 / 3], rtol=1e-15)
    in_order = dissimilarities(plain, ordered={"size": SIZES})
    np.testing.assert_allclose(in_order, dissimilarities(table()), rtol=1e-15)
    # numbers as categories, by name and by position
    for column in ("age", 0):
        np.testing.assert_allclose(dissimilarities(table(), categorical=[column]), [3 / 4, 2.5 / 3, 2.5 / 3])


def test_ordered_levels_that_do_not_occur_keep_their_rank_as_in_daisy_of_r():
    size = pd.Categorical(["S", "L", "XL"], categories=["S", "M", "L", "XL"], ordered=True)  # ranks 0, 2, 3
    np.testing.assert_allclose(dissimilarities(pd.DataFrame({"size": size})), [2 / 3, 1, 1 / 3], rtol=1e-15)


@pytest.mark.parametrize("kind", ["frame", "objects", "csv", "parquet", "chunks"])
def test_every_source_of_text_gives_the_same(kind, tmp_path):
    frame = table(ordered=False)
    sources = {"frame": frame, "objects": frame.to_numpy(dtype=object), "chunks": [frame[:2], frame[2:]]}
    if kind in ("csv", "parquet"):
        sources[kind] = tmp_path / f"t.{kind}"
        getattr(frame, f"to_{kind}")(sources[kind], index=False)
    np.testing.assert_allclose(dissimilarities(sources[kind]), [2.5 / 4, 3 / 3, 2.5 / 3], rtol=1e-15)


def mixed(n=60):
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "x": rng.standard_normal(n), "color": rng.choice(["red", "blue", "green"], n), "size": rng.choice(SIZES, n)
    })  # fmt: skip


def test_unknown_levels_of_new_rows():
    params = {"ordered": {"size": SIZES}}
    model = lowland.ClassicalMDS(metric="gower", metric_params=params).fit(mixed())
    new = mixed()[:5]
    assert [None if c is None else list(c) for c in model.categories_] == [None, ["blue", "green", "red"], SIZES]
    np.testing.assert_allclose(model.transform(new), model.embedding_[:5], atol=1e-8)
    # an unknown size is missing; an unknown color differs from all others
    np.testing.assert_array_equal(
        model.transform(new.assign(size="XXL")), model.transform(new.assign(size=pd.Series([None] * 5, dtype=object)))
    )
    D = DistancesTo.of(model.points_, *model._measure())(np.array([[0.0, -1.0, 1.0]]))
    assert (D >= 1 / 3).all()


def test_a_saved_model_knows_the_columns(tmp_path):
    params = {"ordered": {"size": SIZES}, "weights": {"x": 3.0}}
    model = lowland.Isomap(metric="gower", metric_params=params).fit(mixed())
    lowland.save(model, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(loaded.transform(mixed()[:9]), model.transform(mixed()[:9]))
    with pytest.raises(AttributeError, match="gower"):
        model.nbrs_.kneighbors()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ordered": ["size"]}, "size.*text.*lowest first"),
        ({"ordered": {"size": ["S", "M"]}}, "'L'.*not listed"),
        ({"ordered": {"x": [1, 2]}}, "contains numbers"),
        ({"categorical": ["colour"]}, "no column 'colour'.*'color'"),
        ({"categorical": [7]}, "no column 7"),
        ({"weights": {"x": -1}}, "nonnegative"),
        ({"weights": [1, 2]}, "one for each of the 3 columns"),
        ({"categorical": ["x"], "ordered": ["x"]}, "both"),
    ],
)
def test_wrong_columns_of_the_metric(params, words):
    with pytest.raises(ParameterError, match=words):
        lowland.MDS(metric="gower", metric_params=params).fit(mixed())


def test_text_needs_gower_and_keeps_its_kind():
    with pytest.raises(DataTypeError, match=r"'color', 'size'.*metric='gower'"):
        lowland.MDS().fit(mixed())
    model = lowland.MDS(metric="gower").fit(mixed())
    with pytest.raises(DataError, match=r"'color'.*numbers.*text in the training data"):
        model.transform(mixed().assign(color=1.0))


def test_methods_that_cannot_reconstruct_or_do_not_use_the_metric_say_so():
    X = mixed()
    umap = lowland.UMAP(metric="gower", n_epochs=5, random_state=0).fit(X)
    with pytest.raises(ParameterError, match=r"reconstructed.*complete rows"):
        umap.inverse_transform(umap.embedding_)
    with pytest.raises(ParameterError, match="affinity='nearest_neighbors'"):
        lowland.SpectralEmbedding(affinity="rbf", metric="manhattan").fit(X[["x"]])
    with pytest.raises(ParameterError, match="affinity='precomputed_nearest_neighbors'"):
        lowland.SpectralEmbedding(metric="precomputed").fit(np.zeros((9, 9)))


def test_a_spectral_embedding_by_another_metric_is_that_of_its_distances():
    X = np.random.default_rng(0).standard_normal((80, 4))
    by_rows = lowland.SpectralEmbedding(n_neighbors=10, metric="manhattan").fit(X)
    given = lowland.SpectralEmbedding(n_neighbors=10, affinity="precomputed_nearest_neighbors")
    by_distances = given.fit(cdist(X, X, "cityblock"))
    np.testing.assert_allclose(by_rows.embedding_, by_distances.embedding_, atol=1e-8)


@pytest.mark.parametrize("init", ["pca", "spectral"])
def test_a_neighbor_embedding_of_incomplete_rows_keeps_separate_clusters_apart(init):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (60, 8)), rng.normal(9, 1, (60, 8))])
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = np.nan_to_num(X[:, 0])
    for make in (lowland.UMAP, lowland.TSNE):
        Z = make(metric="nan_euclidean", init=init, random_state=0).fit_transform(X)
        D = cdist(Z, Z)
        nearest = np.argsort(D, axis=1)[:, 1:6]  # a map may split a cluster, but it must not mix two
        assert np.mean((nearest < 60) == (np.arange(120) < 60)[:, None]) > 0.95
