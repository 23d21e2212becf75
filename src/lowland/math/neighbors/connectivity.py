"""Connected components of a neighbor graph, and the shortest edges that connect them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lowland.arrays.namespace import Array, is_sparse
from lowland.errors import DataError, DisconnectedError
from lowland.math.distances.incomplete_rows import no_shared_column
from lowland.math.distances.metrics import Metric, allows_nan
from lowland.math.neighbors.graph import NeighborGraph
from lowland.math.neighbors.search import choose_searcher
from lowland.math.neighbors.searcher import Searcher
from lowland.run.run import Run

Policy = Literal["connect", "largest", "ignore", "error"]

_FEW = 8  # neighbors of each point that are tried first


@dataclass(frozen=True)
class ShortestBridges:
    """Finds the shortest edges that connect the components of a graph."""

    X: Array  # (n, d), sparse or not, or the distances of all pairs
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _searcher(self) -> Searcher:
        return choose_searcher(self.X, self.metric, self.params, "auto", 1)

    def spanning(self, labels: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ends and lengths of the minimum spanning tree of the components: count - 1 edges.

        Borůvka 1926: each component but the largest adds its shortest edge to another one; connected ones are merged.
        """
        if is_sparse(self.X) and self.metric == "precomputed":
            raise DisconnectedError(
                f"The neighbor graph is disconnected (the number of connected components is {int(labels.max()) + 1}), "
                "and no distances are available to connect its components: `X` is itself a graph."
            )
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while (count := int(labels.max()) + 1) > 1:
            largest = int(np.argmax(np.bincount(labels)))
            i, j, length = self._shortest_leaving(np.flatnonzero(labels != largest), labels, run)
            ends = np.sort(np.stack([i, j]), axis=0)
            _, once = np.unique(ends[0] * np.int64(len(labels)) + ends[1], return_index=True)  # two may add the same
            i, j, length = i[once], j[once], length[once]
            found.append((i, j, length))
            joined = coo_array((np.ones(len(i)), (labels[i], labels[j])), shape=(count, count))
            labels = connected_components(joined, directed=False)[1][labels]
        i, j, length = (np.concatenate(each) for each in zip(*found, strict=True))
        return i, j, length

    def _shortest_leaving(
        self, rows: np.ndarray, labels: np.ndarray, run: Run
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The shortest edge that leaves each label found at ``rows``; ties go to the lowest row numbers."""
        to, length = self._searcher.nearest_in_other_component(rows, labels, run)
        order = np.lexsort((np.maximum(rows, to), np.minimum(rows, to), length, labels[rows]))
        first = order[np.unique(labels[rows][order], return_index=True)[1]]
        if to[first].min() < 0:
            if allows_nan(self.metric):  # no row of a component shares a column with a row of another one
                row = int(rows[first][np.argmin(to[first])])
                other = np.flatnonzero(labels != labels[row])[0]
                raise no_shared_column(row, int(other))
            raise DataError("Connected components of the graph are infinitely far apart. Rescale the columns.")
        return rows[first], to[first], length[first]


@dataclass(frozen=True)
class Components:
    """A graph after the policy was applied, and the connected components it had before."""

    graph: NeighborGraph  # among the points that were kept
    labels: np.ndarray  # (n,) the component of each point; 0 is the largest
    kept: np.ndarray  # (n,) bool
    bridges: np.ndarray = field(default_factory=lambda: np.empty(0))  # lengths of the edges added to connect components

    @property
    def count(self) -> int:
        """The number of components the graph had."""
        return int(self.labels.max()) + 1

    @property
    def n_edges_added(self) -> int:
        """The number of edges added to connect the components."""
        return len(self.bridges)

    @property
    def sizes(self) -> np.ndarray:
        """The number of points in each component, the largest first."""
        return np.bincount(self.labels)

    @property
    def fact(self) -> str:
        """The number and sizes of the components, in words."""
        sizes = listed_sizes(self.sizes)
        return (
            f"the neighbor graph is disconnected, and the number of connected components is {self.count}: {sizes} rows"
        )


def component_labels(graph: NeighborGraph) -> np.ndarray:
    """Return the component of each point, (n,), numbered by size, the largest first; ties go to the first point."""
    from lowland.kernels.graphs import label_components

    label, counts, count, few = np.empty(graph.n, np.int64), np.diff(graph.start), 0, graph.n * _FEW
    if len(graph.to) > 4 * few and (counts == counts[0]).all():  # a few neighbors usually connect all points
        nearest = graph.to.reshape(graph.n, -1)[:, :_FEW].ravel()
        count = label_components(np.arange(0, few + 1, _FEW), nearest, label)
    if count != 1:
        count = label_components(graph.start, graph.to, label)
    order = np.argsort(-np.bincount(label, minlength=count), kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return rank[label]


def connected(
    graph: NeighborGraph, policy: Policy, shortest: ShortestBridges, run: Run | None = None, *, symmetric: bool = True
) -> Components:
    """Return the graph after the policy for its components: connect them, keep the largest, or leave them.

    Edges go in both directions. If not ``symmetric``, they go from each point to its own neighbors, and in both
    directions where they were added. The caller reports whether there were several components.
    """
    graph = graph.symmetric() if symmetric else graph
    labels = component_labels(graph)
    found = Components(graph, labels, np.ones(graph.n, dtype=bool))
    if found.count == 1 or policy == "ignore":
        return found
    if policy == "error":
        raise DataError(f"{found.fact[0].upper()}{found.fact[1:]}.")
    if policy == "largest":
        return Components(graph.among(labels == 0), labels, labels == 0)
    i, j, length = shortest.spanning(labels, run or Run())
    return Components(graph.with_edges(i, j, length), labels, found.kept, length)


def listed_sizes(sizes: np.ndarray) -> str:
    """Sizes in words: "30 and 10", "30, 10 and 5", "30, 10, 5, 5, 5, …"."""
    if len(sizes) > 5:
        return ", ".join(map(str, sizes[:5])) + ", …"
    return ", ".join(map(str, sizes[:-1])) + f" and {sizes[-1]}"
