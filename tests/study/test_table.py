"""The table of a study: labels, scales, ids, sparse tables, and thumbnails of images."""

import base64
import io
import json
import re
import tracemalloc

import numpy as np
import pytest

import lowland
from lowland.data.scales import scales_differ, standard_deviation_ratio
from lowland.errors import DataError
from lowland.study import load_study
from lowland.study.report import report_html
from lowland.study.table import MAX_BYTES, thumbnails_of


def test_many_rows_and_columns_are_drawn_in_part(iris, monkeypatch):
    monkeypatch.setattr("lowland.study.table.MAX_SHOWN", 40)
    monkeypatch.setattr("lowland.study.table.MAX_COLORS", 2)
    study = lowland.compare(iris.X, None, ["pca"])
    assert len(study.table.shown) == 40
    assert study.table.values.shape == (40, 2)
    assert study.table.names == ("column 0", "column 2")  # those that vary most
    pca = study["PCA"]
    assert pca.Z.shape == (40, 2)
    np.testing.assert_allclose(pca.Z, lowland.PCA(2).fit_transform(iris.X)[study.table.shown], atol=1e-5)
    assert pca.per_row["neighbors preserved"].shape == (40,)


def test_labels_that_are_numbers_are_predicted_and_are_no_classes(iris):
    study = lowland.compare(iris.X[:, 1:], iris.X[:, 0], ["pca", "lda"])
    assert [t.status for t in study.trials] == ["done", "left out"]
    np.testing.assert_allclose(study.table.labels, iris.X[:, 0])
    assert [a.purpose for a in study.advice] == ["visualize", "compress", "classify"]
    assert "R²" in study.advice[2].text


@pytest.mark.parametrize("kind", [int, str])
def test_row_names_are_not_classes(iris, kind):
    study = lowland.compare(iris.X, np.arange(150).astype(kind), ["pca", "lda"], cache=False)
    assert [t.status for t in study.trials] == ["done", "left out"]
    assert study.table.labels[7] == kind(7)
    assert any("no advice for classification because 150 distinct labels" in s for s in study.advice[0].evidence)


def test_a_column_of_a_frame_holds_the_labels(iris):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris.X, columns=list("abcd")).assign(kind=np.array(["u", "v", "w"])[np.asarray(iris.y)])
    study = lowland.compare(frame, "kind", ["pca"])
    assert study.table.label_name == "kind"
    assert study.table.names == tuple("abcd")
    assert set(study.table.labels) == {"u", "v", "w"}


@pytest.mark.parametrize(("scale", "factor", "scaled"), [("auto", 5, False), ("auto", 50, True), ("none", 50, False)])
def test_columns_are_standardized_where_asked(rng, scale, factor, scaled):
    X = rng.standard_normal((60, 3)) * [1, 1, factor]
    study = lowland.compare(X, None, ["pca"], scale=scale)
    alike = lowland.PCA(2).fit_transform((X - X.mean(0)) / X.std(0) if scaled else X)
    np.testing.assert_allclose(study["PCA"].Z, alike, atol=1e-4)
    assert any("standard deviation 1" in s for s in study.advice[0].evidence) is scaled
    np.testing.assert_allclose(study.table.values, X, rtol=1e-5)  # colors keep their units


def test_a_single_class_is_not_a_classification(rng):
    study = lowland.compare(rng.standard_normal((40, 4)), ["a"] * 40, ["pca", "lda"], cache=False)
    assert study["PCA"].status == "done"
    assert "all rows have the label a" in study["LinearDiscriminantAnalysis"].error
    assert [each.purpose for each in study.advice] == ["visualize", "compress"]


def test_columns_are_left_out_by_name(iris, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris.X, columns=list("abcd")).assign(id=[f"r{i}" for i in range(150)], kind=iris.y)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    for X, drop in ((frame, "id"), (frame, np.array(["id"])), (path, ["id"])):
        study = lowland.compare(X, "kind", ["pca"], drop=drop, cache=False)
        assert study.table.names == tuple("abcd")
        np.testing.assert_allclose(study["PCA"].Z, lowland.PCA(2).fit_transform(iris.X), atol=1e-5)
    assert "drop=['id']" in study.command


@pytest.mark.parametrize(("kind", "factor"), [(np.float32, 1e30), (np.float64, 1e-200)])
def test_values_whose_squares_overflow_are_refused(iris, kind, factor):
    X = (iris.X * factor).astype(kind)
    with pytest.raises(DataError, match=r"its square (over|under)flows float.*Change the unit"):
        lowland.compare(X, None, ["pca"])


