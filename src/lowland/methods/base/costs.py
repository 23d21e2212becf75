"""What the fits of the methods cost: a table of formulas, one function of the size and the parameters per method.

The terms are those of the section "Cost" of each method. The constants were measured with ``benchmarks/plans.py``;
loops and Python code are in nanoseconds of that machine (``run.cost``). Where the number of iterations depends on the
data, it is the usual one. Other modules are imported inside the functions: a method loads only its own mathematics.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

from lowland.data.rows import equal_slab_rows
from lowland.errors import ParameterError
from lowland.run.cost import CostStep, Size, Steps, Work
from lowland.run.memory import COPIES_PER_SLAB, LARGE
from lowland.run.settings import settings

_CALL = 1.7e6  # of Python code in every fit
_SYMMETRIC = 0.6  # the time of a product X'X to that of any product of its size
_WIDE = 2_000  # the smaller dimension above which PCA may iterate
_IN_DOUBLE = 4_096  # points up to which distances of all pairs are float64
_MANY = 400  # columns from which factor analysis needs fewer matrices
_FEW_COLUMNS = 4  # up to which a k-d tree is expected to be faster than products


# --- parts ------------------------------------------------------------------------------------------------------------


def _width(s: Size, p: Any) -> int:
    """The number of components; a rule keeps at most all."""
    k = getattr(p, "n_components", None)
    return min(k, s.n, s.d) if isinstance(k, int) else min(s.n, s.d)


def _pass(
    s: Size, name: str, *, products: float = 0, loop: float = 0, passes: float = 1, copies: float = 0, peak: float = 0
) -> CostStep:
    """A step that reads the rows: products and nanoseconds per value and pass; ``copies`` of a slab in memory."""
    work: Work = {
        s.product: passes * products * s.values,
        "bytes": passes * (1 if s.in_memory else 8) * s.bytes,
        "loop": passes * loop * s.values,
        "python": _CALL,
    }
    if s.density < 1:  # compiled loops over the stored values; a product X'X needs those of a row in pairs
        each = products * min(1, 3 * s.density) if products >= _SYMMETRIC * s.d else products
        work = {"bytes": work["bytes"], "loop": passes * (loop + each) * s.values, "python": _CALL}
    slab = _slab_bytes(s)
    if s.in_memory:
        return CostStep(name, work, copies * slab + peak, passes=passes)
    together = min((s.budget - peak) // max(1, COPIES_PER_SLAB * slab), settings().thread_count + 1)
    return CostStep(name, work, COPIES_PER_SLAB * slab * max(1, together) + peak, passes=passes)


def _slab_bytes(s: Size) -> float:
    """The bytes of the rows that are read together."""
    if s.slab_bytes is not None:
        return s.slab_bytes
    return min(s.n, equal_slab_rows(s.n, s.d, s.itemsize)) * s.d * s.itemsize


def _kept(s: Size, *sizes: float) -> float:
    """The bytes of arrays of these sizes, of which the large ones are mapped to files."""
    return sum(size for size in sizes if size <= LARGE * s.budget)


def _bytes_to_form(side: float) -> float:
    from lowland.math.spectra.principal_axes import bytes_to_form

    return bytes_to_form(int(side))


def _moments(s: Size) -> CostStep:
    what = f"the {s.d:,} × {s.d:,} covariance"
    copies = 1.6 if s.bytes > _slab_bytes(s) else 1  # those of several slabs are added
    return _pass(s, what, products=_SYMMETRIC * s.d, peak=copies * _bytes_to_form(s.d))


def _eigenvectors(side: float, times: float = 1) -> CostStep:
    return CostStep(f"eigenvectors of size {side:,.0f}", {"lapack": times * side**3}, _bytes_to_form(side))


def _neighbors(s: Size, k: int) -> CostStep:
    from lowland.math.neighbors.approximate import is_too_slow
    from lowland.math.neighbors.searcher import MetricSpace

    k = max(1, min(k, s.n - 1))
    found, held = 40.0 * s.n * k, 16.0 * s.n * k
    if s.d <= _FEW_COLUMNS:
        return CostStep(f"{k} neighbors by a k-d tree", {"loop": s.n * (200 * math.log2(s.n) + 150 * k)}, found, held)
    space = MetricSpace.of("euclidean", {})
    if space is not None and is_too_slow(s.n, s.d, space):
        work: Work = {"loop": 40 * s.n * math.log2(s.n) * (s.d + 100)}
        tables = (4 * s.values, 4 * s.n * (k + 10), 4 * s.n * (k + 10), s.n * (k + 10), 4 * s.n * (k + 30))
        found = _kept(s, 4.0 * s.n * k, float(s.itemsize) * s.n * k)
        return CostStep(f"{k} neighbors, approximately", work, found + _kept(s, *tables) + 70 * s.n, found)
    work = {"product32": float(s.n) ** 2 * s.d, "loop": 0.7 * s.n**2 + 3.0 * s.n * k * s.d}
    return CostStep(f"{k} neighbors by products", work, found + 4 * s.values + 2**23, held)


def _graph(s: Size, p: Any, usual: int = 10) -> tuple[CostStep, int]:
    """The search for the neighbors of a graph, unless it is given, and their number."""
    k = p.n_neighbors if p.n_neighbors is not None else max(1, min(usual, s.n - 1))
    if k >= s.n:
        raise ParameterError(
            f"the data has {s.n} rows.", f"Choose at most {s.n - 1}.", method=p.method_name, n_neighbors=p.n_neighbors
        )
    if getattr(p, "metric", "") == "precomputed":
        return CostStep("precomputed graph", held=16.0 * s.n * k), k
    return _neighbors(s, k), k


def _pairs(s: Size, p: Any, what: str, itemsize: int, copies: float = 1) -> CostStep:
    """A matrix of all pairs of rows, unless it is given, and how many of its size are needed while it is made."""
    size = float(s.n) ** 2 * itemsize
    if "precomputed" in (getattr(p, "metric", ""), getattr(p, "affinity", ""), getattr(p, "kernel", "")):
        return CostStep("precomputed pairs", {"bytes": s.bytes}, (copies - 1) * size)
    return CostStep(what, {s.product: float(s.n) ** 2 * s.d, "loop": 1.5 * s.n**2}, copies * size, size)


def _scaling(m: int, k: int, *, whole: bool = False) -> CostStep:
    """Classical scaling of m points: all eigenpairs by LAPACK, or the leading ones by a Krylov method."""
    from lowland.math.scaling.classical import bytes_to_solve

    peak = bytes_to_solve(m, k, whole=whole)
    if whole or m <= 1000:
        return CostStep(f"eigenvectors of size {m:,}", {"lapack": float(m) ** 3}, peak)
    return CostStep(f"{k} eigenvectors of size {m:,}", {"loop": 1.0 * m * m * (k + 10)}, peak)


def _sparse_eigenvectors(s: Size, p: Any, edges: float) -> CostStep:
    """The smallest eigenvectors of a graph's matrix with so many entries per row: by a factor, or by products."""
    work: Work = {"loop": s.n * edges * (146 + 2.6 * math.sqrt(s.n))}
    if s.d <= _FEW_COLUMNS:
        return CostStep("eigenvectors of the graph", {"serial": work["loop"]}, s.n * (130.0 * edges + 300))
    return CostStep("eigenvectors of the graph", work, s.n * (24.0 * edges + 48 * (p.n_components + 9) + 150))


