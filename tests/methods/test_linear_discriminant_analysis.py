"""Linear discriminant analysis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import OAS
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as Theirs

import lowland
from lowland import LinearDiscriminantAnalysis
from lowland.arrays.namespace import to_numpy
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError


def classes(n=200, d=5, k=3, seed=0, apart=2.0):
    """Rows of k classes with a common, correlated covariance of moderate condition number."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    turn, other = (np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2))
    X = (
        rng.standard_normal((n, d)) @ (turn * np.geomspace(3, 0.3, d) @ other)
        + apart * rng.standard_normal((k, d))[y]
        + 7
    )
    return X, y


def within(X, y):
    return sum((X[y == c] - X[y == c].mean(0)).T @ (X[y == c] - X[y == c].mean(0)) for c in np.unique(y)) / len(y)


# --- the method ---


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), solver=st.sampled_from(["svd", "eigen"]))
def test_directions_solve_the_generalized_eigenproblem(seed, solver):
    X, y = classes(seed=seed)
    lda = LinearDiscriminantAnalysis(solver).fit(X, y)
    S_W = within(X, y)
    S_B = np.cov(X.T, bias=True) - S_W
    A = lda.scalings_[:, :2]
    np.testing.assert_allclose(A.T @ S_W @ A, np.eye(2), atol=1e-9)
    ratios = np.diag(A.T @ S_B @ A)
    np.testing.assert_allclose(S_B @ A, S_W @ A * ratios, atol=1e-8 * np.abs(S_B).max())
    np.testing.assert_allclose(lda.singular_values_**2, ratios * (200 - 3) / (3 - 1), rtol=1e-8)
    np.testing.assert_allclose(lda.explained_variance_ratio_, ratios / ratios.sum(), atol=1e-9)
    assert ratios[0] >= ratios[1]


def test_the_direction_of_two_classes_is_fishers():
    X, y = classes(k=2)
    fisher = np.linalg.solve(within(X, y), X[y == 1].mean(0) - X[y == 0].mean(0))
    for solver in ("svd", "eigen"):
        a = LinearDiscriminantAnalysis(solver).fit(X, y).scalings_[:, 0]
        assert abs(a @ fisher) / np.linalg.norm(a) / np.linalg.norm(fisher) > 1 - 1e-12
    coef = LinearDiscriminantAnalysis("lsqr").fit(X, y).coef_[0]
    np.testing.assert_allclose(coef, fisher, rtol=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_classes_do_not_change_under_an_invertible_map(seed):
    X, y = classes(seed=seed)
    M = np.random.default_rng(seed).standard_normal((5, 5)) + 3 * np.eye(5)
    plain, mapped = LinearDiscriminantAnalysis().fit(X, y), LinearDiscriminantAnalysis().fit(X @ M + 1, y)
    np.testing.assert_allclose(plain.predict_proba(X), mapped.predict_proba(X @ M + 1), atol=1e-7)


def test_the_inverse_transform_is_the_best_linear_one():
    X, y = classes()
    for solver in ("svd", "eigen"):
        lda = LinearDiscriminantAnalysis(solver).fit(X, y)
        Z = lda.transform(X)
        F = np.column_stack([np.ones(len(Z)), Z])
        np.testing.assert_allclose(lda.inverse_transform(Z), F @ np.linalg.lstsq(F, X, rcond=None)[0], atol=1e-8)
        np.testing.assert_allclose(lda.transform(lda.inverse_transform(Z)), Z, atol=1e-8)


# --- agreement ---

OPTIONS = [
    {},
    {"solver": "eigen"},
    {"solver": "lsqr"},
    {"store_covariance": True},
    {"n_components": 1},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "eigen", "shrinkage": "auto"},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "eigen", "covariance_estimator": OAS()},
]


