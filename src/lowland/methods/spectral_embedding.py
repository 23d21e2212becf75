"""Spectral embedding (Laplacian eigenmaps)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Literal

import numpy as np
import scipy.sparse

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.data.rows import Rows, own_array
from lowland.errors import DataError, DataWarning, ParameterError, warn, with_remedy
from lowland.math.distances.kernel_functions import KernelMatrix, KernelWith
from lowland.math.graphs.affinities import (
    affinity_components,
    edge_weights,
    median_squared,
    submatrix,
    symmetric_affinities,
)
from lowland.math.graphs.laplacian import laplacian_eigenmaps
from lowland.math.graphs.nystrom import FunctionWith, Nystrom, NystromNearest, check_new_affinities
from lowland.math.neighbors.connectivity import Components, Policy
from lowland.math.neighbors.graph import given_graph
from lowland.math.spectra.trailing import Solver
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, ignored, positional, refusal
from lowland.methods.base.method import RandomState, attribute, param
from lowland.methods.base.metric import METRIC_ATTRIBUTES, SKIP_MISSING, Metric
from lowland.methods.base.neighborhood import (
    GraphMethod,
    Neighborhood,
    all_rows_equal,
    disconnected_parameter,
    embedded_mask,
    graph_facts,
    join_equals,
    keep_components,
    own_points,
    rows_at,
    warn_of_weak_coordinates,
    with_left_out,
)
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run

_SOLVERS: dict[str | None, Solver] = {None: "auto", "arpack": "arpack", "lobpcg": "lobpcg", "amg": "amg"}
_EDGES = 10_000_000  # most edges of the default graph: n / 10 neighbors up to 10,000 rows
_FEWEST = 10  # neighbors by default, however many rows there are
_FLAT = 1000  # roundings: affinities that differ from 1 by less say nothing about the rows
_NOT_SQUARE = "Pass rows with `affinity='nearest_neighbors'` or 'rbf' to have affinities computed."


class SpectralEmbedding(
    GraphMethod,
    verb="spectral-embedding",
    title="spectral embedding",
    group="Manifolds",
    cost=costs.laplacian,
    attributes=METRIC_ATTRIBUTES,
    missing_remedy=SKIP_MISSING,
    study=StudyHints(n_neighbors=10, counts_itself=True),
):
    """Spectral embedding (Laplacian eigenmaps): the smallest eigenvectors of the graph Laplacian as coordinates.

    Minimize sum_ij W_ij |y_i - y_j|² over Y (n, k) with Y'DY = I and Y'D1 = 0, where W_ij are the affinities and D =
    diag(W1) the degrees. The solution consists of the eigenvectors of the smallest eigenvalues of Ly = λDy, with the
    graph Laplacian L = D - W, except the constant one.

    1. Build the neighbor graph and handle its connected components, or compute a kernel of all pairs.
    2. Weight the edges.
    3. Compute the smallest eigenvectors of the Laplacian.
    4. New points: Nyström extension, the weighted mean of their neighbors' coordinates divided by 1 - λ.

    See Also
    --------
    DiffusionMap : coordinates that approximate diffusion distances.
    UMAP : a map initialized with these coordinates.
    Isomap : geodesic distances.

    Notes
    -----
    ``n_neighbors=None`` means n / 10 neighbors up to 10,000 points: set a number for many points.

    Prefer ``DiffusionMap`` if the sampling density varies, ``Isomap`` if geodesic distances should be preserved. Later
    coordinates can be functions of earlier ones (the horseshoe effect): check more of them before you conclude that the
    data is one-dimensional.

    References
    ----------
    Belkin and Niyogi 2003, Laplacian eigenmaps for dimensionality reduction and data representation, Neural
    Computation, doi:10.1162/089976603321780317.

    New rows: Bengio et al. 2004, Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering,
    Advances in Neural Information Processing Systems 16.

    Examples
    --------
    >>> import numpy as np
    >>> from lowland import SpectralEmbedding
    >>> angle = np.linspace(0, 5, 400)
    >>> arc = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> z = SpectralEmbedding(1, n_neighbors=5).fit_transform(arc)[:, 0]
    >>> bool(np.all(np.diff(z) > 0) or np.all(np.diff(z) < 0))  # monotone along the arc
    True
    """

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    affinity: (
        Literal["nearest_neighbors", "rbf", "precomputed", "precomputed_nearest_neighbors"] | Callable[..., Any]
    ) = param(
        "nearest_neighbors",
        "'nearest_neighbors', 'rbf' (Gaussian kernel of all pairs), 'precomputed' (X is an affinity matrix), "
        "'precomputed_nearest_neighbors' (X holds distances), or a function that returns the affinities of all "
        "points.",
    )
    gamma: float | None = param(
        None,
        "Coefficient of the rbf kernel exp(-gamma d²). A larger one makes affinities more local. None means 1 / "
        "number of columns.",
        at_least=0,
    )
    random_state: RandomState = param(
        None, "Seed for the eigenvalue solver and the recall of an approximate search.", at_least=0
    )
    eigen_solver: Literal["arpack", "lobpcg", "amg"] | None = param(
        None, "Eigenvalue solver for a sparse Laplacian. None chooses the cheapest and reports the reason."
    )
    eigen_tol: float | Literal["auto"] = param(
        "auto", "Tolerance of the iterative eigenvalue solver. 'auto' and 0 use the solver's default.", at_least=0
    )
    n_neighbors: int | None = param(
        None,
        "Number of neighbors of each point, including itself as in scikit-learn. Fewer show finer structure and "
        "may disconnect the graph. None means n / 10, at least 2, and above 10,000 points as many as give 10 "
        "million edges.",
        at_least=1,
    )
    n_jobs: int | None = ignored(None, "set lowland.config(threads=...) instead")
    laplacian: Literal["normalized", "unnormalized"] = param(
        "normalized", "'normalized' solves Ly = λDy as scikit-learn does, 'unnormalized' solves Ly = λy."
    )
    weights: Literal["average", "binary", "heat"] = param(
        "average",
        "Edge weights: 'average' is 1, or ½ if only one of the two points is a neighbor of the other, 'binary' is "
        "1, and 'heat' is exp(-d²/t), where t is the median of d².",
    )
    drop_first: bool = param(True, "Leave out the first eigenvector, which is constant.")
    metric: str | Callable[..., Any] = param(
        "euclidean",
        "Distance metric of the neighbors, or a function of two points, with the affinity 'nearest_neighbors'.",
    )
    metric_params: dict[str, Any] | None = param(None, "Further arguments of the metric, such as {'p': 3}.")
    disconnected: Policy = disconnected_parameter()

    eigenvalues_: Array = attribute("Eigenvalues of the Laplacian, in increasing order.", "(n_components,)")
    affinity_matrix_: Any = attribute("Affinities of the embedded points, sparse for a neighbor graph.", "(n, n)")
    n_neighbors_: int = attribute(
        "Number of neighbors used, each point included.", when="for a neighbor graph that was not passed to fit"
    )
    gamma_: float = attribute("Coefficient of the rbf kernel.", when="with affinity='rbf'")
    t_: float | None = attribute(
        "Bandwidth of the heat weights, or None with other weights.", when="for a neighbor graph"
    )
    reach_: Array | None = attribute(
        "Distance of each embedded point to its last neighbor, for new points. None if you passed the graph.",
        "(n_samples_ - n_excluded_,)",
        when="for a neighbor graph",
    )

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        X = run.to_array(rows, "SpectralEmbedding")
        run = Run()
        self._check_size(X, graph)
        by_neighbors = self._by_neighbors(graph)
        W, label, components = (
            self._neighbor_affinities(X, run, rows, graph)
            if by_neighbors
            else (*self._pair_affinities(X, run, rows), None)
        )
        self.affinity_matrix_ = W  # (m, m), of the embedded rows
        found = laplacian_eigenmaps(
            W, self.n_components, run, normalized=self.laplacian == "normalized", drop_first=self.drop_first,
            labels=label, rng=self._start_generator(), solver=_SOLVERS[self.eigen_solver],
            tol=None if self.eigen_tol == "auto" else float(self.eigen_tol) or None, home=X,
        )  # fmt: skip
        warn_of_weak_coordinates("SpectralEmbedding", found.n_weak)
        Z = like(found.Z, X if not is_sparse(X) else X.data)
        self.embedding_ = with_left_out(Z, embedded_mask(self))
        self.eigenvalues_ = like(found.eigenvalues, Z)
        if components is not None:
            join_equals(self, components)  # the order of the rows decides which of them are neighbors of others
        if by_neighbors:
            self._keep_as_in_scikit_learn(X, loops=graph is None)
        self._record_convergence(found.outcome, "Raise `eigen_tol`, or leave `eigen_solver` at `None`.")

    # --- affinities ---

    def _by_neighbors(self, given: Any = None) -> bool:
        return self._params.affinity in ("nearest_neighbors", "precomputed_nearest_neighbors") or given is not None

    def _neighbor_affinities(self, X: Array, run: Run, rows: Rows, given: Any) -> tuple[Any, np.ndarray, Components]:
        """The affinities of neighbors, a sparse matrix, their connected components, and those of the graph."""
        neighborhood = self._neighborhood(X)
        if neighborhood.is_given(X) and given is None:
            found = given_graph(X)
            k = self.n_neighbors or found.n
            self.n_neighbors_ = int(min(k, np.diff(found.start).max(initial=0)))
            found = found.nearest(k - _has_self_loop(X))
        else:
            found = neighborhood.find(X, run, given)
        components = neighborhood.join(found, X, run)
        keep_components(self, components, X)
        graph, kept = components.graph, components.kept
        if not graph.length.size or not np.any(graph.length > 0):
            raise DataError("All rows are equal: all distances are zero. Check the data.")
        self.t_ = median_squared(graph.length) if self.weights == "heat" else None
        searched = given is None and self.affinity == "nearest_neighbors"
        self.points_ = own_points(X, rows, kept) if searched else None
        self.reach_ = None if self.points_ is None else like(found.table()[1][kept, -1], X)
        found = found if kept.all() else found.among(kept)
        W = edge_weights(graph, self.weights, found=found, t=self.t_, label=components.labels[kept])
        return W, affinity_components(W), components

    def _pair_affinities(self, X: Array, run: Run, rows: Rows) -> tuple[Any, np.ndarray]:
        """The affinities of all pairs, computed or given, and their connected components, which are reported."""
        remedy = "Lower `gamma`" if self.affinity == "rbf" else "Pass affinities that connect all rows"
        W = own_array(rows, X) if self.affinity == "precomputed" else self._kernel(X, run)
        if self.affinity != "rbf":
            with nullcontext() if W.ndim == 2 and W.shape[0] == W.shape[1] else with_remedy(_NOT_SQUARE):
                W, averaged = symmetric_affinities(W)
            if averaged:
                warn(
                    "Array is not symmetric, and will be converted to symmetric by average with its transpose. "
                    "(`Pass (W + W.T) / 2 as affinities to avoid this warning.`)",
                    DataWarning,
                )
        label = affinity_components(W)
        components = self._neighborhood(X).split(label, remedy)
        keep_components(self, components, X)
        kept = components.kept
        self.points_ = None if self.affinity == "precomputed" else own_points(X, rows, kept)
        return (W if kept.all() else submatrix(W, kept)), label[kept]

    def _kernel(self, X: Array, run: Run) -> Any:
        if callable(self.affinity):
            W = self.affinity(X)
            return W if is_sparse(W) else like(W, X)
        self.gamma_ = 1 / X.shape[1] if self.gamma is None else float(self.gamma)
        if all_rows_equal(X):
            raise DataError("All rows are equal: every pair has the same affinity. Check the data.")
        W = KernelMatrix.of(X, KernelWith(X, "rbf", self.gamma_), run, hold=True).held
        assert W is not None
        if float(xp_of(W).min(W)) > 1 - _FLAT * float(xp_of(W).finfo(W.dtype).eps):
            warn(
                f"`SpectralEmbedding(affinity='rbf')`: with `gamma={self.gamma_:.3g}`, all pairs have the same "
                "affinity up to rounding error, so the coordinates are meaningless. Raise `gamma`, or rescale the "
                "columns.",
                DataWarning,
            )
        return W

    def _keep_as_in_scikit_learn(self, X: Array, *, loops: bool) -> None:
        """Set the type and the diagonal: a point is its own neighbor there, which the Laplacian ignores."""
        W = self.affinity_matrix_
        if loops:
            own = (_has_self_loop(X) if self._takes_graph(X) else np.ones(X.shape[0]))[embedded_mask(self)]
            W = W + scipy.sparse.diags_array(own.astype(np.float64))
        self.affinity_matrix_ = scipy.sparse.csr_matrix(W)

    # --- choices ---

    def _check_size(self, X: Array, graph: Any) -> None:
        n, most = X.shape[0], X.shape[0] - int(self.drop_first)
        if self.metric == "precomputed" or (self.metric != "euclidean" and self.affinity != "nearest_neighbors"):
            other = "precomputed_nearest_neighbors" if self.metric == "precomputed" else "nearest_neighbors"
            remedy = f"Set `affinity={other!r}`{', and leave metric at its default' * (other[0] == 'p')}."
            raise refusal(self, "this affinity does not use the metric.", remedy, "affinity", "metric")
        if graph is not None and self.affinity != "nearest_neighbors":
            remedy = "Pass only one of them, or set `affinity='nearest_neighbors'`."
            raise refusal(self, "a neighbor graph was passed to fit as well.", remedy, "affinity")
        check_most(self, "n_components", most, f"{n} rows have only {most} eigenvectors.")
        if self._by_neighbors(graph) and graph is None and not self._takes_graph(X):
            self.n_neighbors_ = self._default_neighbors(n) if self.n_neighbors is None else int(self.n_neighbors)
            if not 2 <= self.n_neighbors_ <= n:
                raise ParameterError(
                    f"the data has {n} points, and each counts as its own neighbor, as in scikit-learn.",
                    f"Choose at least 2 and at most {n}.",
                    method="SpectralEmbedding",
                    n_neighbors=self.n_neighbors_,
                )

    def _default_neighbors(self, n: int) -> int:
        """A tenth of the rows as in scikit-learn, at least 2; for many rows fewer, so that the graph fits in memory."""
        tenth = max(n // 10, 2)
        most = max(_EDGES // n, _FEWEST)
        if tenth <= most:
            return tenth
        warn(
            f"`SpectralEmbedding(n_neighbors=None)`: {most} neighbors are used. A tenth of the {n:,} rows, as in "
            f"scikit-learn, would give {n * tenth:.1e} edges. Set `n_neighbors`, usually to 10 to 50.",
            DataWarning,
        )
        return most

    def _metric(self) -> Metric:
        p = self._params
        if p.affinity == "precomputed_nearest_neighbors":
            return Metric("precomputed")
        if p.affinity == "precomputed":
            return Metric("precomputed", pairs="affinities")
        return Metric(p.metric, dict(p.metric_params or {})) if self._by_neighbors() else Metric("euclidean")

    def _takes_graph(self, X: Any) -> bool:
        """Whether X is itself a neighbor graph: a sparse matrix of distances."""
        return is_sparse(X) and self.affinity == "precomputed_nearest_neighbors"

    def _neighborhood(self, X: Any = None) -> Neighborhood:
        """The neighbors. A given graph has no other distances to connect its components: they stay disconnected."""
        p, k = self._params, vars(self).get("n_neighbors_")
        policy: Policy = p.disconnected
        if X is not None and self._takes_graph(X) and policy == "connect":
            policy = "ignore"
        return Neighborhood(
            "SpectralEmbedding", self._measure(), None if k is None else int(k) - 1, policy=policy,
            rng=self._start_generator(),
        )  # fmt: skip

    # --- new rows ---

    def _encoding(self) -> Callable[[Array], Array]:
        """Nyström extension, from the neighbors that the row would have in the graph, or from all points."""
        lam = to_numpy(self.eigenvalues_).astype(np.float64)
        Z = rows_at(self.embedding_, embedded_mask(self))
        if self.points_ is None and self._params.affinity != "precomputed":
            raise ParameterError(
                "SpectralEmbedding cannot transform new rows: it was fitted to a neighbor graph alone. Fit it to "
                "rows with `affinity='nearest_neighbors'` or 'rbf', or to affinities with `affinity='precomputed'`."
            )
        own, W = 0.0, self.affinity_matrix_
        if not self._by_neighbors():
            own = float(np.mean(W.diagonal() if is_sparse(W) else to_numpy(xp_of(W).linalg.diagonal(W))))
        offset, slope = (own * lam, 1 - lam) if self._params.laplacian == "normalized" else (-lam, np.ones_like(lam))
        if self._params.affinity == "nearest_neighbors":
            k = int(self.n_neighbors_) - 1
            nearest = self._neighborhood().nearest_among(self.points_, min(3 * k, int(Z.shape[0])))
            return NystromNearest(nearest, k, self.reach_, Z, offset, slope, self._params.weights, self.t_)
        if callable(self._params.affinity):
            return Nystrom(FunctionWith(self._params.affinity, self.points_), Z, offset, slope)
        if self._params.affinity == "precomputed":
            return Nystrom(check_new_affinities, Z, offset, slope)
        return Nystrom(KernelWith(self.points_, "rbf", self.gamma_), Z, offset, slope)

    def _facts(self) -> dict[str, Any]:
        return {"eigenvalues": self.eigenvalues_[:10], **graph_facts(self)}


def _has_self_loop(G: Any) -> np.ndarray:
    """Whether each point of a sparse graph is stored as its own neighbor, (n,): scikit-learn counts it as one."""
    i, j = scipy.sparse.coo_array(G).coords
    return np.bincount(i[i == j], minlength=G.shape[0]) > 0
