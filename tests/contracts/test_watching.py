"""A fit reports its progress, shows snapshots of its map, and ends when it is asked to."""

import inspect

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland.arrays.namespace import to_numpy

from .battery import METHODS, labels, load_method, make, table, table_for

SHOWING = [name for name in METHODS if "callback" in inspect.signature(load_method(name).fit).parameters]


@pytest.mark.parametrize("name", METHODS)
def test_progress_is_reported_and_can_stop_the_fit(name, monkeypatch):
    monkeypatch.setattr("lowland.run.progress.EVENT_EVERY", 0.0)
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 1000)
    X, events = table_for(name), []
    with lowland.config(progress=events.append):
        make(name).fit(X, labels())
    assert events
    model = make(name)
    with lowland.config(progress=lambda event: False), pytest.raises(lowland.Stopped):
        model.fit(X, labels())
    assert not {key for key in vars(model) if key.endswith("_")} - {"n_features_in_"}


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("name", SHOWING)
def test_a_callback_sees_the_map_and_can_end_the_fit(name):
    X, shots, options = table(), [], {"max_iter": 100} if name == "TSNE" else {}
    quiet, seen = make(name, **options).fit(X), make(name, **options).fit(X, callback=shots.append)
    Z = seen.transform(X)
    np.testing.assert_array_equal(Z, quiet.transform(X))
    steps = [shot.iteration for shot in shots]
    assert steps == sorted(set(steps))
    assert all(shot.total >= shot.iteration and to_numpy(shot.embedding).shape == Z.shape for shot in shots)
    ended = make(name, **options).fit(X, callback=lambda shot: shots.append(shot) or False)
    assert ended.n_iter_ <= max(2, steps[0])
    last = getattr(ended, "embedding_", ended.transform(X))
    np.testing.assert_allclose(shots[-1].embedding, last, rtol=1e-4, atol=1e-4 * np.abs(last).max())
    assert "callback" in ended.solver_.stopped_because
