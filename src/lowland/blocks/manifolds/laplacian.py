"""Affinities on a graph, its Laplacians and the diffusion they drive: what varies least along the links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import connected_components

from lowland.arrays.namespace import Array, is_sparse, like, to_numpy, xp_of
from lowland.arrays.precision import as_double, eps_of
from lowland.blocks.distances.kernel_functions import check_kernel_matrix
from lowland.blocks.neighbors.connectivity import Policy
from lowland.blocks.neighbors.graph import NeighborGraph
from lowland.blocks.optimize.outcome import Outcome
from lowland.blocks.spectra.leading import fix_signs, leading_eigenpairs
from lowland.blocks.spectra.operators import times_rows
from lowland.blocks.spectra.trailing import Solver, trailing_eigenpairs
from lowland.data.rows import ArrayRows
from lowland.errors import DataError, DataWarning, warn
from lowland.run.local import blas_on_one_thread
from lowland.run.run import Run

Weights = Literal["average", "binary", "heat"]

_SMALL = 1200  # dense affinities up to this size go to LAPACK: it beats every iteration
_STEPS, _SURE = 40, 1e-9  # how long, and to what residual, an iteration may try before LAPACK is called
_LEAST = 1e-6  # weight of the longest links, which must not vanish
_ROUNDINGS = 1e4  # by which an affinity may differ from its mirror image
_EPS = 2.0**-52  # the rounding of float64, in which eigenvectors are found whatever the affinities come in
_WEAK = 1e-12  # an eigenvalue that is all but zero, of eigenvalues up to 2
_MIXED = 1e-8  # of the constant in other eigenvectors: more, and it must be taken out of them
_PORTION = 256  # rows of a dense matrix that are searched for links at a time


# --- affinities -------------------------------------------------------------------------------------------------------


def link_weights(
    graph: NeighborGraph,
    weights: Weights,
    *,
    found: NeighborGraph | None = None,
    t: float | None = None,
    label: np.ndarray | None = None,
) -> scipy.sparse.csr_array:
    """Return the affinities of a graph with its links in both directions, (n, n), zero on the diagonal.

    binary: 1 for every link; average: ½ where only one of the two ends ``found`` the other among its neighbours; heat:
    exp(-length²/t) (Belkin and Niyogi 2003), never below a millionth. A link between parts, (n,) ``label``, was added
    to join them: it weighs as much as the median link, since by its own length it would join nothing.
    """
    if weights == "heat":
        t = median_squared(graph.length) if t is None else t
        values = np.maximum(np.exp(-(graph.length.astype(np.float64) ** 2) / t), _LEAST)
        if label is not None:
            added = label[graph.sources] != label[graph.to]
            values[added] = np.median(values[~added])
    else:
        values = np.ones(len(graph.to))
    W = graph.matrix(values)
    if weights == "average" and found is not None:
        C = found.matrix(np.ones(len(found.to)))
        C.setdiag(0)
        C.eliminate_zeros()
        C.data[:] = 1
        one_sided = abs(C - C.T)  # 1 where only one of the two is a neighbour of the other
        W = scipy.sparse.csr_array(W - 0.5 * one_sided)
    W.setdiag(0)
    W.eliminate_zeros()
    return W


def require_graph(n: int, k: int | None, n_components: int, run: Run) -> None:
    """Refuse a graph of n points with k neighbours each, and the vectors of its eigenproblem, beyond the budget."""
    links = 2 * n * (k or 1)  # in both directions
    run.require(
        links * (12 + 20) + 8 * n * (4 * (n_components + 1) + 20),
        f"A graph of {n} points and its eigenvectors",
        "Use fewer neighbours or rows",
    )


def median_squared(length: Array) -> float:
    """Return the median of the squared lengths, of those that are not zero where most are."""
    squared = to_numpy(length).astype(np.float64) ** 2
    typical = float(np.median(squared)) if squared.size else 0.0
    if not typical > 0:
        apart = squared[squared > 0]
        typical = float(np.median(apart)) if apart.size else 1.0
    return typical


def check_affinities(W: Any, source: str = "The affinity matrix") -> None:
    """Refuse what is no matrix of affinities: not square, negative, not symmetric; sparse or not."""
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise DataError(
            f"{source} has shape {tuple(W.shape)}. It must be square, with one row and one column a point; pass rows "
            "with affinity='nearest_neighbors' or 'rbf' to have affinities computed."
        )
    values = W.data if is_sparse(W) else W
    if values.shape[0] and not bool(xp_of(values).all(values >= 0)):
        raise DataError(
            f"{source} has a negative value. An affinity says how strongly two points are linked: zero or more. "
            "Pass exp(-d²/t) of distances d, or (1 + r)/2 of correlations r."
        )
    if not is_sparse(W):
        check_kernel_matrix(W, source)
        return
    gap = scipy.sparse.coo_array(abs(W - W.T))
    if gap.nnz and gap.data.max() > _ROUNDINGS * eps_of(W.data) * W.data.max():
        place = int(np.argmax(gap.data))
        i, j = int(gap.coords[0][place]), int(gap.coords[1][place])
        raise DataError(
            f"{source} has {W[i, j]:g} at [{i}, {j}] and {W[j, i]:g} at [{j}, {i}]: it is not symmetric. "
            "Pass (W + W.T) / 2 if that is what is meant."
        )


def affinity_parts(W: Any, *, loops: bool = False) -> np.ndarray:
    """Return the part of each point, (n,), the largest being 0.

    Affinity zero is no link, nor is one that vanishes in rounding beside its ends' degrees, in which a point's affinity
    with itself counts if ``loops``: no eigenvector could tell.
    """
    degree = _degrees(W, loops)  # (n,)
    root = np.sqrt(np.maximum(degree, 0))
    if is_sparse(W):
        links = scipy.sparse.coo_array(W)
        i, j = links.coords
        real = links.data > _EPS * root[i] * root[j]
        links = scipy.sparse.coo_array((links.data[real], (i[real], j[real])), shape=W.shape)
        label = connected_components(links, directed=False)[1]
    else:
        label = _dense_parts(W, root)
    volume = np.bincount(label, degree).astype(np.float32)  # of parts as large, whatever the order of rows
    order = np.lexsort((-volume, -np.bincount(label)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[label]


def _degrees(W: Any, loops: bool) -> np.ndarray:
    """The sum of each point's affinities, (n,), on the host in float64; that with itself if ``loops``."""
    if is_sparse(W):
        return W @ np.ones(W.shape[0]) - (0 if loops else W.diagonal())
    xp = xp_of(W)
    degree = to_numpy(xp.sum(W, axis=1, dtype=xp.float64))
    return degree if loops else degree - to_numpy(xp.linalg.diagonal(W))


