"""Spectral embedding: Laplacian eigenmaps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.blocks.distances.kernel_functions import KernelMatrix, KernelWith
from lowland.blocks.manifolds.bandwidth import median_squared
from lowland.blocks.manifolds.graph_affinities import (
    affinity_components,
    among,
    check_affinities,
    edge_weights,
    require_graph,
)
from lowland.blocks.manifolds.laplacian import laplacian_eigenmaps
from lowland.blocks.manifolds.nystrom import FunctionWith, GivenWith, Nystrom, NystromNearest
from lowland.blocks.neighbors.connectivity import Policy
from lowland.blocks.neighbors.graph import NeighborGraph, given_graph
from lowland.blocks.spectra.trailing import Solver
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, ParameterError, with_remedy
from lowland.methods.base.estimator import RandomState, param
from lowland.methods.base.graph_map import GraphMap
from lowland.methods.base.parameters import check_saved
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run, run_for

_SOLVERS: dict[str | None, Solver] = {None: "auto", "arpack": "arpack", "lobpcg": "lobpcg", "amg": "amg"}


_NOT_SQUARE = "Pass rows with affinity='nearest_neighbors' or 'rbf' to have affinities computed."


class SpectralEmbedding(GraphMap, verb="spectral-embedding", study=StudyHints(n_neighbors=10, counts_itself=True)):
    """Spectral embedding (Laplacian eigenmaps): coordinates that change as little as they can along a graph's links.

    Problem: minimise sum_ij W_ij |y_i - y_j|² over Y (n, k) with Y'DY = I and Y'D1 = 0, where W_ij are the affinities
    of linked points and D = diag(W1). The answer: the eigenvectors of Ly = λDy, L = D - W, after the constant one.

    1. Find the neighbors of each row, and join or drop other connected components (``blocks.neighbors.search``,
       ``blocks.neighbors.connectivity``); or compare all pairs by a kernel (``blocks.distances.kernel_functions``).
    2. Weigh the edges (``blocks.manifolds.graph_affinities``).
    3. Find the slowest eigenvectors of the Laplacian (``blocks.manifolds.laplacian``, by ``blocks.spectra.trailing``
       where it is sparse).
    4. New rows: the mean of their neighbours' coordinates over 1 - λ (Nystrom, ``blocks.manifolds.nystrom``).

    Cost: the search for neighbours, then about 12 n k̄ bytes and some hundreds of products with a matrix of k̄ links a
    point; affinity='rbf' n² numbers. Prefer ``DiffusionMap`` where rows lie denser in some places than in others,
    ``Isomap`` where distances along the sheet should be kept.

    Attributes: ``embedding_`` (n, k), ``eigenvalues_`` (k,) of the Laplacian, ``affinity_matrix_`` (n, n) of the rows
    kept, ``n_neighbors_``, ``gamma_``, ``t_`` (heat weights), ``points_`` (the rows kept), ``n_connected_components_``,
    ``component_labels_`` (n,), ``embedded_mask_``, ``n_excluded_``, ``n_edges_added_``, ``recall_``, ``n_samples_``,
    ``solver_``, ``n_iter_``.

    Reference: Belkin and Niyogi 2003, doi:10.1162/089976603321780317; new rows: Bengio et al. 2004, Advances in Neural
    Information Processing Systems 16.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import SpectralEmbedding
    >>> angle = np.linspace(0, 5, 400)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> z = SpectralEmbedding(1, n_neighbors=5).fit_transform(arc)[:, 0]
    >>> bool(np.all(np.diff(z) > 0) or np.all(np.diff(z) < 0))  # the arc, unrolled
    True
    """

    n_components: int = param(2, "Dimensions of the embedding.", at_least=1, positional=True)
    affinity: (
        Literal["nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"] | Callable[..., Any]
    ) = param(
        "nearest_neighbors",
        "What links points: neighbours, the kernel rbf, or what is given: affinities, distances of neighbours, "
        "or, in Python, what makes the affinities of all rows.",
    )
    gamma: float | None = param(None, "Factor of the rbf kernel exp(-gamma d²); None: 1 / columns.", at_least=0)
    random_state: RandomState = param(None, "Seed of the solver's start and of an approximate search.", at_least=0)
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = param(
        None, "How the eigenvectors of a sparse Laplacian are found; None takes the cheapest and says so in solver_."
    )
    eigen_tol: float | Literal["auto"] = param(
        "auto", "Residual at which an iterative solver stops; 'auto' and 0 take the solver's own.", at_least=0
    )
    n_neighbors: int | None = param(
        None, "Neighbours of each point, itself counted as in scikit-learn; None: n / 10, at least 2.", at_least=1
    )
    n_jobs: int | None = param(None, "Accepted as in scikit-learn; lowland.config(threads=...) sets the threads.")
    laplacian: Literal["normalized", "unnormalized"] = param(
        "normalized", "Solve Ly = λDy as scikit-learn does, or Ly = λy, in which points of many links count no more."
    )
    weights: Literal["average", "binary", "heat"] = param(
        "average",
        "Weights of links: ½ where only one end counts the other among its neighbours, else 1; always 1; "
        "or exp(-d²/t), with t the median d² of the links.",
    )
    drop_first: bool = param(True, "Leave out the first eigenvector, which is constant.")

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        """Affinities, Laplacian, slowest eigenvectors, coordinates."""
        X = run.to_array(rows, "SpectralEmbedding")
        run = run_for(ArrayRows(X)) if not is_sparse(X) else run
        self._check_size(X, graph)
        by_neighbors = self._by_neighbors(graph)
        W, label = (
            self._neighbor_affinities(X, run, rows, graph) if by_neighbors else self._pair_affinities(X, run, rows)
        )
        self.affinity_matrix_ = W  # (m, m), of the rows kept
        found = laplacian_eigenmaps(
            W, self.n_components, run, normalized=self.laplacian == "normalized", drop_first=self.drop_first,
            labels=label, rng=self._generator(), solver=_SOLVERS[self.eigen_solver],
            tol=None if self.eigen_tol == "auto" else float(self.eigen_tol) or None,
        )  # fmt: skip
        self._warn_of_weak_coordinates(found.n_weak)
        Z = like(found.Z, X if not is_sparse(X) else X.data)
        self.embedding_ = self._with_left_out(Z)
        self.eigenvalues_ = like(found.eigenvalues, Z)
        if by_neighbors and graph is None:
            self._keep_self_loops(X)
        self._record_convergence(found.outcome, "Raise eigen_tol, or leave eigen_solver at None.")

    # --- affinities ---

    def _by_neighbors(self, given: Any = None) -> bool:
        return self.affinity in ("nearest_neighbors", "precomputed_nearest_neighbors") or given is not None

    def _neighbor_affinities(self, X: Array, run: Run, rows: Rows, given: Any) -> tuple[Any, np.ndarray]:
        """The affinities of neighbors, a sparse matrix, and the components they leave."""
        require_graph(X.shape[0], getattr(self, "n_neighbors_", None), self.n_components, run)
        found = self._neighbors(X, run, given)
        graph = self._joined(found, X, run)
        if not graph.length.size or not np.any(graph.length > 0):
            raise DataError("All rows are equal: no neighbour is nearer than another. Check the data.")
        self.t_ = median_squared(graph.length) if self.weights == "heat" else None
        searched = given is None and self.affinity == "nearest_neighbors"
        self.points_ = self._own_points(X, rows) if searched else None
        kept = self._kept_mask
        self.reach_ = None if self.points_ is None else like(found.table()[1][kept, -1], X)
        found = found if kept.all() else found.among(kept)
        W = edge_weights(graph, self.weights, found=found, t=self.t_, label=to_numpy(self.component_labels_)[kept])
        return W, affinity_components(W)

    def _neighbors(self, X: Array, run: Run, given: Any) -> NeighborGraph:
        if is_sparse(X) and given is None:
            graph = given_graph(X)
            k = self.n_neighbors or graph.n
            self.n_neighbors_ = int(min(k, np.diff(graph.start).max(initial=0)))
            return graph.nearest(k - _has_self_loop(X))
        return super()._neighbors(X, run, given)

    def _pair_affinities(self, X: Array, run: Run, rows: Rows) -> tuple[Any, np.ndarray]:
        """The affinities of all pairs, computed or given, and their components, which are reported."""
        n = X.shape[0]
        remedy = "Lower gamma" if self.affinity == "rbf" else "Give affinities that link all points"
        if self.affinity == "precomputed":
            W = self._own(X, rows)
        else:
            size = ArrayRows(X).dtype.itemsize
            run.require(1.5 * size * n * n, f"The {n} x {n} affinities", "Use affinity='nearest_neighbors'")
            W = self._kernel(X, run)
        if self.affinity != "rbf":
            with nullcontext() if W.ndim == 2 and W.shape[0] == W.shape[1] else with_remedy(_NOT_SQUARE):
                check_affinities(W)
        label = affinity_components(W)
        kept = self._keep_by_affinity(label, remedy, X)
        self.points_ = None if self.affinity == "precomputed" else self._own_points(X, rows)
        return (W if kept.all() else among(W, kept)), label[kept]

    def _kernel(self, X: Array, run: Run) -> Any:
        if callable(self.affinity):
            W = self.affinity(X)
            return W if is_sparse(W) else like(W, X)
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else float(self.gamma)
        if not bool(xp_of(X).any(X[:1, :] != X)):
            raise DataError("All rows are equal: every pair has the same affinity. Check the data.")
        return KernelMatrix.of(X, KernelWith(X, "rbf", self.gamma_), run, hold=True).held

    def _keep_self_loops(self, X: Array) -> None:
        """A point counts itself among its neighbors in scikit-learn's matrix, though the Laplacian leaves that out."""
        loops = (_has_self_loop(X) if is_sparse(X) else np.ones(X.shape[0]))[self._kept_mask]
        W = self.affinity_matrix_
        self.affinity_matrix_ = scipy.sparse.csr_array(W + scipy.sparse.diags_array(loops.astype(np.float64)))

    # --- choices ---

    def _check_size(self, X: Array, graph: Any) -> None:
        n, most = X.shape[0], X.shape[0] - int(self.drop_first)
        if graph is not None and self.affinity != "nearest_neighbors":
            raise ParameterError(
                f"SpectralEmbedding(affinity={self.affinity!r}): a graph of neighbours was given too. Give one of them."
            )
        if self.n_components > most:
            raise ParameterError(
                f"SpectralEmbedding(n_components={self.n_components}): {n} rows have {most} eigenvectors to give. "
                f"Choose at most {most}."
            )
        if self._by_neighbors(graph) and graph is None and not is_sparse(X):
            self.n_neighbors_ = max(n // 10, 2) if self.n_neighbors is None else int(self.n_neighbors)
            if not 2 <= self.n_neighbors_ <= n:
                raise ParameterError(
                    f"SpectralEmbedding(n_neighbors={self.n_neighbors_}): the data has {n} rows, and a point counts "
                    f"among its own neighbours, as in scikit-learn. Choose at least 2 and at most {n}."
                )

    def _k(self, X: Array) -> int:
        return int(self.n_neighbors_) - 1

    def _measure(self) -> tuple[Any, dict[str, Any]]:
        return ("precomputed" if self.affinity == "precomputed_nearest_neighbors" else "euclidean"), {}

    def _policy(self, X: Array) -> Policy:
        """A graph that is given tells no distances to join its parts by: they are left as they are, as textbooks do."""
        return "ignore" if is_sparse(X) and self.disconnected == "connect" else self.disconnected

    def _takes(self, rows: Rows) -> bool:
        return not rows.is_sparse or self.affinity in ("precomputed", "precomputed_nearest_neighbors")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.affinity in ("precomputed", "precomputed_nearest_neighbors")
        return tags

    # --- new rows ---

    def _placing(self) -> Callable[[Array], Array]:
        """Nystrom's extension, from as many neighbours as in the graph or from all points."""
        lam = to_numpy(self.eigenvalues_).astype(np.float64)
        Z = self._embedded(self.embedding_)
        if self.points_ is None and self.affinity != "precomputed":
            raise ParameterError(
                "SpectralEmbedding cannot place new rows among points of which only a graph is known. Fit rows with "
                "affinity='nearest_neighbors' or 'rbf', or affinities with 'precomputed'."
            )
        own = 0.0 if self._by_neighbors() else float(np.mean(_diagonal(self.affinity_matrix_)))
        offset, slope = (own * lam, 1 - lam) if self.laplacian == "normalized" else (-lam, np.ones_like(lam))
        if self.affinity == "nearest_neighbors":
            k = self._k(Z)
            nearest = self._nearest_among(self.points_, min(3 * k, int(Z.shape[0])))
            return NystromNearest(nearest, k, self.reach_, Z, offset, slope, self.weights, self.t_)
        check_saved(self, "affinity")
        if callable(self.affinity):
            return Nystrom(FunctionWith(self.affinity, self.points_), Z, offset, slope)
        given = self.affinity == "precomputed"
        return Nystrom(GivenWith() if given else KernelWith(self.points_, "rbf", self.gamma_), Z, offset, slope)

    def _facts(self) -> dict[str, Any]:
        return {"eigenvalues": self.eigenvalues_[:10], **super()._facts()}


def _diagonal(W: Any) -> np.ndarray:
    return W.diagonal() if is_sparse(W) else to_numpy(xp_of(W).linalg.diagonal(W))


def _has_self_loop(G: Any) -> np.ndarray:
    """Whether each point of a sparse graph is stored as its own neighbour, (n,): one of them, as in scikit-learn."""
    i, j = scipy.sparse.coo_array(G).coords
    return np.bincount(i[i == j], minlength=G.shape[0]) > 0
