"""Feature filters; their statistics are tested with the blocks."""

import itertools

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_selection import (
    SelectFdr,
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    chi2,
    f_classif,
    f_regression,
    r_regression,
)

import lowland
from lowland import FeatureFilter, plots
from lowland.errors import DataError, DataWarning, MemoryBudgetError, ParameterError

ONE_PASS = ("variance", "pearson", "anova", "chi2", "mrmr")
IN_MEMORY = ("spearman", "distance-correlation", "mutual-information")


@pytest.fixture(scope="module")
def table():
    """Numbers that follow column 2 along a line, column 5 along a parabola; ten columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 10)) + 3
    return X, 2 * X[:, 2] + (X[:, 5] - 3) ** 2 + 0.3 * rng.standard_normal(300)


def target_of(score, wine, table):
    return table[1] if score in ("pearson", "spearman") else wine.y


# --- the answer


def test_the_same_scores_and_columns_as_scikit_learn(wine, table):
    X, y = wine.X, wine.y
    for score, function in (("anova", f_classif), ("chi2", chi2)):
        ours, theirs = FeatureFilter(score, n_features_to_select=4).fit(X, y), SelectKBest(function, k=4).fit(X, y)
        np.testing.assert_allclose(ours.scores_, theirs.scores_, rtol=1e-9)
        np.testing.assert_allclose(ours.pvalues_, theirs.pvalues_, rtol=1e-6)
        np.testing.assert_array_equal(ours.transform(X), theirs.transform(X))
    X, y = table
    ours, theirs = FeatureFilter("pearson", n_features_to_select=3).fit(X, y), SelectKBest(f_regression, k=3).fit(X, y)
    np.testing.assert_allclose(ours.scores_, r_regression(X, y), rtol=1e-9)
    np.testing.assert_allclose(ours.pvalues_, theirs.pvalues_, rtol=1e-6)
    np.testing.assert_allclose(ours.pvalues_, [scipy.stats.pearsonr(x, y).pvalue for x in X.T], rtol=1e-6)
    np.testing.assert_array_equal(ours.support_, theirs.get_support())
    ours = FeatureFilter("spearman").fit(X, y)
    ranked = [scipy.stats.spearmanr(x, y) for x in X.T]
    np.testing.assert_allclose(ours.scores_, [r.statistic for r in ranked], rtol=1e-9)
    np.testing.assert_allclose(ours.pvalues_, [r.pvalue for r in ranked], rtol=1e-6)


def test_the_modes_of_scikit_learn(wine):
    X, y = wine.X, wine.y
    for share in (0.1, 0.29, 0.5, 1.0):
        ours = FeatureFilter("anova", n_features_to_select=share).fit(X, y)
        theirs = SelectPercentile(f_classif, percentile=100 * share).fit(X, y).get_support()
        assert (ours.support_ <= theirs).all()
        assert theirs.sum() - ours.n_features_to_select_ == (share in (0.1, 0.29))  # not an integer of 13 columns
    noise = np.random.default_rng(0).standard_normal((178, 40))
    both = np.hstack([X, noise])
    for rate in (0.01, 0.2):
        ours = FeatureFilter("anova", false_discovery_rate=rate).fit(both, y)
        np.testing.assert_array_equal(ours.support_, SelectFdr(f_classif, alpha=rate).fit(both, y).get_support())
        strict = FeatureFilter("anova", false_discovery_rate=rate, fdr_method="benjamini-yekutieli").fit(both, y)
        assert (strict.support_ <= ours.support_).all()
        assert strict.n_features_to_select_ < ours.n_features_to_select_ or rate < 0.1
    for level in (0.0, 0.3, 10.0):
        ours = FeatureFilter("variance", threshold=level).fit(X)
        theirs = VarianceThreshold(level).fit(X)
        np.testing.assert_array_equal(ours.support_, theirs.get_support())
        if level > 0:  # at zero theirs are the ranges where these are less
            np.testing.assert_allclose(ours.scores_, theirs.variances_, rtol=1e-9)
    assert FeatureFilter().fit(X, y).n_features_to_select_ == 6  # half of 13
    assert FeatureFilter(n_features_to_select=0.01).fit(X, y).n_features_to_select_ == 1


def test_ranking_and_scores_agree(wine, table):
    for score in (*ONE_PASS, *IN_MEMORY):
        X = table[0] if score in ("pearson", "spearman") else wine.X
        found = FeatureFilter(score, n_features_to_select=3).fit(X, target_of(score, wine, table))
        assert sorted(found.ranking_) == list(range(1, X.shape[1] + 1))
        np.testing.assert_array_equal(found.support_, found.ranking_ <= 3)
        if score != "mrmr":
            assert (np.diff(np.abs(found.scores_)[np.argsort(found.ranking_)]) <= 1e-12).all()
        assert found.n_samples_ == len(X)


def test_a_function_scores(wine):
    X, y = wine.X, wine.y
    ours = FeatureFilter(f_classif, n_features_to_select=3).fit(X, y)
    np.testing.assert_array_equal(ours.support_, SelectKBest(f_classif, k=3).fit(X, y).get_support())
    assert ours.statistic_ == "f_classif()"
    assert ours.pvalues_ is not None
    ranges = FeatureFilter(lambda X: np.ptp(X, axis=0), n_features_to_select=1).fit(X)
    assert ranges.get_support(indices=True).tolist() == [12]
    assert ranges.pvalues_ is None
    permuted = FeatureFilter(lambda X, y: f_classif(X, y)[0], n_permutations=19, false_discovery_rate=0.2).fit(X, y)
    assert (permuted.pvalues_ >= 0.05).all()
    assert permuted.support_.any()


def test_nan_scores_are_not_discoveries(wine):
    X = np.column_stack([np.ones(178), wine.X[:, :3], wine.X[:, 0]])

    def score(X, y):
        return np.where(np.arange(5) == 4, np.nan, np.where(X.std(axis=0) > 0, f_classif(X[:, 1:2], y)[0], np.nan))

    found = FeatureFilter(score, n_permutations=19, false_discovery_rate=0.2).fit(X, wine.y)
    assert found.get_support(indices=True).tolist() == [1, 2, 3]
    assert found.pvalues_[[0, 4]].tolist() == [1, 1]
    assert found.scores_[0] == 0
    with pytest.raises(DataError, match="NaN for every column"):
        FeatureFilter(lambda X, y: np.full(5, np.nan), n_features_to_select=2).fit(X, wine.y)


# --- mRMR


def test_mrmr_skips_the_duplicate_of_a_column():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(400)
    a, b = y + 0.5 * rng.standard_normal(400), y + rng.standard_normal(400)
    X = np.column_stack([a, a + 0.01 * rng.standard_normal(400), b, rng.standard_normal(400)])
    assert FeatureFilter("pearson", n_features_to_select=2).fit(X, y).get_support(indices=True).tolist() == [0, 1]
    for redundancy, form in itertools.product(("correlation", "mutual-information"), ("difference", "quotient")):
        found = FeatureFilter("mrmr", n_features_to_select=2, mrmr_redundancy=redundancy, mrmr_form=form).fit(X, y)
        assert not found.support_[:2].all()
        assert found.path_[0].feature in (0, 1)


def test_the_path_of_mrmr_is_reported_and_drawn(wine, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(wine.X, columns=list(wine.names)).assign(kind=wine.y)
    found = FeatureFilter("mrmr", n_features_to_select=3).fit(frame, "kind")
    assert [step.size for step in found.path_] == [1, 2, 3]
    assert set(found.path_[-1].features) == set(found.get_support(indices=True))
    assert found.path_table().splitlines()[1].split()[1:3] == ["add", "flavanoids"]
    assert found.path_[0].score == found.relevance_.max()
    assert plots.selection_path(found.path_).axes
    lowland.save(found, tmp_path / "m")
    assert lowland.load(tmp_path / "m").path_ == found.path_
    eta = 1 - sum(((wine.X[wine.y == c] - wine.X[wine.y == c].mean(axis=0)) ** 2).sum(axis=0) for c in range(3)) / (
        (wine.X - wine.X.mean(axis=0)) ** 2
    ).sum(axis=0)
    np.testing.assert_allclose(found.relevance_, np.sqrt(eta), rtol=1e-9)


# --- the same by every route


@pytest.mark.parametrize("score", [*ONE_PASS, *IN_MEMORY])
def test_slabs_chunks_files_tensors_and_sparse_rows_agree(score, wine, table, tmp_path, monkeypatch):
    X = np.abs(table[0])[:178] if score in ("pearson", "spearman") else wine.X.copy()
    y = table[1][:178] if score in ("pearson", "spearman") else wine.y
    X[np.median(X, axis=0) > X] = 0
    whole = FeatureFilter(score, random_state=0).fit(X, y)
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 4000)
    monkeypatch.setattr("lowland.data.rows.SPARSE_SLAB_ROWS", 30)
    np.save(tmp_path / "x.npy", X)
    sources = [X, [X[:1], X[1:60], X[60:]], tmp_path / "x.npy", scipy.sparse.csr_array(X)]
    torch = pytest.importorskip("torch")
    dask_array = pytest.importorskip("dask.array")
    sources += [torch.asarray(X), dask_array.from_array(X, chunks=(50, 3))]
    for source in sources:
        sparse_information = score == "mutual-information" and scipy.sparse.issparse(source)
        options = {"discrete_features": False} if sparse_information else {}
        other = FeatureFilter(score, random_state=0, **options).fit(source, y)
        np.testing.assert_allclose(other.scores_, whole.scores_, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(other.support_, whole.support_)
        if whole.pvalues_ is not None:
            np.testing.assert_allclose(other.pvalues_, whole.pvalues_, rtol=1e-6)


@settings(max_examples=15, deadline=None)
@given(
    score=st.sampled_from(["pearson", "spearman", "anova", "distance-correlation", "mrmr"]),
    seed=st.integers(0, 100),
    scale=st.floats(1e-3, 1e3),
    far=st.floats(-1e4, 1e4),
)
def test_units_origin_and_the_order_of_rows_do_not_matter(score, seed, scale, far):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 4))
    y = X[:, 1] + rng.standard_normal(60) if score in ("pearson", "spearman") else np.arange(60) % 3
    before = FeatureFilter(score).fit(X, y)
    order = rng.permutation(60)
    after = FeatureFilter(score).fit((scale * X + far)[order], y[order])
    np.testing.assert_allclose(after.scores_, before.scores_, rtol=1e-5, atol=1e-7)
    if score == "spearman":
        bent = FeatureFilter(score).fit(np.exp(X), y)
        np.testing.assert_allclose(bent.scores_, before.scores_, rtol=1e-12)


@pytest.mark.parametrize("score", [*ONE_PASS, *IN_MEMORY])
@pytest.mark.parametrize("unit", [1e-170, 1e160])
def test_extreme_units_change_nothing_or_are_reported(table, score, unit):
    X, y = np.abs(table[0][:60, :5]), table[1][:60]
    y = y if score in ("pearson", "spearman", "distance-correlation", "mrmr") else y > 2
    if score in ("variance", "pearson", "anova", "mrmr"):
        with pytest.raises(DataError, match=r"too small|overflow"):
            FeatureFilter(score).fit(X * unit, y)
        return
    plain, other = (FeatureFilter(score).fit(Y, y) for Y in (X, X * unit))
    if score != "chi2":  # which is one of counts
        np.testing.assert_allclose(other.scores_, plain.scores_, rtol=1e-6)
    np.testing.assert_array_equal(other.support_, plain.support_)


def test_squares_that_underflow_float32_are_computed_in_float64(table):
    X, y = (table[0] * 1e-25).astype(np.float32), table[1]
    for score in ("mrmr", "pearson"):
        found, expected = (FeatureFilter(score).fit(Y, y) for Y in (X, table[0]))
        np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.scores_, expected.scores_, atol=1e-6)


def test_a_threshold_of_correlations_is_on_their_absolute_values(table):
    X, y = table
    assert FeatureFilter("pearson", threshold=0.5).fit(-X, y).get_support(indices=True).tolist() == [2]


# --- p-values by permutation


def test_permutations_give_p_values(table):
    X, y = table[0][:60], table[1][:60]
    X = np.column_stack([X, np.ones(60)])
    found = FeatureFilter("mutual-information", n_permutations=99, false_discovery_rate=0.2, random_state=1).fit(X, y)
    assert found.support_[2]
    assert found.pvalues_[2] == 0.01
    assert found.pvalues_[10] == 1
    by_rank = FeatureFilter("spearman", n_permutations=199, random_state=0).fit(X, y)
    np.testing.assert_allclose(by_rank.pvalues_, FeatureFilter("spearman").fit(X, y).pvalues_, atol=0.06)


# --- bad input


BAD = {
    "no y": ({}, None, DataError, "requires y.*statistic='variance'"),
    "two rules": ({"threshold": 1.0, "false_discovery_rate": 0.1}, 0, ParameterError, "threshold=1.0, false.*only one"),
    "a rate without p": ({"statistic": "variance", "false_discovery_rate": 0.1}, 0, ParameterError, "no p-value"),
    "a rate of mrmr": ({"statistic": "mrmr", "false_discovery_rate": 0.1}, 0, ParameterError, "no p-value"),
    "a rate of information": (
        {"statistic": "mutual-information", "false_discovery_rate": 0.1}, 0, ParameterError, "n_permutations=999",
    ),
    "a rate of a function": (
        {"statistic": r_regression, "false_discovery_rate": 0.1}, 0, ParameterError, "Return scores and p-values",
    ),
    "permutations for nothing": ({"statistic": "pearson", "n_permutations": 9}, 0, ParameterError, "in memory"),
    "a threshold of nothing": ({"threshold": np.nan}, 0, ParameterError, "threshold=nan.*Choose a finite number"),
    "a threshold of mrmr": ({"statistic": "mrmr", "threshold": 0.1}, 0, ParameterError, "n_features_to_select"),
    "classes to correlate with": (
        {"statistic": "pearson"}, np.arange(300) % 3, DataError, "3 classes.*'anova'.*'numbers'",
    ),
    "texts to correlate with": ({"statistic": "spearman"}, np.array(list("abc") * 100), DataError, "Choose 'anova'"),
    "numbers to tell apart": ({"statistic": "anova"}, 0, DataError, "fractions"),
    "numbers said to be": ({"statistic": "chi2", "target": "numbers"}, 0, ParameterError, "compares classes"),
    "negative counts": ({"statistic": "chi2"}, np.arange(300) % 2, DataError, "Negative values.*'x1'.*anova"),
    "a y that does not vary": ({"statistic": "pearson", "target": "numbers"}, np.ones(300), DataError, "constant"),
    "y of another length": ({"statistic": "spearman"}, np.arange(250.0), DataError, "rows"),
    "as many classes as rows": ({"statistic": "anova"}, np.arange(300), DataError, "300 classes and 300 rows"),
    "places beyond the columns": (
        {"statistic": "mutual-information", "discrete_features": [10]}, 0, ParameterError, "from 0 to 9",
    ),
    "a function that fails": ({"statistic": lambda X, y: 1 / 0}, 0, ParameterError, "ZeroDivisionError"),
    "a function without scores": ({"statistic": lambda X, y: 3}, 0, ParameterError, "each of the 10 columns"),
    "a function of words": ({"statistic": lambda X, y: ["a"] * 10}, 0, ParameterError, "each of the 10 columns"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_reported(table, what):
    options, y, error, words = BAD[what]
    X, numbers = table
    X = X - 5 * (np.arange(10) == 1)
    with pytest.raises(error, match=words) as caught:
        FeatureFilter(**options).fit(X, numbers if isinstance(y, int) else y)
    assert str(caught.value).endswith(".")


def test_constant_columns_come_last_and_are_reported_if_kept(table):
    X, y = table
    X = np.column_stack([np.full(300, 7.0), X[:, [2, 5]], np.zeros(300)])
    kinds = np.arange(300) % 2
    for score in (*ONE_PASS, *IN_MEMORY):
        target = y if score in ("pearson", "spearman") else kinds
        found = FeatureFilter(score, n_features_to_select=2).fit(np.abs(X), target)
        assert found.get_support(indices=True).tolist() == [1, 2], score
        with pytest.warns(DataWarning, match="Only 2 columns are not constant.*'x0'"):
            FeatureFilter(score, n_features_to_select=3).fit(np.abs(X), target)


def test_the_remedy_names_the_given_parameter(table):
    X, y = np.column_stack([table[0][:, :2], np.ones(300)]), table[1]
    with pytest.warns(DataWarning, match="Lower false_discovery_rate"):
        FeatureFilter(false_discovery_rate=1.0).fit(X, y)
    with pytest.warns(DataWarning, match="Raise threshold"):
        FeatureFilter(threshold=-1).fit(X, y)
    with pytest.warns(DataWarning, match="No column passes threshold=2.*Lower threshold"):
        FeatureFilter(threshold=2).fit(X, y)
    for score in ("pearson", "spearman", "variance", "mrmr"):
        with pytest.raises(DataError, match="Every column is constant"):
            FeatureFilter(score).fit(np.ones((300, 2)), y)


def test_an_empty_selection_is_reported():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 5)), rng.standard_normal(60)
    with pytest.warns(DataWarning, match="No column passes false_discovery_rate=1e-09.*Raise false_discovery_rate"):
        none = FeatureFilter("pearson", false_discovery_rate=1e-9).fit(X, y)
    assert none.transform(X).shape == (60, 0)
    assert none.n_features_to_select_ == 0


def test_rows_beyond_the_budget(tmp_path, table):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet  # noqa: F401  pa.parquet is there then

    X = np.random.default_rng(0).standard_normal((20_000, 10))
    pa.parquet.write_table(pa.table({f"c{j}": x for j, x in enumerate(X.T)}), tmp_path / "x.parquet")
    with lowland.config(memory="6MB", threads=1), pytest.raises(MemoryBudgetError, match="statistic='pearson'"):
        FeatureFilter("spearman").fit(tmp_path / "x.parquet", X[:, 1])
    found = FeatureFilter("spearman", n_features_to_select=1).fit(tmp_path / "x.parquet", X[:, 1])
    assert found.get_feature_names_out().tolist() == ["c1"]


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")
@pytest.mark.parametrize("score", ["pearson", "anova", *IN_MEMORY])
def test_a_column_observed_for_one_value_of_the_target_says_nothing_about_it(score):
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.repeat([0, 1], 20)
    X[:20, 1] = np.nan
    found = FeatureFilter(score, missing="available").fit(X, y)
    assert found.scores_[1] == 0
    assert found.ranking_.tolist() == [1, 2]
    assert found.pvalues_ is None or found.pvalues_[1] == 1
