"""One trial: a method is fitted to the table, timed, and its coordinates kept, or the reason why there are none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import to_numpy
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.statistics.sampling import evenly_spread
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, LowlandError, Stopped
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.run.settings import config, settings
from lowland.study.plan import Planned, shared_neighbors
from lowland.study.result import Curve, Score, Trial
from lowland.study.scoring.knn_accuracy import NAME as ACCURACY
from lowland.study.scoring.knn_accuracy import accuracy_when_refitted
from lowland.study.trials.resources import Clock, PeakMemory

BY_DISTANCES = ("ClassicalMDS", "MDS", "SammonMapping")


@dataclass(frozen=True, eq=False)
class Shared:
    """What all trials work on, made once."""

    X: np.ndarray  # (n, d)
    y: np.ndarray | None = None  # (n,) numbers of classes
    graph: NeighborGraph | None = None  # the nearest of every row, as many as any trial needs
    D: np.ndarray | None = None  # (n, n) distances, while the rows are few
    seed: int = 0
    classes: np.ndarray | None = None  # (c,) what the classes are called
    names: np.ndarray | None = None  # (d,) what the columns are called

    def given(self) -> tuple[Any, np.ndarray | None]:
        """Rows and labels as methods take them: with the names that warnings are to tell."""
        rows = self.X if self.names is None else ArrayRows(self.X, tuple(map(str, self.names)))
        return rows, self.y if self.y is None or self.classes is None else self.classes[self.y]


def left_out(planned: Planned) -> Trial:
    """The trial of a method that does not take part."""
    return Trial(planned.name, planned.method, planned.parameters, "left out", planned.left_out)


def stopped(planned: Planned, *, kept: bool) -> Trial:
    """The trial of a method that was not reached, or not finished, when the study was stopped."""
    words = "The study was stopped before this trial was done. Run it again"
    words += ": what is done is read from the cache." if kept else "."
    return Trial(planned.name, planned.method, planned.parameters, "stopped", words)


def timed_out(planned: Planned, limit: float) -> Trial:
    """The trial of a method that passed its limit."""
    words = f"Not done after {limit:g} s, the limit of a trial. Raise the limit, or use fewer rows."
    return Trial(planned.name, planned.method, planned.parameters, "timed out", words, seconds=None)


def failed(planned: Planned, words: str, told: Sequence[str] = ()) -> Trial:
    """The trial of a method that could not be fitted."""
    return Trial(planned.name, planned.method, planned.parameters, "failed", words, tuple(told))


def fit_trial(
    planned: Planned, shared: Shared, limit: float | None = None, fitted: Callable[[], None] = lambda: None
) -> Trial:
    """Fit one method and return its trial, with the coordinates of all rows; whatever goes wrong is told in it.

    The limit is on the fit; ``fitted`` is called when it is over and the model is asked for its measures. Raises
    ``Stopped`` where the user's own progress callback asks for it.
    """
    tell = settings().progress
    clock = Clock(limit, tell if callable(tell) else None)
    with warnings.catch_warnings(record=True) as caught, PeakMemory() as memory:
        warnings.simplefilter("always")
        try:
            est = load_method(planned.method)(**planned.parameters)
            clock.restart()
            with config(progress=clock, output="default"):
                Z = _coordinates(est, planned, shared)
            seconds = clock.seconds
        except Stopped:
            if clock.told_to_stop or not clock.late:
                raise
            assert limit is not None
            return timed_out(planned, limit)
        except Exception as error:  # a study outlives whatever one method does
            return failed(planned, in_a_sentence(error), _texts(caught))
    fitted()
    with warnings.catch_warnings(), config(progress=False, output="default"):
        warnings.simplefilter("ignore")  # the fit has told its own; folds would say the same again
        scores, curves, missing = _of_the_model(est, planned, shared)
    gone = int(np.isnan(Z).any(axis=1).sum())
    if gone:
        missing = (f"{gone:,} of {len(Z):,} rows have no coordinates: the measures speak of the others.", *missing)
    told = (*planned.notes, *_texts(caught), *missing)
    return Trial(
        planned.name, planned.method, planned.parameters, "done", None, told, seconds, memory.bytes,
        left_out=gone, n_components=Z.shape[1], scores=scores, curves=curves, Z=Z,
    )  # fmt: skip


def in_a_sentence(error: BaseException) -> str:
    """An error as the trial tells it; one that was not foreseen with its kind."""
    text = " ".join(str(error).split()) or "no words were given"
    return text if isinstance(error, LowlandError) else f"{type(error).__name__}: {text.rstrip('.')}."


def _texts(caught: Sequence[Any]) -> tuple[str, ...]:
    """What was warned of, each once; that the graph was given is the study's own affair."""
    texts = (" ".join(str(each.message).split()) for each in caught)
    return tuple(dict.fromkeys(text.replace("Add links to the graph", "Raise n_neighbors") for text in texts))