# --- from one table of moments ----------------------------------------------------------------------------------------


def principal(s: Size, p: Any) -> Steps:
    """PCA: the covariance of the columns, the Gram matrix of the rows, or products with random vectors."""
    k, side = _width(s, p), min(s.n, s.d) if s.in_memory else s.d
    solver = getattr(p, "svd_solver", "auto")
    if solver == "full":
        height = float(min(s.n, s.d))
        triangle = _pass(s, "the triangular factor", products=2 * height, peak=16 * height * s.d)
        return (triangle, CostStep("its singular values", {"lapack": 4 * height**2 * s.d}, 24 * height * s.d))
    formed, applied = float(s.n) * s.d * side + 9.0 * side**3, 40.0 * s.n * s.d * (k + 10)
    too_large = solver != "covariance_eigh" and _bytes_to_form(side) > s.budget
    if solver in ("randomized", "arpack") or too_large or (solver == "auto" and side > _WIDE and applied < formed):
        held = 24.0 * (s.n * s.in_memory + s.d) * (k + 10)
        return (_pass(s, "products with random vectors", products=2 * (k + 10), passes=12, peak=held),)
    times = 0.25 if k < 0.15 * side else 1
    if side == s.d:
        return (_moments(s), _eigenvectors(side, times))
    gram = f"the {side:,} × {side:,} Gram matrix of the rows"
    return (
        _pass(s, gram, products=_SYMMETRIC * side, copies=1, peak=_bytes_to_form(side)),
        _eigenvectors(side, times),
    )


