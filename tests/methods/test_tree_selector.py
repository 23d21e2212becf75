"""Selection by a tree; pruning is tested with the blocks."""

import numpy as np
import pytest
from sklearn.inspection import permutation_importance
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

import lowland
from lowland import TreeSelector
from lowland.errors import DataError, DataWarning, ParameterError


@pytest.fixture(scope="module")
def table():
    """A nonlinear function of columns 2 and 5; column 2 has the larger effect."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 7))
    return X, 1.5 * (X[:, 2] > 0.2) * np.sign(X[:, 5]) + 4 * (X[:, 2] > -0.4) + 0.3 * rng.standard_normal(300)


# --- the answer


def test_informative_columns_are_found(table):
    X, y = table
    selector = TreeSelector(random_state=0).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [2, 5]
    assert selector.features_pruned_.tolist() == [2, 5]
    assert set(selector.features_grown_) > {2, 5}
    np.testing.assert_array_equal(selector.transform(X), X[:, [2, 5]])
    assert np.argsort(-selector.permutation_importances_)[:2].tolist() == [2, 5]
    assert (selector.permutation_importances_[[0, 1, 3, 4, 6]] == 0).all()
    assert (selector.permutation_importances_std_[[2, 5]] > 0).all()
    assert selector.impurity_importances_.sum() == pytest.approx(1)
    assert selector.score_ > 0.9
    assert TreeSelector(1, random_state=0).fit(X, y).get_support(indices=True).tolist() == [2]
    assert TreeSelector(7, random_state=0).fit(X, y).support_.all()


def test_the_pruned_tree_agrees_with_scikit_learn(wine):
    selector = TreeSelector(random_state=3).fit(wine.X, wine.y)
    i = int(np.flatnonzero(selector.alphas_ == selector.alpha_)[0])
    assert selector.rules().count("row") == selector.n_leaves_[i]
    np.testing.assert_allclose(selector.score_, 1 - selector.cv_losses_[i].mean())
    assert selector.cv_losses_.shape == (len(selector.alphas_), 5)
    assert selector.n_leaves_[0] == 1
    assert (np.diff(selector.n_leaves_) > 0).all()
    assert (np.diff(selector.alphas_) < 0).all()


def test_importances_agree_with_scikit_learn_on_held_out_rows(table):
    X, y = table
    selector = TreeSelector(n_repeats=20, scoring="neg_mean_absolute_error", cv=3, random_state=0).fit(X, y)
    theirs = []
    for train, test in KFold(3).split(X):
        tree = DecisionTreeRegressor(ccp_alpha=selector.alpha_, random_state=0).fit(X[train], y[train])
        found = permutation_importance(
            tree, X[test], y[test], n_repeats=20, random_state=0, scoring="neg_mean_absolute_error"
        )
        theirs.append(found.importances_mean)
    np.testing.assert_allclose(selector.permutation_importances_, np.mean(theirs, axis=0), atol=0.1)
    assert selector.permutation_importances_[2] > 0.5  # in the unit of y


def test_scorers_receive_the_original_labels(wine):
    seen = []

    def score(estimator, X, y):
        seen.append((set(y), set(estimator.predict(X))))
        return estimator.score(X, y)

    TreeSelector(scoring=score, n_repeats=1, random_state=0).fit(wine.X, np.array(["a", "b", "c"])[wine.y])
    assert all(y | p <= {"a", "b", "c"} for y, p in seen)
    errors = TreeSelector(
        scoring=make_scorer(mean_absolute_error, greater_is_better=False), n_repeats=1, random_state=0
    )
    assert errors.fit(wine.X, wine.X[:, 12] / 3 + 1000).permutation_importances_[12] > 50


def test_the_path_records_when_each_column_is_removed(table):
    X, y = table
    selector = TreeSelector(random_state=0).fit(X, y)
    left = [step.feature for step in selector.path_]
    assert sorted(left) == selector.features_grown_.tolist()
    assert (np.diff(selector.removal_alphas_[left]) >= 0).all()
    assert left[-2:] == [5, 2]
    assert selector.path_[-1].size == 0
    kept = [j for j in left if selector.removal_alphas_[j] > selector.alpha_]
    assert sorted(kept) == selector.features_pruned_.tolist()
    assert selector.path_[-3].score == pytest.approx(selector.score_, abs=0.05)
    assert selector.path_table().splitlines()[1].split()[1] == "remove"
    figure = lowland.plots.selection_path(selector.path_)
    assert figure.axes


def test_units_and_monotone_changes_do_not_matter(table):
    X, y = table
    plain = TreeSelector(random_state=0).fit(X, y)
    for other in (
        TreeSelector(random_state=0).fit(X * 1e-3 + 1e6, y),
        TreeSelector(random_state=0).fit(X, y * 1e-6 + 1e3),
    ):
        np.testing.assert_array_equal(other.support_, plain.support_)
        np.testing.assert_allclose(other.permutation_importances_, plain.permutation_importances_, atol=0.02)
    for other in (np.exp(30 * X), np.where(X.max() == X, 1e7, X), X * 1e-160, X * 1e300):
        same = TreeSelector(random_state=0).fit(other, y)
        np.testing.assert_array_equal(same.cv_losses_, plain.cv_losses_)
        np.testing.assert_array_equal(same.permutation_importances_, plain.permutation_importances_)
    moved = TreeSelector(random_state=0).fit(X, y * 10 + 1e7)
    np.testing.assert_allclose(moved.alpha_, plain.alpha_ * 100, rtol=1e-4)
    np.testing.assert_allclose(moved.cv_losses_[:10], plain.cv_losses_[:10] * 100, rtol=1e-3)


def test_rules_are_written_in_names_and_units(wine):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(wine.X, columns=list(wine.names))
    selector = TreeSelector(max_depth=1, rule="min", random_state=0).fit(
        frame, np.array(["red", "white", "rosy"])[wine.y]
    )
    lines = selector.rules().splitlines()
    assert len(lines) == 4
    column, _, border = lines[0].removeprefix("if ").removesuffix(":").rpartition(" <= ")
    below = (frame[column] <= float(border)).sum()
    assert f"({below} rows)" in lines[1]
    assert lines[1].split()[0] in ("red", "white", "rosy")


# --- difficult input


def test_where_no_split_helps_the_first_is_selected_with_a_warning():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    with pytest.warns(DataWarning, match=r"no split.*[Oo]nly column"):
        selector = TreeSelector(random_state=0).fit(X, rng.standard_normal(60))
    assert selector.support_.sum() == 1
    assert selector.features_pruned_.size == 0
    assert len(selector.rules().splitlines()) == 1


def test_constant_columns_are_reported_and_never_used(table):
    X, y = table
    X = np.column_stack([np.full(300, 7.0), X])
    with pytest.warns(DataWarning, match="Column 'x0' is constant"):
        selector = TreeSelector(3, random_state=0).fit(X, y)
    assert not selector.support_[0]
    with pytest.raises(DataError, match="Every column is constant"):
        TreeSelector(random_state=0).fit(np.ones((300, 2)), y)


BAD = {
    "more folds than rows": ({"cv": 301}, 0, DataError, "fewer folds"),
    "more folds than members": (
        {"cv": 200, "estimator": "classifier"},
        np.arange(300) % 2,
        DataError,
        "estimator='regressor'",
    ),
    "fractions as classes": ({"estimator": "classifier"}, 0, DataError, "fractions"),
    "y that does not vary": ({"estimator": "regressor"}, np.full(300, 0.1), DataError, "y is constant"),
    "leaves of more rows than there are": ({"min_samples_leaf": 151}, 0, ParameterError, "Lower min_samples_leaf"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_reported(table, what):
    options, y, error, words = BAD[what]
    X, numbers = table
    with pytest.raises(error, match=words) as caught:
        TreeSelector(**options, random_state=0).fit(X, numbers if isinstance(y, int) else y)
    assert str(caught.value).endswith(".")


def test_folds_of_one_row_have_no_score(table):
    with pytest.raises(DataError, match="fewer folds"):
        TreeSelector(cv=20, random_state=0).fit(table[0][:20], table[1][:20])
