"""Sequential feature selection; its searches and scores are tested with the blocks."""

import warnings
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.feature_selection import SelectorMixin
from sklearn.feature_selection import SequentialFeatureSelector as Theirs
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, LeaveOneGroupOut
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter

import lowland
from lowland import LinearDiscriminantAnalysis, SequentialFeatureSelector
from lowland.errors import DataError, DataWarning, ParameterError, Stopped


@pytest.fixture(scope="module")
def table():
    """Numbers that follow from columns 2, 5 and 7, in falling order."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 9)) + 3
    return X, X[:, [2, 5, 7]] @ [3.0, 2.0, 1.0] + 0.3 * rng.standard_normal(80)


class Interrupted(RegressorMixin, BaseEstimator):
    """Least squares that is interrupted by Ctrl-C."""

    left = 0

    def fit(self, X, y):
        Interrupted.left -= 1
        if Interrupted.left < 0:
            raise KeyboardInterrupt
        self.model_ = LinearRegression().fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


# --- the answer


def test_informative_columns_are_selected_in_order(table):
    X, y = table
    selector = SequentialFeatureSelector(n_features_to_select=3).fit(X, y)
    assert [step.feature for step in selector.path_] == [2, 5, 7]
    assert [step.size for step in selector.path_] == [1, 2, 3]
    assert selector.path_[-1].features == (2, 5, 7)
    assert selector.score_ == selector.path_[-1].score > 0.95
    np.testing.assert_array_equal(selector.transform(X), X[:, [2, 5, 7]])
    back = SequentialFeatureSelector(n_features_to_select=3, direction="backward").fit(X, y)
    assert back.get_support(indices=True).tolist() == [2, 5, 7]
    assert {step.action for step in back.path_} == {"remove"}


@pytest.mark.parametrize(
    ("direction", "options"),
    [
        ("backward", {"estimator": LinearRegression(), "n_features_to_select": 4}),
        ("forward", {"estimator": Ridge(2.0), "n_features_to_select": 0.5, "scoring": "neg_mean_squared_error"}),
        ("forward", {"estimator": LinearRegression(), "tol": 1e-3, "cv": KFold(3, shuffle=True, random_state=0)}),
        (
            "forward",
            {"estimator": DecisionTreeRegressor(max_depth=2, random_state=0), "n_features_to_select": 2, "cv": 3},
        ),
        ("backward", {"estimator": LinearRegression(), "scoring": "neg_median_absolute_error", "cv": 2}),
    ],
)
def test_the_same_columns_as_scikit_learn(table, direction, options):
    X, y = table[0][:, :7], table[1]
    ours = SequentialFeatureSelector(**options, direction=direction).fit(X, y)
    theirs = Theirs(**options, direction=direction).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert ours.n_features_to_select_ == theirs.n_features_to_select_


def test_the_same_columns_as_scikit_learn_for_classes(wine):
    X, y = wine.X[:, :8], wine.y
    for model in (KNeighborsClassifier(3), LinearDiscriminantAnalysis()):
        ours = SequentialFeatureSelector(model, n_features_to_select=2, cv=3).fit(X, y)
        theirs = Theirs(model, n_features_to_select=2, cv=3).fit(X, y)
        np.testing.assert_array_equal(ours.support_, theirs.support_)
    assert ours.solver_.name == "closed form"


def test_exhaustive_is_best_by_its_score(wine):
    X, y = wine.X[:, :6], wine.y
    best = SequentialFeatureSelector(n_features_to_select=2, direction="exhaustive", cv=3).fit(X, y)
    assert best.n_subsets_ == 15
    for direction in ("forward", "backward", "floating-forward"):
        other = SequentialFeatureSelector(n_features_to_select=2, direction=direction, cv=3).fit(X, y)
        assert best.score_ >= other.score_
    assert best.path_[-1].action == "find"
    assert best.path_[-1].feature is None
    bounded = SequentialFeatureSelector("linear", n_features_to_select=3, direction="exhaustive", scoring="wilks")
    bounded.fit(wine.X, wine.X[:, 2] - 2 * wine.X[:, 7] + 3 * wine.X[:, 9])
    assert bounded.get_support(indices=True).tolist() == [2, 7, 9]
    assert bounded.score_ == pytest.approx(1)


def test_tol_and_fractions_determine_the_number(table):
    X, y = table
    assert SequentialFeatureSelector(tol=0.01).fit(X, y).get_support(indices=True).tolist() == [2, 5, 7]
    removing = SequentialFeatureSelector(tol=-0.01, direction="backward").fit(X, y)
    assert removing.get_support(indices=True).tolist() == [2, 5, 7]
    assert SequentialFeatureSelector().fit(X, y).n_features_to_select_ == 4  # half of 9
    fifty = np.random.default_rng(0).standard_normal((80, 50))
    assert SequentialFeatureSelector(n_features_to_select=0.58).fit(fifty, y).n_features_to_select_ == 29
    assert SequentialFeatureSelector(n_features_to_select=0.05).fit(X, y).n_features_to_select_ == 1
    all_of_them = SequentialFeatureSelector(n_features_to_select=9, direction="backward").fit(X, y)
    assert all_of_them.path_ == ()
    assert all_of_them.support_.all()


def test_the_kind_of_y_chooses_the_model(wine, table):
    def reason(y, X=wine.X[:, :4], **options):
        return SequentialFeatureSelector(n_features_to_select=1, **options).fit(X, y).solver_.reason

    assert reason(wine.y).startswith("linear discriminants")
    assert reason(np.array(wine.label_names)[wine.y]).startswith("linear discriminants")
    assert reason(wine.X[:, 5]).startswith("least squares")
    assert reason(np.arange(len(wine.y))).startswith("least squares")  # distinct integers
    assert reason(wine.y, estimator="linear").startswith("least squares")
    assert reason(wine.y, estimator="tree", cv=2).startswith("DecisionTreeClassifier")
    assert reason(wine.X[:, 5], estimator="tree", cv=2).startswith("DecisionTreeRegressor")
    assert reason(wine.y, estimator=LinearDiscriminantAnalysis("eigen", 0.1), cv=2).startswith("LinearDiscriminant")


def test_an_unsupervised_estimator(wine):
    model = KMeans(3, n_init=1, random_state=0)
    ours = SequentialFeatureSelector(model, n_features_to_select=1, cv=2).fit(wine.X[:, :4])
    np.testing.assert_array_equal(
        ours.support_, Theirs(model, n_features_to_select=1, cv=2).fit(wine.X[:, :4]).support_
    )


def test_sparse_rows_if_the_model_accepts_them(table):
    X, y = table
    X = np.where(X > 3, X, 0)
    sparse = SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=2).fit(scipy.sparse.csr_array(X), y)
    dense = SequentialFeatureSelector(Ridge(), n_features_to_select=2, cv=2).fit(X, y)
    np.testing.assert_array_equal(sparse.support_, dense.support_)
    for estimator in (None, "discriminant"):
        with pytest.raises(
            DataError, match=r"FeatureFilter, or .* whose estimator accepts sparse rows, such as 'linear'"
        ):
            SequentialFeatureSelector(estimator).fit(scipy.sparse.csr_array(X), y > 5)
    named = SequentialFeatureSelector("linear", n_features_to_select=2, cv=2).fit(scipy.sparse.csr_array(X), y)
    assert named.__sklearn_tags__().input_tags.sparse


@pytest.mark.parametrize("closed", [True, False])
def test_the_unit_of_y_does_not_affect_the_selection(table, closed):
    X, y = table
    for scoring, power in (("neg_mean_squared_error", 2), ("neg_root_mean_squared_error", 1), ("r2", 0)):
        options = {"scoring": scoring, "closed_form": closed, "n_features_to_select": 3, "cv": 2}
        whole, small = (SequentialFeatureSelector("linear", **options).fit(X, unit * y) for unit in (1.0, 1e-6))
        assert small.get_support(indices=True).tolist() == [2, 5, 7]
        assert small.score_ == pytest.approx(whole.score_ * 1e-6**power, rel=1e-9)
    tol = SequentialFeatureSelector("linear", scoring="neg_mean_squared_error", tol=0.01 * 1e-12, closed_form=closed)
    assert tol.fit(X, y * 1e-6).get_support(indices=True).tolist() == [2, 5, 7]


def test_n_jobs_changes_nothing(table):
    with parallel_config("threading"):
        one, two, all_processors = (
            SequentialFeatureSelector(closed_form=False, n_features_to_select=1, cv=2, n_jobs=jobs).fit(*table)
            for jobs in (None, 2, 2**62)
        )
    assert one.path_ == two.path_ == all_processors.path_
    with pytest.raises(ParameterError, match=r"n_jobs=0.*positive"):
        SequentialFeatureSelector(n_jobs=0).fit(*table)


def test_closed_form_and_refitted_scores_agree_far_from_zero_and_in_float32(table):
    X, y = table
    for model, data in ((LinearRegression(fit_intercept=False), X + 1e6), (LinearRegression(), X.astype(np.float32))):
        short, long = (
            SequentialFeatureSelector(model, n_features_to_select=2, cv=3, closed_form=closed).fit(data, y + 1e6)
            for closed in (True, False)
        )
        np.testing.assert_allclose([s.score for s in short.path_], [s.score for s in long.path_], atol=1e-10)


# --- the path


def test_the_path_is_reported_with_names_and_saved(wine, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(wine.X, columns=list(wine.names)).assign(kind=wine.y)
    selector = SequentialFeatureSelector(n_features_to_select=2).fit(frame, "kind")
    assert selector.path_table().splitlines() == [
        "step  action  feature        score  columns",
        "   1  add     flavanoids  0.798571        1",
        "   2  add     alcohol     0.910476        2",
    ]
    assert list(selector.get_feature_names_out()) == ["alcohol", "flavanoids"]
    lowland.save(selector, tmp_path / "m")
    loaded = lowland.load(tmp_path / "m")
    assert loaded.path_ == selector.path_
    assert loaded.transform(frame).shape == (178, 2)
    foreign = SequentialFeatureSelector(KNeighborsClassifier(), n_features_to_select=1, cv=2).fit(frame, "kind")
    lowland.save(foreign, tmp_path / "f")
    loaded = lowland.load(tmp_path / "f")
    np.testing.assert_array_equal(loaded.transform(frame), foreign.transform(frame))
    with pytest.raises(ParameterError, match="estimator"):
        loaded.fit(frame, "kind")


def test_ctrl_c_keeps_the_path_so_far(table):
    X, y = table
    whole = SequentialFeatureSelector(LinearRegression(), n_features_to_select=4, cv=2).fit(X, y)
    Interrupted.left = 2 * (9 + 8) + 3  # in the middle of the third step
    selector = SequentialFeatureSelector(Interrupted(), n_features_to_select=4, cv=2)
    with pytest.raises(KeyboardInterrupt) as stop:
        selector.fit(X, y)
    assert "path_" in stop.value.__notes__[0]
    assert selector.interrupted_
    assert not whole.interrupted_
    assert [step.feature for step in selector.path_] == [step.feature for step in whole.path_[:2]]
    assert selector.n_features_to_select_ == 2
    np.testing.assert_array_equal(selector.transform(X), X[:, [2, 5]])
    Interrupted.left = 3  # before the first step is done
    with pytest.raises(KeyboardInterrupt):
        selector.fit(X, y)
    assert not hasattr(selector, "path_")
    assert not hasattr(selector, "_path")
    Interrupted.left = 10**6
    assert not selector.fit(X, y).interrupted_


def test_a_callback_returning_false_keeps_the_path_so_far(table, monkeypatch):
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0.0)
    X, y = table
    selector = SequentialFeatureSelector("linear", n_features_to_select=5)
    with (
        lowland.config(progress=lambda event: event.done < 9 + 8 + 7),
        pytest.raises(Stopped, match=r"after 2 steps.*path_.*support_"),
    ):
        selector.fit(X, y)
    assert [step.feature for step in selector.path_] == [2, 5]
    assert selector.interrupted_


# --- bad input


def failing(estimator, X, y):
    raise RuntimeError("no luck")


BAD = {
    "no y": ({}, None, DataError, "requires y"),
    "too many": ({"n_features_to_select": 10}, 0, ParameterError, "at most 9"),
    "none at all": ({"n_features_to_select": 0}, 0, ParameterError, "at least 1"),
    "a fraction above one": ({"n_features_to_select": 1.5}, 0, ParameterError, "n_features_to_select=1.5.*at most 1"),
    "a fall in forward": ({"tol": -1.0}, 0, ParameterError, "strictly positive"),
    "an unknown scorer": ({"scoring": "nonsense"}, 0, ParameterError, "get_scorer_names"),
    "a scorer that fails": ({"scoring": failing}, 0, ParameterError, "RuntimeError: no luck. Choose a scoring"),
    "a scorer without a number": ({"scoring": lambda *_: "good"}, 0, ParameterError, "'good'.*not a number"),
    "a metric for a scorer": ({"scoring": accuracy_score}, 0, ParameterError, "scoring"),
    "a scorer for classes": ({"scoring": "accuracy"}, 0, ParameterError, "'r2' for numbers"),
    "a class": ({"estimator": LinearRegression}, 0, ParameterError, "instance.*not a class"),
    "more folds than rows": ({"cv": 100, "estimator": "linear"}, 0, DataError, "fewer folds"),
    "no folds": ({"cv": []}, 0, (DataError, ParameterError), "folds"),
    "wilks of another": ({"scoring": "wilks", "estimator": "tree"}, 0, ParameterError, "least squares"),
    "texts for a line": ({"estimator": "linear"}, np.array(["a", "b"] * 40), DataError, "discriminant"),
    "a scorer without an answer": ({"scoring": lambda *_: np.nan}, 0, DataError, "the scorer returns NaN"),
    "a scorer nearly named": ({"scoring": "neg_mean_squared"}, 0, ParameterError, "Did you mean 'neg_mean_.*error'"),
    "a gain that is none": ({"tol": np.nan}, 0, ParameterError, "finite"),
    "a constant y": ({"estimator": "linear"}, np.ones(80), DataError, "y is constant"),
    "a constant y for a tree": ({"estimator": DecisionTreeRegressor()}, np.ones(80), DataError, "y is constant"),
    "squares of a tiny y": (
        {"scoring": "neg_mean_squared_error"},
        np.arange(80) * 1e-170,
        DataError,
        "underflow.*'r2'",
    ),
    "NaN in y": ({}, np.full(80, np.nan), DataError, "NaN"),
    "one class": ({"estimator": "discriminant"}, np.ones(80, dtype=int), DataError, "number of classes"),
    "one row a test part": ({"cv": 80, "estimator": "linear"}, 0, DataError, "two rows"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_reported(table, what):
    options, y, error, words = BAD[what]
    X, numbers = table
    with pytest.raises(error, match=words) as caught:
        SequentialFeatureSelector(**options).fit(X, numbers if isinstance(y, int) else y)
    assert str(caught.value).endswith(".")


def test_constant_columns_are_reported_and_come_last(table):
    X, y = table
    X = np.column_stack([np.full(80, 7.0), X[:, [2, 5]]])
    with pytest.warns(DataWarning, match="Column 'x0' is constant"):
        selector = SequentialFeatureSelector(n_features_to_select=2).fit(X, y)
    assert selector.get_support().tolist() == [False, True, True]


def test_a_class_of_one_row_is_reported(table):
    X, y = table
    with pytest.warns(DataWarning, match="drop rare classes"):
        SequentialFeatureSelector(n_features_to_select=1).fit(X, np.where(np.arange(80) == 3, 2, y > 18))


def test_a_column_on_which_the_model_fails_is_skipped(wine):
    """scikit-learn's discriminants fail on a column of zeros alone."""
    X = np.column_stack([np.zeros(178), wine.X[:, [0, 6]]])
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        selector = SequentialFeatureSelector(n_features_to_select=1, closed_form=False, cv=2).fit(X, wine.y)
    assert selector.get_support().tolist() == [False, False, True]
    assert any("were skipped" in str(each.message) for each in reported)


