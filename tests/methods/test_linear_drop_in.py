"""Code written for scikit-learn runs unchanged: discriminants, principal and independent components, factors."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.discriminant_analysis

import lowland
from lowland import PCA, FactorAnalysis, LinearDiscriminantAnalysis
from lowland.data import load_dataset

SHARED = ("PCA", "IncrementalPCA", "TruncatedSVD", "KernelPCA", "FastICA", "FactorAnalysis")


def rows_of_classes(n_classes, dtype=np.float64):
    iris = load_dataset("iris")
    kept = np.isin(iris.y, np.unique(iris.y)[:n_classes])
    return iris.X[kept].astype(dtype), iris.y[kept]


@pytest.mark.parametrize("name", [*SHARED, "LinearDiscriminantAnalysis"])
def test_positional_arguments_have_their_places(name):
    theirs = getattr(sklearn.decomposition, name, None) or sklearn.discriminant_analysis.LinearDiscriminantAnalysis
    places = [
        [p.name for p in inspect.signature(cls).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
        for cls in (getattr(lowland, name), theirs)
    ]
    assert places[0] == places[1]


# --- LinearDiscriminantAnalysis ---


@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("in_place", [False, True])
def test_lda_classifies_by_the_coefficients_that_a_user_sets(solver, n_classes, in_place):
    X, y = rows_of_classes(n_classes)
    ours = LinearDiscriminantAnalysis(solver).fit(X, y)
    before = ours.predict_proba(X)
    if in_place:
        ours.coef_ *= 0.1
        ours.intercept_[-1] += 3.0
    else:
        ours.coef_, ours.intercept_ = ours.coef_[::-1] * 0.1, ours.intercept_ * 0.1 + np.arange(len(ours.intercept_))
    theirs = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver).fit(X, y)
    theirs.coef_, theirs.intercept_ = ours.coef_, ours.intercept_
    for name in ("decision_function", "predict_proba", "predict_log_proba"):
        np.testing.assert_allclose(getattr(ours, name)(X), getattr(theirs, name)(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert np.abs(ours.predict_proba(X) - before).max() > 0.01


def test_lda_keeps_its_scores_in_a_file_and_forgets_them_at_the_next_fit(tmp_path):
    X, y = rows_of_classes(3)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    lowland.save(lda, tmp_path / "lda.safetensors")
    again = lowland.load(tmp_path / "lda.safetensors")
    np.testing.assert_array_equal(again.predict_proba(X), lda.predict_proba(X))
    lda.coef_ = -lda.coef_
    assert lda.score(X, y) < 0.5
    assert lda.fit(X, y).score(X, y) > 0.97


class MeanSquares:
    """A covariance estimator that knows nothing of scikit-learn; fit returns nothing."""

    def fit(self, X):
        C = X - X.mean(axis=0)
        self.covariance_ = C.T @ C / len(X)


@pytest.mark.parametrize("solver", ["eigen", "lsqr"])
def test_lda_takes_any_object_with_fit_and_covariance(solver):
    X, y = rows_of_classes(3)
    estimator = MeanSquares()
    found = LinearDiscriminantAnalysis(solver, None, None, 2, False, 1e-4, estimator).fit(X, y)
    expected = LinearDiscriminantAnalysis(solver).fit(X, y)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    assert not hasattr(estimator, "covariance_")


@pytest.mark.scikit_learn("1.9")
@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
@pytest.mark.parametrize("priors", [[0, 0.4, 0.6], [0.5, 0.5, 0], [1, 0], [0, 1]])
def test_lda_a_class_of_prior_zero_has_probability_zero(solver, priors):
    X, y = rows_of_classes(len(priors))
    absent = np.flatnonzero(np.equal(priors, 0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if len(priors) == 2:  # the mean of all is that of one class: no direction separates it
            warnings.filterwarnings("ignore", "All classes have the same mean")
        lda = LinearDiscriminantAnalysis(solver, priors=priors).fit(X, y)
        P, logs, scores = lda.predict_proba(X), lda.predict_log_proba(X), lda.decision_function(X)
        predicted = lda.predict(X)
    assert (P[:, absent] == 0).all()
    assert np.isneginf(logs[:, absent]).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert not np.isin(predicted, lda.classes_[absent]).any()
    if len(priors) == 3 or solver != "svd":  # theirs divides zero by zero there
        with np.errstate(divide="ignore"):
            theirs = sklearn.discriminant_analysis.LinearDiscriminantAnalysis(solver, priors=priors).fit(X, y)
        np.testing.assert_allclose(P, theirs.predict_proba(X), atol=1e-9)
        np.testing.assert_allclose(scores, theirs.decision_function(X), rtol=1e-7)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        lda.predict(np.full_like(X[:1], np.inf))


@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
def test_lda_of_float32_has_float32_results(solver):
    X, y = rows_of_classes(3, np.float32)
    lda = LinearDiscriminantAnalysis(solver, store_covariance=True).fit(X, y)
    names = ["coef_", "intercept_", "means_", "xbar_", "priors_"]
    names += ["scalings_", "explained_variance_ratio_", "patterns_"] * (solver != "lsqr")
    assert {name: getattr(lda, name).dtype for name in names} == dict.fromkeys(names, np.dtype(np.float32))
    assert lda.decision_function(X).dtype == lda.predict_proba(X).dtype == np.float32
    double = LinearDiscriminantAnalysis(solver).fit(X.astype(np.float64), y)
    np.testing.assert_allclose(lda.coef_, double.coef_, rtol=1e-4)
    np.testing.assert_allclose(lda.predict_proba(X), double.predict_proba(X), atol=1e-4)


# --- components and factors ---


@pytest.mark.parametrize("svd_solver", ["auto", "full", "covariance_eigh"])
@pytest.mark.parametrize("shape", [(60, 5), (10, 40)])
def test_pca_without_components_is_the_isotropic_model(svd_solver, shape):
    X = np.random.default_rng(0).standard_normal(shape)
    ours, theirs = (make(0, svd_solver=svd_solver).fit(X) for make in (PCA, sklearn.decomposition.PCA))
    assert ours.n_components_ == theirs.n_components_ == 0
    assert ours.transform(X).shape == theirs.transform(X).shape == (len(X), 0)
    if svd_solver == "covariance_eigh":  # theirs averages over more eigenvalues than there are, for fewer rows
        theirs.noise_variance_ = sklearn.decomposition.PCA(0, svd_solver="full").fit(X).noise_variance_
    for name in ("noise_variance_", "components_", "explained_variance_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-12)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), atol=1e-12)
    assert ours.score(X) == pytest.approx(theirs.score(X))


@pytest.mark.scikit_learn("1.9")
def test_factor_analysis_without_factors_is_independent_noise():
    X = load_dataset("wine").X
    ours = FactorAnalysis(0, rotation="varimax").fit(X)
    theirs = sklearn.decomposition.FactorAnalysis(0, svd_method="lapack").fit(X)
    assert ours.transform(X).shape == theirs.transform(X).shape == (len(X), 0)
    np.testing.assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-9)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-9)
    assert ours.score(X) == pytest.approx(theirs.score(X))
    assert ours.loglike_[-1] == pytest.approx(len(X) * ours.score(X))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("PCA", {"svd_solver": "arpack"}), ("PCA", {"svd_solver": "randomized"}), ("IncrementalPCA", {}),
        ("TruncatedSVD", {}), ("KernelPCA", {}), ("FastICA", {}),
    ],
)  # fmt: skip
def test_no_components_are_refused_where_scikit_learn_refuses_them(name, options):
    X = load_dataset("iris").X
    for place in (lowland, sklearn.decomposition):
        with pytest.raises(ValueError, match=r"n_components|number of components"):
            getattr(place, name)(0, **options).fit(X)


def test_a_fraction_of_the_variance_that_is_met_exactly():
    equal = np.concatenate([np.eye(2), -np.eye(2)])  # two components of one half each
    assert PCA(0.5).fit(equal).n_components_ == sklearn.decomposition.PCA(0.5).fit(equal).n_components_ == 2
    for name in ("iris", "wine"):
        X = load_dataset(name).X
        for solver in ("auto", "full", "covariance_eigh"):
            cumulative = np.cumsum(PCA(svd_solver=solver).fit(X).explained_variance_ratio_)
            for m, fraction in enumerate(cumulative[:-1]):
                if fraction < 1 - 1e-12:
                    assert PCA(fraction, svd_solver=solver).fit(X).n_components_ == m + 2


@pytest.mark.parametrize(("name", "m"), [("PCA", 2), ("IncrementalPCA", 2), ("TruncatedSVD", 2), ("FactorAnalysis", 1)])
def test_fewer_components_that_a_user_keeps(name, m):
    X = load_dataset("wine").X
    X = X / X.std(axis=0)
    options = {"FactorAnalysis": {"tol": 1e-10, "svd_method": "lapack", "max_iter": 5000}}.get(name, {})
    options |= {"TruncatedSVD": {"algorithm": "arpack"}, "IncrementalPCA": {"batch_size": len(X)}}.get(name, {})
    ours, theirs = (getattr(place, name)(2 * m, **options).fit(X) for place in (lowland, sklearn.decomposition))
    for model in (ours, theirs):
        model.components_ = model.components_[:m]
    near = {"atol": 1e-4} if name == "FactorAnalysis" else {"atol": 1e-9}
    Z = ours.transform(X)
    np.testing.assert_allclose(np.abs(Z), np.abs(theirs.transform(X)), **near)
    back = ours.inverse_transform(Z)
    if name != "FactorAnalysis":  # it has no inverse_transform in scikit-learn
        np.testing.assert_allclose(back, theirs.inverse_transform(theirs.transform(X)), atol=1e-9)
        np.testing.assert_allclose(ours.transform(back), Z, atol=1e-9)
    assert back.shape == X.shape
    assert len(ours.get_feature_names_out()) == len(theirs.get_feature_names_out()) == m


def test_factor_scores_follow_the_loadings_that_a_user_rotates():
    X = load_dataset("wine").X
    fa = FactorAnalysis(2).fit(X)
    Z = fa.transform(X)
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    fa.components_ = turn @ fa.components_
    np.testing.assert_allclose(fa.transform(X), Z @ turn.T, atol=1e-9)


@pytest.mark.filterwarnings("ignore:.*Heywood:lowland.errors.DataWarning")
@pytest.mark.parametrize("min_uniqueness", [1e-12, 1e-6, 0.005])
def test_the_precision_of_factors_is_the_inverse_of_their_covariance_in_a_heywood_case(min_uniqueness):
    """One factor would need the communality 0.8 · 0.7 / 0.4 = 1.4 of the first column."""
    R, units = np.array([[1, 0.8, 0.7], [0.8, 1, 0.4], [0.7, 0.4, 1]]), np.array([1.0, 30.0, 0.01])
    fa = FactorAnalysis(1, min_uniqueness=min_uniqueness).fit_covariance(R * np.outer(units, units), 100)
    assert fa.uniquenesses_[0] <= max(1e-6, 1.01 * min_uniqueness)  # at the bound, or near it
    S, P = fa.get_covariance() / np.outer(units, units), fa.get_precision() * np.outer(units, units)
    np.testing.assert_allclose(S @ P, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(P @ S, np.eye(3), atol=1e-12)


@pytest.mark.filterwarnings(
    "ignore:.*Heywood:lowland.errors.DataWarning", "ignore:.*identified:lowland.errors.DataWarning"
)
@pytest.mark.parametrize("k", [0, 1, 4, 13])
def test_the_precision_of_factors_is_the_inverse_of_their_covariance(k):
    X = load_dataset("wine").X
    fa = FactorAnalysis(k).fit(X / X.std(axis=0))
    np.testing.assert_allclose(fa.get_covariance() @ fa.get_precision(), np.eye(13), atol=1e-12)
