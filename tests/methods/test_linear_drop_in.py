"""Code written for scikit-learn runs unchanged: discriminants, principal and independent components, factors."""

import inspect
import warnings

import numpy as np
import pytest
import sklearn.decomposition
import sklearn.discriminant_analysis

import lowland
from lowland import LinearDiscriminantAnalysis
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


@pytest.mark.parametrize("solver", ["svd", "eigen", "lsqr"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_lda_predictions_scores_and_probabilities_agree(solver, n_classes):
    X, y = rows_of_classes(n_classes)
    lda = LinearDiscriminantAnalysis(solver).fit(X, y)
    scores, P = lda.decision_function(X), lda.predict_proba(X)
    np.testing.assert_allclose(scores, np.squeeze(X @ lda.coef_.T + lda.intercept_), atol=1e-9)
    np.testing.assert_array_equal(lda.predict(X), lda.classes_[P.argmax(axis=1)])
    best = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(lda.predict(X), lda.classes_[best])
    both = np.stack([np.zeros(len(X)), scores], axis=1) if n_classes == 2 else scores
    E = np.exp(both - both.max(axis=1, keepdims=True))
    np.testing.assert_allclose(P, E / E.sum(axis=1, keepdims=True), atol=1e-10)
    np.testing.assert_allclose(np.exp(lda.predict_log_proba(X)), P, atol=1e-12)


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


def test_lda_refuses_what_its_solvers_cannot_do_as_scikit_learn_does():
    X, y = rows_of_classes(3)
    for make in (LinearDiscriminantAnalysis, sklearn.discriminant_analysis.LinearDiscriminantAnalysis):
        with pytest.raises(NotImplementedError, match=r"shrinkage|covariance"):
            make("svd", 0.5).fit(X, y)
        with pytest.raises(NotImplementedError, match="lsqr"):
            make("lsqr").fit(X, y).transform(X)