# --- as a meta-estimator of scikit-learn ---


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def test_is_a_selector_and_a_meta_estimator():
    selector = SequentialFeatureSelector(LinearRegression())
    assert isinstance(selector, SelectorMixin)
    assert isinstance(selector, MetaEstimatorMixin)
    assert isinstance(selector.get_metadata_routing(), MetadataRouter)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("estimator", [Ridge(), None])
def test_groups_reach_the_splitter(estimator):
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((60, 5)), np.arange(60) % 4
    y = 3 * X[:, 1] - 2 * X[:, 4] + groups
    ours = SequentialFeatureSelector(estimator, n_features_to_select=2, cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    folds = list(LeaveOneGroupOut().split(X, y, groups))
    expected = SequentialFeatureSelector(estimator, n_features_to_select=2, cv=folds).fit(X, y)
    np.testing.assert_array_equal(ours.support_, expected.support_)
    assert ours.score_ == pytest.approx(expected.score_, rel=1e-12)
    assert ours.solver_.name == "closed form"
    with pytest.raises(ValueError, match="groups"):
        SequentialFeatureSelector(estimator, cv=LeaveOneGroupOut()).fit(X, y)


@pytest.mark.usefixtures("routing")
def test_weights_reach_the_estimator_and_the_scorer_as_in_scikit_learn():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 6))
    half = np.arange(80) % 2 == 0
    y = np.where(half, X[:, 0] + X[:, 1], X[:, 2] - X[:, 3]) + 0.1 * rng.standard_normal(80)
    model = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    for weights, columns in ((half * 1.0 + 1e-3, [0, 1]), (~half * 1.0 + 1e-3, [2, 3])):
        parameters = {"n_features_to_select": 2, "cv": 2}
        ours, theirs = (
            cls(model, **parameters).fit(X, y, sample_weight=weights) for cls in (SequentialFeatureSelector, Theirs)
        )
        np.testing.assert_array_equal(ours.support_, theirs.support_)
        assert ours.get_support(indices=True).tolist() == columns
        listed = SequentialFeatureSelector(model, **parameters).fit(X, y, sample_weight=list(weights))
        np.testing.assert_array_equal(ours.support_, listed.support_)