def _dense_parts(W: Array, root: np.ndarray) -> np.ndarray:
    """Parts by spreading from a point; where most pairs are linked a few rows tell all."""
    n, xp = W.shape[0], xp_of(W)
    bar = like(_EPS * root, W, xp.float64)
    label = np.full(n, -1)
    for part in range(n):
        if not (label < 0).any():
            break
        frontier = np.flatnonzero(label < 0)[:1]
        label[frontier] = part
        while frontier.size and (label < 0).any():
            now, frontier = frontier[:_PORTION], frontier[_PORTION:]
            rows = as_double(xp.take(W, like(now, W, xp.int64), axis=0))
            linked = xp.any(rows > like(root[now], W, xp.float64)[:, None] * bar[None, :], axis=0)
            reached = np.flatnonzero(to_numpy(linked) & (label < 0))
            label[reached] = part
            frontier = np.concatenate([frontier, reached])
    return label


def kept_parts(label: np.ndarray, policy: Policy, owner: str, remedy: str) -> np.ndarray:
    """Apply the policy to parts of given affinities, and tell it; return the points that are kept, (n,) bool.

    There are no distances to join parts by: 'connect' leaves them as they are, as textbooks do.
    """
    count = int(label.max()) + 1
    if count == 1:
        return np.ones(len(label), dtype=bool)
    sizes = np.bincount(label)
    told = ", ".join(map(str, sizes[:5])) + (", …" if count > 5 else "")
    fact = f"{owner}: no affinity beyond rounding links the {count} parts that the points fall into, of {told} points"
    if policy == "error":
        raise DataError(f"{fact}. {remedy}, or say disconnected='largest' or 'ignore'.")
    if policy == "largest":
        warn(f"{fact}. The largest was kept; the other {len(label) - sizes[0]} rows are NaN.", DataWarning)
        return label == 0
    why = "Affinities tell no distances to join them by, so they" if policy == "connect" else "They"
    warn(f"{fact}. {why} were left as they are: the first coordinates only mark the parts. {remedy}.", DataWarning)
    return np.ones(len(label), dtype=bool)


def among(W: Any, kept: np.ndarray) -> Any:
    """Return the affinities among the points that were kept."""
    places = np.flatnonzero(kept)
    if is_sparse(W):
        return scipy.sparse.csr_array(W)[places][:, places]
    xp = xp_of(W)
    chosen = like(places, W, xp.int64)
    return xp.take(xp.take(W, chosen, axis=0), chosen, axis=1)


