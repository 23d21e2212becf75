"""The plan: which trials, with which parameters, swept values, given coordinates, and why others are left out."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowland
from lowland.errors import DataError, ParameterError
from lowland.methods.registry import entries, load_method
from lowland.study import load_study
from lowland.study.plan import (
    StudySize,
    checked_sweep,
    find_parameter,
    methods_named,
    most_neighbors,
    plan,
    split_sweep,
)
from lowland.trial.parameters import LANDMARKS

SMALL = StudySize(150, 4, 2, 3)


def by_method(trials):
    return {trial.method: trial for trial in trials}


@pytest.mark.parametrize(
    "size", [SMALL, StudySize(150, 4, 3), StudySize(10, 2, 1, 2), StudySize(100_000, 50, 2, 10, "classify")]
)
def test_every_method_is_planned_once_and_can_be_constructed(size):
    trials = plan(size)
    assert list(dict.fromkeys(t.method for t in trials)) == list(entries())
    assert len({t.name for t in trials}) == len(trials)
    for t in trials:
        if t.why_left_out is None:
            load_method(t.method)(**t.parameters)
        else:
            assert t.why_left_out.endswith(".")


def test_labels_and_purpose_decide_which_methods_run():
    without = by_method(plan(StudySize(150, 4, 2)))
    assert "labels are required" in without["LinearDiscriminantAnalysis"].why_left_out
    assert "labels" in without["SequentialFeatureSelector"].why_left_out
    to_see, to_classify = by_method(plan(SMALL)), by_method(plan(StudySize(150, 4, 2, 3, "classify")))
    assert to_see["LinearDiscriminantAnalysis"].why_left_out is None
    assert "classify" in to_see["SequentialFeatureSelector"].why_left_out
    assert to_classify["SequentialFeatureSelector"].parameters == {"n_features_to_select": 2}


def test_discriminants_are_one_fewer_than_classes_and_say_so():
    (trial,) = plan(StudySize(150, 4, 2, 2), ["lda"])
    assert trial.parameters == {"n_components": 1}
    assert "At most 1 dimension is possible" in trial.notes[0]


def test_variants_of_pca_run_only_if_named():
    assert "PCA" in by_method(plan(SMALL))["IncrementalPCA"].why_left_out
    assert plan(SMALL, ["incremental-pca"])[0].why_left_out is None
    swept = by_method(plan(SMALL, sweep={"incremental-pca.whiten": [True]}))
    assert swept["IncrementalPCA"].why_left_out is None


def test_many_rows_are_represented_by_landmarks_or_a_sample():
    many = by_method(plan(StudySize(50_000, 20, 2)))
    for name in ("Isomap", "KernelPCA"):
        assert many[name].parameters["n_landmarks"] == LANDMARKS
        assert "landmarks" in many[name].notes[0]
    for name in ("MDS", "SammonMapping"):
        assert many[name].fitted_rows is not None
        assert "2,000 of the 50,000 rows, evenly spaced" in many[name].notes[0]
    few = by_method(plan(SMALL))
    assert all("n_landmarks" not in t.parameters and t.fitted_rows is None for t in few.values())


def test_a_map_has_two_dimensions():
    assert "two dimensions" in by_method(plan(StudySize(150, 4, 3)))["SelfOrganizingMap"].why_left_out


def test_sweeps_name_their_trials_and_join_the_methods_asked_for():
    trials = plan(SMALL, ["pca"], {"isomap.n_neighbors": [5, 7], "isomap.p": [1.0, 2.0]})
    assert [t.name for t in trials] == [
        "PCA",
        *(f"Isomap n_neighbors={k} p={p}" for k in (5, 7) for p in (1.0, 2.0)),
    ]
    assert trials[1].parameters == {"n_neighbors": 5, "n_components": 2, "random_state": 0, "p": 1.0}


def test_the_seed_of_the_study_is_that_of_its_methods():
    assert by_method(plan(SMALL))["FastICA"].parameters["random_state"] == 0
    assert by_method(plan(StudySize(150, 4, 2, seed=7)))["FastICA"].parameters["random_state"] == 7


def test_trials_that_share_the_graph():
    sweep = {"isomap.n_neighbors": [5, 40], "isomap.metric": ["euclidean", "manhattan"]}
    trials = plan(SMALL, ["isomap", "pca", "spectral-embedding"], sweep)
    found = [t.shared_neighbors for t in trials]
    assert found == [5, None, 40, None, None, 10]  # a point is among its own neighbors in SpectralEmbedding
    assert most_neighbors(trials) == 40
    (beyond,) = plan(SMALL, ["isomap"], {"isomap.n_neighbors": [500]})
    assert beyond.shared_neighbors is None


def test_neighbor_embeddings_share_the_graph():
    def shared(n, d, **swept):
        named = ["tsne", "umap", "pacmap", "localmap"]
        return {t.method: t.shared_neighbors for t in plan(StudySize(n, d, 2), named, swept)}

    of_each = {"TSNE": 91, "UMAP": 14, "PaCMAP": 60, "LocalMAP": 60}  # 3 * 30 + 1; without the row; 10 + 50
    assert shared(1_000, 50) == of_each
    assert shared(1_000, 784) == of_each | {"PaCMAP": None, "LocalMAP": None}  # columns are reduced first
    assert shared(40, 5) == {"TSNE": 39, "UMAP": 8, "PaCMAP": 39, "LocalMAP": 39}
    swept = {"tsne.perplexity": [[5.0, 50.0]], "pacmap.apply_pca": [False], "umap.unique": [True]}
    assert shared(1_000, 784, **swept) == {"TSNE": 151, "UMAP": None, "PaCMAP": 60, "LocalMAP": None}
    swept = {"tsne.method": ["exact"], "umap.metric": ["cosine"], "pacmap.distance": ["manhattan"]}
    assert shared(1_000, 50, **swept) == {"TSNE": None, "UMAP": None, "PaCMAP": None, "LocalMAP": 60}
    assert shared(1_000, 50, **{"tsne.perplexity": ["many"]})["TSNE"] is None  # the fit reports the value


def test_the_perplexity_fits_few_rows():
    assert "perplexity" not in by_method(plan(SMALL))["TSNE"].parameters
    assert by_method(plan(StudySize(20, 4, 2)))["TSNE"].parameters["perplexity"] == 6


def test_trials_that_share_the_distances():
    named = ["classical-mds", "mds", "sammon", "pca", "isomap"]
    assert {t.method for t in plan(SMALL, named) if t.takes_distances} == {"ClassicalMDS", "MDS", "SammonMapping"}


@pytest.mark.parametrize("methods", [[], 5, [5], ["pca", None]])
def test_invalid_lists_of_methods_are_refused(methods):
    with pytest.raises(ParameterError, match="must be 'all'"):
        plan(SMALL, methods)


def test_swept_values_replace_the_defaults_of_the_study():
    size = StudySize(200, 5, 2, 3)
    by_radius = plan(size, ["isomap"], {"isomap.radius": [0.5, None]})
    assert [t.parameters.get("n_neighbors", 5) for t in by_radius] == [None, 10]
    kernels = plan(size, ["kernel-pca"], {"kernel-pca.kernel": ["laplacian", "poly"]})
    assert [t.parameters.get("gamma") for t in kernels] == ["median", None]
    (by_score,) = plan(size, ["select-filter"], {"select-filter.threshold": [3.0]})
    assert "n_features_to_select" not in by_score.parameters or by_score.parameters["n_features_to_select"] == "auto"


def test_every_trial_has_a_unique_name():
    trials = plan(StudySize(200, 5, 2), ["kernel-pca"], {"kernel-pca.kernel": [lambda a, b: 1.0, lambda a, b: 2.0]})
    assert len({t.name for t in trials}) == 2
    assert all(len(t.name) < 60 for t in trials)


@pytest.mark.parametrize("classes", [None, 3])
def test_a_common_reason_names_no_single_method(classes):
    reasons = [trial.why_left_out for trial in plan(StudySize(200, 10, 2, n_classes=classes)) if trial.why_left_out]
    shared = {reason for reason in reasons if reasons.count(reason) > 1}
    assert shared
    assert not any(re.search(r"\b[Ii]ts?\b", reason) for reason in shared)


# --- methods that must not hold up a study ---


def test_classical_mds_of_euclidean_rows_takes_no_landmarks():
    many = StudySize(50_000, 20, 2)
    assert "n_landmarks" not in by_method(plan(many))["ClassicalMDS"].parameters
    (other,) = plan(many, ["pca"], {"classical-mds.metric": ["manhattan"]})[1:]
    assert other.parameters["n_landmarks"] == LANDMARKS


def test_an_autoencoder_without_torch_is_limited_or_left_out(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    large = StudySize(60_000, 784, 2)
    assert "torch" in by_method(plan(large))["Autoencoder"].why_left_out
    assert plan(large, ["autoencoder"])[0].why_left_out is None  # named
    medium = by_method(plan(StudySize(60_000, 100, 2)))["Autoencoder"]
    assert 10 <= medium.parameters["max_iter"] < 50
    assert "torch" in medium.notes[0]
    assert "max_iter" not in by_method(plan(SMALL))["Autoencoder"].parameters
    (swept,) = plan(StudySize(60_000, 100, 2), ["autoencoder"], {"autoencoder.max_iter": [3]})
    assert swept.parameters["max_iter"] == 3


def test_discriminants_to_classify_have_all_dimensions_and_shrinkage():
    trials = [t for t in plan(StudySize(500, 30, 2, 6, "classify")) if t.method == "LinearDiscriminantAnalysis"]
    assert [t.parameters["n_components"] for t in trials] == [5, 5]
    assert trials[1].parameters["shrinkage"] == "auto"
    trials = [t for t in plan(StudySize(500, 30, 2, 6)) if t.method == "LinearDiscriminantAnalysis"]
    assert [t.parameters["n_components"] for t in trials] == [2, 5]  # a picture, and all to predict the classes


NAMES = [(e, flag) for e in entries().values() for flag in e.flags]
words = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)


@given(st.sampled_from(NAMES), st.booleans(), st.booleans())
def test_every_parameter_is_found_by_verb_and_by_class_in_any_case(named, by_verb, upper):
    entry, flag = named
    name = f"{entry.verb if by_verb else entry.name}.{flag.name}"
    assert find_parameter(name.upper() if upper else name) == (entry, flag)


@given(words, st.lists(words, min_size=1, max_size=5))
def test_a_sweep_string_is_parsed(name, values):
    assert split_sweep(f"{name}={','.join(values)}") == (name, values)
    assert split_sweep(f" {name} = {' , '.join(values)} ") == (name, values)


@pytest.mark.parametrize(
    ("text", "message"),
    [("isomap.n_neighbors", "VALUE"), ("isomap.n_neighbors=", "VALUE"), ("isomap.n_neighbors=5,,7", "VALUE")],
)
def test_invalid_sweep_strings_are_refused(text, message):
    with pytest.raises(ParameterError, match=message):
        split_sweep(text)


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (
            {"isomap.neighbours": [5]},
            "has no parameter 'neighbours'. Did you mean 'n_neighbors'.*: 'n_components'",
        ),
        ({"isomop.n_neighbors": [5]}, "no method 'isomop'. Did you mean 'isomap'. Available methods: .*isomap"),
        ({"isomap": [5]}, "with a dot between them"),
        ({"isomap.n_neighbors": []}, "empty"),
        ({"isomap.n_neighbors": 5}, "must be a list"),
        ({"isomap.n_neighbors": "5,10"}, "must be a list"),
        (["isomap.n_neighbors"], "must be a dict"),
        ({5: [5]}, "sweep 5: .*a method and its parameter"),
    ],
)
def test_parameters_that_cannot_be_swept_are_reported(sweep, message):
    with pytest.raises(ParameterError, match=message):
        checked_sweep(sweep)


def test_duplicate_values_are_removed_and_true_is_not_one():
    found = checked_sweep({"isomap.n_neighbors": [5, 10, 5], "pca.whiten": [True, 1]})
    assert found == {"Isomap": {"n_neighbors": [5, 10]}, "PCA": {"whiten": [True, 1]}}
    assert found["PCA"]["whiten"][0] is True


def test_numpy_numbers_and_repeated_parameters_count_once():
    import numpy as np

    found = checked_sweep({"isomap.n_neighbors": np.array([5, 10]), "Isomap.N-NEIGHBORS": [5, 20]})
    assert found == {"Isomap": {"n_neighbors": [5, 10, 20]}}
    weights = [np.zeros(3), np.ones(3), np.ones(3)]
    assert len(checked_sweep({"isomap.metric_params": weights})["Isomap"]["metric_params"]) == 2


def test_methods_of_other_libraries_are_evaluated_not_compared():
    with pytest.raises(ParameterError, match=r"no method 'trimap'\. .*Available methods: .*quality\.evaluate"):
        methods_named(["trimap"])


def test_they_are_evaluated_like_the_same_coordinates_of_a_method(iris, tmp_path):
    Z = lowland.PCA(2).fit_transform(iris.X)
    study = lowland.compare(iris.X, iris.y, ["pca"], embeddings={"mine": Z}, cache=False)
    mine, pca = study["mine"], study["pca"]
    assert mine.status == "done"
    assert mine.seconds is mine.memory is None
    assert "reconstruction error" not in mine.scores
    for name in ("area under R_NX", "trustworthiness", "downstream accuracy", "linear accuracy", "AUC"):
        assert mine.scores[name].value == pytest.approx(pca.scores[name].value)
    assert any("passed, not fitted" in text and "labels" in text for text in mine.warnings)
    assert "mine" in study.advice[0].evidence[0]
    assert "embeddings={'mine': Z}" in study.command
    again = load_study(study.save(tmp_path / "study"))
    np.testing.assert_array_equal(again["mine"].Z, mine.Z)
    assert b"mine" in study.report(tmp_path / "r.html").read_bytes()
    with pytest.raises(ParameterError, match="passed, not fitted"):
        study.estimator("mine")


def test_the_best_may_be_given(iris):
    study = lowland.compare(
        iris.X, iris.y, ["whitening"], embeddings={"all": iris.X, "two": iris.X[:, [2, 0]]}, cache=False
    )
    assert study.advice[0].trial == "two"  # all columns are wider than the two dimensions asked for
    assert study["two"].n_components == 2


def test_rows_without_coordinates_are_counted(iris):
    Z = lowland.PCA(2).fit_transform(iris.X)
    Z[:3] = np.nan
    study = lowland.compare(iris.X, None, ["pca"], embeddings={"mine": Z}, cache=False)
    assert study["mine"].n_excluded == 3


def test_wrong_coordinates(iris):
    Z = lowland.PCA(2).fit_transform(iris.X)
    with pytest.raises(DataError, match=r"'mine'.*149.*150"):
        lowland.compare(iris.X, None, ["pca"], embeddings={"mine": Z[1:]})
    with pytest.raises(ParameterError, match="'PCA'"):
        lowland.compare(iris.X, None, ["pca"], embeddings={"PCA": Z})
    with pytest.raises(ParameterError, match="dict"):
        lowland.compare(iris.X, None, ["pca"], embeddings=[Z])
