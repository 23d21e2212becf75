"""The sweep over numbers of neighbors: shortcuts and components."""

import numpy as np
import pytest

from lowland.data import swiss_roll
from lowland.errors import ParameterError
from lowland.math.graphs.neighbor_sweep import sweep_neighbors
from lowland.math.neighbors.search import nearest_neighbors
from lowland.run.local import LocalRun

RUN = LocalRun()


@pytest.mark.parametrize(("seed", "cut"), [(0, False), (3, True), (5, True), (24, False)])
def test_the_sweep_detects_short_circuits_of_a_roll(seed, cut):
    roll = swiss_roll(1024, seed=seed)
    steps = sweep_neighbors(roll.X, (8, 10, 12), RUN)
    assert steps[-1].short_circuit is cut
    assert not steps[0].short_circuit
    for i, j in steps[-1].shortcuts:  # and names the edges that leave the sheet
        length = np.linalg.norm(roll.X[i] - roll.X[j])
        assert np.linalg.norm(roll.truth[i] - roll.truth[j]) > 3 * length


@pytest.mark.parametrize("ks", [(6, 8, 15, 20, 30, 40), (40,), (6, 20)])
def test_many_shortcuts_are_still_detected(ks):  # though they lead around each other
    roll = swiss_roll(400, seed=0)
    graph = nearest_neighbors(roll.X, 40, RUN)
    for step in sweep_neighbors(roll.X, ks, RUN):
        links = graph.table()[0][:, : step.n_neighbors]
        i, j = np.repeat(np.arange(400), step.n_neighbors), links.ravel()
        leaves = np.linalg.norm(roll.truth[i] - roll.truth[j], axis=1) > 3 * np.linalg.norm(
            roll.X[i] - roll.X[j], axis=1
        )
        true = {(min(a, b), max(a, b)) for a, b in zip(i[leaves].tolist(), j[leaves].tolist(), strict=True)}
        assert step.short_circuit is bool(true) is (step.n_neighbors > 6)
        assert set(step.shortcuts) <= true
        assert len(step.shortcuts) >= 0.9 * len(true)


def test_the_sweep_reports_connected_components():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((30, 2)), rng.random((20, 2)) + 5])
    few, many = sweep_neighbors(X, (29, 4), RUN)
    assert (few.n_neighbors, few.split, few.n_connected_components, few.sizes) == (4, True, 2, (30, 20))
    assert (many.split, many.sizes) == (False, (50,))
    assert not few.short_circuit
    assert not many.short_circuit  # an edge that joins two components is not a shortcut


def test_the_sweep_of_many_points_uses_a_sample(monkeypatch):
    monkeypatch.setattr("lowland.math.graphs.neighbor_sweep._EXACT", 300)
    flagged = [sweep_neighbors(swiss_roll(1024, seed=seed).X, (12,), RUN)[0].short_circuit for seed in (0, 5)]
    assert flagged == [False, True]


@pytest.mark.parametrize("ks", [(), (0, 3), (3, 50)])
def test_the_sweep_refuses_invalid_numbers_of_neighbors(ks):
    with pytest.raises(ParameterError, match="from 1 to 49"):
        sweep_neighbors(np.random.default_rng(0).random((50, 2)), ks, RUN)