def moments(s: Size, p: Any) -> Steps:
    """One pass for the covariance of the columns, then its eigenvectors."""
    return (_moments(s), _eigenvectors(s.d, 0.25 if _width(s, p) < 0.15 * s.d else 1))


def uncentered(s: Size, p: Any) -> Steps:
    """Truncated SVD: that of PCA without centering; iterative for many columns."""
    if s.d <= _WIDE and _bytes_to_form(s.d) <= s.budget:
        return moments(s, p)
    return principal(s, SimpleNamespace(n_components=p.n_components, svd_solver="randomized"))


def discriminants(s: Size, p: Any) -> Steps:
    """Linear discriminants: the scatter within the classes, of rows where they are fewer, and its eigenvectors."""
    side = min(s.n, s.d) if s.in_memory and not p.store_covariance else s.d
    apart = s.classes if p.shrinkage == "auto" or p.priors is not None else 0  # a scatter matrix of each class
    peak = _bytes_to_form(side) + 8.0 * apart * side**2
    scatter = _pass(s, f"the {side:,} × {side:,} scatter within classes", products=1.2 * side, copies=2, peak=peak)
    return (scatter, _eigenvectors(side, 2.5), CostStep("the discriminants", {"python": 4e6}))


def factors(s: Size, p: Any) -> Steps:
    """Factor analysis: the covariance, then a search with many eigenproblems."""
    search = _eigenvectors(s.d, 12 if p.n_components is None else 60)
    return (_moments(s), replace(search, peak=(32.0 if _MANY <= s.d >= 2 * s.n else 64.0) * s.d**2))


def linear_network(s: Size, p: Any) -> Steps:
    """Linear autoencoder: the covariance and steps of 2 d² k products, or epochs in mini-batches."""
    from lowland.math.networks.training import WINDOW_BYTES

    k = _width(s, p)
    if p.batch_size is None:
        return (_moments(s), CostStep("descent", {"product64": 2e3 * s.d**2 * k, "python": 5e6}))
    batches = _pass(
        s, "about 20 epochs in mini-batches", products=4 * k, passes=20, peak=min(s.bytes, 2 * WINDOW_BYTES)
    )
    return (replace(batches, work={**batches.work, "python": 20 * s.n / p.batch_size * 1e5}),)


def column_tree(s: Size, p: Any) -> Steps:
    """Clusters of columns: the distances of all pairs of columns, and a tree."""
    size = (18.0 if s.d > _WIDE else 24.0) * s.d**2
    distances = replace(_moments(s), name="distances of all pairs of columns", peak=size)
    return (distances, CostStep("the tree of the columns", {"serial": 40.0 * s.d**2}, size))


def sources(s: Size, p: Any) -> Steps:
    """Independent components: whitening, then iterations over the whitened rows; few rows converge slowly."""
    k = _width(s, p)
    size = float(s.n) * k * s.itemsize
    kept = size if 3 * size <= s.budget else 0.0
    rounds = 15 if s.n > 10 * k * k else p.max_iter
    whitened = CostStep("whitened rows", {s.product: float(s.n) * s.d * k}, 2.1 * kept, kept, passes=1)
    each: Work = {"product64": 2.0 * s.n * k * k, "loop": 3.0 * s.n * k, "python": 1e6}
    search = CostStep(
        f"about {rounds} iterations", {kind: rounds * amount for kind, amount in each.items()}, 1.5 * kept
    )
    return (_moments(s), _eigenvectors(s.d), whitened, search if kept else replace(search, passes=rounds))


