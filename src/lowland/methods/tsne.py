"""t-SNE (t-distributed stochastic neighbor embedding)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from lowland.arrays.namespace import Array, is_sparse, to_numpy
from lowland.data.rows import Rows
from lowland.errors import DataTypeError, DataWarning, ParameterError, warn, with_remedy
from lowland.math.distances.metrics import Metric
from lowland.math.distances.to_points import distance_matrix
from lowland.math.embeddings.descent import StoppingRule, row_blocks
from lowland.math.embeddings.kl_divergence import (
    Anchor,
    KLDivergence,
    TensorAffinities,
    gaussian_affinities,
    given_affinities,
    joint_affinities,
    mean_width,
    schedule,
    uniform_affinities,
)
from lowland.math.embeddings.new_points import NEW_NEIGHBORS, NEW_PERPLEXITY, NearestByDistances, TSNEPlacing
from lowland.math.embeddings.repulsion import choose_repulsion
from lowland.math.embeddings.starts import (
    classical_start,
    limit_spread,
    scale_deviation,
    spectral_start,
    spectral_start_on_device,
)
from lowland.math.graphs.affinities import affinity_components
from lowland.math.neighbors.connectivity import Components, Policy
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import ByGivenDistances
from lowland.math.optimize.outcome import Outcome, Snapshot
from lowland.math.scaling.majorization import stress_majorization
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, ignored, positional, refusal
from lowland.methods.base.method import Method, RandomState, attribute, param
from lowland.methods.base.metric import SKIP_MISSING
from lowland.methods.base.metric import Metric as RowMetric
from lowland.methods.base.neighbor_embedding import (
    EMBEDDING_ATTRIBUTES,
    EmbeddingProblem,
    are_equal,
    embed,
    given_places,
    ignored_components_parameter,
    is_on_device,
    join_neighbors,
    principal_places,
)
from lowland.methods.base.neighborhood import (
    Neighborhood,
    embedded_mask,
    graph_facts,
    keep_components,
    own_points,
    rows_at,
)
from lowland.methods.base.traits import Callback, StudyHints
from lowland.run.run import Run

_EARLY = 250  # iterations with early exaggeration
_DIFFERENCE = 0.1  # of the divergence from its estimate by a sample, which is random
_DEVIATION = 1e-4  # standard deviation of the first coordinate of the start
_LAST_STEP = 0.02  # of the extent of the map; a descent that settles ends with steps a tenth as long
_MDS_ROWS = 5_000  # up to which all pairs are compared for anchor='mds'


def _graph_neighbors(parameters: Mapping[str, Any], n: int, d: int) -> int | None:
    """How many neighbors a fit to rows searches for.

    None means affinities are given, or those of all pairs computed.
    """
    if parameters["affinity"] == "precomputed" or parameters["method"] == "exact":
        return None
    return _neighbors_among(n, np.max(parameters["perplexity"]))


def _neighbors_among(n: int, perplexity: float) -> int:
    return min(n - 1, max(1, int(3 * perplexity + 1)))


class TSNE(
    Method,
    verb="tsne",
    title="t-SNE",
    group="Neighbor embeddings",
    cost=costs.tsne,
    attributes=EMBEDDING_ATTRIBUTES,
    takes_sparse=True,
    single=True,
    missing_remedy=SKIP_MISSING,
    order_free=False,  # rounding errors of sums in another order grow during the descent
    study=StudyHints(
        for_rows=lambda n: {"perplexity": float(min(30, max(1, (n - 1) // 3)))}, graph_neighbors=_graph_neighbors
    ),
    warm={"early_exaggeration": 1.0},  # there are clusters already: to gather them again would move everything
    quick={"perplexity": 5.0, "max_iter": 10},  # rounding errors grow with the iterations
):
    """t-SNE: a map in which neighbors in the data are neighbors, by the Kullback-Leibler divergence of similarities.

    Minimize KL(P, Q) = sum_ij p_ij log(p_ij / q_ij) over Z (n, k). The affinities p_ij of the data are Gaussian, of a
    width at each point that gives it ``perplexity`` effective neighbors. The similarities of the map are heavy-tailed:
    q_ij ∝ (1 + |z_i - z_j|²/dof)^-dof.

    1. Find 3 * perplexity neighbors of each point and compute the affinities.
    2. Initialize with the principal components, scaled to a standard deviation of 1e-4.
    3. Gradient descent with momentum: 125 iterations with the attraction multiplied by ``early_exaggeration``, 125 in
       which the factor falls to ``exaggeration``, then the others. The repulsion between all pairs is exact for few
       points. For more points it is a Barnes-Hut sum by a tree, or a convolution on a grid, in up to 3 dimensions, and
       an estimate from a random sample in more.
    4. New points: gradient descent in the field of the training points.

    See Also
    --------
    UMAP : faster for many points, with more compact groups.
    PaCMAP : preserves the arrangement of groups too.
    PCA : preserves distances, with axes that have a meaning.

    Notes
    -----
    Clusters are meaningful, but their sizes, their distances from each other and the density are not.

    ``exaggeration`` above 1 gives more compact clusters: about 4 resembles ``UMAP``, more resembles
    ``SpectralEmbedding``. ``anchor='pca'`` also preserves the arrangement of distant points. Prefer ``PCA`` or ``MDS``
    if distances matter.

    References
    ----------
    van der Maaten and Hinton 2008, Visualizing data using t-SNE, Journal of Machine Learning Research 9.

    Grids: Linderman et al. 2019, Fast interpolation-based t-SNE for improved visualization of single-cell RNA-seq data,
    Nature Methods, doi:10.1038/s41592-018-0308-4. Learning rate: Belkina et al. 2019, Automated optimized parameters
    for t-distributed stochastic neighbor embedding improve visualization and analysis of large datasets, Nature
    Communications, doi:10.1038/s41467-019-13055-y. Degrees of freedom: Kobak et al. 2019, Heavy-tailed kernels reveal a
    finer cluster structure, ECML PKDD, doi:10.1007/978-3-030-46150-8_8. Anchor: Kury et al.
    2025, DREAMS: preserving both local and global structure in dimensionality reduction, arXiv:2508.13747.

    Examples
    --------
    >>> from lowland import TSNE
    >>> from lowland.data import load_dataset
    >>> iris = load_dataset("iris").X
    >>> model = TSNE(random_state=0).fit(iris)
    >>> model.embedding_.shape, model.solver_.name
    ((150, 2), 'exact')
    """

    n_components: int = positional(2, "Number of dimensions of the map.", at_least=1)
    perplexity: float | Sequence[float] | np.ndarray = param(
        30.0,
        "Effective number of neighbors of each point, at least 1. 5 to 50 are usual. A larger value shows coarser "
        "structure. Several values average their affinities, which preserves several scales.",
        above=0,  # scikit-learn's check of a single row passes 0.5, and expects an error about the rows
        wanted="a number of at least 1, or a sequence of such numbers",
    )
    early_exaggeration: float = param(
        12.0,
        "Factor of the attraction in the first 125 iterations, which lets clusters form. In the next 125 it falls to "
        "`exaggeration`.",
        at_least=1,
    )
    learning_rate: float | Literal["auto"] = param(
        "auto",
        "Length of the steps. 'auto' is the number of points divided by twice the exaggeration of the phase. A "
        "larger number is reduced to that, since the map would oscillate.",
        above=0,
    )
    max_iter: int = param(1000, "Maximum number of iterations, 250 of them with early exaggeration.", at_least=1)
    n_iter_without_progress: int = param(
        300,
        "Stop after this many iterations without a lower divergence, in the second phase. -1 stops as soon as it "
        "is not lower.",
        at_least=-1,
    )
    min_grad_norm: float = param(1e-7, "Stop if the norm of the gradient is below this.", at_least=0)
    metric: Metric = param(
        "euclidean", "Distance metric, a function of two points, or 'precomputed': X is a matrix of distances."
    )
    metric_params: dict[str, Any] | None = param(None, "Parameters of the metric, such as {'p': 3}.")
    init: Literal["pca", "random", "spectral"] | np.ndarray | Sequence[Sequence[float]] = param(
        "pca",
        "Initialization: 'pca' (principal components, or classical scaling for precomputed distances, and of 1,000 "
        "points if values are missing or with metric='gower'), 'random', 'spectral' (Laplacian eigenmaps), or an "
        "(n, n_components) array, which is used as it is.",
        wanted="'pca', 'random', 'spectral' or an (n, n_components) array",
    )
    verbose: int | bool = param(
        0,
        "Above 0, or True, print the lines of scikit-learn: neighbors, affinities, the divergence every 50 iterations, "
        "and why the fit ended.",
        at_least=0,
        wanted="an integer of at least 0",
    )
    random_state: RandomState = param(
        None,
        "Seed of a random initialization, of the sample of a map of more than 3 dimensions, and of the recall of an "
        "approximate search.",
        at_least=0,
    )
    method: Literal["barnes_hut", "exact"] = param(
        "barnes_hut",
        "'barnes_hut' uses the affinities of the nearest neighbors and the fastest accurate repulsion. 'exact' "
        "uses all pairs, for up to a few thousand points.",
    )
    angle: float = param(
        0.5,
        "Accuracy of the tree for maps of up to 3 dimensions: a cell is one point if its side is less than this "
        "times its distance. A larger angle is faster and less accurate. 0 is exact.",
        at_least=0,
        at_most=1,
    )
    n_jobs: int | None = ignored(None, "set lowland.config(threads=...) instead")
    exaggeration: float = param(
        1.0, "Factor of the attraction after the first 250 iterations. Above 1, clusters are more compact.", above=0
    )
    dof: float = param(
        1.0, "Degrees of freedom of the similarity in the map. Below 1, clusters split into finer ones.", above=0
    )
    affinity: Literal["gaussian", "uniform", "precomputed"] = param(
        "gaussian",
        "'gaussian', 'uniform' (all neighbors of a point count equally), or 'precomputed': X is a matrix of "
        "affinities, (n, n), dense or sparse.",
    )
    anchor: Literal["pca", "mds"] | np.ndarray | Sequence[Sequence[float]] | None = param(
        None,
        "Reference map for the arrangement of distant points: 'pca', 'mds' (metric, all pairs) or an array, (n, "
        "n_components). None means no global term.",
        wanted="'pca', 'mds', an (n, n_components) array or None",
    )
    anchor_weight: float = param(
        0.01,
        "Weight of the mean squared distance to the anchor, between 0 and 1. A larger one preserves more "
        "distances and fewer neighbors. It counts more in maps of many points, which are larger.",
        at_least=0,
        at_most=1,
    )
    disconnected: Policy = ignored_components_parameter()

    kl_divergence_: float = attribute("Kullback-Leibler divergence of the map.")
    learning_rate_: float = attribute("Learning rate of the second phase.")
    n_neighbors_: int = attribute(
        "Number of neighbors of each point whose affinities were computed, or 0 if you passed them."
    )

    def fit(self, X: Any, y: Any = None, graph: Any = None, callback: Callback = None) -> Self:
        """Fit to the rows of X.

        ``graph``: your own neighbor graph, a sparse (n, n) matrix of edge lengths. ``callback`` receives a snapshot
        (iteration, total, embedding, value) every 50 iterations. If it returns False, the fit ends with the map so
        far. Ctrl-C also ends it with the map so far, and a warning.
        """
        return self._fit(X, y, graph=graph, callback=callback)

    def fit_transform(self, X: Any, y: Any = None, graph: Any = None, callback: Callback = None) -> Any:  # type: ignore[override]
        """Fit as ``fit`` does and return the coordinates, (n, k)."""
        return self.fit(X, y, graph, callback)._returned_embedding(X)

    # --- choices ---

    def _check_size(self, X: Array) -> None:
        n, given = X.shape[0], self._perplexities()
        check_most(self, "n_components", n, f"'n_components' should be at most the number of rows, {n}.")
        if self.method == "exact" and is_sparse(X) and self.metric == "precomputed":
            raise DataTypeError(
                "`TSNE(method='exact')` needs the distances of all pairs, and a sparse matrix lacks some. Pass a dense "
                "matrix, or set `method='barnes_hut'`."
            )
        if self.affinity == "precomputed":
            if self.metric != "euclidean":
                reason = "the affinities are precomputed, so no distances are computed."
                raise refusal(self, reason, "Leave metric at its default.", "affinity", "metric")
            return
        if not given or not all(isinstance(each, numbers.Real) and 1 <= float(each) < np.inf for each in given):
            reason = "perplexity is an effective number of neighbors. It must be a number of at least 1, or a sequence."
            raise refusal(self, reason, "", "perplexity")
        if max(given) >= n:
            raise ParameterError(
                f"it must be less than the number of rows, {n} (`perplexity ({max(given):g}) must be less than "
                f"n_samples ({n})`).",
                f"Choose a smaller one, usually at most {max(1, (n - 1) // 3)}.",
                method="TSNE",
                perplexity=max(given),
            )

    def _perplexities(self) -> list[float]:
        given: Any = self._params.perplexity
        return [float(given)] if isinstance(given, numbers.Real) else list(given)

    def _metric(self) -> RowMetric:
        p = self._params
        if p.affinity == "precomputed":
            return RowMetric("precomputed", pairs="affinities")
        return RowMetric(p.metric, dict(p.metric_params or {}))

    def _neighborhood(self, X: Any = None) -> Neighborhood:
        """The neighbors of a fit to X, or with None those of new rows."""
        p, k = self._params, None
        if X is not None:
            n = X.shape[0]
            stored = is_sparse(X) and p.metric == "precomputed"
            k = n - 1 if p.method == "exact" and not stored else _neighbors_among(n, max(self._perplexities()))
        return Neighborhood(
            "TSNE", self._measure(), k, policy=p.disconnected, rng=self._start_generator(), parameter="perplexity",
            value=p.perplexity, reports_ignored=False, takes_equal=True,
        )  # fmt: skip

    # --- fit ---

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None,
        callback: Callback = None,
    ) -> None:  # fmt: skip
        X = run.to_array(rows, "TSNE")
        run = Run()
        self._check_size(X)
        self.seed_ = int(self._generator().integers(2**31))
        found = self._graph(X, run, graph)
        keep_components(self, found, X)
        self.points_ = None if self._measure().precomputed else own_points(X, rows, found.kept)
        problem = self._problem(rows_at(X, found.kept), found, run)
        result = embed(self, problem, found, X, run, self._printing(callback), "learning_rate")
        assert isinstance(problem.objective, KLDivergence)
        with row_blocks(run) as blocks:
            divergence, by_sample = problem.objective.checked_divergence(result.Z, blocks)
        if not abs(divergence - by_sample) < _DIFFERENCE:
            warn(
                f"`TSNE`: the map is not accurate. Its KL divergence, {divergence:.4g}, is {by_sample:.4g} by exact "
                "sums over a sample of rows. Set `method='exact'`, or use fewer rows.",
                DataWarning,
            )
        self.kl_divergence_ = divergence
        self._say(f"Iteration {self.n_iter_}: {self._end(result.gradient_norm)}. Finished.")
        self._say(f"KL divergence after {self.n_iter_} iterations: {divergence:f}")

    # --- lines of scikit-learn ---

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"[t-SNE] {text}")

    def _printing(self, callback: Callback) -> Callback:
        """The callback, after a line with the divergence if ``verbose`` asks for it."""

        def show(snapshot: Snapshot) -> Any:
            t, value = snapshot.iteration, snapshot.value
            norm = f", gradient norm = {snapshot.gradient_norm:.7f}" if t > _EARLY else ""  # compared with the limit
            self._say(f"Iteration {t}: error = {value:.7f}{norm}")
            if t == min(_EARLY, self.max_iter):
                self._say(f"KL divergence after {t} iterations with early exaggeration: {value:f}")
            return callback(snapshot) if callback is not None else None

        return show if self.verbose else callback

    def _end(self, gradient_norm: float) -> str:
        why = self.solver_.stopped_because
        if why.startswith("the objective was not lower"):
            return f"did not make any progress during the last {self.n_iter_without_progress} episodes"
        return f"gradient norm {gradient_norm:f}" if why.startswith("the norm of the gradient") else why

    def _graph(self, X: Array, run: Run, given: Any) -> Components:
        """The neighbors of each row; for given affinities, a graph whose lengths are the affinities."""
        neighborhood = self._neighborhood(X)
        if self.affinity != "precomputed":
            self._say(f"Computing {neighborhood.k} nearest neighbors...")
            found = join_neighbors(neighborhood, neighborhood.find(X, run, given), X, run)
            self.n_neighbors_ = int(np.diff(found.graph.start).max())
            return found
        if given is not None:
            raise refusal(self, "a neighbor graph was passed to fit as well.", "Pass only one of them.", "affinity")
        with with_remedy("Pass rows with `affinity='gaussian'` to have affinities computed."):
            P = given_affinities(X)
        found = neighborhood.split(affinity_components(P), "Add affinities")
        P = P if found.kept.all() else joint_affinities(P[found.kept][:, found.kept])
        self.n_neighbors_ = 0
        found = replace(found, graph=NeighborGraph(P.indptr, P.indices, P.data))
        return replace(neighborhood, remedy="Add affinities").without_lone_points(found)

    def _problem(self, X: Array, found: Components, run: Run) -> EmbeddingProblem:
        n, k = found.graph.n, self.n_components
        P = self._affinities(found.graph, run, X)
        start = np.zeros((n, k)) if are_equal(self, X, found.graph) else self._start(X, P, run)
        all_pairs = self.method == "exact" or (is_on_device(X) and k != 2)  # a device has a grid for planes only
        repulsion, solver = choose_repulsion(
            P, k, float(self.dof), exact=all_pairs, theta=float(self.angle), seed=self.seed_
        )
        if is_on_device(X):
            on_grid = Outcome("interpolation by FFT", "on the device of the rows")
            exact = Outcome("exact", "all pairs, on the device of the rows")
            solver = exact if solver.name == "exact" else on_grid
        factors = float(self.early_exaggeration), float(self.exaggeration)
        most = math.inf if self.learning_rate == "auto" else float(self.learning_rate)
        rates = tuple(min(n / (2 * f), most) for f in factors)  # longer steps oscillate
        early = min(_EARLY, self.max_iter)
        objective = KLDivergence(
            P,
            repulsion,
            schedule((early, self.max_iter - early), factors, (rates[0], rates[1]), n, float(self.dof)),
            float(self.dof),
            self._anchor(X, start, run),
        )
        self.learning_rate_ = rates[1]
        patience = max(0, self.n_iter_without_progress) if self.exaggeration == 1 else None  # else KL is not minimized
        stop = StoppingRule(self.min_grad_norm, patience, _LAST_STEP)
        return EmbeddingProblem(objective, np.ascontiguousarray(start, dtype=np.float32), solver, stop)

    def _affinities(self, graph: NeighborGraph, run: Run, X: Array) -> Any:
        if self.affinity == "precomputed":
            return graph.matrix()
        if self.affinity == "uniform":
            return uniform_affinities(graph)
        self._warn_of_too_large_a_perplexity(graph)
        P = gaussian_affinities(graph, self._perplexities(), run, X)
        self._say(f"Computed conditional probabilities for sample {graph.n} / {graph.n}")
        if self.verbose:
            self._say(f"Mean sigma: {mean_width(graph, max(self._perplexities())):f}")
        return P

    def _warn_of_too_large_a_perplexity(self, graph: NeighborGraph) -> None:
        most, counts = max(self._perplexities()), np.diff(graph.start)
        few = int(np.sum((counts > 0) & (counts <= most) & (most > 1)))  # one neighbor has the perplexity 1
        if few:
            rows = "1 row" if few == 1 else f"{few} rows"
            warn(
                f"`TSNE(perplexity={most:g})`: {rows} of {graph.n} have at most {most:g} neighbors, too few for this "
                "perplexity, at which they all have the same affinity. Choose a smaller perplexity, or a graph with "
                "more neighbors.",
                DataWarning,
            )

    def _start(self, X: Array, P: Any, run: Run) -> np.ndarray:
        n, k, rng = P.shape[0], self.n_components, np.random.default_rng(self.seed_)
        if not isinstance(self.init, str):
            return limit_spread(given_places(self, "init", embedded_mask(self)), _DEVIATION)
        if self.init == "random":
            return _DEVIATION * rng.standard_normal((n, k))
        return scale_deviation(
            self._reference("spectral" if self.init == "spectral" else "pca", X, P, run, rng), _DEVIATION
        )

    def _reference(self, kind: str, X: Array, P: Any, run: Run, rng: np.random.Generator) -> np.ndarray:
        """Principal components, or what replaces them where X holds distances or affinities, (n, k)."""
        k = self.n_components
        metric = self._measure()
        given = metric.precomputed
        if kind == "spectral" or self.affinity == "precomputed" or (given and is_sparse(X)):
            if isinstance(P, TensorAffinities):
                return spectral_start_on_device(P.edges, P.p, k, run, rng)
            return spectral_start(P, k, run, rng)
        return classical_start(X, k, run, rng) if given else principal_places(X, metric, k, run, rng)

    def _anchor(self, X: Array, start: np.ndarray, run: Run) -> Anchor | None:
        if self.anchor is None:
            return None
        rng = np.random.default_rng(self.seed_)
        if not isinstance(self.anchor, str):
            A = given_places(self, "anchor", embedded_mask(self))
        elif self.affinity == "precomputed" or (self._measure().precomputed and is_sparse(X)):
            raise refusal(self, "it needs rows or all distances.", "Pass an array, (n, `n_components`).", "anchor")
        elif self.anchor == "pca":
            A = self._reference("pca", X, start, run, rng)
        else:
            A = self._scaled(X, run)
        return Anchor.aligned(A, float(self.anchor_weight), start)

    def _scaled(self, X: Array, run: Run) -> np.ndarray:
        if X.shape[0] > _MDS_ROWS:
            reason = f"MDS compares all pairs of the {X.shape[0]:,} rows. Up to {_MDS_ROWS:,} rows are allowed."
            raise refusal(self, reason, "Use `anchor='pca'`, or pass an array, (n, `n_components`).", "anchor")
        metric, params = self._measure()
        D = X if metric == "precomputed" else distance_matrix(X, run, metric, params, missing=True)
        return to_numpy(stress_majorization(D, self.n_components, run=run).Z).astype(np.float64)

    # --- new rows ---

    def _encoding(self) -> Callable[[Array], Array]:
        """Each row descends in the field of the training rows."""
        p, neighborhood, kept = self._params, self._neighborhood(), embedded_mask(self)
        given = neighborhood.metric.precomputed
        if p.affinity == "precomputed" or (self.points_ is None and not given):
            raise ParameterError(
                "TSNE cannot transform new rows: it was fitted to affinities or to a neighbor graph alone. Fit it to "
                "rows, or to distances with `metric='precomputed'`."
            )
        Y = rows_at(self.embedding_, kept)
        k = min(NEW_NEIGHBORS, int(Y.shape[0]))
        nearest: Any = NearestByDistances(k, kept)
        if self.points_ is not None:
            nearest = neighborhood.nearest_among(self.points_, k)
        place = TSNEPlacing(nearest, Y, float(p.dof), min(NEW_PERPLEXITY, max(self._perplexities())))
        return ByGivenDistances(place, kept) if given else place

    def _facts(self) -> dict[str, Any]:
        return {"KL divergence": self.kl_divergence_, **graph_facts(self)}
