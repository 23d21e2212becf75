"""Connected parts of a graph of neighbours, and what is done where there are several."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.sparse.csgraph import connected_components

from lowland.arrays.namespace import Array, to_numpy
from lowland.blocks.distances import DistancesTo, Metric
from lowland.blocks.neighbors import NeighborGraph
from lowland.errors import DataError, DataWarning, warn

Policy = Literal["connect", "largest", "ignore", "error"]


@dataclass(frozen=True)
class ShortestLinks:
    """Finds the shortest link between two sets of rows."""

    X: Array  # (n, d), or the distances of all pairs
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)

    def __call__(self, a: np.ndarray, b: np.ndarray) -> tuple[int, int, float]:
        """Return the ends and the length of the shortest link from points a to points b."""
        X = to_numpy(self.X)
        D = X[np.ix_(a, b)] if self.metric == "precomputed" else DistancesTo(X[b], self.metric, self.params)(X[a])
        i, j = np.unravel_index(np.argmin(D), D.shape)
        return int(a[i]), int(b[j]), float(D[i, j])


@dataclass(frozen=True)
class Parts:
    """A graph after the policy was applied, and the parts it fell into before."""

    graph: NeighborGraph  # links in both directions, among the points that were kept
    label: np.ndarray  # (n,) the part of each point, the largest part being 0
    kept: np.ndarray  # (n,) bool
    links: int = 0  # added to join the parts

    @property
    def count(self) -> int:
        """How many parts the graph had."""
        return int(self.label.max()) + 1

    @property
    def sizes(self) -> np.ndarray:
        """Points in each part, the largest first."""
        return np.bincount(self.label)


def parts_of(graph: NeighborGraph) -> np.ndarray:
    """Return the part of each point, (n,), numbered by size, the largest first."""
    count, label = connected_components(graph.matrix(np.ones(len(graph.to), dtype=np.int8)), directed=False)
    order = np.argsort(-np.bincount(label, minlength=count), kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return rank[label]


def connected(
    graph: NeighborGraph, policy: Policy, shortest: ShortestLinks, *, owner: str, symmetric: bool = True
) -> Parts:
    """Return the graph with the policy applied; never silently where there is more than one part.

    ``shortest(a, b)`` gives the shortest link between two sets of points: its ends and its length. Links go in both
    directions, or, if not ``symmetric``, from each point to its own neighbours and along the links that were added.
    """
    graph = graph.symmetric() if symmetric else graph
    label = parts_of(graph)
    count = int(label.max()) + 1
    everyone = np.ones(graph.n, dtype=bool)
    if count == 1:
        return Parts(graph, label, everyone)
    sizes = np.bincount(label)
    told = ", ".join(map(str, sizes[:5])) + (", …" if count > 5 else "")
    fact = f"{owner}: the graph of neighbours falls into {count} parts, of {told} points"
    if policy == "error":
        raise DataError(f"{fact}. Raise n_neighbors, or say disconnected='connect', 'largest' or 'ignore'.")
    if policy == "largest":
        kept = label == 0
        warn(f"{fact}. The largest was kept; the other {graph.n - sizes[0]} rows are NaN.", DataWarning)
        return Parts(graph.among(kept), label, kept)
    if policy == "ignore":
        warn(f"{fact}. They were left as they are, and their places to each other mean nothing.", DataWarning)
        return Parts(graph, label, everyone)
    ends = [shortest(np.flatnonzero(label < part), np.flatnonzero(label == part)) for part in range(1, count)]
    i, j, length = (np.asarray(each) for each in zip(*ends, strict=True))
    warn(f"{fact}. They were joined by {len(i)} links, the shortest there are. Raise n_neighbors to be rid of them.",
         DataWarning)  # fmt: skip
    return Parts(graph.with_links(i, j, length), label, everyone, len(i))
