"""Distances, neighbors and clusters in the space of the columns, or on a map."""

from __future__ import annotations

import numpy as np

CELLS = 2**22  # processed at a time
MINI_BATCH_ROWS = 50_000  # from this many rows on, k-means uses mini-batches
MOST_FOR_DENSITY = 60_000  # rows for HDBSCAN


def distances_from(X: np.ndarray, row: int) -> np.ndarray:
    """Return the Euclidean distances of all rows from one, (n,) float32; X may be memory-mapped."""
    n, d = X.shape
    x = np.asarray(X[row], dtype=np.float64)
    found = np.empty(n, dtype=np.float32)
    step = max(1, CELLS // max(1, d))
    for start in range(0, n, step):
        part = np.asarray(X[start : start + step], dtype=np.float64) - x
        found[start : start + step] = np.sqrt(np.einsum("ij,ij->i", part, part))
    return found


def nearest(distances: np.ndarray, row: int, k: int) -> np.ndarray:
    """Return the k rows with the smallest distances, without the row itself; ties by their number."""
    distances = distances.astype(np.float64)
    distances[row] = np.inf
    k = min(k, len(distances) - 1)
    if k <= 0:
        return np.empty(0, dtype=np.int64)
    limit = np.partition(distances, k - 1)[k - 1]
    candidates = np.flatnonzero(distances <= limit)
    return candidates[np.argsort(distances[candidates], kind="stable")][:k]


def clusters_of(X: np.ndarray, n_clusters: int, algorithm: str) -> np.ndarray:
    """Return the cluster of each row, (n,) int32, the largest cluster first; -1: none.

    "k-means" divides all rows into the given number of clusters; "density" (HDBSCAN) finds the number itself and
    leaves sparse regions out. Rows without coordinates (NaN) belong to no cluster.
    """
    from sklearn.cluster import HDBSCAN, KMeans, MiniBatchKMeans

    given = np.isfinite(X).all(axis=1)
    rows = np.ascontiguousarray(X[given], dtype=np.float64)
    codes = np.full(len(X), -1, dtype=np.int32)
    if len(rows) < 2:
        return codes
    if algorithm == "density":
        size = max(5, min(200, len(rows) // 100))
        found = HDBSCAN(min_cluster_size=min(size, len(rows)), copy=True).fit_predict(rows)
    else:
        kind = KMeans if len(rows) < MINI_BATCH_ROWS else MiniBatchKMeans
        found = kind(min(n_clusters, len(rows)), n_init=3, random_state=0).fit_predict(rows)
    sizes = np.bincount(found[found >= 0]) if (found >= 0).any() else np.empty(0, dtype=np.int64)
    rank = np.empty(len(sizes) + 1, dtype=np.int32)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes), dtype=np.int32)
    rank[-1] = -1
    codes[given] = rank[found]
    return codes
