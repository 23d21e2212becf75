"""UMAP and densMAP."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy
from lowland.data.rows import ArrayRows, Rows
from lowland.errors import DataError, DataWarning, ParameterError, warn, with_remedy
from lowland.math.embeddings.cross_entropy import CrossEntropy, DensityTerm, EdgeForces, MapRadii, log_radii
from lowland.math.embeddings.descent import Embedded, TensorEdges, as_places, on_device, row_blocks
from lowland.math.embeddings.fuzzy_graph import (
    FuzzyGraph,
    cumulative_surprise,
    difference,
    directed_graph,
    fuzzy_graph,
    intersection,
    mean_length,
    similarity_curve,
    union,
    weaken_between_classes,
    weaken_between_values,
)
from lowland.math.embeddings.new_points import DensityOfNewRows, LocalRegression, PlacedByEdges
from lowland.math.embeddings.starts import (
    add_jitter,
    classical_start,
    component_centers,
    scale_largest,
    scale_range,
    separate_start,
    spectral_start,
    spectral_start_on_device,
)
from lowland.math.graphs.affinities import affinity_components
from lowland.math.neighbors.connectivity import Components, Policy
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import ByGivenDistances, nearest_neighbors
from lowland.math.neighbors.searcher import MetricSpace
from lowland.math.optimize.outcome import Outcome
from lowland.math.statistics.labels import classes_of, missing_labels
from lowland.methods.base import costs
from lowland.methods.base.choices import check_most, positional, refusal
from lowland.methods.base.method import InvertibleMethod, RandomState, attribute
from lowland.methods.base.metric import SKIP_MISSING, Metric
from lowland.methods.base.neighbor_embedding import (
    EMBEDDING_ATTRIBUTES,
    EmbeddingProblem,
    are_equal,
    embed,
    given_places,
    host_rows,
    ignored_components_parameter,
    is_on_device,
    join_neighbors,
    lacks_components,
    principal_places,
)
from lowland.methods.base.neighborhood import (
    Neighborhood,
    distinct_rows,
    embedded_mask,
    given_neighbors,
    graph_facts,
    join_equals,
    keep_components,
    own_points,
    rows_at,
)
from lowland.methods.base.traits import Callback, StudyHints
from lowland.run.run import Run

_LARGE = 10_000  # more rows take fewer epochs
_MANY = 200_000  # rows above which the start is PCA: eigenvectors of so large a graph take minutes
_NEIGHBORS = 15  # neighbors of a row in a combined graph
_EXTENT, _NOISE = 10.0, 1e-4  # range of the initial coordinates, and the standard deviation of the noise
_HEAT = {"spectral": 1.0, "pca": 4.0, "random": 12.0}  # first steps, relative to the learning rate
_GIVEN_HEAT = 4.0  # from a given start
_BOUNDS = {"jaccard": 1.0, "dice": 1.0, "hellinger": 1.0, "cosine": 2.0, "correlation": 2.0}  # rows share nothing
_UNUSED = "Accepted for compatibility with umap-learn, without effect"


def _graph_neighbors(parameters: Mapping[str, Any], n: int, d: int) -> int | None:
    """How many neighbors a fit to rows searches for. None means approximate, given or distinct rows."""
    own = parameters["force_approximation_algorithm"] or parameters["unique"]
    given = parameters["precomputed_knn"][0] is not None
    return None if own or given else min(int(parameters["n_neighbors"]), n) - 1


class UMAP(
    InvertibleMethod,
    verb="umap",
    group="Neighbor embeddings",
    cost=costs.umap,
    attributes=EMBEDDING_ATTRIBUTES,
    takes_sparse=True,
    single=True,
    missing_remedy=SKIP_MISSING,
    reads_y=True,
    order_free=False,
    study=StudyHints(
        n_neighbors=14, counts_itself=True, graph_neighbors=_graph_neighbors, with_labels=False, reconstructs=False
    ),
    warm={},
    quick={"n_neighbors": 5, "n_epochs": 50, "random_state": 0},
):
    """UMAP: a map in which neighbors in the data are near each other, and with densMAP dense regions stay dense.

    Find Z (n, k) that minimizes the cross-entropy between two fuzzy graphs of the points, that of the data with weights
    w_ij and that of the map with v_ij = 1 / (1 + a |z_i - z_j|^2b): sum_ij -w_ij log v_ij - (1 - w_ij) log(1 - v_ij).

    1. Find the nearest neighbors of each point.
    2. Weight them by exp(-(d - rho_i) / sigma_i): rho_i is the distance to the nearest one, sigma_i makes the weights
       sum to log2 of n_neighbors. Combine both directions by the fuzzy union, w + w' - w w'. With a target y, weaken
       the edges between classes, or intersect with the graph of y.
    3. Initialize with the Laplacian eigenmaps of the graph.
    4. Stochastic gradient descent: in each epoch, edges are sampled in proportion to their weights. Each attracts its
       ends, and random points repel them. densMAP adds a correlation of local radii. All points move at the end of an
       epoch, by Adam: the same seed gives the same map on any number of threads.
    5. New points: the same descent, each by itself among the training points. The inverse transform is a local linear
       regression.

    See Also
    --------
    TSNE : more accurate neighborhoods.
    PaCMAP : preserves the arrangement of groups too.
    SpectralEmbedding : the initialization of the map.

    Notes
    -----
    Distances between clusters and their sizes mean little: prefer ``PCA`` or ``ClassicalMDS`` if distances matter. The
    map depends on the seed: fit with several of them before you rely on a detail.

    References
    ----------
    McInnes, Healy and Melville 2018, UMAP: Uniform manifold approximation and projection, arXiv:1802.03426.

    densMAP: Narayan, Berger and Cho 2021, Assessing single-cell transcriptomic variability through density-preserving
    data visualization, Nature Biotechnology, doi:10.1038/s41587-020-00801-7.

    Examples
    --------
    >>> from lowland import UMAP
    >>> from lowland.data import load_dataset
    >>> UMAP(random_state=0).fit_transform(load_dataset("iris").X).shape
    (150, 2)
    """

    n_neighbors: int = positional(
        15,
        "Number of neighbors, each point included, as in umap-learn. Fewer show small groups and may split large "
        "ones, more show the global structure. With fewer points, all of them.",
        at_least=2,
    )
    n_components: int = positional(2, "Number of dimensions of the map.", at_least=1)
    metric: str | Callable[..., float] = positional(
        "euclidean",
        "Distance metric, a function of two points, or 'precomputed': X is a distance matrix or a sparse neighbor "
        "graph.",
    )
    metric_kwds: dict[str, Any] | None = positional(None, "Further arguments of the metric.")
    output_metric: str = positional(
        "euclidean", "Accepted for compatibility with umap-learn. The metric of the map is always 'euclidean'."
    )
    output_metric_kwds: dict[str, Any] | None = positional(None, _UNUSED + ".")
    n_epochs: int | None = positional(
        None,
        "Number of epochs. None means 500 up to 10,000 points and 200 above, and 200 more with `densmap`.",
        at_least=0,
    )
    learning_rate: float = positional(
        1.0,
        "Step size of the optimizer (Adam), which decreases linearly to zero. The first steps are up to 12 times as "
        "long for a random initialization, and 4 times for 'pca' or an array, so that the map can unfold.",
        above=0,
    )
    init: Literal["pca", "random", "spectral"] | np.ndarray | Sequence[Sequence[float]] = positional(
        "spectral",
        "Initialization: 'spectral' (Laplacian eigenmaps, but above 200,000 points 'pca', since they would take "
        "minutes), 'pca' (classical scaling of 1,000 points if values are missing or with metric='gower'), "
        "'random', or an (n, n_components) array, which is scaled to a largest coordinate of 10.",
        wanted="'spectral', 'pca', 'random' or an (n, n_components) array",
    )
    min_dist: float = positional(
        0.1, "Distance in the map up to which similarity is one. A smaller one packs points more tightly.", at_least=0
    )
    spread: float = positional(
        1.0, "Scale of the map, at least min_dist. A larger one spreads the clusters.", above=0, at_most=1e6
    )
    low_memory: bool = positional(True, _UNUSED + ".")
    n_jobs: int | None = positional(-1, _UNUSED + ": set the threads with lowland.config.")
    set_op_mix_ratio: float = positional(
        1.0,
        "Between the fuzzy union of both directions of an edge, 1, and their intersection, 0.",
        at_least=0,
        at_most=1,
    )
    local_connectivity: float = positional(
        1.0, "Number of nearest neighbors with weight one. Fractions are interpolated.", at_least=0
    )
    repulsion_strength: float = positional(
        1.0, "Weight of the repulsion. A larger one pushes groups farther apart.", at_least=0
    )
    negative_sample_rate: int = positional(
        5,
        "Random points that repel, for each sampled edge. More points are more accurate and take longer.",
        at_least=0,
        at_most=10_000,
    )
    transform_queue_size: float = positional(4.0, _UNUSED + ".")
    a: float | None = positional(
        None, "Parameter of the similarity 1 / (1 + a d^2b). None takes it from `min_dist` and `spread`.", above=0
    )
    b: float | None = positional(
        None, "Parameter of the similarity 1 / (1 + a d^2b). None takes it from `min_dist` and `spread`.", above=0
    )
    random_state: RandomState = positional(None, "Seed of the initialization and of the random draws.", at_least=0)
    angular_rp_forest: bool = positional(False, _UNUSED + ".")
    target_n_neighbors: int = positional(
        -1, "Number of neighbors in the graph of a numeric y, each point included. -1 means n_neighbors."
    )
    target_metric: str = positional(
        "categorical",
        "Metric of y: 'categorical' for class labels (-1 or missing is unknown), 'ordinal' (ranks), 'count', 'string' "
        "(edit distance), or a metric of numbers, in one or more columns.",
    )
    target_metric_kwds: dict[str, Any] | None = positional(None, "Further arguments of the metric of y.")
    target_weight: float = positional(
        0.5, "Weight of y against X, from 0 to 1. A larger one separates the classes more.", at_least=0, at_most=1
    )
    transform_seed: int = positional(42, "Random seed of the draws for new points.")
    transform_mode: str = positional(
        "embedding", "Accepted for compatibility with umap-learn. It is always 'embedding'. The graph is graph_."
    )
    force_approximation_algorithm: bool = positional(
        False, "Search neighbors approximately, however few points there are, if the metric allows it."
    )
    verbose: bool = positional(False, _UNUSED + ": progress is set with lowland.config.")
    tqdm_kwds: dict[str, Any] | None = positional(None, _UNUSED + ".")
    unique: bool = positional(False, "Embed duplicate points once, all at the same place.")
    densmap: bool = positional(
        False, "Add the density term of densMAP, so that local radii in the map follow those in the data."
    )
    dens_lambda: float = positional(
        2.0, "Weight of the density term. A larger one preserves densities better and neighborhoods less.", at_least=0
    )
    dens_frac: float = positional(
        0.3, "Fraction of the epochs, at the end, with the density term.", at_least=0, at_most=1
    )
    dens_var_shift: float = positional(0.1, "Added to the variance of the local radii in the map.", at_least=0)
    output_dens: bool = positional(
        False,
        "Compute the local radii in the data and in the map also without `densmap`. fit_transform then "
        "returns three arrays: the map and the radii.",
    )
    disconnection_distance: float | None = positional(
        None,
        "Neighbors at this distance or farther are removed from the graph. None means 1 for 'jaccard', 'dice' and "
        "'hellinger', 2 for 'cosine' and 'correlation', and otherwise no limit.",
        above=0,
        at_most=math.inf,
    )
    precomputed_knn: Any = positional(
        (None, None, None),
        "Neighbors, as umap-learn computes them: indices, then distances, both (n, n_neighbors) or wider, each "
        "point among its neighbors.",
        wanted="a tuple of indices and distances",
    )
    disconnected: Policy = ignored_components_parameter()

    graph_: Any = attribute(
        "Fuzzy graph of the points (with unique=True, of the distinct ones): sparse, symmetric weights in (0, 1].",
        "(n, n)",
        saved=False,
    )
    total_weight_: float = attribute("Sum of the weights of the graph.")
    a_: float = attribute("Parameter a of the similarity in the map.")
    b_: float = attribute("Parameter b of the similarity in the map.")
    n_epochs_: int = attribute("Number of epochs of the schedule.")
    cross_entropy_: float = attribute("Cross-entropy per point at the end, with an estimate of the repulsion.")
    mean_distance_: float = attribute("Mean distance of the neighbors, each point included.")
    rad_orig_: np.ndarray = attribute(
        "Log of the local radius of each point in the data.", "(n_samples_,)", when="with densmap or output_dens"
    )
    rad_emb_: np.ndarray = attribute(
        "Log of the local radius of each point in the map.", "(n_samples_,)", when="with densmap or output_dens"
    )
    map_radii_: MapRadii = attribute("Statistics of the radii, for new points.", when="with densmap")
    unique_index_: np.ndarray = attribute(
        "First row of each set of duplicate points.", "(n_unique,)", when="with unique=True"
    )

    # the only names that umap-learn has for the fitted curve
    _a = property(lambda self: self.a_)
    _b = property(lambda self: self.b_)

    # --- fit ---

    def fit(
        self, X: Any, y: Any = None, graph: Any = None, callback: Callback = None, ensure_all_finite: Any = True
    ) -> Self:
        """Fit to the rows of X.

        ``graph``: your own neighbor graph, a sparse (n, n) matrix of edge lengths. ``callback`` receives a snapshot
        (iteration, total, embedding, value) every 50 iterations. If it returns False, the fit ends with the map so
        far. Ctrl-C also ends it with the map so far, and a warning. ``ensure_all_finite`` is accepted for
        compatibility with umap-learn and has no effect.
        """
        return self._fit(X, y, graph=graph, callback=callback)

    def fit_transform(  # type: ignore[override]
        self, X: Any, y: Any = None, graph: Any = None, callback: Callback = None, ensure_all_finite: Any = True
    ) -> Any:
        """Fit as ``fit`` does and return the coordinates, (n, k).

        With ``output_dens=True``, return three arrays, as umap-learn does: the coordinates, rad_orig_ and rad_emb_.
        """
        Z = self.fit(X, y, graph, callback)._returned_embedding(X)
        return (Z, self.rad_orig_, self.rad_emb_) if self.output_dens else Z

    def update(self, X: Any, ensure_all_finite: Any = True) -> Self:
        """Add points: fit to all data again, starting from the map with the new points placed in it."""
        check_is_fitted(self)
        if self.points_ is None or self._fitted.supervised or len(self._places()) < self.n_samples_:
            raise ParameterError(
                "`UMAP.update` needs all training rows, embedded without a target and with `unique=False`. Fit to all "
                "rows instead."
            )
        rows, run = self._rows_to_map(X)
        new, old, names = run.to_array(rows, "UMAP"), self.points_, vars(self).get("feature_names_in_")
        start = np.concatenate([self._places(), to_numpy(self._encoding()(new))])
        if is_sparse(old) or is_sparse(new):
            both = scipy.sparse.vstack([old, new], format="csr")
        else:
            both = like(np.concatenate([to_numpy(old), to_numpy(new)]), old)
        self._fit(both, start=start)
        if names is not None:
            self.feature_names_in_ = names
        return self

    def _solve(
        self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None, graph: Any = None,
        callback: Callback = None, start: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        self._check_parameters()
        X = run.to_array(rows, "UMAP")
        self._fitted.supervised = y is not None
        if not self.unique:
            self._embed(X, rows, run, y, graph, callback, start)
            return
        if graph is not None or self.precomputed_knn[0] is not None or self._measure().precomputed:
            reason = "it needs points, not precomputed distances or neighbors."
            raise refusal(self, reason, "Set `unique=False`.", "unique")
        first, inverse = distinct_rows(X)
        few = X[first] if is_sparse(X) else like(to_numpy(X)[first], X)
        y = None if y is None else self._as_labels(y, X.shape[0])[first]
        found = self._embed(few, ArrayRows(few), run, y, None, callback)
        self._repeat(found, inverse, first, X)

    def _embed(
        self, X: Array, rows: Rows, run: Run, y: np.ndarray | None, graph: Any, callback: Callback,
        start: np.ndarray | None = None,
    ) -> Components:  # fmt: skip
        run = Run()
        self._check_size(X)
        self.seed_ = int(self._generator().integers(2**31))
        neighborhood = replace(self._neighborhood(), k=min(self.n_neighbors, X.shape[0]) - 1)
        found = join_neighbors(neighborhood, self._neighbors(neighborhood, X, run, graph), X, run)
        keep_components(self, found, X)
        self.points_ = None if neighborhood.metric.precomputed else own_points(X, rows, found.kept)
        labels = None if y is None else self._as_labels(y, X.shape[0])[found.kept]
        problem = self._problem(rows_at(X, found.kept), found.graph, run, labels, start)
        self._keep(embed(self, problem, found, X, run, callback, "learning_rate"), problem)
        join_equals(self, found)
        return found

    def _as_labels(self, y: Any, n: int | None) -> np.ndarray:
        """One label per row, (n,); a numeric target may have several columns, (n, columns)."""
        target = to_numpy(y)
        if self.target_metric == "categorical" or target.ndim != 2 or target.shape[1] < 2:
            return super()._as_labels(y, n)
        super()._as_labels(target[:, 0], n)  # of the right length
        return target

    def _repeat(self, found: Components, inverse: np.ndarray, first: np.ndarray, X: Array) -> None:
        """Set the attributes of all rows from those of the distinct ones."""
        found = replace(found, labels=found.labels[inverse], kept=found.kept[inverse])
        self.embedding_ = as_places(to_numpy(vars(self)["embedding_"])[inverse], X)
        keep_components(self, found, X)
        if self.densmap or self.output_dens:
            self.rad_orig_, self.rad_emb_ = self.rad_orig_[inverse], self.rad_emb_[inverse]
        self.unique_index_ = first

    def _check_parameters(self) -> None:
        for name, only in (("output_metric", "euclidean"), ("transform_mode", "embedding")):
            if getattr(self, name) != only:
                raise refusal(self, f"only {only!r} is supported.", f"Leave `{name}` out.", name)
        if not isinstance(self.precomputed_knn, tuple | list) or len(self.precomputed_knn) < 2:
            raise refusal(self, "pass a tuple of indices and distances, both (n, k).", "", "precomputed_knn")
        if self.min_dist > self.spread:
            reason = f"it is greater than `spread={self.spread:g}`."
            raise refusal(self, reason, "Choose a smaller `min_dist`, or a larger `spread`.", "min_dist")
        if self.n_jobs is not None and (self.n_jobs < -1 or self.n_jobs == 0):
            raise refusal(self, "choose -1 or a positive number, as in umap-learn.", "", "n_jobs")
        if self.target_n_neighbors < 2 and self.target_n_neighbors != -1:
            reason = "choose at least 2, each point included, or -1 for `n_neighbors`."
            raise refusal(self, reason, "", "target_n_neighbors")

    def _check_size(self, X: Array) -> None:
        n = X.shape[0]
        check_most(self, "n_components", n - 1, f"the data has {n} rows.")
        if self.n_neighbors > n and self.precomputed_knn[0] is None and not self._neighborhood().is_given(X):
            warn(
                f"`UMAP(n_neighbors={self.n_neighbors})`: the data has {n} rows, so all of them are neighbors "
                f"(`n_neighbors is larger than the dataset size`). Choose at most {n} to avoid this warning.",
                DataWarning,
            )

    def _problem(
        self, X: Array, graph: NeighborGraph, run: Run, y: np.ndarray | None, start: np.ndarray | None
    ) -> EmbeddingProblem:
        if are_equal(self, X, graph):
            start = np.zeros((len(embedded_mask(self)), self.n_components))
        self.mean_distance_ = mean_length(graph)
        fuzzy = fuzzy_graph(graph, run, connectivity=self.local_connectivity, mix=self.set_op_mix_ratio)
        if y is not None:
            fuzzy = self._with_target(fuzzy, y, run)
        if self.densmap or self.output_dens:
            self.rad_orig_ = log_radii(fuzzy, graph)
        return self._arrangement(X, fuzzy, run, start)

    def _arrangement(self, X: Array, fuzzy: FuzzyGraph, run: Run, start: np.ndarray | None) -> EmbeddingProblem:
        """Start and objective of a fuzzy graph; ``start`` holds the coordinates that an update continues from."""
        n, rng = fuzzy.n, self._generator()
        if not len(fuzzy.to):
            raise ParameterError("UMAP: the fuzzy graph has no edges. Raise `set_op_mix_ratio` or `n_neighbors`.")
        self.graph_ = scipy.sparse.csr_matrix(fuzzy.of_all(embedded_mask(self)).matrix())
        self.total_weight_ = float(fuzzy.weight.sum(dtype=np.float64))
        self.a_, self.b_ = self._curve()
        self.n_epochs_ = (500 if n <= _LARGE else 200) + 200 * self.densmap if self.n_epochs is None else self.n_epochs
        density = None
        if self.densmap:
            density = DensityTerm(
                self.rad_orig_, self.a_, self.b_, self.total_weight_, self.dens_lambda,
                self.dens_frac, self.dens_var_shift,
            )  # fmt: skip
        forces = EdgeForces(self.a_, self.b_, self.repulsion_strength, self.negative_sample_rate, self.seed_)
        heat = 1.0 if start is not None else _HEAT.get(self.init, 1.0) if isinstance(self.init, str) else _GIVEN_HEAT
        objective = CrossEntropy.of(fuzzy, forces, self.n_epochs_, self.learning_rate, density, heat)
        start = self._start(X, fuzzy, run, rng) if start is None else start[embedded_mask(self)]
        start = np.ascontiguousarray(start, dtype=np.float32)
        reason = f"all points move at the end of an epoch, {len(fuzzy.to):,} edges"
        if n > _MANY and isinstance(self.init, str) and self.init == "spectral":
            reason += "; the initialization is PCA, since eigenvectors of so large a graph take minutes"
        return EmbeddingProblem(objective, start, Outcome("edge sampling", reason))

    def _keep(self, found: Embedded, problem: EmbeddingProblem) -> None:
        objective, Z = problem.objective, to_numpy(found.Z)
        run = Run()
        assert isinstance(objective, CrossEntropy)
        self.cross_entropy_ = found.value
        if objective.density is not None:
            with row_blocks(run) as blocks:
                self.cross_entropy_ = objective.cross_entropy(Z, max(0, found.outcome.iterations - 1), blocks)
                self.map_radii_ = objective.density.summary(objective.density.in_map(objective.graph, Z, blocks)[1])
        if self.densmap or self.output_dens:
            near = nearest_neighbors(Z, min(self.n_neighbors, len(Z)) - 1, run)
            self.rad_orig_ = self._of_all_rows(self.rad_orig_)
            self.rad_emb_ = self._of_all_rows(log_radii(fuzzy_graph(near, run), near))

    def _of_all_rows(self, values: np.ndarray) -> np.ndarray:
        """Values of the embedded points, NaN for those that were left out, (n,)."""
        kept = embedded_mask(self)
        whole = np.full(len(kept), np.nan)
        whole[kept] = values
        return whole

    # --- parts of the problem ---

    def _curve(self) -> tuple[float, float]:
        if self.a is not None and self.b is not None:
            return float(self.a), float(self.b)
        a, b = similarity_curve(self.min_dist, self.spread)
        return float(self.a or a), float(self.b or b)

    def _with_target(self, fuzzy: FuzzyGraph, y: np.ndarray, run: Run) -> FuzzyGraph:
        """The graph intersected with class labels, or with the graph of a numeric target."""
        if self.target_metric == "categorical":
            return weaken_between_classes(fuzzy, _codes(y), self.target_weight)
        if self.target_metric == "string":
            return weaken_between_values(fuzzy, np.asarray(y).astype(np.str_), self.target_weight)
        try:
            values = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        except (TypeError, ValueError) as error:
            raise DataError("`y` is not numeric. Set `target_metric='categorical'` for class labels.") from error
        if not np.isfinite(values).all():
            raise DataError("Input y contains NaN or infinity. Fill in these values, or drop those rows.")
        if not np.ptp(values, axis=0).any():
            raise DataError("All values of y are equal. Fit without y.")
        if self.target_metric in ("ordinal", "count"):
            scores = values[:, 0]
            if self.target_metric == "count":
                if not np.array_equal(scores, np.abs(np.floor(scores))):
                    raise DataError("`y` has values that are not counts. Set `target_metric='euclidean'`.")
                scores = cumulative_surprise(scores)
            return weaken_between_values(fuzzy, scores, self.target_weight)
        k = self.n_neighbors if self.target_n_neighbors < 0 else self.target_n_neighbors
        metric = "euclidean" if self.target_metric == "l2" else self.target_metric
        near = nearest_neighbors(
            values, min(max(k, 2), len(y)) - 1, run, metric=metric, params=dict(self.target_metric_kwds or {})
        )
        return intersection(fuzzy, directed_graph(near, run), self.target_weight)

    def _start(self, X: Array, fuzzy: FuzzyGraph, run: Run, rng: np.random.Generator) -> np.ndarray:
        """Initial coordinates, the largest 10, with noise."""
        k, n = self.n_components, fuzzy.n
        if not isinstance(self.init, str):
            return scale_largest(given_places(self, "init", embedded_mask(self)), _EXTENT)
        if self.init == "random":
            return rng.uniform(-_EXTENT, _EXTENT, (n, k))
        W, host, metric = fuzzy.matrix(), host_rows(X), self._measure()
        rows = not metric.precomputed
        if self.init == "pca" or (n > _MANY and rows):
            if not rows and is_sparse(X):
                raise refusal(self, "it needs rows or all distances, not a graph.", "Set `init='spectral'`.", "init")
            Z = principal_places(X, metric, k, run, rng) if rows else classical_start(host, k, run, rng)
        else:
            label = affinity_components(W)
            if label.max() == 0 and is_on_device(X):
                edges = TensorEdges.of(fuzzy.start, fuzzy.to, X)
                Z = spectral_start_on_device(edges, on_device(fuzzy.weight, X), k, run, rng)
            elif label.max() == 0:
                Z = spectral_start(W, k, run, rng)
            else:
                places = principal_places(X, metric, k, run, rng) if lacks_components(host, metric) else host
                Z = separate_start(W, label, component_centers(places, label, k) if rows else None, k, run, rng)
        return scale_range(add_jitter(scale_largest(Z, _EXTENT), _NOISE, rng), _EXTENT)

    # --- neighbors ---

    def _metric(self) -> Metric:
        return Metric(self._params.metric, dict(self._params.metric_kwds or {}))

    def _neighborhood(self) -> Neighborhood:
        p = self._params
        return Neighborhood(
            "UMAP", self._measure(), int(p.n_neighbors) - 1,
            search="approximate" if p.force_approximation_algorithm and MetricSpace.of(*self._measure()) else "auto",
            policy=p.disconnected, rng=self._start_generator(), value=p.n_neighbors, reports_ignored=False,
            takes_equal=True,
            remedy="" if self._longest() is None else "Raise `disconnection_distance`",
        )  # fmt: skip

    def _longest(self) -> float | None:
        """The distance from which on neighbors are removed. None means no limit."""
        name, given = self._params.metric, self._params.disconnection_distance
        return given if given is not None else _BOUNDS.get(name) if isinstance(name, str) else None

    def _neighbors(self, neighborhood: Neighborhood, X: Array, run: Run, given: Any) -> NeighborGraph:
        """The neighbors, searched or given, without those beyond the disconnection distance."""
        if self.precomputed_knn[0] is None:
            found = neighborhood.find(X, run, given)
        elif given is None:
            found = given_neighbors(self.precomputed_knn, X.shape[0], self.n_neighbors)
        else:
            raise ParameterError("`UMAP(precomputed_knn=...)`: pass either these or a graph to fit, not both.")
        longest = self._longest()
        if longest is None or float(found.length.max(initial=0)) < longest:
            return found
        found = found.chosen(found.length < longest)
        if not len(found.length):
            reason = f"all neighbors have the distance {longest:g} or more."
            raise refusal(self, reason, "Choose a larger distance.", "disconnection_distance")
        return found

    # --- combinations of models ---

    def __mul__(self, other: UMAP) -> UMAP:
        """Return a map of the intersection of the graphs of two models of the same rows."""
        return self._combined(other, partial(intersection, neighbors=_NEIGHBORS))

    def __add__(self, other: UMAP) -> UMAP:
        """Return a map of the union of the graphs of two models of the same rows."""
        return self._combined(other, partial(union, neighbors=_NEIGHBORS))

    def __sub__(self, other: UMAP) -> UMAP:
        """Return a map of what the graph of a model has and that of another one, of the same rows, has not."""
        return self._combined(other, difference)

    def _combined(self, other: UMAP, combine: Callable[[FuzzyGraph, FuzzyGraph], FuzzyGraph]) -> UMAP:
        """A model of a combined graph; the rows of the graph, not those of X, are embedded: it has no new rows."""
        if not isinstance(other, UMAP):
            return NotImplemented
        for each in (self, other):
            check_is_fitted(each)
            if "graph_" not in vars(each):
                raise ParameterError("A loaded UMAP model has no graph, so it cannot be combined. Fit it again.")
        if self.graph_.shape != other.graph_.shape:
            rows = f"{self.graph_.shape[0]} and {other.graph_.shape[0]}"
            raise DataError(
                f"The models have graphs of {rows} rows (`Only models with the equivalent samples can be combined`). "
                "Fit both to the same rows."
            )
        fuzzy = combine(FuzzyGraph.of_matrix(self.graph_), FuzzyGraph.of_matrix(other.graph_))
        Z = self.embedding_[self.unique_index_] if self._params.unique else self.embedding_
        model = clone(self).set_params(
            init="spectral", metric="euclidean", metric_kwds=None, unique=False, densmap=False, output_dens=False
        )
        model._start_fit()
        with model._solving():
            model._embed_graph(fuzzy, np.nan_to_num(to_numpy(Z)))
        model.n_features_in_ = self.n_features_in_
        return model

    def _embed_graph(self, fuzzy: FuzzyGraph, Z: np.ndarray) -> None:
        """Embed a fuzzy graph; the components start where their means are in the map Z."""
        run, W = Run(), fuzzy.matrix()
        kept = np.diff(fuzzy.start) > 0
        inner = FuzzyGraph.of_matrix(W[kept][:, kept])
        edges = NeighborGraph(inner.start, inner.to, np.ones(len(inner.to)))
        found = Components(edges, affinity_components(W), kept)
        keep_components(self, found, Z)
        self.points_, self.mean_distance_, self._fitted.supervised = None, float("nan"), False
        self.seed_ = int(self._generator().integers(2**31))
        problem = self._arrangement(Z[kept], inner, run, None)
        self._keep(embed(self, problem, found, Z, run, None, "learning_rate"), problem)

    # --- new rows ---

    def _places(self) -> np.ndarray:
        """The coordinates of the training rows that are kept as points, (m, k)."""
        kept = embedded_mask(self)
        if self._params.unique:
            return to_numpy(self.embedding_)[self.unique_index_][kept[self.unique_index_]]
        return to_numpy(rows_at(self.embedding_, kept))

    def _encoding(self) -> Callable[[Array], Array]:
        p, neighborhood, kept = self._params, self._neighborhood(), embedded_mask(self)
        Z = np.ascontiguousarray(self._places(), dtype=np.float32)
        k, given = min(p.n_neighbors - 1, len(Z)), self.points_ is None
        if given and not neighborhood.metric.precomputed:
            raise ParameterError("UMAP cannot transform new rows: it was fitted to a graph alone. Fit it to rows.")
        forces = EdgeForces(self.a_, self.b_, p.repulsion_strength, p.negative_sample_rate, p.transform_seed)
        density = None
        if p.densmap:
            strength = p.dens_lambda * self.total_weight_ / (2 * len(Z))
            density = DensityOfNewRows(self.map_radii_, strength, p.dens_frac)
        place = PlacedByEdges(
            None if given else neighborhood.nearest_among(self.points_, k), k,
            np.flatnonzero(kept) if given and not kept.all() else None,
            Z, forces, p.local_connectivity, self.mean_distance_, p.learning_rate / 4, density,
        )  # fmt: skip
        return ByGivenDistances(place, kept, p.n_neighbors - 1) if given else place

    @property
    def inverse_error_(self) -> float:
        """Relative error of the inverse transform, √(sum |x - x̂|² / sum |x - mean|²), computed on access.

        Up to 500 training points are each predicted from the others.
        """
        try:
            return self._decoding().leave_one_out_error()
        except ParameterError as error:  # so that dir(model) works
            raise AttributeError(str(error)) from error

    def _decoding(self) -> LocalRegression:
        check_is_fitted(self)
        if self.points_ is None:
            raise ParameterError(
                "UMAP was fitted to distances or to a graph, so no rows can be reconstructed. Fit it to rows."
            )
        if lacks_components(self.points_, self._measure()):
            raise ParameterError(
                "UMAP was fitted to rows with missing values or categories, so no rows can be reconstructed. Fit it to "
                "complete rows of numbers."
            )
        return LocalRegression.of(self._places(), self.points_, self._params.n_neighbors)

    def inverse_transform(self, X: Any) -> Any:
        """Return the points reconstructed from coordinates, (n, d), in the precision of the training data."""
        rows, run = self._rows_to_decode(X)
        decoding = self._decoding()
        return run.gather(decoding, rows, self.n_features_in_, name="reconstructing rows", dtype=decoding.dtype)

    def _facts(self) -> dict[str, Any]:
        return {"cross-entropy per point": self.cross_entropy_, **graph_facts(self)}


def _codes(y: np.ndarray) -> np.ndarray:
    """The class number of each row, -1 if it is unknown: the label is -1 or missing."""
    y = np.asarray(y)
    unknown = missing_labels(y)
    if y.dtype.kind in "if":
        unknown |= y == -1
    codes = np.full(len(y), -1, dtype=np.int64)
    if not unknown.all():
        with with_remedy("Set target_metric='euclidean' for a numeric y."):
            codes[~unknown] = classes_of(y[~unknown], least=1)[1]
    return codes
