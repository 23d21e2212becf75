"""Connected parts of a graph of neighbours, and what is done where there are several."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lowland.arrays.namespace import Array, is_sparse
from lowland.blocks.distances.metrics import Metric
from lowland.blocks.neighbors.exact_search import Searcher
from lowland.blocks.neighbors.graph import NeighborGraph, searcher_of
from lowland.errors import DataError, DataWarning, warn
from lowland.run.local import LocalRun
from lowland.run.run import Run

Policy = Literal["connect", "largest", "ignore", "error"]


@dataclass(frozen=True)
class ShortestLinks:
    """Finds the shortest links between sets of rows."""

    X: Array  # (n, d), or the distances of all pairs
    metric: Metric = "euclidean"
    params: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def _searcher(self) -> Searcher:
        if is_sparse(self.X):
            raise DataError(
                "The graph falls into parts, and there are no distances by which to join them: X is itself a graph. "
                "Add the missing links to it, say disconnected='largest' or 'ignore', or pass rows with graph=..."
            )
        return searcher_of(self.X, self.metric, self.params, "auto", 1)

    def __call__(self, a: np.ndarray, b: np.ndarray) -> tuple[int, int, float]:
        """Return the ends and the length of the shortest link from points a to points b."""
        labels = np.zeros(self.X.shape[0], dtype=np.int64)
        labels[b] = 1
        i, j, length = self._from(np.asarray(a), labels, LocalRun())
        return int(i[0]), int(j[0]), float(length[0])

    def _from(self, rows: np.ndarray, labels: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The shortest link that leaves each label found at ``rows``; of equally long ones the one of lowest ends."""
        to, length = self._searcher.outward(rows, labels, run)
        order = np.lexsort((np.maximum(rows, to), np.minimum(rows, to), length, labels[rows]))
        first = order[np.unique(labels[rows][order], return_index=True)[1]]
        if to[first].min() < 0:
            raise DataError("Parts of the graph are infinitely far from each other. Rescale the columns.")
        return rows[first], to[first], length[first]

    def joining(self, label: np.ndarray, run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the ends and lengths of the links that join all parts and are shortest in sum: count - 1 of them.

        Each part but the largest takes its shortest link to another, and what is then joined is a part (Borůvka 1926).
        """
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while (count := int(label.max()) + 1) > 1:
            largest = int(np.argmax(np.bincount(label)))
            i, j, length = self._from(np.flatnonzero(label != largest), label, run)
            ends = np.sort(np.stack([i, j]), axis=0)
            _, once = np.unique(ends[0] * np.int64(len(label)) + ends[1], return_index=True)  # two may take the same
            i, j, length = i[once], j[once], length[once]
            found.append((i, j, length))
            joined = coo_array((np.ones(len(i)), (label[i], label[j])), shape=(count, count))
            label = connected_components(joined, directed=False)[1][label]
        i, j, length = (np.concatenate(each) for each in zip(*found, strict=True))
        return i, j, length


@dataclass(frozen=True)
class ConnectedComponents:
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
    """Return the part of each point, (n,), numbered by size, the largest first, of equal ones the first."""
    from lowland.kernels import kd_tree as kernels

    label = np.empty(graph.n, dtype=np.int64)
    count = kernels.label_parts(graph.start, graph.to, label)
    order = np.argsort(-np.bincount(label, minlength=count), kind="stable")
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return rank[label]


def connected(
    graph: NeighborGraph,
    policy: Policy,
    shortest: ShortestLinks,
    *,
    owner: str,
    run: Run | None = None,
    remedy: str = "Raise n_neighbors",
    symmetric: bool = True,
) -> ConnectedComponents:
    """Return the graph with the policy applied; never silently where there is more than one part.

    ``remedy`` says what would make the graph hang together. Links go in both directions, or, if not ``symmetric``, from
    each point to its own neighbours and along the links that were added.
    """
    graph = graph.symmetric() if symmetric else graph
    label = parts_of(graph)
    count = int(label.max()) + 1
    everyone = np.ones(graph.n, dtype=bool)
    if count == 1:
        return ConnectedComponents(graph, label, everyone)
    sizes = np.bincount(label)
    fact = f"{owner}: the graph of neighbours falls into {count} parts, of {_listed(sizes)} points"
    if policy == "error":
        raise DataError(f"{fact}. {remedy}, or say disconnected='connect', 'largest' or 'ignore'.")
    if policy == "largest":
        kept = label == 0
        others = graph.n - int(sizes[0])
        left = "other row is" if others == 1 else f"other {others} rows are"
        warn(f"{fact}. The largest was kept; the {left} NaN. {remedy} to keep more.", DataWarning)
        return ConnectedComponents(graph.among(kept), label, kept)
    if policy == "ignore":
        warn(
            f"{fact}. They were left as they are, and their places to each other mean nothing. {remedy}, or say "
            "disconnected='connect'.",
            DataWarning,
        )
        return ConnectedComponents(graph, label, everyone)
    i, j, length = shortest.joining(label, run or LocalRun())
    links = "1 link, the shortest there is" if len(i) == 1 else f"{len(i)} links, the shortest there are"
    warn(f"{fact}. They were joined by {links} (up to {length.max():.3g} long). {remedy} to do without.", DataWarning)
    return ConnectedComponents(graph.with_links(i, j, length), label, everyone, len(i))


def _listed(sizes: np.ndarray) -> str:
    """Sizes in words: "30 and 10", "30, 10 and 5", "30, 10, 5, 5, 5, …"."""
    if len(sizes) > 5:
        return ", ".join(map(str, sizes[:5])) + ", …"
    return ", ".join(map(str, sizes[:-1])) + f" and {sizes[-1]}"
