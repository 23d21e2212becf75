"""scikit-learn's callbacks: the stages of a fit are tasks, and a callback can stop it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import lowland
from lowland.errors import Stopped

pytest.importorskip("sklearn.callback")
X = np.random.default_rng(0).standard_normal((2500, 6))


class Diary:
    """A callback that writes down what it is told, and stops after some subtasks."""

    max_propagation_depth = None

    def __init__(self, stop_after=np.inf):
        self.lines, self.stop_after = [], stop_after

    def setup(self, estimator, context):
        self.lines.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.lines.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.lines.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.lines.append(("end", context.task_name))
        return len(self.lines) > self.stop_after


def test_stages_are_tasks_with_parts():
    diary = Diary()
    model = lowland.UMAP(n_epochs=20, random_state=0).set_callbacks(diary)
    Z = model.fit_transform(X)
    assert diary.lines[:2] == [("setup", "fit"), ("begin", "fit")]
    assert diary.lines[-2:] == [("end", "fit"), ("teardown", "fit")]
    began = [name for what, name in diary.lines if what == "begin"]
    assert began.count("minimizing the cross-entropy") == 1
    assert began.count("part of minimizing the cross-entropy") == 100
    assert sorted(began) == sorted(name for what, name in diary.lines if what == "end")
    np.testing.assert_array_equal(Z, lowland.UMAP(n_epochs=20, random_state=0).fit_transform(X))


def test_a_callback_stops_a_fit_and_is_torn_down():
    diary = Diary(stop_after=30)
    with pytest.raises(Stopped):
        lowland.TSNE(random_state=0).set_callbacks(diary).fit(X)
    assert diary.lines[-1] == ("teardown", "fit")


def test_callbacks_are_cloned_removed_and_not_saved(tmp_path):
    diary = Diary()
    model = clone(lowland.PCA(2).set_callbacks(diary)).fit(X)
    assert diary.lines
    lowland.save(model, tmp_path / "m.lowland")
    assert not hasattr(lowland.load(tmp_path / "m.lowland"), "_skl_callbacks")
    count = len(diary.lines)
    model.set_callbacks().fit(X)
    assert len(diary.lines) == count
    with pytest.raises(TypeError, match="FitCallback"):
        lowland.PCA().set_callbacks(3)


def test_callbacks_of_a_search_reach_the_steps():
    diary = Diary()
    search = GridSearchCV(make_pipeline(lowland.PCA(whiten=True)), {"pca__n_components": [1, 2]}, cv=2)
    search.set_callbacks(diary).fit(X)
    assert search.best_params_
    assert len([line for line in diary.lines if line == ("begin", "fit")]) >= 1
    assert diary.lines[-1][0] == "teardown"
