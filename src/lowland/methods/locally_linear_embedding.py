"""Locally linear embedding and its relatives."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, like, to_numpy
from lowland.blocks.manifolds.alignment import graph_with_points, modified_alignment, tangent_alignment
from lowland.blocks.manifolds.lle_weights import (
    LocalCoordinates,
    WeightsOfNeighbors,
    coordinates_of_errors,
    lle_coordinates,
    weight_matrix,
)
from lowland.blocks.manifolds.strong_components import (
    points_to_add,
    sink_components,
    with_reinforced_bridges,
    with_reverse_edges,
    without_self_loops,
)
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.graph_map import GraphMap
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for


class LocallyLinearEmbedding(
    GraphMap, verb="locally-linear-embedding", tolerance=1e-6, study=StudyHints(n_neighbors=12)
):
    """Locally linear embedding: coordinates in which each point lies among its neighbours as it does in the data.

    Problem: over Z with columns of unit length that are orthogonal to each other and to constants, minimise
    sum_i |z_i - sum_j w_ij z_j|² = tr Z'MZ, M = (I - W)'(I - W), where the weights of the neighbours j of i, adding
    up to one, minimise |x_i - sum_j w_ij x_j|². The answer: the eigenvectors of M with the smallest eigenvalues after
    that of the constants, 0.

    1. Find the neighbors of each point; say what is done where the graph is disconnected (``blocks.neighbors.search``,
       ``blocks.neighbors.connectivity``, ``blocks.manifolds.strong_components``).
    2. Solve for the weights of every neighborhood (``blocks.manifolds.lle_weights``), or sum what every neighborhood
       says otherwise (``blocks.manifolds.alignment``): several independent weights (modified), second derivatives
       (hessian), or what is not linear in the local principal components (ltsa).
    3. Find the eigenvectors of the smallest eigenvalues (``blocks.spectra.trailing``).

    Cost: the neighbours, n m (d m + m²) operations for m neighbours, and a sparse eigenproblem.
    Prefer ``Isomap`` where distances along the sheet matter: here only the shapes of neighbourhoods do.

    Attributes: ``embedding_`` (n, k), ``reconstruction_error_`` tr Z'MZ, ``eigenvalues_`` (k,), ``embedded_mask_``,
    ``component_labels_``, ``n_connected_components_``, ``n_excluded_``, ``n_edges_added_`` of the graph, ``points_``
    (the rows that were kept), ``recall_``, ``solver_``, ``n_iter_``.

    Reference: Roweis and Saul 2000, doi:10.1126/science.290.5500.2323; modified: Zhang and Wang 2006, Advances in
    Neural Information Processing Systems 19; hessian: Donoho and Grimes 2003, doi:10.1073/pnas.1031596100; ltsa: Zhang
    and Zha 2004, doi:10.1137/S1064827502419154.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import LocallyLinearEmbedding
    >>> t = np.linspace(0, 4, 300)  # a spiral has one dimension, and ltsa finds it
    >>> spiral = np.stack([t * np.cos(t), t * np.sin(t)], axis=1)
    >>> z = LocallyLinearEmbedding(1, n_neighbors=6, method="ltsa").fit_transform(spiral)[:, 0]
    >>> length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(spiral, axis=0), axis=1))])
    >>> bool(abs(np.corrcoef(z, length)[0, 1]) > 0.999)
    True
    """

    n_components: int = param(2, "Dimensions of the embedding.", at_least=1, positional=True)
    n_neighbors: int = param(5, "Neighbours of each point.", at_least=1)
    reg: float = param(
        1e-3, "Regularises the weights: a share of the trace of each neighbourhood's products.", at_least=0
    )
    eigen_solver: Literal["auto", "arpack", "dense"] = param(
        "auto", "How the eigenvectors are found: by factors of the matrix and ARPACK, or all of them by LAPACK."
    )
    tol: float = param(1e-6, "Residual at which an iterative solver stops; 0: as small as can be.", at_least=0)
    max_iter: int = param(100, "Most steps of an iterative solver.", at_least=1)
    method: Literal["standard", "hessian", "modified", "ltsa"] = param(
        "standard", "What neighbourhoods say: one set of weights, several, second derivatives, or tangent spaces."
    )
    hessian_tol: float = param(1e-4, "Accepted as in scikit-learn; nothing is scaled that it could guard.", at_least=0)
    modified_tol: float = param(1e-12, "Accepted as in scikit-learn; no reflection is needed here.", at_least=0)
    neighbors_algorithm: Literal["auto", "brute", "kd_tree", "ball_tree", "approximate"] = param(
        "auto", "How neighbours are searched for."
    )
    random_state: RandomState = param(None, "Seed of the solver's first vector.", at_least=0)
    n_jobs: int | None = param(None, "Accepted as in scikit-learn; lowland.config(threads=...) sets the threads.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        """Neighbours, what they say, and the coordinates that agree best."""
        X = run.to_array(rows, "LocallyLinearEmbedding")
        run = run_for(ArrayRows(X))
        self._check_choices(X, graph)
        self._require(X.shape[0], run)
        neighborhoods = self._neighborhoods(X, run, graph)
        self.points_ = self._own_points(X, rows)
        found = self._coordinates(to_numpy(self.points_), neighborhoods, run)
        self.embedding_ = self._with_left_out(like(found.Z, X))
        self._warn_of_lone_points(found.Z)
        self._warn_of_shrunken_components(to_numpy(self.points_), found.Z)
        self.eigenvalues_ = like(found.eigenvalues, X)
        self.reconstruction_error_ = float(found.eigenvalues.sum())
        self._record_convergence(found.outcome)

    def _coordinates(self, X: np.ndarray, graph: NeighborGraph, run: Run) -> LocalCoordinates:
        """The coordinates Z of least tr Z'MZ, which says how badly Z fits the neighborhoods."""
        k, n = self.n_components, graph.n
        how: dict[str, Any] = {"solver": self.eigen_solver, "tol": self.tol or None, "max_iter": self.max_iter}
        if self.method == "standard":
            return lle_coordinates(weight_matrix(X, graph, run, reg=self.reg), k, run, rng=self._generator(), **how)
        if self.method == "modified":
            M = modified_alignment(X, graph, k, run, reg=self.reg).sum(n, run)  # (n, n)
        else:
            M = tangent_alignment(X, graph, k, run, kind=self.method).sum(n, run)
        return coordinates_of_errors(M, k, run, rng=self._generator(), **how)

    def _require(self, n: int, run: Run) -> None:
        """Refuse what the neighbours and the matrix alone would not leave room for."""
        m = self.n_neighbors
        each = 20 * m + 12 * 4 * m + (0 if self.method == "standard" else 8 * (m + 1) ** 2)  # 4 m entries a row, or so
        run.require(n * each, f"The neighbourhoods of {n} points", "Use fewer neighbours or rows")

    # --- neighbourhoods ---

    def _check_choices(self, X: Array, graph: Any) -> None:
        k, (n, d), name = self.n_components, X.shape, type(self).__name__
        if k > d:
            raise ParameterError(
                f"{name}(n_components={k}): n_features={d}, and the output dimension must be less than or equal to the "
                f"input dimension. Choose at most {d}."
            )
        if k >= n:
            raise ParameterError(f"{name}(n_components={k}): n_samples={n}. Choose at most {n - 1}.")
        if graph is None:
            self._check_enough(self.n_neighbors, "")
        host = to_numpy(X)
        if np.all(host == host[:1]):
            raise DataError(f"{name}: all {n} rows are equal, so there is nothing to lay out. Check the columns.")

    def _check_enough(self, m: int, where: str) -> None:
        """Refuse fewer neighbours than the method needs to say anything."""
        k = self.n_components
        needed = {"hessian": k * (k + 3) // 2 + 1, "modified": k, "ltsa": k + 1}.get(self.method, 1)
        if m < needed:
            raise ParameterError(
                f"LocallyLinearEmbedding(method={self.method!r}, n_components={k}): n_neighbors must be at least "
                f"{needed}{_BOUNDS.get(self.method, '')}, and is {m}{where}."
            )

    def _neighborhoods(self, X: Array, run: Run, given: Any) -> NeighborGraph:
        """The neighbors that each point is compared with, so that no point is left free."""
        graph = without_self_loops(self._graph(X, run, given, symmetric=False))
        counts = np.diff(graph.start)
        if counts.min() < counts.max():
            self._check_enough(int(counts.min()), f" for row {np.flatnonzero(self._kept_mask)[counts.argmin()]}")
        if self.n_edges_added_:
            graph = with_reinforced_bridges(graph, to_numpy(self.component_labels_))
        if self.method in ("ltsa", "hessian"):
            apart = points_to_add(graph)
            return graph_with_points(graph, apart) if apart.any() else graph
        joined = self.n_connected_components_ == 1 or self.disconnected != "ignore"
        return self._without_sinks(graph) if joined else graph

    def _without_sinks(self, graph: NeighborGraph) -> NeighborGraph:
        """A connected graph with edges that leave all but one of its sink components, if the policy says so."""
        count, cut_off = sink_components(graph)
        if count == 1:
            return graph
        fact = (
            f"LocallyLinearEmbedding: {count} groups of points have all their neighbours among themselves and would "
            "each shrink to a point"
        )
        if self.disconnected == "error":
            raise DataError(f"{fact}. Raise n_neighbors, or say disconnected='connect' or 'ignore'.")
        if self.disconnected == "ignore":
            warn(f"{fact}. They were left as they are. Raise n_neighbors, or say disconnected='connect'.", DataWarning)
            return graph
        warn(
            f"{fact}. The points whose neighbours they are were made theirs, too. Raise n_neighbors to be rid of this.",
            DataWarning,
        )
        return with_reverse_edges(graph, cut_off)

    def _warn_of_lone_points(self, Z: np.ndarray) -> None:
        """Warn where a coordinate is spent on one point: its neighbours do not say where it lies."""
        largest = np.abs(Z).argmax(axis=0)
        lone = np.abs(Z[largest, np.arange(Z.shape[1])]) > _ALONE
        if lone.any() and len(Z) > _FEW:
            rows = np.flatnonzero(self._kept_mask)[np.unique(largest[lone])]
            warn(
                f"LocallyLinearEmbedding: a coordinate tells row {', '.join(map(str, rows))} from all others and "
                "little else: its neighbours do not say where it lies. Raise n_neighbors or reg, or leave the row out.",
                DataWarning,
            )

    def _warn_of_shrunken_components(self, X: np.ndarray, Z: np.ndarray) -> None:
        """Warn where components that were joined are points all the same."""
        if not self.n_edges_added_:
            return
        label, whole = to_numpy(self.component_labels_), np.linalg.norm(Z) / np.sqrt(len(Z))
        shrunken = [c for c in range(self.n_connected_components_) if _is_shrunken(X[label == c], Z[label == c], whole)]
        if shrunken:
            parts = "1 part is" if len(shrunken) == 1 else f"{len(shrunken)} parts are"
            warn(
                f"LocallyLinearEmbedding: {parts} drawn smaller than a hundredth of the whole (see component_labels_): "
                "far from the others, or shrunken since the links that join parts say too little of them. Raise "
                "n_neighbors, say disconnected='largest', or embed each part for itself.",
                DataWarning,
            )

    # --- new rows ---

    def _placing(self) -> WeightsOfNeighbors:
        Z = to_numpy(self.embedding_)[self._kept_mask]
        k = min(self.n_neighbors, len(Z))
        return WeightsOfNeighbors(self._nearest_among(self.points_, k), Z, self.reg)

    def _facts(self) -> dict[str, Any]:
        facts = {"eigenvalues": self.eigenvalues_[:10], "reconstruction error": self.reconstruction_error_}
        return {**facts, **super()._facts()}


def _is_shrunken(X: np.ndarray, Z: np.ndarray, whole: float) -> bool:
    """Whether rows that differ have all but one place."""
    return bool(np.linalg.norm(Z - Z.mean(axis=0)) < _POINT * whole * np.sqrt(len(Z)) and np.any(X[:1] != X))


_POINT = 0.01  # spread of a part, beside that of the whole, that looks like a point
_ALONE, _FEW = 0.95, 20  # a coordinate of unit length that is nearly all one point's, unless there are few
_BOUNDS = {"hessian": " (more than n_components * (n_components + 3) / 2)"}