# --- the fit ---


def _coordinates(est: Any, planned: Planned, shared: Shared) -> np.ndarray:
    """Fit and place all rows, (n, k)."""
    X, y = shared.given()
    n = len(shared.X)
    if planned.fitted_rows is not None:
        return _placed_among_a_sample(est, planned.fitted_rows, shared)
    neighbors = None if shared.graph is None else shared_neighbors(planned, n)
    if neighbors is not None and shared.graph is not None:
        est.fit(X, y, graph=shared.graph.nearest(neighbors).matrix())
    elif shared.D is not None and planned.method in BY_DISTANCES and "metric" not in planned.parameters:
        est.set_params(metric="precomputed").fit(shared.D)
    else:
        est.fit(X, y)
    return _checked(est.embedding_ if hasattr(est, "embedding_") else est.transform(X), n)


def _placed_among_a_sample(est: Any, m: int, shared: Shared) -> np.ndarray:
    chosen = evenly_spread(len(shared.X), m, np.random.default_rng(shared.seed))
    est.fit(shared.X[chosen])
    found = _checked(est.embedding_, m)
    Z = np.empty((len(shared.X), found.shape[1]), dtype=found.dtype)
    Z[chosen], Z[~chosen] = found, to_numpy(est.transform(shared.X[~chosen]))
    return Z


def _checked(Z: Any, n: int) -> np.ndarray:
    Z = to_numpy(Z)
    if Z.ndim != 2 or len(Z) != n or not Z.shape[1]:
        raise DataError(f"The coordinates have the shape {Z.shape}, and ({n}, k) was awaited: nothing to draw.")
    if np.isinf(Z).any():
        raise DataError("Some coordinates are infinite. Rescale the columns.")
    return Z


# --- what the fitted model says ---


def _of_the_model(
    est: Any, planned: Planned, shared: Shared
) -> tuple[dict[str, Score], dict[str, Curve], tuple[str, ...]]:
    """The measures and curves that need the model itself, not its coordinates alone, and what could not be measured."""
    scores: dict[str, Score] = {}
    curves: dict[str, Curve] = {}
    missing = []
    for what, ask in (
        ("The way back", lambda: scores.update(_way_back(est, shared))),
        ("The accuracy of held-out rows", lambda: scores.update(_held_out(est, shared))),
        ("The residual variance by dimensions", lambda: curves.update(_residuals(est, planned))),
    ):
        try:
            ask()
        except Stopped:
            raise
        except Exception as error:  # the coordinates are there all the same
            missing.append(f"{what} was not measured: {in_a_sentence(error)}")
    return scores, curves, tuple(missing)


def _residuals(est: Any, planned: Planned) -> dict[str, Curve]:
    if planned.method != "Isomap":
        return {}
    left = np.asarray(est.residual_variances_)
    return {"residual variance": Curve(np.arange(1, len(left) + 1), left, "dimensions", "residual variance")}


def _held_out(est: Any, shared: Shared) -> dict[str, Score]:
    """The accuracy of a method that learns from labels: without those of the rows it is asked about."""
    if shared.y is None or not traits_of(est).reads_y:
        return {}
    return {ACCURACY: accuracy_when_refitted(est, shared.X, shared.y, shared.seed)}


def _way_back(est: Any, shared: Shared) -> dict[str, Score]:
    """How much is lost on the way down and back, where there is a way back; columns that are kept lose nothing."""
    from lowland.quality import explained_variance_fraction, reconstruction_error
    from lowland.quality.reconstruction import has_way_back

    if traits_of(est).selects_columns or not has_way_back(est):
        return {}
    X, _ = shared.given()
    found = [reconstruction_error(est, X), explained_variance_fraction(est, X)]
    return {m.name: Score(m.value, m.better, m.about) for m in found}


def shown_only(trial: Trial, shown: np.ndarray) -> Trial:
    """The trial with the coordinates of the rows that are drawn, in single precision."""
    if trial.Z is None:
        return trial
    return replace(trial, Z=np.ascontiguousarray(trial.Z[shown], dtype=np.float32))
