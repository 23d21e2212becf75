"""``lowland.compare``: the result of a study, and its errors."""

import numpy as np
import pytest

import lowland
from lowland.errors import DataError, ParameterError
from lowland.trial.scores import neighbors_for

FEW = ["pca", "isomap", "lda"]


@pytest.fixture(scope="module")
def study(iris):
    return lowland.compare(iris.X, iris.y, FEW, cache=False)


def test_a_study_of_iris(study, iris):
    assert [t.status for t in study.trials] == ["done"] * 3
    assert study.complete
    pca = study["PCA"]
    assert pca.parameters == {"n_components": 2, "random_state": 0}
    assert pca.Z.dtype == np.float32
    np.testing.assert_allclose(pca.Z, lowland.PCA(2).fit_transform(iris.X), atol=1e-5)
    model = lowland.PCA(2).fit(iris.X)
    trust = lowland.quality.trustworthiness(iris.X, model.transform(iris.X), neighbors_for(150))
    assert pca.scores["trustworthiness"].value == pytest.approx(trust.value)
    assert pca.scores["reconstruction error"].value == pytest.approx(model.distortion())
    assert pca.scores["area under R_NX"].better == "higher"
    assert set(pca.curves) == {"R_NX", "Shepard", "scree", "distortion"}
    assert set(study["Isomap"].curves) == {"R_NX", "Shepard", "residual variance"}
    assert pca.curves["Shepard"].kind == "cloud"
    np.testing.assert_allclose(
        pca.curves["distortion"].y, [lowland.PCA().fit(iris.X).distortion(m) for m in range(5)], atol=1e-9
    )
    np.testing.assert_allclose(pca.curves["scree"].y, lowland.PCA().fit(iris.X).explained_variance_ratio_)
    assert pca.seconds > 0
    with pytest.raises(KeyError, match="The trials: PCA, Isomap"):
        study["UMAP"]


def test_the_table_has_the_rows_that_are_plotted(study, iris):
    table = study.table
    assert (table.rows, table.columns) == (150, 4)
    np.testing.assert_array_equal(table.shown, np.arange(150))
    np.testing.assert_allclose(table.values, iris.X, rtol=1e-6)
    assert set(table.labels) == {str(label) for label in np.unique(iris.y)}
    assert study.versions["lowland"] == lowland.__version__
    assert {"python", "numpy", "scipy", "sklearn"} < study.versions.keys()
    assert all(study.machine.values())
    assert set(study.machine) == {"system", "processor", "cores", "memory"}
    assert study.command == "lowland.compare(X, y, methods=['pca', 'isomap', 'lda'])"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 0}, "compare\\(k=0\\)"),
        ({"k": 2.0}, "k=2.0.*integer"),
        ({"k": 5}, "4 columns. Choose at most 4"),
        ({"purpose": "win"}, "'visualize', 'compress', 'classify'"),
        ({"purpose": "classify"}, "labels are required"),
        ({"scale": 3}, "'auto', 'standard', 'none'"),
        ({"impute": "zero"}, "'auto', 'mean', 'median', 'knn', 'em', 'drop', 'none'"),
        ({"time_limit": 0}, "seconds"),
        ({"seed": -1}, "at least 0"),
        ({"worker": "yes"}, "True or False"),
        ({"y": "species"}, "without named columns"),
        ({"methods": ["trimap"]}, "no method 'trimap'"),
    ],
)
def test_invalid_arguments_are_reported_before_any_work(iris, given, message):
    with pytest.raises((ParameterError, DataError), match=message):
        lowland.compare(iris.X, **given)


def test_methods_receive_the_names_of_columns_and_classes(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rng.standard_normal((60, 3)), columns=["width", "height", "depth"]).assign(same=1.0)
    frame["kind"] = np.repeat(["red", "green"], 30)
    options = {"purpose": "classify", "use": "same", "cache": False}
    study = lowland.compare(frame, "kind", ["select-sequential"], worker=False, **options)
    assert any("'same'" in words for words in study.trials[0].warnings)
    apart = lowland.compare(frame, "kind", ["select-sequential"], worker=True, **options)
    assert apart.trials[0].warnings == study.trials[0].warnings