@pytest.mark.scikit_learn("1.9")
@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # the digits have blank pixels
@pytest.mark.parametrize("priors", [None, "others"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("data", ["iris", "wine", "digits"])
def test_scikit_learn_agrees(data, options, priors):
    X, y = load_dataset(data).X, load_dataset(data).y
    if data == "digits" and options.get("solver") in ("eigen", "lsqr") and "shrinkage" not in options:
        pytest.skip("scikit-learn cannot: the scatter within classes is singular")
    if priors:
        priors = np.arange(1, len(np.unique(y)) + 1) / np.arange(1, len(np.unique(y)) + 1).sum()
    ours, theirs = (cls(**options, priors=priors).fit(X, y) for cls in (LinearDiscriminantAnalysis, Theirs))
    for name in ("means_", "priors_", "covariance_", "explained_variance_ratio_", "coef_", "intercept_"):
        if hasattr(theirs, name):
            expected = getattr(theirs, name)
            np.testing.assert_allclose(getattr(ours, name), expected, atol=1e-8 * np.abs(expected).max(), err_msg=name)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), rtol=1e-7, atol=1e-7)
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    assert ours.score(X, y) == theirs.score(X, y)
    if options.get("solver") != "lsqr":
        assert ours.scalings_.shape == theirs.scalings_.shape
        np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-7, atol=1e-7)


def test_probabilities_are_bayes_rule():
    X, y = classes()
    lda = LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]).fit(X, y)
    P = np.linalg.inv(within(X, y))
    distances = np.stack([np.einsum("ij,jk,ik->i", X - m, P, X - m) for m in lda.means_], axis=1)
    joint = np.exp(-distances / 2) * lda.priors_
    np.testing.assert_allclose(lda.predict_proba(X), joint / joint.sum(1, keepdims=True), atol=1e-10)


@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
def test_far_from_the_origin_in_float32(solver):
    X, y = classes(n=500)
    far = (X + 1e4).astype(np.float32)
    near = far.astype(np.float64) - 1e4
    expected = LinearDiscriminantAnalysis(solver).fit(near, y).predict_proba(near)
    found = LinearDiscriminantAnalysis(solver).fit(far, y).predict_proba(far)
    np.testing.assert_allclose(found, expected, atol=2e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distant_classes_keep_their_within_scatter(dtype):
    """X'X minus that of the means would lose the within-class scatter, so it must not be computed that way."""
    X, y = classes(n=2000, apart=1e5)
    X = X.astype(dtype)
    S = LinearDiscriminantAnalysis("eigen").fit(X, y).covariance_
    truth = within(X.astype(np.float64), y)
    np.testing.assert_allclose(S, truth, atol=(1e-9 if dtype == np.float64 else 3e-3) * np.abs(truth).max())


# --- singular scatters ---


@pytest.mark.scikit_learn("1.9")
def test_more_columns_than_rows():
    X, y = classes(n=40, d=100)
    with pytest.warns(DataWarning, match=r"singular.*rank 37 of 100.*40 rows in 3 classes.*37"):
        ours = LinearDiscriminantAnalysis().fit(X, y)
    assert ours.rank_ == 37
    theirs = Theirs().fit(X, y)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), rtol=1e-6)
    new = classes(n=20, d=100, seed=5)[0]
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-6)
    merged = LinearDiscriminantAnalysis().partial_fit(X, y)  # through the scatter, which is (100, 100)
    with pytest.warns(DataWarning):
        assert LinearDiscriminantAnalysis(store_covariance=True).fit(X, y).covariance_.shape == (100, 100)
    with pytest.warns(DataWarning):
        Z = merged.transform(X)
    np.testing.assert_allclose(Z, ours.transform(X), atol=1e-6)


def test_shrinkage_uses_all_columns():
    X, y = classes(n=40, d=100, apart=1.0)
    lda = LinearDiscriminantAnalysis("eigen", "auto").fit(X, y)
    assert lda.rank_ == 100
    assert np.all((lda.shrinkage_ > 0) & (lda.shrinkage_ <= 1))


@pytest.mark.parametrize("options", [{"shrinkage": "auto"}, {"priors": [0.2, 0.3, 0.5]}, {"shrinkage": 0.3}], ids=str)
def test_the_strict_array_library_too(options):
    xp = pytest.importorskip("array_api_strict")
    X, y = classes(n=100)
    strict, plain = (LinearDiscriminantAnalysis("eigen", **options).fit(Y, y).transform(Y) for Y in (xp.asarray(X), X))
    np.testing.assert_allclose(to_numpy(strict), plain, atol=1e-9)