def pursuit(s: Size, p: Any) -> Steps:
    """Projection pursuit: a search in a sample, and one in each table of noise."""
    m, searches = min(s.n, p.max_samples), 1 + p.n_null
    work: Work = {"loop": searches * m * (s.d + 20) * 1.5e3, "python": searches * 1e7}
    return (_moments(s), _eigenvectors(s.d), CostStep(f"{searches} searches in {m:,} rows", work, 64.0 * m * s.d))


def column_scores(s: Size, p: Any) -> Steps:
    """A filter: moments by class in one pass; statistics of ranks and neighbors sort the rows of each column."""
    if p.statistic == "mrmr" and p.mrmr_redundancy == "correlation":
        return (replace(_moments(s), name=f"the {s.d:,} × {s.d:,} correlations"),)
    if p.statistic in ("auto", "variance", "pearson", "anova", "chi2"):
        return (_pass(s, "scores of the columns", loop=0.4, copies=1),)
    return (_pass(s, "scores of the columns", loop=100.0 * math.log2(s.n + 1), peak=2 * s.bytes),)


def lasso(s: Size, p: Any) -> Steps:
    """Lasso paths of all folds from one pass of moments; for classes, logistic paths over the rows."""
    if s.n >= s.d and (s.classes < 2 or p.estimator == "linear"):
        groups = 16 if p.rule == "stability" else 6
        return (_moments(s), CostStep("paths of the folds", {"serial": 6e3 * s.d**2}, 16.0 * groups * s.d**2))
    work: Work = {s.product: 1.4e4 * s.values * s.classes, "serial": 4e4 * s.n * s.classes**2}
    return (CostStep("logistic paths of the folds", work, 36.0 * s.values, passes=1),)


def subsets(s: Size, p: Any) -> Steps:
    """A sequential search by the moments of the folds; each subset also classifies the rows where y holds classes."""
    k = p.n_features_to_select if isinstance(p.n_features_to_select, int) else s.d // 2
    tried = k * (s.d - k / 2)
    each: Work = {"serial": tried * (5.0 * k * s.d + 3.0 * s.n * s.classes)}
    return (
        _moments(s),
        CostStep(f"about {tried:,.0f} subsets of columns", {**each, "python": k * 1e6}, 8.0 * s.values),
    )


def trees(s: Size, p: Any) -> Steps:
    """Decision trees of the folds, and permutation importances."""
    work: Work = {"serial": 4.0 * s.classes * s.values * math.log2(s.n + 1) ** 2, "python": 5e7}
    return (CostStep("trees of the folds", work, 24.0 * s.values, passes=1),)


def profiles(s: Size, p: Any) -> Steps:
    """Correspondence analysis: the margins, then PCA of the profiles."""
    return (_pass(s, "margins", loop=3, copies=4), *uncentered(s, p))


def levels(s: Size, p: Any) -> Steps:
    """Categories: the levels, then counts of their pairs and eigenvectors; five levels per column are expected."""
    K = 5 * s.d
    counts = _pass(s, f"counts of {K:,} × {K:,} pairs of levels", loop=0.5 * s.d, peak=_bytes_to_form(K))
    return (_pass(s, "levels", loop=30, peak=2.6 * s.bytes if s.in_memory else 0), counts, _eigenvectors(K))


# --- code vectors and networks ----------------------------------------------------------------------------------------


def code_vectors(s: Size, p: Any) -> Steps:
    """K-means: a sample for the initialization, and about thirty passes over the rows."""
    rounds, k = min(30, p.max_iter), p.n_clusters
    copy = 4 * s.values if s.in_memory and 4 * s.values < s.budget / 4 else 0.0
    sample = CostStep("initialization from a sample", {"python": 1e7}, 16.0 * min(s.n, max(2**15, 32 * k)) * s.d)
    loops = _pass(s, f"about {rounds} iterations", passes=rounds)
    work: Work = {**loops.work, "product32": 2.0 * rounds * k * s.values, "loop": rounds * s.n * (2.0 * k + 10)}
    first = replace(sample, peak=sample.peak + copy, held=copy)
    return (first, replace(loops, work=work, peak=loops.peak + min(copy, 2**25)))


