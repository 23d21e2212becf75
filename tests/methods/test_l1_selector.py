"""Selection by a sparse linear model; its solver is tested with the blocks."""

import numpy as np
import pytest
from sklearn.linear_model import LassoCV, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland import L1Selector
from lowland.data import load_dataset
from lowland.errors import DataError, DataWarning, ParameterError


@pytest.fixture(scope="module")
def table():
    """Numbers that follow from columns 2, 5 and 7, in falling order; units differ."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 9)) + 3
    y = X[:, [2, 5, 7]] @ [3.0, 2.0, 1.0] + 0.5 * rng.standard_normal(120) + 40
    return X * np.geomspace(1e-3, 1e3, 9), y


# --- the answer


def test_informative_columns_are_found_by_every_rule(table):
    X, y = table
    for options in ({}, {"rule": "stability", "expected_false_positives": 2.0}, {"n_features_to_select": 3}):
        selector = L1Selector(**options).fit(X, y)
        assert selector.get_support(indices=True).tolist() == [2, 5, 7]
        np.testing.assert_array_equal(selector.transform(X), X[:, [2, 5, 7]])
        assert selector.converged_
    order = np.argsort(-selector.entry_alphas_, kind="stable")
    assert order[:3].tolist() == [2, 5, 7]
    assert [step.feature for step in selector.path_[:3]] == [2, 5, 7]
    assert selector.path_[0].action == "add"
    assert selector.path_[-1].score > 0.97


@pytest.mark.parametrize("folds", [5, KFold(3, shuffle=True, random_state=0)])
def test_penalty_losses_and_coefficients_agree_with_lasso_cv(table, folds):
    X, y = table[0] / np.geomspace(1e-3, 1e3, 9), table[1]
    ours = L1Selector(rule="min", standardize=False, cv=folds).fit(X, y)
    theirs = LassoCV(cv=folds, tol=1e-12, max_iter=10**5).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_)
    assert ours.alpha_ == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(ours.cv_losses_, theirs.mse_path_, rtol=1e-6)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-7)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-6)
    np.testing.assert_allclose(ours.coef_path_[ours.alphas_ == ours.alpha_][0], ours.coef_)


def test_coefficients_are_in_the_units_of_the_columns(table):
    X, y = table
    ours = L1Selector(rule="min").fit(X, y)
    theirs = make_pipeline(StandardScaler(), LassoCV(cv=5, tol=1e-12)).fit(X, y)
    np.testing.assert_allclose(X @ ours.coef_ + ours.intercept_, theirs.predict(X), atol=1e-5)
    other = L1Selector(rule="min").fit(X * 1000 + 5, y * 10 - 3)
    np.testing.assert_allclose(other.coef_, ours.coef_ / 100, atol=1e-12)
    np.testing.assert_array_equal(other.support_, ours.support_)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 2000))
    y = X[:, [10, 500, 1500]] @ [3.0, -3.0, 3.0] + 0.5 * rng.standard_normal(100)
    selector = L1Selector(alphas=30, eps=0.05).fit(X, y)
    assert set(np.flatnonzero(selector.support_)) >= {10, 500, 1500}
    assert selector.support_.sum() < 30
    assert selector.dual_gaps_.max() <= 1e-9
    theirs = LassoCV(alphas=selector.alphas_, cv=5, tol=1e-10, max_iter=10**5)
    theirs.fit(X / X.std(axis=0), y)
    np.testing.assert_allclose(selector.cv_losses_, theirs.mse_path_, rtol=1e-5)
    stable = L1Selector(rule="stability", alphas=30, n_subsamples=20).fit(X, y)
    assert stable.get_support(indices=True).tolist() == [10, 500, 1500]


@pytest.mark.scikit_learn("1.8")
def test_classes_agree_with_scikit_learn(wine):
    Z = StandardScaler().fit_transform(wine.X)
    for y in (wine.y == 1, wine.y):
        ours = L1Selector(rule="min", alphas=12, eps=0.05, cv=3, tol=1e-11).fit(wine.X, y)
        C = 1 / (len(y) * ours.alpha_)
        theirs = LogisticRegression(l1_ratio=1, solver="saga", C=C, tol=1e-7, max_iter=10**5).fit(Z, y)
        np.testing.assert_allclose(ours.coef_ * wine.X.std(axis=0), theirs.coef_, atol=1e-4)
        shift = ours.intercept_ + ours.coef_ @ wine.X.mean(axis=0) - theirs.intercept_
        np.testing.assert_allclose(shift, shift.mean(), atol=1e-4)
        for f, (train, test) in enumerate(StratifiedKFold(3).split(Z, y)):
            theirs.set_params(C=1 / (len(train) * ours.alpha_)).fit(Z[train], y[train])
            loss = log_loss(y[test], theirs.predict_proba(Z[test]))
            assert ours.cv_losses_[ours.alphas_ == ours.alpha_][0, f] == pytest.approx(loss, abs=1e-4)
        assert ours.classes_.tolist() == sorted(set(y.tolist()))
        assert ours.coef_path_.shape == ((12, 13) if y.dtype == bool else (12, 3, 13))


def test_exactly_k_columns_also_where_several_enter_at_once(table):
    X, y = table
    for k in range(1, 10):
        selector = L1Selector(k, alphas=4).fit(X, y)
        assert selector.support_.sum() == k
        inside = np.flatnonzero(selector.coef_)
        assert set(inside) <= set(np.flatnonzero(selector.support_))


def test_folds_may_be_many(table):
    X, y = (part[:30] for part in table)
    one = L1Selector(rule="min", cv=LeaveOneOut(), alphas=20).fit(X, y)
    assert one.cv_losses_.shape == (20, 30)
    theirs = LassoCV(alphas=one.alphas_, cv=LeaveOneOut(), tol=1e-10)
    theirs.fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    np.testing.assert_allclose(one.cv_losses_.mean(axis=1), theirs.mse_path_.mean(axis=1), rtol=1e-5)
    L1Selector(cv=ShuffleSplit(6, random_state=0), alphas=20).fit(X, y)


def test_an_error_bound_above_the_requested_one_is_reported(table):
    with pytest.warns(DataWarning, match=r"expected_false_positives=0\.222 or more"):
        selector = L1Selector(rule="stability", expected_false_positives=0.05).fit(*table)
    assert selector.error_bound_ == pytest.approx(1 / 4.5)


def test_columns_too_small_to_be_squared_are_refused(table):
    X, y = table
    for rows in (slice(None), slice(5)):
        with pytest.raises(DataError, match="too small"):
            L1Selector(2, estimator="linear").fit(X[rows] * 1e-160, y[rows])
    small = L1Selector(2).fit((X * 1e-25).astype(np.float32), y)  # computed in float64
    np.testing.assert_array_equal(small.support_, L1Selector(2).fit(X, y).support_)
    np.testing.assert_array_equal(L1Selector(3).fit(X * 1e-120, y).support_, L1Selector(3).fit(X, y).support_)


def test_stability_selection_reports_frequencies_and_the_bound(table):
    X, y = table
    selector = L1Selector(rule="stability", threshold=0.8, expected_false_positives=0.5, random_state=1).fit(X, y)
    q = int(np.sqrt(0.5 * 0.6 * 9))
    assert selector.error_bound_ == pytest.approx(q**2 / (0.6 * 9))
    assert selector.stability_.sum() == pytest.approx(q)
    np.testing.assert_array_equal(selector.support_, selector.stability_ >= 0.8)
    again = L1Selector(rule="stability", threshold=0.8, expected_false_positives=0.5, random_state=1).fit(X, y)
    np.testing.assert_array_equal(again.stability_, selector.stability_)
    two = L1Selector(2, rule="stability").fit(X, y)
    assert two.get_support(indices=True).tolist() == [2, 5]
    assert two.error_bound_ is None


@pytest.mark.filterwarnings("ignore:.*no column is selected in")
def test_stability_selection_rarely_selects_noise():
    """The bound is on the mean over tables: of 20 columns of noise at most 1 is to be expected."""
    kept = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((80, 20)), rng.standard_normal(80)
        selector = L1Selector(rule="stability", n_subsamples=20, alphas=20).fit(X, y)
        kept.append((selector.stability_ >= 0.75).sum())
        assert selector.error_bound_ <= 1
    assert np.mean(kept) <= 1


def test_files_are_read_once_and_agree_with_arrays(table, tmp_path, monkeypatch):
    X, y = table
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 1000)
    np.save(tmp_path / "x.npy", X)
    reads = []
    original = lowland.data.rows.ArrayRows.pieces
    monkeypatch.setattr(lowland.data.rows.ArrayRows, "pieces", lambda self: reads.append(1) or original(self))
    streamed = L1Selector().fit(tmp_path / "x.npy", y)
    assert len(reads) == 1
    whole = L1Selector().fit(X, y)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_allclose(streamed.cv_losses_, whole.cv_losses_, rtol=1e-8)


# --- difficult columns


def test_of_duplicates_the_first_is_kept_and_the_rest_is_as_before(table):
    X, y = table
    twice = L1Selector().fit(np.column_stack([X, X]), y)
    assert twice.get_support(indices=True).tolist() == [2, 5, 7]
    with pytest.warns(DataWarning, match="only 9 columns enter"):
        filled = L1Selector(12).fit(np.column_stack([X, X]), y)
    assert filled.support_[:9].all()
    assert filled.support_.sum() == 12


def test_constant_columns_are_reported_and_never_enter(table):
    X, y = table
    X = np.column_stack([np.full(120, 1e9), X[:, [2, 5]], np.zeros(120)])
    for target in (y, y > np.median(y)):
        with pytest.warns(DataWarning, match=r"Columns 'x0', 'x3' are constant"):
            selector = L1Selector(2).fit(X, target)
        assert selector.get_support().tolist() == [False, True, True, False]
        assert np.isfinite(selector.coef_).all()


def test_where_no_column_helps_the_first_is_selected_with_a_warning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    for y in (rng.standard_normal(60), np.arange(60) % 3):
        with pytest.warns(DataWarning, match=r"null model.*[Cc]olumn 'x\d'"):
            selector = L1Selector().fit(X, y)
        assert selector.support_.sum() == 1
        assert selector.support_[np.argmax(selector.entry_alphas_)]


# --- bad input


BAD = {
    "penalties below zero": ({"alphas": [1.0, -1.0]}, 0, ParameterError, "penalties must be .*positive"),
    "more folds than rows": ({"cv": 121}, 0, DataError, "fewer folds"),
    "folds that overlap": ({"cv": [(np.arange(120), np.arange(120))]}, 0, ParameterError, "twice"),
    "folds without rows": ({"cv": [(np.arange(120), np.array([], int))]}, 0, ParameterError, "no test rows"),
    "folds of rows that are not there": ({"cv": [([0, 500], [1])]}, 0, ParameterError, "from 0 to 119"),
    "a text for penalties": ({"alphas": "abc"}, 0, ParameterError, "alphas.*list of numbers"),
    "texts as numbers": (
        {"estimator": "linear"},
        np.array(["a", "b", "c"] * 40),
        DataError,
        "3 classes.*numeric target",
    ),
    "fractions as classes": ({"estimator": "logistic"}, 0, DataError, "fractions"),
    "y that does not vary": ({"estimator": "linear"}, np.full(120, 0.1), DataError, "y is constant"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_reported(table, what):
    options, y, error, words = BAD[what]
    X, numbers = table
    with pytest.raises(error, match=words) as caught:
        L1Selector(**options).fit(X, numbers if isinstance(y, int) else y)
    assert str(caught.value).endswith(".")


def test_a_class_too_rare_for_the_folds_is_reported(wine):
    y = wine.y.copy()
    y[0] = 7
    with (
        pytest.warns(DataWarning, match="fewer folds"),
        pytest.raises(DataError, match=r"no row of class 7.*estimator='linear'"),
    ):
        L1Selector().fit(wine.X, y)


# --- targets without a linear effect ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"n_features_to_select": 2}, {"rule": "stability", "random_state": 0}, {"estimator": "linear"}]
)
def test_a_target_orthogonal_up_to_rounding_is_an_error_not_an_endless_search(options):
    rng = np.random.default_rng(0)
    F = np.array(np.meshgrid(*[[-1.0, 1.0]] * 4)).reshape(4, -1).T
    F = np.repeat(F, 4, axis=0)[rng.permutation(64)]
    X = F * rng.uniform(0.1, 5, 4) + rng.normal(0, 30, 4)  # the moments are no longer exact
    y = F.prod(axis=1) * 0.1 + 0.7 if options.get("estimator") == "linear" else np.where(F.prod(axis=1) > 0, "a", "b")
    with pytest.raises(DataError, match="zero, up to rounding error"):
        L1Selector(**options).fit(X, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("estimator", ["linear", "logistic"])
def test_penalties_and_tolerances_below_rounding_error_end_with_a_warning_at_most(estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    y = X[:, 0] + rng.standard_normal(60)
    y = y if estimator == "linear" else (y > 0).astype(int)
    model = L1Selector(2, estimator=estimator, alphas=[1e-1, 1e-18, 1e-30], tol=1e-40).fit(X, y)
    assert model.n_iter_ < 20_000  # of 300,000 allowed
    assert model.dual_gaps_.max() < 1e-12


def test_too_many_penalties_are_refused():
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match=r"1,000,000,000 penalties are too many.*at most 100,000"):
        L1Selector(alphas=10**9).fit(X, X[:, 0])


def test_the_path_begins_at_the_largest_correlation_of_a_standardized_column():
    X, y = load_dataset("wine").X, np.random.default_rng(0).standard_normal(178)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found = L1Selector(rule="min", n_features_to_select=2).fit(X, y)
    assert found.alphas_[0] == pytest.approx(np.abs(Z.T @ (y - y.mean())).max() / len(y))