def test_the_call_is_recorded(iris, tmp_path):
    pd = pytest.importorskip("pandas")
    assert lowland.compare(iris.X, methods=["pca"], seed=3).command == "lowland.compare(X, methods=['pca'], seed=3)"
    path = tmp_path / "t.csv"
    pd.DataFrame(iris.X, columns=list("abcd")).assign(kind=iris.y).to_csv(path, index=False)
    command = lowland.compare(path, "kind", "pca").command
    assert command == f"lowland.compare({str(path)!r}, 'kind', methods='pca')"


def test_a_method_that_gives_fewer_dimensions_gives_those(rng):
    study = lowland.compare(rng.standard_normal((60, 5)), None, ["projection-pursuit"], 4, cache=False)
    assert study.trials[0].n_components == 3
    assert "At most 3 dimensions" in study.trials[0].warnings[0]


def test_noise_is_recommended_no_more_often_than_by_chance():
    found = 0
    for seed in range(10):
        r = np.random.default_rng(seed)
        study = lowland.compare(
            r.normal(size=(30, 6)), r.permutation(np.arange(30) % 2), ["pca", "lda"],
            purpose="classify", cache=False,
        )  # fmt: skip
        found += study.advice[0].method is not None
    assert found <= 1


def test_estimators_of_the_user_take_part(iris, tmp_path):
    from sklearn.decomposition import PCA
    from sklearn.manifold import SpectralEmbedding
    from sklearn.neighbors import NeighborhoodComponentsAnalysis
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import RobustScaler

    own = make_pipeline(RobustScaler(), PCA(2))
    supervised = NeighborhoodComponentsAnalysis(2, max_iter=20)
    no_transform = SpectralEmbedding(2, affinity="rbf")
    methods = ["pca", ("robust", own), ("nca", supervised), no_transform]
    study = lowland.compare(iris.X, iris.y, methods, purpose="classify", cache=False)
    assert [(t.name, t.status) for t in study.trials] == [
        ("PCA", "done"), ("robust", "done"), ("nca", "done"), ("SpectralEmbedding (sklearn)", "done"),
    ]  # fmt: skip
    np.testing.assert_allclose(study["robust"].Z, own.fit_transform(iris.X), atol=1e-5)
    assert study["robust"].seconds > 0
    assert study["robust"].scores["linear accuracy"].held_out
    assert study["nca"].scores["linear accuracy"].value > 0.9
    assert study["nca"].scores["linear accuracy"].held_out
    assert study["nca"].scores["neighborhood hit"].held_out  # supervised: of rows placed out of fold
    assert (
        not study["SpectralEmbedding (sklearn)"].scores["downstream accuracy"].held_out
    )  # it cannot place held-out rows
    assert "RobustScaler" in str(study.estimator("robust"))
    assert hasattr(study.estimator(), "predict")
    assert "robust" in study.report(tmp_path / "r.html").read_text()
    assert lowland.study.load_study(study.save(tmp_path / "s"))["robust"].n_components == 2
    apart = lowland.compare(iris.X, iris.y, [("robust", own)], cache=False, worker=True)
    np.testing.assert_array_equal(apart["robust"].Z, study["robust"].Z)


def test_estimators_need_names_of_their_own_and_fit_transform(iris):
    from sklearn.decomposition import PCA
    from sklearn.linear_model import Ridge

    for methods in ([PCA(1), PCA(2)], ["pca", ("PCA", PCA(2))]):
        with pytest.raises(ParameterError, match="name"):
            lowland.compare(iris.X, None, methods)
    with pytest.raises(ParameterError, match="fit_transform"):
        lowland.compare(iris.X, None, [Ridge()])