def units(s: Size, p: Any) -> Steps:
    """A self-organizing map: about 25 epochs over the rows."""
    u = 5 * math.sqrt(s.n)
    if p.grid is not None:
        u = math.prod(float(side) for side in (p.grid.split("x") if isinstance(p.grid, str) else p.grid))
    epochs = _pass(s, f"about 25 epochs with {u:,.0f} units", products=1.2 * u, passes=25, copies=1)
    return (replace(epochs, work={**epochs.work, "loop": 25 * s.n * u * 0.7}),)


def network(s: Size, p: Any) -> Steps:
    """An autoencoder: epochs of mini-batches."""
    hidden = p.hidden_layer_sizes
    hidden = [min(512, max(16, 2 * s.d))] if hidden is None else [hidden] if isinstance(hidden, int) else list(hidden)
    weights = 2 * sum(float(a) * float(b) for a, b in pairwise([s.d, *hidden, p.n_components]))
    batches = math.ceil(s.n / p.batch_size)
    epochs = p.max_iter or max(50, math.ceil(3000 / batches))
    work: Work = {"product32": 4.0 * epochs * s.n * weights, "python": epochs * (batches * 4e5 + 1e6)}
    from lowland.math.networks.training import WINDOW_BYTES

    rows = 12 * s.values if s.in_memory or 16 * s.values <= s.budget else min(12 * s.values, 2 * WINDOW_BYTES)
    if p.solver == "lbfgs":
        weights, rows = 15 * weights, 16 * s.values
    return (CostStep(f"at most {epochs} epochs", work, 16 * weights + rows, passes=epochs),)


# --- all pairs --------------------------------------------------------------------------------------------------------


def scaled_distances(s: Size, p: Any) -> Steps:
    """Classical MDS: PCA for Euclidean distances, otherwise those of all pairs, or from landmarks."""
    if p.metric == "euclidean" and p.n_landmarks is None and not p.add_constant:
        return principal(s, p)
    m, given = min(p.n_landmarks or s.n, s.n), p.metric == "precomputed"
    size = float(m) * m * s.itemsize
    work: Work = {} if given else {"loop": 0.5 * m * m * s.d}
    distances = CostStep(f"distances of {m:,} points", work, held=(0 if given else size) + m * s.d * s.itemsize)
    first = (distances, _scaling(m, p.n_components, whole=p.all_eigenvalues))
    if m == s.n:
        return first
    others: Work = {"loop": 0.5 * s.n * m * s.d}
    return (*first, CostStep("coordinates of the other rows", others, min(12.0 * s.n * m, 3e8), passes=2))


def kernel(s: Size, p: Any) -> Steps:
    """Kernel PCA: the axes in feature space, and the regression that learns pre-images."""
    if not p.fit_inverse_transform or p.preimage != "ridge":
        return _feature_space(s, p)
    m = min(p.n_landmarks or s.n, s.n)
    return (*_feature_space(s, p), CostStep("pre-images", {"lapack": float(m) ** 3}, 24.0 * m * m))