@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_collinear_and_constant_columns_change_nothing(solver, dtype):
    X, y = (classes()[0] - 7).astype(dtype), classes()[1]
    more = np.column_stack([X, X[:, 0] - X[:, 1], np.full(len(X), dtype(3))])
    plain = LinearDiscriminantAnalysis(solver).fit(X, y)
    with pytest.warns(DataWarning, match=r"singular.*rank 5 of 7.*constant"):
        wider = LinearDiscriminantAnalysis(solver).fit(more, y)
    np.testing.assert_allclose(
        wider.predict_proba(more), plain.predict_proba(X), atol=1e-8 if dtype == np.float64 else 1e-3
    )


def test_a_column_constant_within_each_class_is_named():
    X, y = classes()
    with pytest.warns(DataWarning, match=r"Column 5 is constant within each class.*dropped"):
        LinearDiscriminantAnalysis().fit(np.column_stack([X, y]), y)


# --- streams ---


@pytest.mark.parametrize("options", [{}, {"solver": "eigen", "priors": [0.2, 0.3, 0.5]}, {"solver": "lsqr"}])
def test_partial_fit_is_one_fit(options):
    X, y = classes(n=301)
    whole = LinearDiscriminantAnalysis(**options).fit(X, y)
    parts = LinearDiscriminantAnalysis(**options)
    for start in range(0, 301, 50):
        parts.partial_fit(X[start : start + 50], y[start : start + 50], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
    assert np.array_equal(parts.predict(X), whole.predict(X))


def test_classes_may_be_added_later():
    X, y = classes(n=300)
    names = np.array(["b", "c", "a"])[y]
    order = np.argsort(names)
    parts = LinearDiscriminantAnalysis()
    for part in np.array_split(order, 7):  # the first chunks contain one class only
        parts.partial_fit(X[part], names[part])
    whole = LinearDiscriminantAnalysis().fit(X, names)
    assert list(parts.classes_) == ["a", "b", "c"]
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_partial_fit_goes_on_after_fit():
    X, y = classes(n=300)
    model = LinearDiscriminantAnalysis().fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    np.testing.assert_allclose(model.coef_, LinearDiscriminantAnalysis().fit(X, y).coef_, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"solver": "eigen", "shrinkage": "auto"}], ids=str)
