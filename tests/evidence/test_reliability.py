"""Reliability of maps: calibrated on noise, sensitive to what is wrong, the same for every form of input."""

from __future__ import annotations

import json
import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from scipy.stats import kstest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import TSNE as SklearnTSNE
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from lowland import PCA, quality
from lowland.cli.main import cli
from lowland.data import load_dataset
from lowland.errors import DataError, DataTypeError, LowlandError, MemoryBudgetError, ParameterError
from lowland.evidence.nulls import draw_null
from lowland.evidence.reliability import null_p_values
from lowland.quality.kept_neighbors import choose_references, neighbors_that_stay, preserved_neighbors, subsample_size


def noise(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d))


def planted(n: int, seed: int, distance: float = 6.0) -> tuple[np.ndarray, np.ndarray]:
    """Three Gaussian groups in six dimensions, in directions that no column has alone."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centers = np.linalg.qr(np.random.default_rng(7).standard_normal((6, 6)))[0][:3]
    return distance * centers[y] + rng.standard_normal((n, 6)), y


@pytest.fixture(scope="module")
def iris() -> lowland.evidence.reliability.Reliability:
    X = load_dataset("iris").X
    return lowland.reliability(PCA(2).fit(X), X)


# --- the statistic ---


def test_neighbors_stay_in_a_turned_map_and_not_in_an_unrelated_one():
    Z, rng = noise(300, 2, 1), np.random.default_rng(0)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert neighbors_that_stay(Z, 5 * Z @ turn, rng).min() == 1
    assert neighbors_that_stay(Z, noise(300, 2, 2), rng).mean() < 0.1
    assert subsample_size(100) == 80
    assert subsample_size(10_000) == 2000
    assert subsample_size(10**6) == 10**5


def test_preservation_equals_the_curve_of_co_ranking() -> None:
    X = noise(80, 5, 0)
    Z = PCA(2).fit_transform(X)
    found = preserved_neighbors(X, Z, np.arange(80))
    curve = quality.co_ranking(X, Z).r_nx
    assert found.mean(axis=0) == pytest.approx([curve[:8].mean(), curve[:20].mean()], abs=1e-12)


def test_preservation_is_one_for_a_rotation_and_zero_by_chance() -> None:
    X = noise(200, 2, 1)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert preserved_neighbors(X, 3 * X @ turn, np.arange(200)).min() == 1
    unrelated = preserved_neighbors(X, noise(200, 2, 2), np.arange(200)).mean(axis=0)
    assert np.abs(unrelated).max() < 0.02


def test_a_sample_of_references_estimates_the_preservation() -> None:
    X = noise(3000, 4, 3)
    Z = X[:, :2]
    rng = np.random.default_rng(0)
    sampled = preserved_neighbors(X, Z, choose_references(3000, rng), points=np.arange(300))
    whole = preserved_neighbors(X, Z, np.arange(3000), points=np.arange(300))
    assert sampled.mean(axis=0) == pytest.approx(whole.mean(axis=0), abs=0.02)


# --- null data ---


def test_independent_null_keeps_the_values_of_each_column() -> None:
    X = load_dataset("iris").X
    null = draw_null(X, "independent", np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(null, axis=0), np.sort(X, axis=0))
    assert np.abs(np.corrcoef(null.T) - np.eye(4)).max() < 0.3


def test_independent_null_of_sparse_rows_keeps_the_values_of_each_column() -> None:
    X = scipy.sparse.random(60, 20, density=0.2, format="csr", random_state=0)
    null = draw_null(X, "independent", np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(null.toarray(), axis=0), np.sort(X.toarray(), axis=0))
    assert null.has_canonical_format
    assert (null != X).nnz > 0


@pytest.mark.parametrize("shape", [(4000, 3), (20, 60)])
def test_gaussian_null_has_the_mean_and_covariance_of_the_rows(shape: tuple[int, int]) -> None:
    X = noise(*shape, 0) @ np.diag(np.linspace(1, 3, shape[1])) + 5
    draws = np.concatenate(
        [draw_null(X, "gaussian", np.random.default_rng(s)) for s in range(max(1, 8000 // shape[0]))]
    )
    scale = np.cov(X.T).max()
    np.testing.assert_allclose(np.cov(draws.T), np.cov(X.T), atol=0.1 * scale)
    np.testing.assert_allclose(draws.mean(axis=0), X.mean(axis=0), atol=0.2)


def test_null_of_distances_keeps_their_spectrum() -> None:
    X = noise(40, 3, 0) * [3, 2, 1]
    null = draw_null(cdist(X, X), "independent", np.random.default_rng(0), pairwise=True)
    assert np.diag(null).max() == 0
    np.testing.assert_array_equal(null, null.T)
    assert (null**2).sum() == pytest.approx((cdist(X, X) ** 2).sum())  # each coordinate keeps its values


@pytest.mark.parametrize("null", ["independent", "gaussian"])
def test_null_data_keep_to_the_memory_budget(null: str) -> None:
    X = noise(2000, 20, 0)  # 320 kB
    with lowland.config(memory="300kB"), pytest.raises(MemoryBudgetError, match="null data"):
        draw_null(X, null, np.random.default_rng(0))
    with lowland.config(memory="340kB"):
        assert draw_null(X, null, np.random.default_rng(0)).shape == X.shape


def test_drawing_in_parts_changes_nothing(monkeypatch) -> None:
    X = noise(50, 4, 0) + 3
    whole = draw_null(X, "gaussian", np.random.default_rng(1))
    monkeypatch.setattr("lowland.evidence.nulls._CELLS", 28)  # seven rows at a time
    np.testing.assert_allclose(draw_null(X, "gaussian", np.random.default_rng(1)), whole, atol=1e-12)


# --- p-values and classes ---


def test_p_values_are_uniform_for_noise() -> None:
    def measure(X: np.ndarray) -> np.ndarray:
        return preserved_neighbors(X, PCA(2).fit_transform(X), np.arange(len(X)))

    picked = []
    for seed in range(80):
        X, rng = np.random.default_rng(seed).random((60, 6)), np.random.default_rng(1000 + seed)
        reference = np.concatenate([measure(draw_null(X, "independent", rng)) for _ in range(4)])
        picked.append(null_p_values(measure(X), reference)[rng.integers(60)])
    assert kstest(picked, "uniform").pvalue > 0.01


def test_noise_has_no_reliable_points_and_no_groups() -> None:
    separate = alike = 0
    for seed in range(10):
        X = noise(80, 6, seed)
        found = lowland.reliability(PCA(2).fit(X), X)
        assert found.fraction("reliable") <= 0.05
        alike += "no better than with independent columns" in found.summary
        halves = np.where(found.problem.Z[:, 0] > 0, "right", "left")  # what a person might circle
        separate += any(each.verdict == "separate" for each in found.clusters(halves))
    assert alike >= 7
    assert separate <= 2  # 4% in the long run: more than 2 of 10 happens once in 170 times


def test_planted_groups_are_separate() -> None:
    X, y = planted(150, 0)
    found = lowland.reliability(PCA(2).fit(X), X)
    given = found.clusters(y)
    assert [(each.label, each.size, each.verdict) for each in given] == [(c, 50, "separate") for c in range(3)]
    assert "is a separate group" in given[0].sentence
    assert found.clusters() is found.clusters()  # computed once


def test_a_group_cut_by_a_map_is_not_separate() -> None:
    X, _ = planted(150, 1)
    model = PCA(2).fit(X)
    y = np.arange(150) % 3
    normal = np.linalg.qr(np.random.default_rng(7).standard_normal((6, 6)))[0][5]  # orthogonal to all centers
    cut = np.where(y == 0, np.where(X @ normal > 0, 3, 0), y)  # group 0 in two, across noise
    verdicts = {each.label: each for each in lowland.reliability(model, X).clusters(cut)}
    assert verdicts[0].verdict != "separate"
    assert verdicts[0].nearest == 3
    assert verdicts[1].verdict == "separate"


def test_a_gap_made_by_leaving_out_the_rows_in_it_is_none() -> None:
    X = noise(200, 5, 0)
    found = lowland.reliability(PCA(2).fit(X), X)
    first = found.problem.Z[:, 0]
    ends = np.where(first < -0.5, 0, np.where(first > 0.5, 1, -1))
    clusters = found.clusters(ends)
    assert [each.verdict for each in clusters] == ["not separate"] * 2
    assert clusters[0].sentence == clusters[1].sentence  # said once


def test_rows_of_other_groups_do_not_fill_a_gap() -> None:
    X, y = planted(150, 3)
    some = np.where(y == 2, -1, y)  # the third group has no label
    found = lowland.reliability(PCA(2).fit(X), X).clusters(some)
    assert [each.verdict for each in found] == ["separate"] * 2
    assert min(each.separation for each in found) > 0.9


def test_groups_along_single_columns_are_left_to_clusters() -> None:
    y = np.arange(120) % 4
    X = noise(120, 8, 0) + 6 * np.eye(8)[y]
    found = lowland.reliability(PCA(2).fit(X), X)
    assert found.fraction("reliable") <= 0.05
    assert "test clusters" in found.summary
    assert [each.verdict for each in found.clusters(y)] == ["separate"] * 4


def test_swapped_coordinates_are_found() -> None:
    X = load_dataset("iris").X
    Z = PCA(2).fit_transform(X)
    swapped = np.random.default_rng(0).permutation(150)[:8]
    Z[swapped] = Z[np.roll(swapped, 1)]
    found = lowland.reliability(Z, X, method=PCA(2))
    wrong = np.isin(np.arange(150), swapped)
    assert roc_auc_score(wrong, found.p_values) > 0.9
    assert roc_auc_score(wrong, -found.stability) > 0.9
    assert roc_auc_score(wrong, found.displacement) > 0.9


def test_points_of_correlated_columns_are_reliable() -> None:
    X = StandardScaler().fit_transform(load_dataset("wine").X)
    found = lowland.reliability(PCA(2).fit(X), X)
    assert found.fraction("reliable") > 0.5
    assert "independent columns" not in found.summary.split("neighbors stay")[1]


def test_a_map_from_given_places_is_compared_with_maps_from_the_default_ones() -> None:
    X = load_dataset("iris").X
    places = PCA(2).fit_transform(X)
    for method in (lowland.UMAP(init=places, n_epochs=30, random_state=0), SklearnTSNE(init=places, max_iter=250)):
        found = lowland.reliability(method.fit(X), X)
        default = clone(method).set_params(init=type(method)().init)
        same = lowland.reliability(method.embedding_, X, method=default)
        np.testing.assert_array_equal(found.p_values, same.p_values)
        assert found.score == same.score


def test_classes_follow_from_p_and_q(iris: lowland.evidence.reliability.Reliability) -> None:
    expected = np.where(iris.q_values <= 0.05, "reliable", np.where(iris.p_values > 0.5, "unreliable", "uncertain"))
    np.testing.assert_array_equal(iris.classes, expected)
    assert (iris.q_values >= iris.p_values).all()
    assert sum(iris.fraction(name) for name in ("reliable", "uncertain", "unreliable")) == pytest.approx(1)


def test_gaussian_null_asks_for_more_than_correlation() -> None:
    X = noise(150, 5, 0) @ noise(5, 5, 1)  # correlated, and nothing else
    model = PCA(2).fit(X)
    independent, gaussian = (lowland.reliability(model, X, null=null) for null in ("independent", "gaussian"))
    assert np.median(independent.p_values) < np.median(gaussian.p_values)
    assert gaussian.fraction("reliable") <= 0.05


# --- stability ---


def test_stability_is_high_for_pca_of_iris(iris: lowland.evidence.reliability.Reliability) -> None:
    assert 0.9 < iris.interval[0] <= iris.score <= iris.interval[1] <= 1
    assert ((iris.stability >= 0) & (iris.stability <= 1)).all()
    assert iris.displacement.max() < 0.2
    assert np.nanmax(iris.jump) < 0.2  # placed by transform: where it was


def test_the_interval_covers_the_mean_of_many_refits() -> None:
    X = noise(60, 5, 0)
    model = PCA(2).fit(X)
    many = [lowland.reliability(model, X, random_state=s) for s in range(16)]
    truth = np.mean([each.score for each in many])
    covered = np.mean([each.interval[0] <= truth <= each.interval[1] for each in many])
    assert covered >= 0.75  # 0.95 in the long run: fewer than 12 of 16 happens once in 1,300 times


# --- forms of input ---


def test_the_same_seed_gives_the_same_bits(iris: lowland.evidence.reliability.Reliability) -> None:
    X = load_dataset("iris").X
    again = lowland.reliability(PCA(2).fit(X), X)
    other = lowland.reliability(PCA(2).fit(X), X, random_state=1)
    np.testing.assert_array_equal(again.p_values, iris.p_values)
    np.testing.assert_array_equal(again.stability, iris.stability)
    assert (other.p_values != iris.p_values).any()


def test_a_pipeline_compares_prepared_rows() -> None:
    X = load_dataset("wine").X
    scaled = StandardScaler().fit_transform(X)
    pipe = lowland.reliability(make_pipeline(StandardScaler(), PCA(2)).fit(X), X)
    plain = lowland.reliability(PCA(2).fit(scaled), scaled)
    np.testing.assert_array_equal(pipe.p_values, plain.p_values)


def test_scaling_inside_the_model_counts() -> None:
    X = load_dataset("wine").X
    inside = lowland.reliability(PCA(2, scale=True).fit(X), X)
    outside = lowland.reliability(PCA(2).fit(scaled := StandardScaler().fit_transform(X)), scaled)
    np.testing.assert_allclose(inside.preservation, outside.preservation, atol=1e-12)


def test_sparse_rows_and_distances() -> None:
    X, _ = planted(60, 0)
    X[np.abs(X) < 1] = 0
    sparse = lowland.reliability(lowland.TruncatedSVD(2).fit(scipy.sparse.csr_matrix(X)), scipy.sparse.csr_matrix(X))
    dense = lowland.reliability(lowland.TruncatedSVD(2).fit(X), X)
    np.testing.assert_allclose(sparse.preservation, dense.preservation, atol=1e-12)
    single = scipy.sparse.csr_matrix(X.astype(np.float32))
    found = lowland.reliability(lowland.TruncatedSVD(2).fit(single), single)
    np.testing.assert_allclose(found.preservation, dense.preservation, atol=0.02)
    D = cdist(X, X)
    model = lowland.ClassicalMDS(2, metric="precomputed").fit(D)
    distances = lowland.reliability(model, D)
    assert distances.p_values.shape == (60,)
    assert "principal coordinates permuted" in distances.summary


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_clusters_of_a_map_of_distances(metric: str) -> None:
    model = lowland.ClassicalMDS(2, metric="precomputed")
    separate = 0
    for seed in range(6):
        X = noise(100, 6, seed)
        D = cdist(X, X, metric)
        found = lowland.reliability(model.fit(D), D)
        halves = found.problem.Z[:, 0] > np.median(found.problem.Z[:, 0])
        separate += any(c.verdict == "separate" for c in found.clusters(halves))
    assert separate <= 1  # of 6: in the long run at most 5%
    X, y = planted(120, 0)
    D = cdist(X, X, metric)
    assert [c.verdict for c in lowland.reliability(model.fit(D), D).clusters(y)] == ["separate"] * 3


def test_maps_of_counts() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    X = rng.poisson(np.exp(1 + rng.standard_normal((3, 10)))[y])
    found = lowland.reliability(lowland.CorrespondenceAnalysis(2).fit(X), X, null="gaussian")
    assert found.p_values.shape == (120,)
    assert [c.verdict for c in found.clusters(y)] == ["separate"] * 3


def test_labels_of_a_supervised_method() -> None:
    X, y = planted(90, 0)
    found = lowland.reliability(lowland.LinearDiscriminantAnalysis(n_components=2).fit(X, y), X, y)
    assert found.fraction("unreliable") < 0.2


def test_a_map_that_keeps_everything_is_not_unreliable() -> None:
    X = load_dataset("iris").X
    found = lowland.reliability(PCA(4).fit(X), X)
    assert found.preservation.mean() > 0.98
    assert found.fraction("unreliable") < 0.05
    assert "no better than with independent columns" not in found.summary
    assert "as many dimensions as the data" in found.summary


def test_categories_have_no_neighbors_by_numbers(tmp_path) -> None:
    table = tmp_path / "x.csv"
    table.write_text("a,n\n" + "".join(f"{'xyz'[i % 3]},{i % 7}\n" for i in range(60)))
    model = lowland.FactorAnalysisOfMixedData(2).fit(table)
    frame = pd.read_csv(table)
    with pytest.raises(DataTypeError, match="TablePreparer"):
        lowland.reliability(model, frame)
    assert lowland.reliability(model.transform(frame), lowland.TablePreparer().fit_transform(frame)).p_values.shape == (
        60,
    )
    lowland.save(model, tmp_path / "m.lowland")
    with pytest.raises(SystemExit) as end:
        cli.main(["reliability", str(tmp_path / "m.lowland"), str(table)])
    assert end.value.code == 1


def test_rows_without_coordinates_have_no_p_value() -> None:
    X, _ = planted(90, 0)
    Z = PCA(2).fit_transform(X)
    Z[4] = np.nan
    found = lowland.reliability(Z, X, method=PCA(2))
    assert np.isnan(found.p_values[4])
    assert np.isfinite(np.delete(found.p_values, 4)).all()


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda X: lowland.reliability(PCA(2).fit(X), X, null="normal"), ParameterError, "independent"),
        (lambda X: lowland.reliability(PCA, X), ParameterError, "fitted model"),
        (lambda X: lowland.reliability(X[:, :2], X, method=PCA), ParameterError, "an estimator"),
        (lambda X: lowland.reliability(X[:, :2], X, method="pca"), ParameterError, "an estimator"),
        (lambda X: lowland.reliability(X[:30, :2], X), DataError, "same order"),
        (lambda X: lowland.reliability(X[:10, :2], X[:10]), DataError, "at least 20"),
        (lambda X: lowland.reliability(PCA(2).fit(X), X).clusters(["a"] * 3), LowlandError, "labels"),
    ],
)
def test_wrong_input_is_an_error_that_says_what_to_do(call, error, match) -> None:
    with pytest.raises(error, match=match):
        call(noise(40, 4, 0))


def test_no_clusters_to_test() -> None:
    X = noise(60, 4, 0)
    found = lowland.reliability(PCA(2).fit(X), X)
    assert found.clusters(np.zeros(60, dtype=int)) == []
    assert found.clusters([None] * 60) == []
    for none in ("", None, "-1"):
        assert found.clusters(["a"] * 30 + [none] * 30) == []


@pytest.mark.filterwarnings("ignore:Stopped by Ctrl-C")
@pytest.mark.parametrize(("threads", "stage"), [(1, "minimizing"), (2, "mapping null data")])
def test_an_interrupt_during_a_fit_stops_the_test(threads: int, stage: str) -> None:
    X, pressed = noise(40, 4, 0), []

    def press(event: lowland.Progress) -> None:
        if event.stage.startswith(stage) and not pressed:  # t-SNE itself returns an unfinished map
            pressed.append(event)
            raise KeyboardInterrupt

    with lowland.config(progress=press, threads=threads), pytest.raises(KeyboardInterrupt):
        lowland.reliability(X[:, :2], X, method=lowland.TSNE())


@pytest.mark.parametrize("name", ["TSNE", "UMAP"])
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    X, _ = planted(60, 0)
    model = getattr(lowland, name)(random_state=0).fit(X)
    found = []
    for threads in (1, 2, 3):
        with lowland.config(threads=threads):
            each = lowland.reliability(model, X)
            found.append((each, each.clusters(np.arange(60) % 3)))
    for each, clusters in found[1:]:
        assert clusters == found[0][1]
        for field in ("preservation", "p_values", "stability", "displacement", "jump"):
            np.testing.assert_array_equal(getattr(each, field), getattr(found[0][0], field))


def test_a_budget_for_one_map_at_a_time_changes_no_bit() -> None:
    X = noise(300, 6, 0)
    model = lowland.KernelPCA(2, kernel="rbf").fit(X)
    found = []
    for memory in (None, model.plan(X).bytes * 1.2):  # enough for one map of 300 rows, and not for two
        with lowland.config(memory=memory and int(memory), threads=2):
            found.append(lowland.reliability(model, X))
    np.testing.assert_array_equal(found[0].p_values, found[1].p_values)
    np.testing.assert_array_equal(found[0].stability, found[1].stability)
    with lowland.config(memory=int(memory / 3), threads=2), pytest.raises(MemoryBudgetError):
        lowland.reliability(model, X)


def test_memory_stays_within_the_budget() -> None:
    X = noise(20_000, 25, 0)  # 4 MB
    model = PCA(2).fit(X)
    tracemalloc.start()
    with lowland.config(memory="20MB", threads=2):
        lowland.reliability(model, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("threads", [1, 2])
def test_maps_that_nobody_sees_do_not_warn(threads: int) -> None:
    X = noise(60, 5, 0)
    with pytest.warns(ConvergenceWarning):
        model = lowland.FastICA(2, max_iter=1, random_state=0).fit(X)
    with lowland.config(threads=threads):
        assert lowland.reliability(model, X).p_values.shape == (60,)


def test_estimators_of_others_are_fitted_one_after_another() -> None:
    running, most = [], []

    class Others(TransformerMixin, BaseEstimator):
        def fit(self, X, y=None):
            running.append(1)
            most.append(len(running))
            self.embedding_ = X[:, :2]
            running.pop()
            return self

        def fit_transform(self, X, y=None):
            return self.fit(X).embedding_

    X = noise(40, 4, 0)
    with lowland.config(threads=4):
        lowland.reliability(Others().fit(X), X)
    assert max(most) == 1
    assert len(most) == 31  # the map, 20 of null data, 10 of subsamples


def test_an_estimator_needs_no_more_than_parameters_and_a_fit() -> None:
    class Plain:
        def get_params(self, deep=True):
            return {}

        def set_params(self, **params):
            return self

        def fit_transform(self, X, y=None):
            return X[:, :2]

        def fit(self, X, y=None):
            self.embedding_ = self.fit_transform(X)
            return self

    X, y = planted(60, 0)
    assert lowland.reliability(Plain().fit(X), X).clusters(y)[0].size == 20


# --- command line ---


def test_command_prints_the_summary_and_writes_the_columns(tmp_path, capsys) -> None:
    table, model, out = tmp_path / "x.csv", tmp_path / "m.lowland", tmp_path / "r.csv"
    X = load_dataset("iris").X
    np.savetxt(table, X, delimiter=",", header="a,b,c,d", comments="")
    lowland.save(PCA(2).fit(X), model)
    for more in ([], ["--json"]):
        with pytest.raises(SystemExit) as end:
            cli.main(["reliability", str(model), str(table), "--to", str(out), "--force", *more])
        assert end.value.code == 0
        printed = capsys.readouterr().out
        if more:
            assert json.loads(printed)["fractions"]["reliable"] > 0.2
        else:
            assert "of the 150 points keep their neighbors" in printed
            assert "separate group" in printed
    head, *lines = out.read_text().splitlines()
    assert head.replace('"', "") == "p_value,q_value,class,stability,displacement"
    assert len(lines) == 150
    assert {line.split(",")[2].strip('"') for line in lines} <= {"reliable", "uncertain", "unreliable"}


def test_notebooks_show_classes_and_columns_as_tables() -> None:
    X, _ = planted(60, 0)
    X = pd.DataFrame(X).add_prefix("<b>")
    model = PCA(2).fit(X)
    found, described = lowland.reliability(model, X), lowland.describe(model, X)
    counts = dict(re.findall(r"<th[^>]*>(\w+)</th><td[^>]*>(\d+)</td>", found._repr_html_()))
    assert {*counts} == {"reliable", "uncertain", "unreliable"}
    assert sum(map(int, counts.values())) == 60
    text = described._repr_html_()
    assert "<b>" not in text
    assert text.count("<tr>") == 1 + min(10, len(described.columns))
