"""Initial coordinates of a disconnected graph: eigenmaps of each connected component, placed apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowland.math.embeddings.starts import spectral_start, with_largest
from lowland.math.graphs.graph_affinities import among
from lowland.run.run import Run

_SMALL = 30  # rows of a component that starts at random places: too few for eigenvectors to matter
_EXTENT = 10.0  # of the whole map


def separate_start(
    W: Any, label: np.ndarray, centers: np.ndarray | None, k: int, run: Run, rng: np.random.Generator
) -> np.ndarray:
    """Return initial coordinates, (n, k): each component within half the distance to its nearest other component.

    ``centers`` (components, k) are places that the components should have relative to each other; None: random ones.
    """
    count = int(label.max()) + 1
    if centers is None:
        centers = rng.standard_normal((count, k))
    centers = with_largest(centers - centers.mean(axis=0), _EXTENT)
    Z = np.empty((len(label), k))
    for c in range(count):
        members = np.flatnonzero(label == c)
        others = np.delete(np.sqrt(np.sum((centers - centers[c]) ** 2, axis=1)), c)
        radius = max(float(others.min()) / 2, 1e-2 * _EXTENT)
        if len(members) <= max(_SMALL, k + 1):
            inner = rng.uniform(-1, 1, (len(members), k))
        else:
            inner = with_largest(spectral_start(among(W, label == c), k, run, rng), 1.0)
        Z[members] = centers[c] + radius * inner
    return Z
