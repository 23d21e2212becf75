"""What neighbor embeddings share: the graph, the start, the descent, snapshots, and the place of new rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, on_accelerator, to_numpy
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataWarning, ParameterError, warn, with_remedy
from lowland.math.distances.metrics import allows_nan
from lowland.math.embeddings.descent import (
    Embedded,
    EmbeddingObjective,
    HostObjective,
    StoppingRule,
    descend,
)
from lowland.math.embeddings.starts import given_start, landmark_start, principal_start
from lowland.math.embeddings.tensor_edges import on_device
from lowland.math.neighbors.connectivity import ConnectedComponents, Policy
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.optimize.outcome import Divergence, Outcome, Snapshot
from lowland.methods.base.graph_map import GraphMap
from lowland.methods.base.method import attribute, param
from lowland.methods.base.metric_map import MetricMap
from lowland.methods.base.point_map import SKIP_MISSING
from lowland.run.run import Run, all_finite, run_for


@dataclass(frozen=True)
class EmbeddingProblem:
    """What a neighbor embedding minimizes, from where, and by which algorithm."""

    objective: HostObjective
    start: np.ndarray  # (n, k), in the precision of the descent; it is updated in place
    solver: Outcome  # name and reason
    stop: StoppingRule | None = None


class NeighborEmbedding(GraphMap, MetricMap, missing_remedy=SKIP_MISSING):
    """A method that places rows so that neighbors stay near and other rows apart, by gradient descent.

    A subclass writes ``_problem``, which receives the rows, their neighbor graph and the labels, ``_keep`` for its own
    attributes, and ``_placing`` for new rows.
    """

    if TYPE_CHECKING:
        n_components: int

    disconnected: Policy = param(
        "ignore",
        "What to do if the neighbor graph is disconnected: 'ignore' leaves the components apart (rows without any "
        "neighbor are NaN), 'connect' adds the shortest edges between them, 'largest' embeds only the largest one "
        "(other rows are NaN), 'error' raises an error.",
    )

    solver_: Outcome = attribute(
        "Algorithm, the reason for it and how neighbors were found, its iterations, the objective every 50 iterations, "
        "and why it stopped."
    )
    n_iter_: int = attribute("Number of iterations.")
    seed_: int = attribute("Seed of the random draws, also for new rows.")
    interrupted_: bool = attribute("Whether Ctrl-C ended the descent early; the map is then unfinished.")

    def fit(self, X: Any, y: Any = None, graph: Any = None, callback: Callable[[Snapshot], Any] | None = None) -> Self:
        """Fit to the rows of X.

        ``graph``: your own neighbor graph, a sparse (n, n) matrix of edge lengths. ``callback`` receives a snapshot
        (iteration, total, embedding, value) every 50 iterations; if it returns False, the fit ends with the map so
        far. Ctrl-C also ends it with the map so far, and a warning.
        """
        return self._fit(X, y, graph=graph, callback=callback)

    def fit_transform(
        self, X: Any, y: Any = None, graph: Any = None, callback: Callable[[Snapshot], Any] | None = None
    ) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self.fit(X, y, graph, callback)._returned_embedding(X)

    # --- hooks ---

    def _check_size(self, X: Array) -> None:
        """Raise an error if parameters do not fit the number of rows."""

    def _problem(self, X: Array, graph: NeighborGraph, run: Run, y: np.ndarray | None) -> EmbeddingProblem:
        """The objective and the start. The graph has the edges from each row to its own neighbors, shortest first.

        An edge that was added to connect components counts as the farthest neighbor of its ends.
        """
        raise NotImplementedError

    def _keep(self, found: Embedded, problem: EmbeddingProblem) -> None:
        """Set the attributes of the method."""

    def _warns_of_components(self) -> bool:
        """Whether a disconnected graph is reported also if it is left as it is."""
        return False

    # --- fit ---

    def _solve(
        self,
        rows: Rows,
        run: Run,
        y: np.ndarray | None,
        weights: np.ndarray | None,
        graph: Any = None,
        callback: Callable[[Snapshot], Any] | None = None,
    ) -> None:
        """Neighbor graph, objective, start, descent."""
        X = run.to_array(rows, type(self).__name__)
        run = run_for(ArrayRows(X)) if not is_sparse(X) else run
        self._check_size(X)
        self.seed_ = int(self._generator().integers(2**31))
        found = self._without_lone_rows(self._graph(X, run, graph, symmetric=False), X)
        if self.n_edges_added_:  # so long that they would have no weight
            found = found.with_farthest(self._bridges(found))
        kept = self._kept_mask
        self.points_ = None if self._is_given(X) or self._measure()[0] == "precomputed" else self._own_points(X, rows)
        labels = self._as_labels(y, X.shape[0])[kept] if self._traits.reads_y and y is not None else None
        problem = self._problem(self._embedded(X), found, run, labels)
        objective: EmbeddingObjective = problem.objective
        start: Array = problem.start
        if self._on_device(X):
            objective, start = problem.objective.on_device(X), on_device(start, X)
        solver = replace(problem.solver, reason=f"{problem.solver.reason}; neighbors: {found.search_in_words}")
        rate = "learning_rate" if hasattr(self, "learning_rate") else "lr"
        try:
            result = descend(objective, start, run, solver=solver, stop=problem.stop, callback=callback)
        except Divergence as error:
            raise ParameterError(
                f"{type(self).__name__}({rate}={getattr(self, rate)}): {error} Choose a smaller {rate}."
            ) from error
        self.embedding_ = self._with_left_out(like(result.Z, X.data if is_sparse(X) else X))
        self.solver_, self.n_iter_ = result.outcome, result.outcome.iterations
        if not result.interrupted:  # Ctrl-C was reported already
            self._record_convergence(result.outcome, f"The map oscillates. Choose a smaller {rate}.")
        self.interrupted_ = result.interrupted
        self._keep(result, problem)

    def _report_components(self, found: ConnectedComponents, policy: Policy, remedy: str) -> None:
        if policy != "ignore" or self._warns_of_components():
            super()._report_components(found, policy, remedy)

    def _without_lone_rows(self, graph: NeighborGraph, X: Array) -> NeighborGraph:
        """The graph of the rows that have a neighbor or are one. The others are left out, with a warning."""
        linked = np.diff(graph.start) > 0
        linked[graph.to] = True
        if linked.all():
            return graph
        kept, alone = self._kept_mask.copy(), int(np.sum(~linked))
        kept[kept] = linked
        self._keep_components(to_numpy(self.component_labels_), kept, X)
        rows = "1 row has" if alone == 1 else f"{alone} rows have"
        warn(
            f"{type(self).__name__}: {rows} no neighbor, so nothing determines the place: the coordinates are NaN (see "
            f"embedded_mask_). {self._remedy_for_components(graph)} to embed all rows.",
            DataWarning,
        )
        return graph.among(linked)

    def _bridges(self, graph: NeighborGraph) -> np.ndarray:
        """The edges that were added to connect components, (edges,) bool."""
        label = to_numpy(self.component_labels_)[self._kept_mask]
        return label[graph.sources] != label[graph.to]

    def _on_device(self, X: Array) -> bool:
        """Whether the descent runs on an accelerator, as tensors."""
        return not is_sparse(X) and on_accelerator(X)

    def _given_places(self, name: str) -> np.ndarray:
        """Return the coordinates that a parameter gives for all training rows; those of the embedded ones, (n, k)."""
        with with_remedy(f"Check {name}."):
            return given_start(getattr(self, name), len(self._kept_mask), self.n_components)[self._kept_mask]

    def _principal_start(self, X: Array, k: int, run: Run, rng: np.random.Generator) -> np.ndarray:
        """The principal components of the rows; classical scaling of some rows if values are missing or categories."""
        host, (metric, params) = self._host(X), self._measure()
        if self._by_landmarks(host):
            return landmark_start(host, k, run, rng, metric, params)
        return principal_start(X, k, run, rng)

    def _by_landmarks(self, X: Any) -> bool:
        """Whether rows have no principal components: some values are missing, or categories."""
        metric = self._measure()[0]
        return metric == "gower" or (allows_nan(metric) and not is_sparse(X) and not all_finite(X))

    def _host(self, X: Array) -> Any:
        """Rows for the kernels: an array of numpy, or sparse."""
        return X if is_sparse(X) else to_numpy(X)
