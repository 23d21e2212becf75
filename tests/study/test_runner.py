"""Running a study: caching, stopping, and errors that must not end it."""

import os
import re

import numpy as np
import pytest

import lowland
from lowland.study import runner
from lowland.trial.scores import EmbeddingScorer

FEW = ["pca", "isomap", "lda"]


@pytest.fixture
def study(iris):
    return lowland.compare(iris.X, iris.y, FEW)


def same_scores(a, b):
    return all(
        one.scores.keys() == two.scores.keys()
        and all(one.scores[name].value == two.scores[name].value for name in one.scores)
        for one, two in zip(a.trials, b.trials, strict=True)
    )


def test_a_trial_is_fitted_once(study, iris, cache_folder, monkeypatch):
    assert len(os.listdir(cache_folder)) == 4  # three trials and the table
    monkeypatch.setattr(runner, "fit_trial", lambda *_: pytest.fail("it is in the cache"))
    again = lowland.compare(iris.X, iris.y, FEW)
    assert all(t.cached for t in again.trials)
    assert not any(t.cached for t in study.trials)
    assert same_scores(study, again)
    assert [t.seconds for t in again.trials] == [t.seconds for t in study.trials]
    np.testing.assert_array_equal(again["Isomap"].Z, study["Isomap"].Z)
    assert again.advice == study.advice


def test_changed_trials_are_fitted_again(iris):
    X, y = iris.X, np.asarray(iris.y)
    assert not lowland.compare(X, y, ["pca"]).trials[0].cached
    for change in (
        {"X": np.nextafter(X, 9)}, {"X": X.astype(np.float32)}, {"y": np.roll(y, 1)}, {"k": 1}, {"seed": 1},
        {"scale": "standard"}, {"cache": False},
    ):  # fmt: skip
        given = {"X": X, "y": y, "methods": ["pca"]} | change
        assert not lowland.compare(**given).trials[0].cached, change


def test_damaged_and_edited_entries_are_written_again(iris, cache_folder):
    first = lowland.compare(iris.X, None, ["pca"])
    for change in (lambda text: '{"name": 1}', lambda text: re.sub(r'"value": 0\.\d+', '"value": 0.999', text)):
        for place in cache_folder.iterdir():
            (place / "trial.json").write_text(change((place / "trial.json").read_text()))
        again = lowland.compare(iris.X, None, ["pca"])
        assert not again.trials[0].cached
        assert same_scores(first, again)
        assert lowland.compare(iris.X, None, ["pca"]).trials[0].cached


def test_a_failing_method_does_not_stop_the_others(iris):
    study = lowland.compare(iris.X, iris.y, ["isomap", "pca"], sweep={"isomap.n_components": [2, 500]})
    assert [t.status for t in study.trials] == ["done", "failed", "done"]
    assert study.complete
    assert "at most" in study["Isomap n_components=500"].error


def test_ctrl_c_keeps_finished_trials(iris, monkeypatch):
    from lowland.methods.isomap import Isomap

    def interrupted(self, *_, **given):
        raise KeyboardInterrupt

    monkeypatch.setattr(Isomap, "_solve", interrupted)
    study = lowland.compare(iris.X, None, ["pca", "isomap", "lda", "whitening"])
    assert [t.status for t in study.trials] == ["done", "stopped", "left out", "done"]  # linear ones first
    assert not study.complete
    assert "stopped" in study["Isomap"].error
    assert study.advice[0].trial == "PCA"
    assert "scree" in study["PCA"].curves


def test_ctrl_c_before_anything_is_done(iris, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "table_facts", interrupted)
    study = lowland.compare(iris.X, None, ["pca"])
    assert study.trials[0].status == "stopped"
    assert not study.complete


def test_a_callback_returning_false_stops_the_study(iris):
    heard = []

    def enough(event):
        heard.append(event)
        return False

    with lowland.config(progress=enough):
        study = lowland.compare(iris.X, None, ["pca", "isomap"], cache=False)
    assert not study.complete
    assert heard[0].stage == "comparing methods"
    assert 0 < heard[0].done < heard[0].total  # the expected seconds of all trials


def test_the_worker_gives_the_same_results_and_a_trial_that_cannot_be_pickled_fails(iris):
    here = lowland.compare(iris.X, iris.y, ["pca", "lda"], cache=False)
    sweep = {"isomap.metric": [lambda a, b: float(np.abs(a - b).sum())]}
    there = lowland.compare(iris.X, iris.y, ["pca", "lda"], sweep=sweep, cache=False, worker=True)
    assert [t.status for t in there.trials] == ["done", "done", "failed"]
    assert "worker=False" in there.trials[2].error
    for name in here["PCA"].scores:
        assert there["PCA"].scores[name].value == pytest.approx(here["PCA"].scores[name].value, abs=1e-9)