# --- Laplacians -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Laplacian:
    """L = I - D^(-1/2) W D^(-1/2) (normalized), or D - W, of symmetric affinities W with degrees D = diag(W 1).

    A point's affinity with itself is left out unless ``loops``; it cancels in D - W. ``density`` (n,) multiplies rows
    and columns of W beforehand: W_ij g_i g_j.
    """

    W: Any  # (n, n), sparse or not, as given
    degree: Array  # (n,) float64
    normalized: bool
    density: Array | None = None
    own: Array | None = None  # (n,) the diagonal that is left out

    @classmethod
    def of(
        cls, W: Any, run: Run, *, normalized: bool = True, loops: bool = False, density: Array | None = None
    ) -> Self:
        """Sum the degrees."""
        g = None if density is None else density[:, None]
        if is_sparse(W):
            degree = W @ (np.ones(W.shape[0]) if g is None else g[:, 0])
            own = None if loops else W.diagonal().astype(np.float64)
        else:
            xp = xp_of(W)
            ones = xp.ones_like(as_double(W[:, :1])) if g is None else g
            degree = times_rows(ArrayRows(W), ones, run)[:, 0]
            own = None if loops else as_double(xp.linalg.diagonal(W))
        if own is not None:
            degree = degree - (own if density is None else own * density)
        return cls(W, degree if g is None else degree * density, normalized, density, own)

    @property
    def root(self) -> Array:
        """The roots of the degrees, (n,); 1 for points without links, and where nothing is normalized."""
        xp = xp_of(self.degree)
        ones = xp.ones_like(self.degree)
        return xp.where(self.degree > 0, xp.sqrt(xp.abs(self.degree)), ones) if self.normalized else ones

    @property
    def scale(self) -> Array:
        """What multiplies rows and columns of W, (n,)."""
        return 1 / self.root if self.density is None else self.density / self.root

    def matrix(self) -> Any:
        """Return L, sparse or not as W is, float64."""
        s, n = self.scale, self.W.shape[0]
        if is_sparse(self.W):
            S = scipy.sparse.csr_array(self.W, dtype=np.float64, copy=True)
            if self.own is not None:
                S.setdiag(0)
                S.eliminate_zeros()
            S.data *= np.repeat(s, np.diff(S.indptr)) * s[S.indices]
            return scipy.sparse.csr_array(scipy.sparse.diags_array(self._diagonal()) - S)
        xp = xp_of(s)
        eye = like(np.eye(n), as_double(self.W))
        W = as_double(self.W)
        if self.own is not None:
            W = W - eye * self.own[None, :]
        return eye * self._diagonal()[None, :] - xp.asarray(s[:, None] * W * s[None, :])

    def _diagonal(self) -> Array:
        """The diagonal of D in L: 1 when normalized, 0 for a point without links."""
        xp = xp_of(self.degree)
        return xp.astype(self.degree > 0, xp.float64) if self.normalized else self.degree

    def null_vectors(self, label: np.ndarray) -> np.ndarray:
        """Return the unit vectors with Lv = 0: one for each part, or for one part alone the constant, (n, parts)."""
        N = np.zeros((len(label), int(label.max()) + 1))
        N[np.arange(len(label)), label] = to_numpy(self.root)
        return N / np.linalg.norm(N, axis=0)


@dataclass(frozen=True)
class Turned:
    """cI - L of dense affinities, applied without being formed: its leading eigenvectors are the last ones of L."""

    laplacian: Laplacian
    run: Run

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        n = int(self.laplacian.W.shape[0])
        return n, n

    @property
    def top(self) -> float:
        """The c: at least the largest eigenvalue of D - W; 1 leaves the affinities, normalized."""
        return 1.0 if self.laplacian.normalized else 2 * float(xp_of(self.laplacian.degree).max(self.laplacian.degree))

    def __matmul__(self, V: Array) -> Array:
        """Return the product with V, (n, k) float64."""
        L = self.laplacian
        V = as_double(V)
        s = L.scale[:, None]
        P = times_rows(ArrayRows(L.W), V * s, self.run)
        if L.own is not None:
            P = P - V * (s * L.own[:, None])
        return P * s + V * (self.top - L._diagonal())[:, None]


# --- what varies least ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Modes:
    """Eigenvectors of a Laplacian, the slowest first."""

    values: np.ndarray  # (k,) eigenvalues of L, ascending
    vectors: np.ndarray  # (n, k) orthonormal; v / root are the coordinates
    solver: Outcome


