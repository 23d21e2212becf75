"""Locally linear embedding (LLE): standard, modified, Hessian and LTSA."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.data.rows import Rows
from lowland.errors import DataError, DataWarning, warn
from lowland.math.graphs.locally_linear import (
    LocalCoordinates,
    WeightsOfNeighbors,
    add_reverse_edges,
    coordinates_of_errors,
    drop_self_loops,
    graph_with_points,
    lle_coordinates,
    modified_alignment,
    points_to_add,
    reinforce_bridges,
    sink_components,
    tangent_alignment,
    weight_matrix,
)
from lowland.math.neighbors.connectivity import Components, Policy
from lowland.math.neighbors.graph import NeighborGraph
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, ignored, positional, refusal
from lowland.methods.base.method import RandomState, attribute, param
from lowland.methods.base.metric import Metric
from lowland.methods.base.neighborhood import (
    SEARCHES,
    GraphMethod,
    Neighborhood,
    NeighborsAlgorithm,
    all_rows_equal,
    disconnected_parameter,
    embedded_mask,
    graph_facts,
    keep_components,
    neighbors_algorithm_parameter,
    own_points,
    scikit_learn_neighbors,
    with_left_out,
)
from lowland.methods.base.traits import StudyHints
from lowland.run.run import Run

_POINT = 0.01  # extent of a component, relative to that of the embedding, below which it has collapsed
_ALONE, _FEW = 0.95, 20  # an entry of a unit vector that marks a single point; not checked for so few rows
_BOUNDS = {"hessian": " (more than k (k + 3) / 2 for k components)"}


class LocallyLinearEmbedding(
    GraphMethod,
    verb="locally-linear-embedding",
    title="LLE",
    group="Manifolds",
    cost=costs.local_weights,
    tolerance=1e-6,
    study=StudyHints(n_neighbors=12),
):
    """Locally linear embedding (LLE): preserves the weights that reconstruct each point from its neighbors.

    The weights w_ij of the neighbors j of point i, which sum to one, minimize |x_i - sum_j w_ij x_j|². The coordinates
    minimize sum_i |z_i - sum_j w_ij z_j|² = tr Z'MZ with M = (I - W)'(I - W), over Z (n, k) with orthonormal columns
    that sum to zero. The solution consists of the eigenvectors of M with the smallest eigenvalues, except the constant
    one.

    1. Build the neighbor graph and handle its connected components.
    2. Compute the reconstruction weights of every neighborhood. The other methods sum one small matrix per neighborhood
       into M instead: of several weight vectors (modified), of second derivatives (hessian), or of residuals of the
       local tangent space (ltsa).
    3. Compute the eigenvectors of the smallest eigenvalues.
    4. New points: reconstruction weights of their nearest training points, applied to the coordinates of these.

    See Also
    --------
    Isomap : geodesic distances.
    SpectralEmbedding : weights by distance instead of reconstruction.

    Notes
    -----
    LLE preserves the local linear structure of neighborhoods, not distances: the scale of each coordinate is arbitrary.
    Prefer ``Isomap`` if geodesic distances should be preserved. The standard method distorts the embedding through its
    regularization. ``method="ltsa"`` and ``"modified"`` usually do better. Components that stay disconnected collapse
    to points.

    References
    ----------
    Roweis and Saul 2000, Nonlinear dimensionality reduction by locally linear embedding, Science,
    doi:10.1126/science.290.5500.2323.

    Modified LLE: Zhang and Wang 2006, MLLE: modified locally linear embedding using multiple weights, Advances in
    Neural Information Processing Systems 19.

    Hessian LLE: Donoho and Grimes 2003, Hessian eigenmaps, Proceedings of the National Academy of Sciences,
    doi:10.1073/pnas.1031596100.

    LTSA: Zhang and Zha 2004, Principal manifolds and nonlinear dimensionality reduction via tangent space alignment,
    SIAM Journal on Scientific Computing, doi:10.1137/S1064827502419154.

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

    n_components: int = positional(2, "Number of dimensions of the embedding.", at_least=1)
    n_neighbors: int = param(
        5,
        "Number of neighbors of each point. With too few the graph is disconnected and the map noisy, with too "
        "many neighborhoods are no longer flat.",
        at_least=1,
    )
    reg: float = param(
        1e-3,
        "Regularization of the weights, as a fraction of the trace of each local Gram matrix. A larger one is more "
        "stable and bends the embedding.",
        at_least=0,
    )
    eigen_solver: Literal["auto", "arpack", "dense"] = param(
        "auto",
        "Eigenvalue solver: 'arpack' (shift-invert), 'dense' (LAPACK, all eigenvalues) or 'auto' (the cheaper one).",
    )
    tol: float = param(1e-6, "Tolerance of the iterative eigenvalue solver. 0 means the smallest possible.", at_least=0)
    max_iter: int = param(100, "Maximum number of iterations of the eigenvalue solver.", at_least=1)
    method: Literal["standard", "hessian", "modified", "ltsa"] = param(
        "standard",
        "'standard' LLE, 'hessian' eigenmaps, 'modified' LLE with several weight vectors per point, or 'ltsa' "
        "(local tangent space alignment).",
    )
    hessian_tol: float = ignored(1e-4, at_least=0)
    modified_tol: float = ignored(1e-12, at_least=0)
    neighbors_algorithm: NeighborsAlgorithm = neighbors_algorithm_parameter()
    random_state: RandomState = param(None, "Seed for the initial vector of the eigenvalue solver.", at_least=0)
    n_jobs: int | None = ignored(None, "set lowland.config(threads=...) instead")
    disconnected: Policy = disconnected_parameter()

    reconstruction_error_: float = attribute("The minimum tr Z'MZ: the sum of eigenvalues_.")
    eigenvalues_: Array = attribute(
        "Smallest eigenvalues of M after the zero of the constant vector, in increasing order.", "(n_components,)"
    )

    def _metric(self) -> Metric:
        return Metric("euclidean")

    def _neighborhood(self) -> Neighborhood:
        p = self._params
        return Neighborhood(
            "LocallyLinearEmbedding", self._measure(), p.n_neighbors, search=SEARCHES[p.neighbors_algorithm],
            policy=p.disconnected, rng=self._start_generator(),
        )  # fmt: skip

    def _solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None) -> None:
        X = run.to_array(rows, "LocallyLinearEmbedding")
        run = Run()
        self._check_choices(X, graph)
        components = self._neighborhood().graph(X, run, graph, symmetric=False)
        keep_components(self, components, X)
        self.points_ = own_points(X, rows, components.kept)
        points = self.points_ if is_sparse(X) else to_numpy(self.points_)
        found = self._coordinates(points, self._constrained(components), run)
        self.embedding_ = with_left_out(like(found.Z, X), components.kept)
        self._warn_of_lone_points(found.Z)
        self._warn_of_shrunken_components(points, found.Z)
        self.eigenvalues_ = like(found.eigenvalues, X)
        self.reconstruction_error_ = float(found.eigenvalues.sum())
        self._record_convergence(found.outcome)

    def _coordinates(self, X: Array, graph: NeighborGraph, run: Run) -> LocalCoordinates:
        k, n = self.n_components, graph.n
        how: dict[str, Any] = {"solver": self.eigen_solver, "tol": self.tol or None, "max_iter": self.max_iter}
        how["home"] = self.points_
        if self.method == "standard":
            return lle_coordinates(
                weight_matrix(X, graph, run, reg=self.reg), k, run, rng=self._start_generator(), **how
            )
        if self.method == "modified":
            M = modified_alignment(X, graph, k, run, reg=self.reg).sum(n)  # (n, n)
        else:
            M = tangent_alignment(X, graph, k, run, kind=self.method).sum(n)
        return coordinates_of_errors(M, k, run, rng=self._start_generator(), **how)

    # --- neighborhoods ---

    def _check_choices(self, X: Array, graph: Any) -> None:
        n, d = X.shape
        limit = "the output dimension must be less than or equal to the input dimension."
        check_most(self, "n_components", d, f"the data has {d} columns (`n_features={d}`), and {limit}")
        check_most(self, "n_components", n - 1, f"the data has {n} rows (`n_samples={n}`).")
        if graph is None:
            self._check_enough(self.n_neighbors, "")
        if all_rows_equal(X):
            raise DataError(
                f"LocallyLinearEmbedding: all {n} rows are equal, so nothing can be embedded (scikit-learn: `Error in "
                "determining null-space with ARPACK`)."
            )

    def _check_enough(self, m: int, where: str) -> None:
        k = self.n_components
        needed = {"hessian": k * (k + 3) // 2 + 1, "modified": k, "ltsa": k + 1}.get(self.method, 1)
        if m < needed:
            reason = f"`n_neighbors` must be at least {needed}{_BOUNDS.get(self.method, '')}, but it is {m}{where}."
            raise refusal(self, reason, "", "method", "n_components")

    def _constrained(self, components: Components) -> NeighborGraph:
        """The neighbors by which each point is reconstructed, chosen so that every point is constrained."""
        graph = drop_self_loops(components.graph)
        counts = np.diff(graph.start)
        if counts.min() < counts.max():
            self._check_enough(int(counts.min()), f" for row {np.flatnonzero(embedded_mask(self))[counts.argmin()]}")
        if self.n_edges_added_:
            graph = reinforce_bridges(graph, to_numpy(self.component_labels_))
        if self.method in ("ltsa", "hessian"):
            apart = points_to_add(graph)
            return graph_with_points(graph, apart) if apart.any() else graph
        joined = self.n_connected_components_ == 1 or self.disconnected != "ignore"
        return self._without_sinks(graph) if joined else graph

    def _without_sinks(self, graph: NeighborGraph) -> NeighborGraph:
        """The graph with edges out of all but one of its sink components, if the policy is to connect."""
        count, cut_off = sink_components(graph)
        if count == 1:
            return graph
        fact = (
            f"LocallyLinearEmbedding: {count} groups of rows have neighbors only among themselves (sink components of "
            "the directed neighbor graph), and each would collapse to a point"
        )
        if self.disconnected == "error":
            raise DataError(f"{fact}. Raise `n_neighbors`, or set `disconnected='connect'` or 'ignore'.")
        if self.disconnected == "ignore":
            warn(f"{fact}. Nothing was changed. Raise `n_neighbors`, or set `disconnected='connect'`.", DataWarning)
            return graph
        warn(
            f"{fact}. Reverse edges were added from these groups to the rows they are neighbors of. Raise "
            "`n_neighbors` to avoid this.",
            DataWarning,
        )
        return add_reverse_edges(graph, cut_off)

    def _warn_of_lone_points(self, Z: np.ndarray) -> None:
        """Warn if a coordinate is nonzero almost only at one point, which its neighbors do not determine."""
        largest = np.abs(Z).argmax(axis=0)
        lone = np.abs(Z[largest, np.arange(Z.shape[1])]) > _ALONE
        if lone.any() and len(Z) > _FEW:
            rows = np.flatnonzero(embedded_mask(self))[np.unique(largest[lone])]
            what = f"a coordinate only separates row {rows[0]}"
            if len(rows) > 1:
                what = f"coordinates only separate single rows ({', '.join(map(str, rows))})"
            warn(
                f"LocallyLinearEmbedding: {what} from all others, since the neighbors do not determine the position. "
                "Raise `n_neighbors` or `reg`, or remove such rows.",
                DataWarning,
            )

    def _warn_of_shrunken_components(self, X: Array, Z: np.ndarray) -> None:
        """Warn if components collapsed to points although they were connected."""
        if not self.n_edges_added_:
            return
        label, whole = to_numpy(self.component_labels_), np.linalg.norm(Z) / np.sqrt(len(Z))
        parts = [np.flatnonzero(label == c) for c in range(self.n_connected_components_)]
        extents = [np.linalg.norm(Z[part] - Z[part].mean(axis=0)) / np.sqrt(len(part)) for part in parts]
        shrunken = sum(e < _POINT * whole and not all_rows_equal(X[p]) for e, p in zip(extents, parts, strict=True))
        if shrunken:
            which = "1 connected component has" if shrunken == 1 else f"{shrunken} connected components have"
            warn(
                f"LocallyLinearEmbedding: {which} collapsed to less than 1% of the extent of the embedding (`see "
                "component_labels_`): far from the other components, or hardly constrained by the added edges. Raise "
                "`n_neighbors`, set `disconnected='largest'`, or embed each component separately.",
                DataWarning,
            )

    @property
    def nbrs_(self) -> Any:
        """A fitted sklearn.neighbors.NearestNeighbors of the embedded points, as in scikit-learn. Made on access."""
        return scikit_learn_neighbors(self)

    # --- new rows ---

    def _encoding(self) -> WeightsOfNeighbors:
        p, Z = self._params, to_numpy(self.embedding_)[embedded_mask(self)]
        nearest = self._neighborhood().nearest_among(self.points_, min(p.n_neighbors, len(Z)))
        return WeightsOfNeighbors(nearest, Z, p.reg)

    def _facts(self) -> dict[str, Any]:
        facts = {"eigenvalues": self.eigenvalues_[:10], "reconstruction error": self.reconstruction_error_}
        return {**facts, **graph_facts(self)}
