"""What neighbor embeddings share: the graph of the points, initial coordinates, and the descent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, on_accelerator, to_numpy
from lowland.errors import DataWarning, ParameterError, warn, with_remedy
from lowland.math.embeddings.descent import (
    Embedded,
    EmbeddingObjective,
    HostObjective,
    StoppingRule,
    as_places,
    descend,
    on_device,
)
from lowland.math.embeddings.starts import given_start, landmark_start, principal_start
from lowland.math.neighbors.connectivity import Components
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.optimize.outcome import Divergence, Outcome
from lowland.methods.base.method import param
from lowland.methods.base.metric import METRIC_ATTRIBUTES, Metric
from lowland.methods.base.neighborhood import GRAPH_ATTRIBUTES, Neighborhood, all_rows_equal, with_left_out
from lowland.methods.base.params import shared_attributes
from lowland.methods.base.traits import Callback
from lowland.run.run import Run, all_finite

EMBEDDING_ATTRIBUTES = {
    **GRAPH_ATTRIBUTES,
    **METRIC_ATTRIBUTES,
    **shared_attributes(
        solver_=(
            "Outcome",
            "Algorithm, the reason for it and how neighbors were found, its iterations, the objective every 50 "
            "iterations, and why it stopped.",
        ),
        n_iter_=("int", "Number of iterations."),
        seed_=("int", "Seed of the random draws, also for new points."),
        interrupted_=("bool", "Whether Ctrl-C ended the descent early, so that the map is unfinished."),
    ),
}


def ignored_components_parameter() -> Any:
    """Declare the parameter ``disconnected`` of a method that also places components that are apart."""
    return param(
        "ignore",
        "What to do if the neighbor graph is disconnected: 'ignore' leaves the components apart (points without any "
        "neighbor are NaN), 'connect' adds the shortest edges between them, 'largest' embeds only the largest one "
        "(other points are NaN), 'error' raises an error.",
    )


@dataclass(frozen=True)
class EmbeddingProblem:
    """What a neighbor embedding minimizes, from where, and by which algorithm."""

    objective: HostObjective
    start: np.ndarray  # (n, k), in the precision of the descent; it is updated in place
    solver: Outcome  # name and reason
    stop: StoppingRule | None = None


def join_neighbors(neighborhood: Neighborhood, found: NeighborGraph, X: Array, run: Run) -> Components:
    """The edges from each point to its own neighbors, shortest first, of the points that have neighbors.

    An edge that was added to connect components counts as the farthest neighbor of its ends: it is so long that it
    would have no weight.
    """
    joined = neighborhood.without_lone_points(neighborhood.join(found, X, run, symmetric=False))
    if not joined.n_edges_added:
        return joined
    return replace(joined, graph=joined.graph.with_farthest(added_edges(joined)))


def added_edges(found: Components) -> np.ndarray:
    """The edges that were added to connect components, (edges,) bool."""
    label = found.labels[found.kept]
    return label[found.graph.sources] != label[found.graph.to]


def embed(
    model: Any, problem: EmbeddingProblem, found: Components, X: Array, run: Run, callback: Callback, rate: str
) -> Embedded:
    """Minimize the objective, on the device of X, and set the embedding and the outcome.

    ``rate`` is the parameter that holds the learning rate.
    """
    objective: EmbeddingObjective = problem.objective
    start: Array = problem.start
    if is_on_device(X):
        objective, start = problem.objective.on_device(X), on_device(start, X)
    solver = replace(problem.solver, reason=f"{problem.solver.reason}; neighbors: {found.graph.search_in_words}")
    try:
        result = descend(objective, start, run, solver=solver, stop=problem.stop, callback=callback)
    except Divergence as error:
        raise ParameterError(
            str(error), f"Choose a smaller `{rate}`.", method=type(model).__name__,
            given={rate: getattr(model, rate)},
        ) from error  # fmt: skip
    model.embedding_ = with_left_out(as_places(result.Z, X), found.kept)
    model.solver_, model.n_iter_ = result.outcome, result.outcome.iterations
    if not result.interrupted:  # Ctrl-C was reported already
        model._record_convergence(result.outcome, f"The map oscillates. Choose a smaller `{rate}`.")
    model.interrupted_ = result.interrupted
    return result


# --- initial coordinates ---


def are_equal(model: Any, X: Array, graph: NeighborGraph) -> bool:
    """Whether all rows are equal, with a warning: they all start at the origin, where the gradient is zero."""
    if graph.length.any() or not all_rows_equal(X):
        return False
    warn(
        f"{type(model).__name__}: all rows are equal, so all are placed at the origin. Check which columns were "
        "chosen.",
        DataWarning,
    )
    return True


def given_places(model: Any, name: str, kept: np.ndarray) -> np.ndarray:
    """The coordinates that a parameter gives for all training rows; those of the embedded ones, (n, k)."""
    with with_remedy(f"Check `{name}`."):
        return given_start(getattr(model, name), len(kept), model.n_components)[kept]


def principal_places(X: Array, metric: Metric, k: int, run: Run, rng: np.random.Generator) -> np.ndarray:
    """The principal components of the rows; classical scaling of some rows if values are missing or categories."""
    if lacks_components(X, metric):
        return landmark_start(host_rows(X), k, run, rng, *metric)
    return principal_start(X, k, run, rng)


def lacks_components(X: Any, metric: Metric) -> bool:
    """Whether rows have no principal components: some values are missing, or categories."""
    return metric.reads_text or (metric.skips_missing and not is_sparse(X) and not all_finite(host_rows(X)))


def host_rows(X: Array) -> Any:
    """Rows for the kernels: an array of numpy, or sparse."""
    return X if is_sparse(X) else to_numpy(X)


def is_on_device(X: Array) -> bool:
    """Whether the descent runs on an accelerator, as tensors."""
    return not is_sparse(X) and on_accelerator(X)