def _feature_space(s: Size, p: Any) -> Steps:
    """The kernel of all pairs and its leading eigenvectors; from landmarks, two passes over the rows."""
    k = s.n if p.n_components is None else min(p.n_components, s.n)
    if p.n_landmarks is not None:
        m = min(p.n_landmarks, s.n)
        first = CostStep(
            f"the kernel of {m:,} landmarks", {"lapack": 2.0 * m**3}, 8.0 * m * (4 * m + 3 * s.d), 8.0 * m * m
        )
        work: Work = {s.product: float(s.n) * m * (m * _SYMMETRIC + s.d), "loop": 4.0 * s.n * m}
        return (first, CostStep("kernel values of all rows", work, min(16.0 * s.n * m, 2e8), passes=2))
    if p.kernel == "linear":
        return (*principal(s, p), CostStep("coordinates", {"python": 4e6}, 16.0 * s.n * min(k, s.d)))
    all_pairs = "the kernel of all pairs"
    if s.n <= 1000 or p.eigen_solver == "dense" or k > 0.15 * s.n:
        return (
            _pairs(s, p, all_pairs, 8),
            CostStep(f"eigenvectors of size {s.n:,}", {"lapack": float(s.n) ** 3}, 24.0 * s.n**2),
        )
    made, basis = _pairs(s, p, all_pairs, s.itemsize), 18 * 8.0 * s.n * (k + 10)
    made = replace(made, peak=made.held + min(made.held, 5e7))
    solve: Work = {"loop": 1.0 * s.n**2 * (k + 10)}
    if 1.5 * s.itemsize * s.n**2 > s.budget:  # computed again for each product
        again = {kind: (k + 10) * amount for kind, amount in made.work.items()}
        return (
            CostStep(
                f"{all_pairs}, in parts, and {k} eigenvectors", {**again, "loop": again["loop"] + solve["loop"]}, basis
            ),
        )
    return (made, CostStep(f"{k} eigenvectors of size {s.n:,}", solve, basis))


def stress(s: Size, p: Any) -> Steps:
    """Stress majorization: about sixty iterations over all pairs; non-metric ones also sort the distances."""
    itemsize = s.itemsize if s.n <= _IN_DOUBLE else 4
    rounds = 60 * (p.n_init if isinstance(p.n_init, int) else 1)
    work: Work = {"loop": rounds * s.n**2 * (1.5 if p.metric_mds else 20.0)}
    used = (0.55 if p.metric_mds else 3.0) * s.n**2 * itemsize
    return (
        _pairs(s, p, "distances of all pairs", itemsize), _scaling(s.n, p.n_components),
        CostStep(f"about {rounds} iterations", work, used),
    )  # fmt: skip


def sammon(s: Size, p: Any) -> Steps:
    """Sammon's mapping: about 300 iterations over all pairs."""
    itemsize, rounds = 8 if s.n <= _IN_DOUBLE else 4, min(300, p.max_iter)
    return (
        _pairs(s, p, "distances of all pairs", itemsize), _scaling(s.n, p.n_components),
        CostStep(f"about {rounds} iterations", {"loop": rounds * s.n**2 * 4.0}, 0.3 * s.n**2 * itemsize),
    )  # fmt: skip


# --- neighbor graphs --------------------------------------------------------------------------------------------------


def geodesic(s: Size, p: Any) -> Steps:
    """Isomap: the graph, the shortest paths between all pairs or from landmarks, classical scaling."""
    graph, k = _graph(s, p)
    m = s.n if p.n_landmarks is None else min(p.n_landmarks, s.n)
    size = float(m) * s.n * (8 if s.n <= _IN_DOUBLE and s.itemsize == 8 else 4)
    scaling = _scaling(m, p.n_components, whole=p.eigen_solver == "dense")
    if m == s.n:
        return (graph, CostStep("shortest paths between all pairs", {"loop": m * s.n * (8.0 + k)}, size, size), scaling)
    work: Work = {"loop": m * s.n * k * math.log2(s.n)}
    size = _kept(s, size)
    paths = CostStep(f"shortest paths from {m:,} landmarks", work, size + 45.0 * s.n * k, size)
    return (graph, paths, replace(scaling, peak=scaling.peak + min(24.0 * m * s.n, 1.05e8) + 200 * s.n))