@pytest.mark.parametrize(
    ("purpose", "first"),
    [("visualize", "fidelity"), ("compress", "explained variance ratio"), ("classify", "downstream accuracy")],
)
def test_the_decisive_score_comes_first(iris, purpose, first):
    study = lowland.compare(iris.X, iris.y, ["pca"], purpose=purpose, cache=False)
    assert next(iter(study["PCA"].scores)) == first


def test_a_parameter_that_is_a_function_is_never_read_from_the_cache(iris):
    def kernel(scale):
        return lambda a, b: scale * np.dot(a, b)

    first, second = (
        lowland.compare(iris.X, None, ["kernel-pca"], sweep={"kernel-pca.kernel": [kernel(s)]}).trials[0]
        for s in (1, 100)
    )
    assert (first.status, second.status) == ("done", "done")
    assert not second.cached
    assert np.abs(second.Z).max() > 5 * np.abs(first.Z).max()
    assert callable(second.parameters["kernel"])


def test_unmeasured_trials_are_not_cached(iris, monkeypatch):
    def broken(self, *_):
        raise ZeroDivisionError("no way")

    with monkeypatch.context() as patch:
        patch.setattr(EmbeddingScorer, "_measured", broken)
        (trial,) = lowland.compare(iris.X, None, ["pca"]).trials
        assert trial.warnings[-1] == "Not evaluated: ZeroDivisionError: no way."
    (trial,) = lowland.compare(iris.X, None, ["pca"]).trials
    assert not trial.cached
    assert "trustworthiness" in trial.scores


def test_stopping_during_evaluation_stops_the_study(iris, monkeypatch):
    from lowland.errors import Stopped

    def stop(self, *_):
        raise Stopped("enough")

    monkeypatch.setattr(EmbeddingScorer, "_measured", stop)
    study = lowland.compare(iris.X, None, ["pca"], cache=False)
    assert not study.complete
    assert study.trials[0].status == "stopped"
    assert "cache" not in study.trials[0].error


def test_coordinates_of_a_wrong_shape_are_a_failure(iris, monkeypatch):
    from lowland.methods.pca import PCA

    for shape in ((150, 0), (149, 2), (150,)):
        monkeypatch.setattr(PCA, "transform", lambda self, X, shape=shape: np.zeros(shape))
        (trial,) = lowland.compare(iris.X, None, ["pca"], cache=False).trials
        assert trial.status == "failed"
        assert str(shape) in trial.error


def test_an_error_after_the_fit_loses_a_measure_but_not_the_trial(iris, monkeypatch):
    from lowland.methods.linear_discriminant_analysis import LinearDiscriminantAnalysis

    fit = LinearDiscriminantAnalysis.fit

    def only_all(self, X, y=None, **more):
        if (len(X) if hasattr(X, "__len__") else X.n) < 150:
            raise ZeroDivisionError("too few")
        return fit(self, X, y, **more)

    monkeypatch.setattr(LinearDiscriminantAnalysis, "fit", only_all)
    (trial,) = lowland.compare(iris.X, iris.y, ["lda"], cache=False).trials
    assert trial.status == "done"
    assert "downstream accuracy" not in trial.scores
    assert any(re.match("The accuracy on held-out rows.*: ZeroDivisionError", words) for words in trial.warnings)


def test_labels_in_another_order_are_different(rng):
    X, y = rng.standard_normal((120, 3)), np.arange(120) % 12
    lowland.compare(X, y, ["pca"])
    assert not lowland.compare(X, y.astype(str), ["pca"]).trials[0].cached


# --- the time limit of the whole study ---


def test_the_whole_study_has_a_time_limit(iris, monkeypatch):
    from lowland.methods.isomap import Isomap

    solve = Isomap._solve

    def slow(self, *args, **given):
        study_runner._begun -= 1000  # as if much time had passed
        return solve(self, *args, **given)

    init = runner.StudyRunner.__init__

    def kept(self, *args, **given):
        global study_runner
        study_runner = self
        init(self, *args, **given)

    monkeypatch.setattr(Isomap, "_solve", slow)
    monkeypatch.setattr(runner.StudyRunner, "__init__", kept)
    study = lowland.compare(iris.X, None, ["isomap", "mds", "pca"], total_time_limit=500.0, cache=False)
    assert [t.status for t in study.trials] == ["done", "timed out", "done"]  # PCA is linear and goes first
    assert "whole study, 500 s" in study["mds"].error
    assert study.complete
    assert all("MDS did not end within the time limit" in each.text for each in study.advice)


def test_a_worker_is_cut_off_by_the_limit_of_the_study(iris):
    study = lowland.compare(
        np.tile(iris.X, (8, 1)), None, ["mds"], worker=True, time_limit=None, total_time_limit=1e-3, cache=False
    )
    assert study["mds"].status == "timed out"
    assert "whole study" in study["mds"].error


def test_a_long_trial_is_named_with_its_limit_in_the_progress(iris):
    stages = []
    with lowland.config(progress=lambda event: stages.append(event.stage)):
        lowland.compare(iris.X, None, ["isomap"], cache=False)
    assert "Isomap (time limit 120 s)" in stages
