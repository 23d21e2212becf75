"""Parameters chosen without labels: known answers, equal settings, and the figure."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lowland
from lowland import PCA, plots, quality
from lowland.cli.main import cli
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError
from lowland.evidence.sweep import Sweep
from lowland.quality.kept_neighbors import kept_nearest, nearest_points


@pytest.fixture(scope="module")
def axes() -> Sweep:
    X = np.random.default_rng(0).standard_normal((80, 3)) * [3, 2, 1]
    return lowland.sweep(PCA(), X, n_components=[1, 2, 3])


def test_kept_neighbors_are_those_of_the_local_continuity() -> None:
    X = np.random.default_rng(0).standard_normal((70, 4))
    Z, points = X[:, :2], np.arange(70)
    found = kept_nearest(nearest_points(X, 10, points), nearest_points(Z, 10, points), 70)
    assert found.mean() == pytest.approx(quality.lcmc(X, Z, 10).value * 69 / 59)


def test_all_axes_keep_all_neighbors_and_fewer_are_worse(axes: Sweep) -> None:
    one, two, three = axes.settings
    assert one.score < two.score < three.score == pytest.approx(1)
    assert three.stability == pytest.approx(1)
    assert axes.best is three
    assert axes.equivalent == [three]
    assert three.method.n_components == 3
    assert "Worse: n_components=1, n_components=2." in axes.summary
    assert "n_components=3" in axes._repr_html_()


def test_equal_methods_are_equivalent() -> None:
    X = load_dataset("iris").X
    found = lowland.sweep([PCA(2), PCA(2, svd_solver="full"), PCA(1)], X)
    assert [s.equivalent for s in found.settings] == [True, True, False]
    assert found.settings[0].interval == pytest.approx(found.settings[1].interval)
    assert [s.name for s in found.settings] == ["PCA", "PCA", "PCA"]


def test_the_seed_decides_and_threads_do_not(axes: Sweep) -> None:
    X = np.random.default_rng(0).standard_normal((80, 3)) * [3, 2, 1]
    with lowland.config(threads=1):
        again = lowland.sweep(PCA(), X, n_components=[1, 2, 3])
    other = lowland.sweep(PCA(), X, n_components=[1, 2, 3], random_state=1)
    assert [s.interval for s in again.settings] == [s.interval for s in axes.settings]
    assert other.settings[0].score != axes.settings[0].score


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda X: lowland.sweep(PCA(), X, component=[1, 2]), ParameterError, "n_components"),
        (lambda X: lowland.sweep(PCA(), X, n_components=2), ParameterError, "list of values"),
        (lambda X: lowland.sweep(PCA(), X, n_components=iter([1, 2])), ParameterError, "list of values"),
        (lambda X: lowland.sweep(PCA(), X, n_components=[2]), ParameterError, "two or more"),
        (lambda X: lowland.sweep(PCA, X, n_components=[1, 2]), ParameterError, "an estimator"),
        (lambda X: lowland.sweep(PCA(), X @ np.eye(4, 40) + np.eye(40), n_components=[2, 36]), DataError, "subsample"),
    ],
)
def test_wrong_input_is_an_error_that_says_what_to_do(call, error, match) -> None:
    with pytest.raises(error, match=match):
        call(np.random.default_rng(0).standard_normal((40, 4)))


def test_the_figure_shows_scores_and_intervals(axes: Sweep) -> None:
    ax = plots.sweep(axes).axes[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3"]
    assert ax.get_xlabel() == "n_components"
    ends = [line.get_segments()[0][:, 1].tolist() for line in ax.collections]
    np.testing.assert_allclose(ends, [s.interval for s in axes.settings])


def test_command_compares_values_of_a_parameter(tmp_path, capsys) -> None:
    table, model = tmp_path / "x.csv", tmp_path / "m.lowland"
    X = load_dataset("iris").X
    np.savetxt(table, X, delimiter=",", header="a,b,c,d", comments="")
    lowland.save(PCA(2).fit(X), model)
    for more in ([], ["--json"]):
        with pytest.raises(SystemExit) as end:
            cli.main(["reliability", str(model), str(table), "--sweep", "n-components=1,4", *more])
        assert end.value.code == 0
        printed = capsys.readouterr().out
        if more:
            found = json.loads(printed)
            assert found["best"] == {"n_components": 4}
            assert [s["equivalent"] for s in found["settings"]] == [False, True]
        else:
            assert "n_components=4 keeps neighbors best" in printed
