"""One trial: shared inputs do not change results, time limits stop it, errors are recorded, here and in a worker."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

import lowland
from lowland import (
    MDS,
    PCA,
    TSNE,
    UMAP,
    DiffusionMap,
    Isomap,
    LinearDiscriminantAnalysis,
    LocallyLinearEmbedding,
    LocalMAP,
    PaCMAP,
    SammonMapping,
    SpectralEmbedding,
)
from lowland.errors import Stopped
from lowland.math.distances.to_points import distance_matrix
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.progress import pulse
from lowland.run.run import Run
from lowland.study.plan import Planned, StudySize, plan
from lowland.study.trials import SharedInputs, Worker, fit_trial


@pytest.fixture
def shared(iris):
    run = Run()
    return SharedInputs(iris.X, np.asarray(iris.y), nearest_neighbors(iris.X, 40, run), distance_matrix(iris.X, run))


def planned(cls, **parameters):
    sweep = {f"{cls.__name__}.{name}": [value] for name, value in parameters.items()}
    return plan(StudySize(150, 4, 2, 3), [cls.__name__], sweep)[0]


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [
        (Isomap, {"n_neighbors": 30}),
        (LocallyLinearEmbedding, {"n_neighbors": 40}),
        (SpectralEmbedding, {"n_neighbors": 31}),
        (DiffusionMap, {"n_neighbors": 30}),
        (MDS, {"n_components": 2}),
        (SammonMapping, {}),
    ],
)
def test_sharing_a_graph_or_distances_changes_nothing(cls, parameters, shared):
    trial = fit_trial(planned(cls, **parameters), shared)
    assert trial.status == "done", trial.error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = cls(**parameters).fit_transform(shared.X)
    assert trial.n_components == 2
    np.testing.assert_allclose(trial.Z, Z, atol=1e-5 * np.abs(Z).max())


def test_axes_have_their_part_of_the_variance_and_their_leading_columns(iris, shared):
    names = np.array(["sepal_length", "sepal_width", "petal_length", "petal_width"])
    shared = replace(shared, names=names)
    model = PCA(2).fit(iris.X)
    trial = fit_trial(planned(PCA), shared)
    assert [axis["name"] for axis in trial.axes] == ["PC1", "PC2"]
    np.testing.assert_allclose([axis["share"] for axis in trial.axes], model.explained_variance_ratio_)
    for axis, weights in zip(trial.axes, model.components_, strict=True):
        leading = np.argsort(-np.abs(weights))[:3]
        assert axis["columns"] == [("−" if weights[j] < 0 else "") + names[j] for j in leading]
    assert [axis["name"] for axis in fit_trial(planned(LinearDiscriminantAnalysis), shared).axes] == ["LD1", "LD2"]
    assert fit_trial(planned(SammonMapping), shared).axes == ()  # turning the map would change nothing


@pytest.mark.parametrize(
    ("cls", "short", "columns"),
    [(TSNE, {"max_iter": 260}, 4), (UMAP, {"n_epochs": 20}, 120), (PaCMAP, {"num_iters": [5, 5, 5]}, 4),
     (LocalMAP, {"num_iters": [5, 5, 5]}, 120)],
)  # fmt: skip
def test_neighbor_embeddings_have_the_same_bits_with_the_shared_graph(cls, short, columns, iris, rng):
    X = iris.X if columns == 4 else rng.standard_normal((150, columns))
    shared = SharedInputs(X, np.asarray(iris.y), nearest_neighbors(X, 100, Run()))
    sweep = {f"{cls.__name__}.{name}": [value] for name, value in short.items()}
    (trial_of,) = plan(StudySize(150, columns, 2, 3), [cls.__name__], sweep)
    reduces = columns > 100 and cls in (PaCMAP, LocalMAP)  # which search among the first 100 principal components
    assert (trial_of.shared_neighbors is None) == reduces
    trial = fit_trial(trial_of, shared)
    assert trial.status == "done", trial.error
    alone = cls(**trial_of.parameters).fit(X)  # without labels, also UMAP
    assert np.array_equal(trial.Z, alone.embedding_)


def test_an_inverse_that_interpolates_the_training_rows_is_not_evaluated(shared):
    """UMAP regresses on the training rows near a point: on these rows themselves, the error would be too small."""
    trial = fit_trial(planned(UMAP, n_epochs=20), shared)
    assert trial.status == "done", trial.error
    assert "reconstruction error" not in trial.scores


def test_an_interrupted_fit_is_no_trial(shared, monkeypatch):
    """Ctrl-C during the descent keeps an unfinished map, which a study must neither report nor cache."""
    from lowland.math.embeddings.kl_divergence import KLDivergence

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(KLDivergence, "gradient", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit_trial(planned(TSNE), shared)


def test_the_time_limit_stops_a_descent(shared):
    trial = fit_trial(planned(TSNE, max_iter=10**6, n_iter_without_progress=10**6, min_grad_norm=0), shared, 0.3)
    assert trial.status == "timed out"


def test_warnings_are_recorded_and_not_shown(shared):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trial = fit_trial(planned(Isomap, n_neighbors=5), shared)
    assert len(trial.warnings) == 1
    assert "disconnected" in trial.warnings[0]
    assert "Raise `n_neighbors`" in trial.warnings[0]


def test_a_failure_is_a_trial(shared):
    trial = fit_trial(planned(Isomap, n_components=200), shared)
    assert trial.status == "failed"
    assert "at most 149" in trial.error
    assert trial.Z is None
    unknown = fit_trial(Planned("PCA", "PCA", {"flavour": 1}), shared)
    assert unknown.error.startswith("PCA(flavour=...): no such parameter.")
    assert unknown.error.endswith(".")


class Slow(lowland.PCA):
    """Takes two seconds in 100 steps, which it counts, and reports progress."""

    steps = 0

    def _solve(self, rows, run, y, weights):
        for step in run.iterate("waiting", 100):
            time.sleep(0.02)
            type(self).steps = step
        super()._solve(rows, run, y, weights)


@pytest.fixture
def slow(monkeypatch):
    from lowland.study import trials

    real = trials.load_method
    monkeypatch.setattr(trials, "load_method", lambda name: Slow if name == "PCA" else real(name))
    return Planned("PCA", "PCA", {})


def test_a_limit_ends_a_trial_in_this_process(slow, shared):
    trial = fit_trial(slow, shared, limit=0.2)
    assert trial.status == "timed out"
    assert "0.2 s" in trial.error
    assert 0 < Slow.steps < 99  # of its hundred


def test_the_user_s_own_callback_stops_the_study(slow, shared):
    with lowland.config(progress=lambda event: False), pytest.raises(Stopped):
        fit_trial(slow, shared, limit=60)


def test_supervised_methods_are_evaluated_on_held_out_rows(rng):
    """Random labels: discriminants of 90 columns separate the training rows, and no others."""
    X, y = rng.standard_normal((150, 90)), rng.integers(2, size=150)
    trial = fit_trial(Planned("LDA", "LinearDiscriminantAnalysis", {"n_components": 1}), SharedInputs(X, y))
    assert trial.scores["downstream accuracy"].value < 0.7
    assert lowland.quality.downstream_accuracy(trial.Z, y).value > 0.8


def test_rows_are_placed_among_a_sample(iris):
    trial = fit_trial(Planned("MDS", "MDS", {}, fitted_rows=60), SharedInputs(iris.X))
    whole = MDS().fit_transform(iris.X)
    assert trial.Z.shape == (150, 2)
    assert lowland.quality.shepard(whole, trial.Z).pearson.value > 0.99


def test_a_time_limit_stops_a_fit_inside_one_of_its_steps(monkeypatch, shared):
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0.0)

    def endless(*inputs):
        while True:
            pulse()

    monkeypatch.setattr("lowland.methods.pca.PCA._solve", endless)
    trial = fit_trial(planned(PCA), shared, limit=0.01)
    assert trial.status == "timed out"


# --- in a worker process: same results, killed at the limit, restarted, its folder removed ---


@pytest.fixture
def table(rng):
    X = rng.standard_normal((300, 5)) * [5, 4, 1, 1, 1]
    return SharedInputs(X, graph=nearest_neighbors(X, 10, Run()))


def test_a_worker_fits_trials_and_ends(table):
    ticks = []
    with Worker(table) as worker:
        isomap = Planned("Isomap", "Isomap", {"n_neighbors": 10}, shared_neighbors=10)
        here, there = fit_trial(isomap, table), worker.fit(isomap, 60, ticks.append)
        assert there.status == "done", there.error
        np.testing.assert_allclose(np.abs(there.Z), np.abs(here.Z), atol=1e-8)
        assert there.memory is None or there.memory >= 0
        assert there.curves["residual variance"].y.shape == (10,)
        assert sum(ticks) > 0
        first = worker.process.pid

        failing = worker.fit(Planned("PCA", "PCA", {"n_components": 9}), 60)
        assert failing.status == "failed"
        assert "at most 5" in failing.error
        assert worker.process.pid == first  # an error does not cost the process

        os.kill(worker.process.pid, signal.SIGSTOP)  # so that it cannot answer in time
        late = worker.fit(Planned("MDS", "MDS", {}), 0.2)
        assert late.status == "timed out"

        again = worker.fit(Planned("PCA", "PCA", {"n_components": 2}), 60)
        assert again.status == "done", again.error
        np.testing.assert_allclose(again.Z, lowland.PCA(2).fit_transform(table.X), atol=1e-10)
        assert worker.process.pid != first

        os.kill(worker.process.pid, signal.SIGSTOP)  # so that it cannot answer before it is killed
        os.kill(worker.process.pid, signal.SIGKILL)
        killed = worker.fit(Planned("PCA", "PCA", {"n_components": 2}), 60)
        assert killed.status == "failed"
        assert "memory" in killed.error
        place, process = worker.place, worker.process
        assert process is None
    assert not place.exists()


def test_an_interrupted_worker_leaves_nothing(table):
    def interrupt(seconds):
        raise KeyboardInterrupt

    worker = Worker(table)
    with pytest.raises(KeyboardInterrupt):
        worker.fit(Planned("PCA", "PCA", {}), None, interrupt)
    process = worker.process
    worker.close()
    assert not process.alive
    assert not worker.place.exists()


def test_folders_of_killed_studies_are_removed(table, tmp_path, monkeypatch):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with Worker(table) as worker:
        folder = worker.place.name
        left = tmp_path / folder.replace(f"-{os.getpid()}-", f"-{ended.pid}-")
        left.mkdir()
        (left / "X.npy").write_text("x")
        (tmp_path / "lowland-study-mine").mkdir()  # of a user
        with Worker(table):
            assert not left.exists()
            assert worker.place.exists()
    assert os.listdir(tmp_path) == ["lowland-study-mine"]


def test_the_limit_is_on_the_fit_not_on_the_measures_after_it(table, monkeypatch):
    from lowland.run.processes import TaskOutcome
    from lowland.study import trials

    limits = []

    class Process:
        """A process that has fitted the method."""

        alive = True

        def __init__(self, *_):
            self.close = lambda: None

        def run(self, task):
            task.on_event({"event": "fitted"})
            limits.append(task.seconds)
            return TaskOutcome("broken", "no answer")

    monkeypatch.setattr(trials, "GRACE", 0.0)
    monkeypatch.setattr(trials, "WorkerProcess", Process)
    with Worker(table) as worker:
        worker.fit(Planned("PCA", "PCA", {}), 60)
        worker.fit(Planned("PCA", "PCA", {}), 60, most=100)
    assert limits == [60 * (1 + trials.MEASURING), 100]
