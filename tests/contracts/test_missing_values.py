"""Every method: missing values are handled as its parameters say, or refused in one sentence with the remedies."""

import numpy as np
import pandas as pd
import pytest

import lowland
from lowland.errors import DataError, LowlandError
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method

from .battery import METHODS, labels, make, table, table_for

OPTIONS = ("missing", "metric", "distance")  # parameters that handle missing values, where a method has them
WITH_METRIC = {name: option for name in METHODS for option in OPTIONS[1:] if option in make(name).get_params()}
MIXED = [name for name in WITH_METRIC if name != "FeatureAgglomeration"]  # which compares columns, not rows
QUIET = "ignore::lowland.errors.DataWarning"


def with_a_hole(X, kind, path):
    """The table with a missing value in row 5, column 'c': as an array, a data frame or a file."""
    X = X.copy()
    X[4, 2] = np.nan
    frame = pd.DataFrame(X, columns=list("abcdef"))
    if kind == "array":
        return X
    if kind == "file":
        frame.to_csv(path, index=False)
    return frame if kind == "frame" else path


def says_what_is_missing(error, kind, name):
    text = str(error)
    assert "NaN (1 value)" in text
    assert "column 2" in text if kind == "array" else "column 'c'" in text
    assert "row 5" in text
    assert "lowland.impute" in text
    cls = load_method(name)
    own = [option for option in OPTIONS if f"{option}=" in traits_of(cls).missing_remedy]
    assert all(f"{option}=" in text for option in own)


@pytest.mark.parametrize("kind", ["array", "frame", "file"])
@pytest.mark.parametrize("name", METHODS)
def test_a_missing_value_is_refused_with_its_place_and_the_remedies(name, kind, tmp_path):
    X = table_for(name)
    holes = with_a_hole(X, kind, tmp_path / "holes.csv")
    with pytest.raises(DataError) as caught:
        make(name).fit(holes, labels())
    says_what_is_missing(caught.value, kind, name)
    whole = X if kind == "array" else pd.DataFrame(X, columns=list("abcdef"))
    model = make(name).fit(whole, labels())
    with pytest.raises(DataError) as caught:
        model.transform(holes)
    says_what_is_missing(caught.value, kind, name)


@pytest.mark.parametrize("name", METHODS)
def test_methods_that_handle_missing_values_say_so_in_the_error(name):
    handles = [option for option in OPTIONS if option in make(name).get_params()]
    if handles and name != "FeatureAgglomeration":
        assert f"{handles[0]}=" in traits_of(load_method(name)).missing_remedy


# --- metrics of incomplete rows ---


def incomplete(n=120, d=6):
    X = table(n, d)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    X[:, 0] = table(n, d)[:, 0]  # so that any two rows share a column
    return X


def mixed(n=120):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "x": rng.standard_normal(n), "price": rng.uniform(1, 90, n), "color": rng.choice(["red", "green", "blue"], n),
        "size": pd.Categorical(rng.choice(["S", "M", "L"], n), categories=["S", "M", "L"], ordered=True),
        "sold": rng.random(n) < 0.4,
    })  # fmt: skip
    frame.loc[3, "price"], frame.loc[5, "color"], frame.loc[7, "size"] = np.nan, None, np.nan
    return frame


@pytest.mark.filterwarnings(QUIET)
@pytest.mark.parametrize("metric", ["nan_euclidean", "gower"])
@pytest.mark.parametrize("name", WITH_METRIC)
def test_a_metric_works_on_incomplete_rows_or_the_error_names_the_remedy(name, metric, tmp_path):
    X = incomplete() if metric == "nan_euclidean" or name not in MIXED else mixed()
    est = make(name, **{WITH_METRIC[name]: metric})
    if name not in MIXED:
        with pytest.raises(LowlandError, match="Choose"):
            est.fit(X, labels())
        return
    est.fit(X, labels())
    assert np.isfinite(est.embedding_).all()
    Z = est.transform(X[:20])
    assert Z.shape == (20, 2)
    assert np.isfinite(Z).all()
    lowland.save(est, tmp_path / "model.lowland")
    np.testing.assert_array_equal(lowland.load(tmp_path / "model.lowland").transform(X[:20]), Z)


@pytest.mark.filterwarnings(QUIET)
@pytest.mark.parametrize("name", MIXED)
def test_threads_change_no_bit_of_a_map_by_gower(name):
    X = mixed(300)
    maps = []
    for threads in (1, 3):
        with lowland.config(threads=threads):
            maps.append(make(name, **{WITH_METRIC[name]: "gower"}).fit_transform(X))
    np.testing.assert_array_equal(maps[0], maps[1])


@pytest.mark.filterwarnings(QUIET)
@pytest.mark.parametrize("name", MIXED)
def test_a_file_of_text_is_read_and_new_levels_differ_from_all_others(name, tmp_path):
    frame = mixed()
    frame.to_csv(tmp_path / "t.csv", index=False)
    est = make(name, **{WITH_METRIC[name]: "gower"}).fit(tmp_path / "t.csv")
    new = frame[:12].assign(color="violet")
    assert np.isfinite(est.transform(new)).all()
    with pytest.raises(DataError, match=r"(?s)'x'|column"):
        est.transform(frame.assign(x="text"))


@pytest.mark.parametrize("name", [name for name in MIXED if name != "MDS"])
def test_rows_that_share_no_column_are_named(name):
    X = incomplete(40)
    X[10, :3] = np.nan
    X[20, 3:] = np.nan
    X[10, 3:], X[20, :3] = 1.0, 1.0
    option = {"method": "exact"} if name == "TSNE" else {}
    if name in ("Isomap", "SpectralEmbedding", "UMAP", "PaCMAP", "LocalMAP"):
        X[11:, 3:] = X[:9, 3:] = np.nan  # rows that only few others can be compared with
    with pytest.raises(DataError, match=r"[Rr]ow \d+ and row \d+ have no column.*impute"):
        make(name, **{WITH_METRIC[name]: "nan_euclidean"}, **option).fit(X)


def test_mds_leaves_out_the_distances_of_rows_that_share_no_column():
    X = incomplete(40)
    X[10, :3] = X[20, 3:] = np.nan
    X[10, 3:], X[20, :3] = 1.0, 1.0
    by_rows = lowland.MDS(metric="nan_euclidean", random_state=0).fit(X)
    assert np.isnan(by_rows.dissimilarity_matrix_[10, 20])
    by_distances = lowland.MDS(metric="precomputed", random_state=0).fit(by_rows.dissimilarity_matrix_)
    np.testing.assert_allclose(by_rows.embedding_, by_distances.embedding_, atol=1e-8)
    assert np.isfinite(by_rows.transform(X[8:12])).all()


@pytest.mark.filterwarnings(QUIET)
@pytest.mark.parametrize("name", [name for name in MIXED if name != "MDS"])
def test_a_new_row_that_shares_no_column_with_a_training_row_is_named(name):
    X = incomplete()
    X[:, 1] = np.where(np.arange(120) == 30, np.nan, table()[:, 1])
    est = make(name, **{WITH_METRIC[name]: "nan_euclidean"}).fit(X)
    new = X[:8].copy()
    new[6] = np.nan
    with pytest.raises(DataError, match=r"Row 7 of .*training row 1 have no column.*impute"):
        est.transform(new)