def slowest_modes(
    L: Laplacian, k: int, run: Run, *, label: np.ndarray, rng: np.random.Generator, drop_first: bool = True,
    solver: Solver = "auto", tol: float | None = None,
) -> Modes:  # fmt: skip
    """Return the k eigenvectors of the smallest eigenvalues; ``drop_first`` leaves out the one that is constant.

    Where there are several parts, as many eigenvalues are zero: their vectors mark the parts, one each. The largest
    part's is the one to drop, since with it they add up to the constant.
    """
    N = L.null_vectors(label)  # (n, parts)
    null = N[:, 1:] if drop_first else N
    left = k - min(k, null.shape[1])
    if not left:
        return Modes(np.zeros(k), null[:, :k], Outcome("parts", f"{N.shape[1]} parts, each marked by one vector"))
    values, vectors, chosen = _pairs(L, left + N.shape[1], run, rng, solver, tol)
    if N.shape[1] == 1 and np.linalg.norm(N.T @ vectors[:, 1:]) <= _MIXED:
        values, vectors = values[1:], vectors[:, 1:]
    else:
        values, vectors = _without_null(values, vectors, N)
        values, vectors = values[:left], vectors[:, :left]
    _tell_of_weak_links(values, L)
    values = np.concatenate([np.zeros(null.shape[1]), values])
    return Modes(values, np.hstack([null, vectors]), chosen)


def _tell_of_weak_links(values: np.ndarray, L: Laplacian) -> None:
    """Warn of coordinates that do no more than tell clumps apart."""
    count = int(np.sum(values < _WEAK * (1.0 if L.normalized else float(xp_of(L.degree).max(L.degree)))))
    if count:
        which = (
            "The first coordinate has an eigenvalue"
            if count == 1
            else f"The first {count} coordinates have eigenvalues"
        )
        warn(
            f"{which} hardly to be told from zero: next to nothing links some points with the others, and it only "
            "marks them. Link them by more neighbours, or by a wider kernel.",
            DataWarning,
        )


def _without_null(values: np.ndarray, V: np.ndarray, N: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs orthogonal to the null vectors N, from V that may mix them with others as slow.

    An iteration may have found fewer null vectors than there are: then more pairs are left.
    """
    _, sizes, right = np.linalg.svd(N.T @ V)
    Q = right[int(np.sum(sizes > 0.5)) :].T  # what of V is beyond N
    within, turn = np.linalg.eigh(Q.T @ (values[:, None] * Q))
    beyond = V @ (Q @ turn)
    beyond = beyond - N @ (N.T @ beyond)
    return within, beyond / np.linalg.norm(beyond, axis=0)


def _pairs(
    L: Laplacian, m: int, run: Run, rng: np.random.Generator, solver: Solver, tol: float | None
) -> tuple[np.ndarray, np.ndarray, Outcome]:
    """The m smallest eigenvalues of L and their vectors."""
    n = int(L.W.shape[0])
    if is_sparse(L.W):
        largest = 2.0 if L.normalized else 2 * float(L.degree.max())
        pairs = trailing_eigenpairs(L.matrix(), m, run, rng=rng, largest=largest, solver=solver, tol=tol)
        chosen = Outcome(pairs.solver, "sparse affinities", pairs.iterations, pairs.converged, pairs.trace)
        return to_numpy(pairs.values), to_numpy(pairs.vectors), chosen
    turned = Turned(L, run)
    if n > _SMALL and 20 * m <= n:
        with blas_on_one_thread():  # the products have threads of their own
            pairs = leading_eigenpairs(
                turned, m, run=run, solver="krylov", rng=rng, tol=tol or _SURE, max_iter=_STEPS,
                like_array=as_double(L.W[:1, :]), definite=False,
            )  # fmt: skip
        chosen = Outcome("krylov", f"{m} of {n} pairs", pairs.iterations, pairs.converged, pairs.trace)
        if pairs.converged:
            return turned.top - to_numpy(pairs.values), to_numpy(pairs.vectors), chosen
    run.require(3 * 8 * n * n, f"The {n} x {n} matrix and its eigenvectors", "Set n_neighbors for a sparse graph")
    xp = xp_of(L.degree)
    A = turned.top * like(np.eye(n), as_double(L.W)) - xp.asarray(L.matrix())
    pairs = leading_eigenpairs(A, m, run=run, solver="eigh", definite=False)
    reason = f"{m} of {n} pairs" if n <= _SMALL or 20 * m > n else "the eigenvalues lie too close for an iteration"
    return turned.top - to_numpy(pairs.values), to_numpy(pairs.vectors), Outcome("eigh", reason)


def coordinates(modes: Modes, root: Array) -> np.ndarray:
    """Return y = D^(-1/2) v, (n, k), with Ly = λDy; the largest of each column is positive."""
    return fix_signs(modes.vectors / to_numpy(root)[:, None])