def test_metadata_needs_routing():
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match="is only supported if"):
        SequentialFeatureSelector(LinearRegression()).fit(X, X[:, 0], sample_weight=np.ones(30))


@pytest.mark.parametrize(
    "model",
    [HistGradientBoostingRegressor(max_iter=20), make_pipeline(SimpleImputer(), LinearRegression())],
    ids=["trees", "pipeline"],
)
def test_missing_values_reach_an_estimator_that_accepts_them(model, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = 3 * X[:, 2] + 2 * X[:, 1]
    X[rng.random(X.shape) < 0.2] = np.nan
    selector = SequentialFeatureSelector(model, n_features_to_select=2, cv=3).fit(X, y)
    assert selector.get_support(indices=True).tolist() == [1, 2]
    np.testing.assert_array_equal(selector.transform(X), X[:, 1:3])
    np.testing.assert_array_equal(np.concatenate(list(selector.transform_chunks(X))), X[:, 1:3])
    assert get_tags(selector).input_tags.allow_nan
    lowland.save(selector, tmp_path / "selector.lowland")
    np.testing.assert_array_equal(lowland.load(tmp_path / "selector.lowland").transform(X), X[:, 1:3])
    with pytest.raises(ValueError, match="contains NaN"):
        SequentialFeatureSelector(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        SequentialFeatureSelector(LinearRegression()).fit(np.nan_to_num(X), y).transform(X)


@pytest.mark.parametrize("model", [KNeighborsRegressor(), "linear"])
def test_several_targets(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    Y = np.stack([X[:, 1] + 0.1 * X[:, 0], X[:, 3]], axis=1)
    ours = SequentialFeatureSelector(model, n_features_to_select=2).fit(X, Y)
    assert ours.get_support(indices=True).tolist() == [1, 3]
    assert SequentialFeatureSelector(model, n_features_to_select=2).fit(X, Y.tolist()).score_ == ours.score_
    with pytest.raises(ValueError, match="60 rows"):
        SequentialFeatureSelector(model).fit(X, Y[:30])


class KindOfNumber(LinearRegression):
    """Records the dtype of the rows it is fitted to."""

    seen: ClassVar[set] = set()

    def fit(self, X, y):
        KindOfNumber.seen.add(X.dtype.kind)
        return super().fit(X, y)


def test_integer_columns_stay_integers():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (60, 4))
    y = X[:, 1] + 0.1 * X[:, 2]
    KindOfNumber.seen.clear()
    selector = SequentialFeatureSelector(KindOfNumber(), n_features_to_select=2).fit(X, y)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    by_name = SequentialFeatureSelector(KindOfNumber(), n_features_to_select=2).fit(frame, y)
    assert KindOfNumber.seen == {"i"}
    for Z in (selector.transform(X), selector.transform(X.tolist()), by_name.transform(frame)):
        assert Z.dtype == X.dtype
        np.testing.assert_array_equal(Z, X[:, 1:3])
    back = selector.inverse_transform(X[:, 1:3])
    assert back.dtype == X.dtype
    mixed = frame.assign(a=frame["a"] / 2, c=frame["c"].astype("int8"))
    kept = by_name.set_output(transform="pandas").transform(mixed)
    assert kept.dtypes.astype(str).tolist() == ["int64", "int8"]
    pandas.testing.assert_frame_equal(kept, mixed[["b", "c"]])