def local_weights(s: Size, p: Any) -> Steps:
    """Locally linear embedding: the graph, a small problem for each row, the smallest eigenvectors of their matrix."""
    graph, k = _graph(s, p)
    work: Work = {"loop": s.n * (2e3 + k * k * (s.d / 2 + k) + (0 if p.method == "standard" else 7.0 * k**3))}
    matrices = 0.0 if p.method == "standard" else 8.0 * s.n * (k + 1) ** 2
    local = CostStep("weights of the neighborhoods", work, matrices)
    filled = 1 if s.d <= _FEW_COLUMNS else 10  # graphs in more dimensions have no small separators
    solve: Work = {"serial": filled * s.n * k * (470 + 0.5 * s.n**0.7)}
    if p.eigen_solver == "dense":
        return (graph, local, CostStep("all eigenvectors", {"lapack": float(s.n) ** 3}, 24.0 * s.n**2))
    factor = s.n * (2300 + 11.0 * k * math.log2(s.n)) if filled == 1 else 60.0 * s.n * k * math.log2(s.n)
    return (graph, local, CostStep("eigenvectors of the weights", solve, factor))


def laplacian(s: Size, p: Any) -> Steps:
    """Laplacian eigenmaps: the graph and its smallest eigenvectors; for a kernel, affinities of all pairs."""
    if p.affinity not in ("nearest_neighbors", "precomputed_nearest_neighbors", "precomputed"):
        solve: Work = {"loop": 2.0 * s.n**2 * (p.n_components + 10)}
        pairs = _pairs(s, p, "affinities of all pairs", 8)
        return (pairs, CostStep("eigenvectors", solve, 12.0 * s.n**2))
    counted = (
        None if p.n_neighbors is None else SimpleNamespace(n_neighbors=p.n_neighbors - 1, method_name=p.method_name)
    )
    graph, k = _graph(s, counted or p, max(s.n // 10, 1))  # each row counts as its own neighbor
    return (graph, _sparse_eigenvectors(s, p, 2 * k))


def diffusion(s: Size, p: Any) -> Steps:
    """Diffusion maps: the kernel of all pairs, or of neighbors, and its leading eigenvectors."""
    if p.n_neighbors is None:
        solve: Work = {"loop": 5.0 * s.n**2 * (p.n_components + 10)}
        made = _pairs(s, p, "the kernel of all pairs", s.itemsize, 3.2)
        return (made, CostStep("the leading eigenvectors", solve, 2.2 * s.itemsize * s.n**2))
    graph, k = _graph(s, p)
    solved = _sparse_eigenvectors(s, p, 2 * k)
    return (graph, replace(solved, peak=solved.peak + 30.0 * s.n * k))  # the heat kernel, with its diagonal


# --- neighbor embeddings ----------------------------------------------------------------------------------------------


def tsne(s: Size, p: Any) -> Steps:
    """t-SNE: 3 perplexity neighbors, then attraction along the edges and repulsion on a grid."""
    k = max(1, int(min(3 * float(np.max(p.perplexity, initial=1.0)), s.n - 1)))
    work: Work = {"loop": p.max_iter * (s.n * (6.0 * k + 100) + 7e5)}
    return (_neighbors(s, k), CostStep(f"{p.max_iter} iterations", work, 7e6 + 48.0 * s.n * k))


def umap(s: Size, p: Any) -> Steps:
    """UMAP: the graph, a spectral initialization, and epochs over the edges with random pairs."""
    k = max(1, min(p.n_neighbors, s.n - 1))
    epochs = p.n_epochs or (500 if s.n <= 10_000 else 200)
    work: Work = {"loop": epochs * s.n * k * (1 + p.negative_sample_rate) / 2 * 8.0}
    start = CostStep("spectral initialization", {"loop": 700.0 * s.n * k}, s.n * (60.0 * k + 500))
    return (_neighbors(s, k), start, CostStep(f"{epochs} epochs", work, 40.0 * s.n * k))


def pairs(s: Size, p: Any) -> Steps:
    """PaCMAP and LocalMAP: the graph, and iterations over three kinds of pairs."""
    k = max(1, min(p.n_neighbors or 10, s.n - 1))
    each = k * (1 + p.MN_ratio + p.FP_ratio)
    rounds = p.num_iters if isinstance(p.num_iters, int) else sum(p.num_iters)
    search = _neighbors(replace(s, d=min(s.d, 100)), k + 50)
    return (search, CostStep(f"{rounds} iterations", {"loop": rounds * s.n * each * 5.0}, 24.0 * s.n * each))
