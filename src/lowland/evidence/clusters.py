"""Is a cluster of the map a separate group in the data? A gap on held-out rows, compared with maps of one Gaussian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lowland.arrays.namespace import is_sparse
from lowland.arrays.random import spawned_seeds
from lowland.data.open import as_vector
from lowland.evidence.nulls import distances, draw_null, principal_coordinates
from lowland.evidence.problem import MapProblem, fit_each
from lowland.math.statistics.labels import classes_of, missing_labels

Verdict = Literal["separate", "not separate", "undecided"]
NULL_MAPS = 24
FOLDS, REPEATS = 5, 2  # of the cross-validation
MOST_ROWS = 1000
_LEAST_SIZE = 20  # rows in a cluster that can be tested
_MINI_BATCH_ROWS = 50_000  # from this many points on, k-means uses mini-batches
_SHRINKAGE = 0.01  # of the covariance within clusters
_MOST_COLUMNS = 30  # principal components for the discriminant
_SEPARATE, _NOT_SEPARATE = 0.05, 0.2


@dataclass(frozen=True)
class Cluster:
    """The evidence that a cluster of a map is a separate group.

    Attributes
    ----------
    label : str or int
        Label of the cluster.
    size : int
        Number of rows.
    p_value : float
        Fraction of maps of one Gaussian in which some cluster has as empty a space around it. It accounts for all
        clusters of the map together.
    verdict : "separate", "not separate" or "undecided"
        "separate" means p ≤ 0.05. "not separate" means p > 0.2.
    separation : float
        How empty the space between the cluster and the closest other one is, on held-out rows: 1 if no row lies in the
        middle third between their medians, 0 or less if the rows are spread evenly.
    nearest : str or int or None
        That other cluster. If the verdict is "not separate", the map has cut one continuous group here.
    """

    label: Any
    size: int
    p_value: float
    verdict: Verdict
    separation: float
    nearest: Any

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if self.verdict == "separate":
            return (
                f"Cluster {self.label} ({self.size:,} rows) is a separate group: p = {self.p_value:.3f}, held-out "
                f"separation {self.separation:.2f}."
            )
        if self.verdict == "not separate":
            one, other = sorted((self.label, self.nearest), key=str)  # two clusters say the same of each other
            return f"Clusters {one} and {other} are one continuous group cut by the map (p = {self.p_value:.2f})."
        return f"Cluster {self.label} ({self.size:,} rows): undecided (p = {self.p_value:.2f})."


def label_codes(labels: Any, kept: np.ndarray) -> tuple[np.ndarray, list[Any]]:
    """The cluster of each row with coordinates as an index, -1 for none, and the labels."""
    values = as_vector(labels, len(kept), "labels")[kept]
    none = missing_labels(values) | np.isin(values.astype(str), ("-1", "-1.0", ""))
    codes = np.full(len(values), -1)
    if not (~none).any():
        return codes, []
    names, codes[~none] = classes_of(values[~none], least=1)
    return codes, names.tolist()


def find_clusters(Z: np.ndarray, count: int | None = None) -> tuple[np.ndarray, list[Any]]:
    """Dense regions of a map (HDBSCAN), or this many clusters (k-means): the cluster of each point, largest first.

    -1: a point in a sparse region. Also returned: the numbers of the clusters.
    """
    from sklearn.cluster import HDBSCAN, KMeans, MiniBatchKMeans

    if count is None:
        size = min(max(_LEAST_SIZE, len(Z) // 50), max(2, len(Z) // 2))
        codes = HDBSCAN(min_cluster_size=size, copy=True).fit_predict(Z)
    else:
        kind = KMeans if len(Z) < _MINI_BATCH_ROWS else MiniBatchKMeans
        codes = kind(min(count, len(Z)), n_init=3, random_state=0).fit_predict(Z)
    sizes = np.bincount(codes[codes >= 0])
    rank = np.full(len(sizes) + 1, -1)  # the last: of code -1
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return rank[codes], list(range(len(sizes)))


def test_clusters(
    problem: MapProblem, clusters: tuple[np.ndarray, list[Any]], *, found: bool, seed: int
) -> list[Cluster]:
    """Compare the emptiness around each cluster with the emptiest in maps of a Gaussian of the same covariance."""
    codes, names = clusters
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    if (sizes >= _LEAST_SIZE).sum() < 2:
        return []
    rng = np.random.default_rng(seed)
    picked = np.arange(problem.n)
    if problem.n > MOST_ROWS:
        picked = np.sort(rng.permutation(problem.n)[:MOST_ROWS])
    part = problem.part(picked)
    rows = principal_coordinates(part.X) if problem.pairwise else _plain(part.X)
    # principal coordinates have one unit: the first of them, not all with the same weight as columns have
    most = _most_columns(len(rows) * (FOLDS - 1) // FOLDS) if problem.pairwise else rows.shape[1]
    filled, nearest = _fillings(rows[:, :most], codes[picked], len(names), rng)

    def emptiest(seed: Any) -> float:
        """The emptiest space around any cluster in a map of a Gaussian."""
        rng = np.random.default_rng(seed)
        X = draw_null(rows, "gaussian", rng, counts=problem.counts)
        _, Z = problem.embed(distances(X) if problem.pairwise else X, part.y, int(rng.integers(2**31 - 1)))
        there = np.isfinite(Z).all(axis=1)
        null_codes, null_names = find_clusters(Z[there], None if found else len(names))
        if len(null_names) < 2:  # no clusters to compare with: cut the map into as many as there are
            null_codes, null_names = find_clusters(Z[there], len(names))
        null_filled, _ = _fillings(X[there, :most], null_codes, len(null_names), rng)
        return float(np.nanmin(null_filled, initial=1.0))

    null = fit_each(problem.method, "testing clusters", spawned_seeds(rng, NULL_MAPS), emptiest)
    as_empty = (np.array(null)[None, :] <= np.nan_to_num(filled, nan=1.0)[:, None]).sum(axis=1)
    p = (1 + as_empty) / (1 + NULL_MAPS)
    order = np.argsort(-sizes, kind="stable")
    return [
        Cluster(
            names[c], int(sizes[c]), float(p[c]), _verdict(p[c], filled[c]), float(1 - 3 * filled[c]),
            names[nearest[c]] if nearest[c] >= 0 else None,
        )
        for c in order
    ]  # fmt: skip


def _verdict(p: float, filled: float) -> Verdict:
    if np.isnan(filled):
        return "undecided"
    return "separate" if p <= _SEPARATE else "not separate" if p > _NOT_SEPARATE else "undecided"


def _plain(X: Any) -> np.ndarray:
    return X.toarray() if is_sparse(X) else np.asarray(X, dtype=np.float64)


def _fillings(X: np.ndarray, codes: np.ndarray, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """How full the space between each cluster and its closest other one is, (c,), on held-out rows, and which, (c,).

    Two clusters are compared along their discriminant axis: the fraction of the rows between their medians that lies in
    the middle third. It is about 1/3 or more within one group, and 0 across a gap. NaN: the cluster is too small.
    Rows without a cluster (code -1) are not learned from. They count unless they lie farther from the axis than all
    rows of the two clusters: a map leaves out rows between its clusters, and rows of other groups are no bridge.
    """
    sizes = np.bincount(codes[codes >= 0], minlength=count) if count else np.zeros(0, dtype=int)
    tested = np.flatnonzero(sizes >= _LEAST_SIZE)
    nearest = np.full(count, -1)
    if len(tested) < 2:
        return np.full(count, np.nan), nearest
    used = np.flatnonzero(np.isin(codes, tested) | (codes < 0))
    X, codes = X[used], codes[used]
    known = codes >= 0
    middle, between = np.zeros((count, count)), np.zeros((count, count))
    for _ in range(REPEATS):
        fold = rng.permutation(len(X)) % FOLDS
        predicted = np.empty(len(X), dtype=np.int64)
        places, aside = np.empty((2, len(X), len(tested), len(tested)))
        for f in range(FOLDS):
            out, rows = fold == f, known & (fold != f)
            predicted[out], places[out], aside[out] = _discriminate(X[rows], codes[rows], X[out], tested)
        for i, c in enumerate(tested):
            for j in range(i):
                beside = aside[:, i, j]
                near = known | (beside <= beside[np.isin(codes, tested[[i, j]])].max())
                counts = _between(places[near & (predicted == i), i, j], places[near & (predicted == j), i, j])
                middle[c, tested[j]] += counts[0]
                between[c, tested[j]] += counts[1]
    middle, between = middle + middle.T, between + between.T
    # one row more in the middle third, and two beside it, each time: few rows are no evidence of a gap
    filled = (middle + REPEATS) / (between + 3 * REPEATS)
    np.fill_diagonal(filled, -np.inf)
    filled[:, np.setdiff1d(np.arange(count), tested)] = -np.inf
    nearest[tested] = np.argmax(filled[tested], axis=1)
    fullest = np.full(count, np.nan)
    fullest[tested] = filled[tested, nearest[tested]]
    return fullest, nearest


def _most_columns(n: int) -> int:
    """The largest number of columns whose covariance n rows determine well enough."""
    return max(1, min(_MOST_COLUMNS, n // 5))


def _discriminate(
    X: np.ndarray, codes: np.ndarray, held_out: np.ndarray, tested: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cluster of each held-out row, (m,), and its place on the axes between all pairs of cluster means, (m, c, c).

    Clusters are made spherical first. A row at place [i, j] = 0 lies beside the mean of cluster j, and at 1 beside i.
    Also returned: the squared distances of the rows from these axes, (m, c, c).
    """
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    X, held_out = (X - center) / scale, (held_out - center) / scale
    most = _most_columns(len(X))
    if most < X.shape[1]:
        axes = np.linalg.svd(X, full_matrices=False)[2][:most].T
        X, held_out = X @ axes, held_out @ axes
    means = np.stack([X[codes == c].mean(axis=0) if (codes == c).any() else np.zeros(X.shape[1]) for c in tested])
    within = X - means[np.searchsorted(tested, codes)]
    W = within.T @ within / len(X)
    W += _SHRINKAGE * np.trace(W) / len(W) * np.eye(len(W))
    whiten = np.linalg.inv(np.linalg.cholesky(W)).T
    means, Y = means @ whiten, held_out @ whiten
    G, M = Y @ means.T, means @ means.T
    squares = np.diag(M)
    between = G[:, :, None] - G[:, None, :] - (M - squares[None, :])[None]
    apart = squares[:, None] + squares[None, :] - 2 * M
    places = between / np.where(apart > 0, apart, 1.0)[None]
    away = (Y**2).sum(axis=1)[:, None] + squares[None, :] - 2 * G
    return np.argmin(away, axis=1), places, away[:, None, :] - places * between


def _between(first: np.ndarray, second: np.ndarray) -> tuple[int, int]:
    """Held-out rows in the middle third between the medians of two clusters, and all between the medians."""
    if not len(first) or not len(second):
        return 0, 0
    low, high = float(np.median(second)), float(np.median(first))
    both = np.concatenate([first, second])
    third = (high - low) / 3
    inside = (both >= low) & (both <= high)
    return int(((both > low + third) & (both < high - third)).sum()), int(inside.sum())