def test_methods_passed_as_labels_are_reported(iris):
    with pytest.raises(DataError, match="methods=…"):
        lowland.compare(iris.X, ["pca", "isomap"])


def test_wrong_data():
    with pytest.raises(DataError, match="at least 10 rows"):
        lowland.compare(np.eye(5))
    with pytest.raises(DataError, match="No column is left"):
        lowland.compare(np.full((20, 3), np.nan))


def test_standard_deviations_do_not_overflow_and_constant_columns_do_not_count():
    X = np.array([[0.0, 1e200, 7.0], [3.0, 0.0, 7.0], [0.0, 1e200, 7.0], [3.0, 0.0, 7.0]])
    assert standard_deviation_ratio(X) == pytest.approx(1e200 / 3)
    assert standard_deviation_ratio(np.ones((3, 2))) == 1


def test_units_are_compared_without_copies_of_the_table(rng):
    X = rng.standard_normal((400_000, 10)) * 100.0 ** np.arange(10)
    tracemalloc.start()
    assert scales_differ(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes


# --- sparse tables, missing labels, numbers ---


def test_a_sparse_table_gives_the_same_study(iris):
    import scipy.sparse

    dense = lowland.compare(iris.X, iris.y, ["pca", "mds"], cache=False)
    sparse = lowland.compare(scipy.sparse.csr_array(iris.X), iris.y, ["pca", "mds"], cache=False)
    assert dense.scores()["area under R_NX"] == sparse.scores()["area under R_NX"]


def test_a_large_sparse_table_is_reduced_and_the_advice_says_so(monkeypatch):
    import scipy.sparse

    from lowland.errors import ParameterError

    monkeypatch.setattr("lowland.study.table.DENSE_UP_TO", 1000)
    X = scipy.sparse.random_array((300, 2000), density=0.02, format="csr", random_state=np.random.default_rng(0))
    study = lowland.compare(X, None, ["pca"], cache=False)
    assert study.table.columns == 100
    assert any("2,000 columns" in s and "100 principal components" in s for s in study.advice[0].evidence)
    with pytest.raises(ParameterError, match="scale"):
        lowland.compare(X, None, ["pca"], scale="standard", cache=False)


@pytest.mark.parametrize("missing", [None, np.nan, ""])
def test_missing_labels_are_kept_as_missing_and_excluded_from_scores(iris, missing, tmp_path):
    from lowland.study import load_study

    y = np.array(["u", "v", "w"], dtype=object)[np.asarray(iris.y)]
    gone = np.arange(150) % 10 == 0
    y[gone] = missing
    study = lowland.compare(iris.X, y, ["pca", "lda"], cache=False)
    assert [t.status for t in study.trials] == ["done", "done"]
    assert study["lda"].Z.shape == (150, 2)  # all rows are placed
    assert [label is None for label in study.table.labels] == gone.tolist()
    accuracy = study["pca"].scores["downstream accuracy"]
    assert accuracy.n_tested == study["lda"].scores["downstream accuracy"].n_tested == 135
    assert "15 rows without a label excluded" in accuracy.about
    among = lowland.compare(iris.X[~gone], y[~gone], ["pca"], cache=False)["pca"]
    assert accuracy.value == pytest.approx(among.scores["downstream accuracy"].value, abs=0.03)
    assert any("15 rows have no label" in s for s in study.advice[0].evidence)
    again = load_study(study.save(tmp_path / "study"))
    assert [label is None for label in again.table.labels] == gone.tolist()
    study.report(tmp_path / "r.html")


def test_missing_numbers_are_excluded_too(rng):
    X = rng.standard_normal((100, 4))
    y = X[:, 0] + 0.1 * rng.standard_normal(100)
    y[:10] = np.nan
    study = lowland.compare(X, y, ["pca"], k=4, purpose="classify", cache=False)
    assert np.isnan(study.table.labels).sum() == 10
    assert study["pca"].scores["linear R²"].value > 0.9
    assert (
        "For regression, keep all 4 columns and use ridge regression: the R² on held-out rows" in study.advice[0].text
    )


def test_many_distinct_integers_are_numbers_to_predict(rng):
    X = rng.standard_normal((100, 3))
    study = lowland.compare(X, (1000 * X[:, 1]).astype(int), ["pca", "lda"], cache=False)
    assert "linear R²" in study["pca"].scores
    assert "numbers" in study["lda"].error


def test_ids_and_kept_columns_are_those_of_the_rows_shown(iris, monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr("lowland.study.table.MAX_SHOWN", 40)
    frame = pd.DataFrame(iris.X, columns=list("abcd"), index=[f"i{j}" for j in range(150)])
    frame["place"], frame["when"] = ["x", None, "z"] * 50, pd.Timestamp("2024-05-31")
    roles = lowland.Table(frame.assign(kind=iris.y), label="kind", keep=["place", "when", "d"])
    study = lowland.compare(roles, None, ["pca"], cache=False)
    table = study.table
    assert table.names == ("a", "b", "c")
    assert table.label_name == "kind"
    assert table.ids.tolist() == [f"i{j}" for j in table.shown]
    assert table.kept["place"].tolist() == [["x", None, "z"][j % 3] for j in table.shown]
    assert table.kept["when"][0].startswith("2024-05-31")
    np.testing.assert_allclose(table.kept["d"], iris.X[table.shown, 3])
    assert "lowland.Table(X, label='kind'" in study.command


def test_a_wrong_number_of_ids_is_an_error(iris):
    with pytest.raises(DataError, match="id needs one value for each of the 150 rows"):
        lowland.compare(lowland.Table(iris.X, id=["a", "b"]), None, ["pca"], cache=False)


Image = pytest.importorskip("PIL.Image")


def opened(text):
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


@pytest.mark.parametrize("shape", [(8, 8), (8, 6), (7, 9, 3), (1, 5)])
def test_small_images_are_kept_pixel_by_pixel(shape):
    pixels = np.random.default_rng(0).integers(0, 256, (3, int(np.prod(shape)))).astype(np.uint8)
    found = thumbnails_of(pixels / np.float32(255), shape)
    for text, row in zip(found, pixels, strict=True):
        np.testing.assert_array_equal(opened(text), row.reshape(shape))


def test_large_images_are_shrunk_to_the_means_of_blocks():
    image = np.kron(np.array([[0.0, 1.0], [0.2, 0.6]]), np.ones((100, 100)))
    (text,) = thumbnails_of(image.reshape(1, -1), (200, 200))
    small = opened(text)
    assert small.shape == (48, 48)
    assert small[0, 0] == 0
    assert small[0, -1] == 255
    assert small[-1, 0] == 51
    (wide,) = thumbnails_of(np.ones((1, 30 * 400)), (30, 400))
    assert opened(wide).shape == (4, 48)


def test_all_thumbnails_together_are_small():
    rng = np.random.default_rng(0)
    noise = rng.random((1000, 64 * 64), dtype=np.float32)
    found = thumbnails_of(np.repeat(noise, 5, axis=0), (64, 64))
    assert sum(map(len, found)) <= 1.05 * MAX_BYTES
    assert len({opened(text).shape for text in found[::500]}) == 1
    assert thumbnails_of(np.broadcast_to(noise[0], (200_000, 64 * 64)), (64, 64)) is None


@pytest.fixture(scope="module")
def of_images(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    rng = np.random.default_rng(0)
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, (6, 5)).astype(np.uint8)).save(folder / f"image {i:02}.png")
    return folder, lowland.compare(folder, methods=["pca"], cache=False)


def test_the_report_of_a_folder_of_images_has_their_thumbnails(of_images):
    folder, study = of_images
    html = report_html(study)
    said = json.loads(re.search(r'id="study">(.*?)</script>', html, re.S)[1])
    place = said["table"]["thumbnails"]
    texts = re.search(rf'id="block-{place["block"]}">([^<]*)</script>', html)[1].split(" ")
    files = sorted(folder.iterdir())
    for text, file in zip(texts, files, strict=True):
        np.testing.assert_array_equal(opened(text), np.asarray(Image.open(file)))
    assert "img-src data:;" in html
    part = lowland.compare(folder, methods=["pca"], drop=["pixel 0"], cache=False)
    assert part.table.thumbnails is None  # parts of images are none


def test_a_saved_study_keeps_its_thumbnails(of_images, tmp_path):
    _, study = of_images
    back = load_study(study.save(tmp_path / "study"))
    assert back.table.thumbnails.tolist() == study.table.thumbnails.tolist()