def test_a_file_with_a_label_column(tmp_path, options, monkeypatch):
    import pandas as pd

    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 1000)
    X, y = classes(n=300)
    names = np.array(["oak", "ash", "elm"])[y]
    frame = pd.DataFrame(X, columns=list("abcde")).assign(tree=names)
    frame.to_parquet(tmp_path / "trees.parquet")
    frame.to_csv(tmp_path / "trees.csv", index=False)
    whole = LinearDiscriminantAnalysis(**options).fit(X, names)
    for source in (tmp_path / "trees.parquet", str(tmp_path / "trees.csv"), frame):
        lda = LinearDiscriminantAnalysis(**options).fit(source, "tree")
        assert lda.label_name_ == "tree"
        assert list(lda.feature_names_in_) == list("abcde")
        np.testing.assert_allclose(lda.transform(source), whole.transform(X), atol=1e-8)
        assert lda.score(source, "tree") == whole.score(X, names)
    lowland.save(lda, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    assert again.classes_.dtype == lda.classes_.dtype
    assert np.array_equal(again.predict(tmp_path / "trees.parquet"), whole.predict(X))


def test_torch_and_dask():
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    X, y = classes(n=300)
    plain = LinearDiscriminantAnalysis("eigen", "auto").fit(X, y)
    tensor = LinearDiscriminantAnalysis("eigen", "auto").fit(torch.asarray(X), torch.asarray(y))
    found = tensor.predict(torch.asarray(X))
    assert isinstance(found, torch.Tensor)
    assert np.array_equal(to_numpy(found), plain.predict(X))
    np.testing.assert_allclose(to_numpy(tensor.predict_proba(torch.asarray(X))), plain.predict_proba(X), atol=1e-9)
    lazy = da.from_array(X, chunks=(70, 5))
    cluster = LinearDiscriminantAnalysis("eigen", "auto").fit(lazy, da.from_array(y, chunks=70))
    assert isinstance(cluster.predict(lazy), da.Array)
    assert np.array_equal(cluster.predict(lazy).compute(), plain.predict(X))
    np.testing.assert_allclose(cluster.predict_proba(lazy).compute(), plain.predict_proba(X), atol=1e-9)


# --- wrong input ---


def fails(error, words, y=None, X=None, **options):
    rows, labels = classes(n=30)
    with pytest.raises(error, match=words) as caught:
        LinearDiscriminantAnalysis(**options).fit(rows if X is None else X, labels if y is None else y)
    assert str(caught.value).endswith(".")


def test_labels_that_cannot_be_used():
    fails(DataError, "All rows have the label 'a'", y=["a"] * 30)
    fails(DataError, r"y.*expected \(30,\).*one value for each of the 30 rows", y=np.arange(29) % 3)
    fails(DataError, "more than the number of classes", y=np.arange(30))
    fails(DataError, "Unknown label type: continuous", y=np.linspace(0, 1, 30))
    fails(DataError, "y contains NaN", y=np.where(np.arange(30) == 3, np.nan, np.arange(30) % 2))
    with pytest.raises(DataError, match=r"requires y.*fit\(X, y\)"):
        LinearDiscriminantAnalysis().fit(classes()[0])
    with pytest.warns(DataWarning, match="class 9 has only one member"):
        LinearDiscriminantAnalysis().fit(classes(n=30)[0], np.where(np.arange(30) == 3, 9, np.arange(30) % 2))


def test_rows_without_a_label_are_counted(tmp_path):
    import pandas as pd
    import polars as pl

    X, y = classes(n=60)
    names = np.array(["oak", "ash", "elm"], dtype=object)[y]
    names[::20] = None
    frame = pd.DataFrame(X, columns=list("abcde")).assign(tree=names)
    frame.to_csv(tmp_path / "trees.csv", index=False)
    frame.to_parquet(tmp_path / "trees.parquet")
    for source in (frame, tmp_path / "trees.csv", tmp_path / "trees.parquet", pl.from_pandas(frame)):
        with pytest.raises(DataError, match="3 rows without a label"):
            LinearDiscriminantAnalysis().fit(source, y="tree")
    with pytest.raises(DataError, match="3 rows without a label"):
        LinearDiscriminantAnalysis().fit(frame.astype({"tree": "string"}), y="tree")


def test_parameters_changed_between_partial_fits():
    X, y = classes(n=300)
    model = LinearDiscriminantAnalysis("eigen").fit(X[:150], y[:150]).set_params(priors=[0.2, 0.3, 0.5])
    model.partial_fit(X[150:], y[150:])
    with pytest.raises(ParameterError, match="Set them back"):
        model.transform(X)
    np.testing.assert_allclose(
        model.set_params(priors=None).transform(X),
        LinearDiscriminantAnalysis("eigen").fit(X, y).transform(X),
        atol=1e-8,
    )
    apart = LinearDiscriminantAnalysis("eigen", priors=[0.2, 0.3, 0.5]).fit(X[:150], y[:150])
    apart.set_params(priors=None).partial_fit(X[150:], y[150:])
    np.testing.assert_allclose(apart.coef_, LinearDiscriminantAnalysis("eigen").fit(X, y).coef_, rtol=1e-7)


def test_partial_fits_with_several_libraries_and_types_of_labels():
    torch = pytest.importorskip("torch")
    X, y = classes(n=300)
    mixed = LinearDiscriminantAnalysis().partial_fit(X[:150], y[:150]).partial_fit(torch.asarray(X[150:]), y[150:])
    np.testing.assert_allclose(mixed.coef_, LinearDiscriminantAnalysis().fit(X, y).coef_, rtol=1e-7)
    with pytest.raises(DataError, match="one type"):
        mixed.partial_fit(X, y.astype(str))


def test_equal_class_means_are_reported():
    X, _ = classes(n=100)
    with pytest.warns(DataWarning, match="same mean"):
        LinearDiscriminantAnalysis().fit(np.vstack([X, X]), np.repeat([0, 1], 100))


def test_a_string_names_a_label_column_for_every_method():
    import pandas as pd

    from lowland import PCA

    X, y = classes(n=60)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(kind=y)
    pca = PCA(2).fit(frame, y="kind")
    assert pca.n_features_in_ == 5
    np.testing.assert_allclose(pca.transform(frame), PCA(2).fit_transform(X))
    for source in (X, [frame, frame]):
        with pytest.raises(DataError, match="without named columns"):
            LinearDiscriminantAnalysis().fit(source, y="kind")
    lda = LinearDiscriminantAnalysis().fit(frame, y="kind")
    with pytest.raises(DataError, match="requires y"):
        lda.fit(frame)
    assert len(lda.predict(frame)) == 60  # a refused fit changes nothing


def test_parameters_that_cannot_be_used():
    fails(ParameterError, r"min\(5, 2\)\). Choose at most 2", n_components=3)
    fails(ParameterError, "shrinkage.*Choose solver='eigen'", shrinkage=0.5)
    fails(ParameterError, "Only one of the two", solver="eigen", shrinkage=0.5, covariance_estimator=OAS())
    fails(ParameterError, "there are 3 classes", priors=[0.5, 0.5])
    fails(ParameterError, "priors.*above zero", priors=[0, 0, 0])
    fails(ParameterError, "priors.*one number per class", priors=3)
    fails(ParameterError, "an estimator with fit", solver="eigen", covariance_estimator=3)
    with pytest.warns(UserWarning, match="do not sum to 1"):
        LinearDiscriminantAnalysis(priors=[1, 1, 2]).fit(*classes())
    classifier = LinearDiscriminantAnalysis("lsqr").fit(*classes())
    assert len(classifier.get_feature_names_out()) == 2
    with pytest.raises(ParameterError, match="only classifies"):
        classifier.transform(classes()[0])


def test_partial_fit_that_cannot_go_on():
    X, y = classes()
    with pytest.raises(ParameterError, match=r"partial_fit.*shrinkage='auto'.*call fit"):
        LinearDiscriminantAnalysis("eigen", "auto").partial_fit(X, y)
    with pytest.raises(DataError, match=r"label 2.*not in classes: 0, 1"):
        LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1])
    alone = LinearDiscriminantAnalysis().partial_fit(X[y == 1], y[y == 1])
    with pytest.raises(DataError, match="All rows so far have the label 1"):
        alone.predict(X)
    waiting = LinearDiscriminantAnalysis().partial_fit(X, y, classes=[0, 1, 2, 3])
    with pytest.raises(DataError, match="no row of class 3 yet"):
        waiting.transform(X)
    with pytest.warns(DataWarning):
        wide = LinearDiscriminantAnalysis().fit(*classes(n=20, d=40))
    with pytest.raises(DataError, match="fewer rows than columns"):
        wide.partial_fit(*classes(n=20, d=40))


def test_the_budget_is_kept():
    X, y = classes(n=400, d=200)
    with lowland.config(memory="1MB"), pytest.raises(MemoryError, match="Use fewer columns"):
        LinearDiscriminantAnalysis().fit(X, y)


@pytest.mark.scikit_learn("1.9")
def test_two_classes_agree_with_scikit_learn():
    X, y = classes(k=2, apart=0.5)  # close enough that no probability rounds to zero
    for solver in ("svd", "eigen", "lsqr"):
        ours, theirs = (cls(solver).fit(X, y) for cls in (LinearDiscriminantAnalysis, Theirs))
        assert ours.coef_.shape == (1, 5)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)
        np.testing.assert_allclose(ours.predict_log_proba(X), np.log(theirs.predict_proba(X)), atol=1e-8)
