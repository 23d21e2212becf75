"""The k-d tree's kernels against comparing every pair."""

import numpy as np
import pytest

from lowland.kernels import kd_tree


def built(P, depth):
    n, d = P.shape
    count = 2 ** (depth + 1) - 1
    order, borders = np.empty(n, dtype=np.int64), np.empty((count, 2), dtype=np.int64)
    lows, highs, lowest = np.empty((count, d)), np.empty((count, d)), np.empty(count, dtype=np.int64)
    kd_tree.build_tree(P, depth, order, borders, lows, highs, lowest)
    return np.ascontiguousarray(P[order].T), order, borders, lows, highs, lowest


@pytest.fixture
def P(rng):
    return rng.integers(0, 7, (150, 2)).astype(float)  # ties and duplicates


def squares(P):
    return ((P[:, None] - P[None]) ** 2).sum(axis=2)


def test_boxes_contain_their_points_and_halve_them(P):
    T, order, borders, lows, highs, lowest = built(P, 3)
    assert sorted(order) == list(range(150))
    np.testing.assert_array_equal(T.T, P[order])
    for b, (start, stop) in enumerate(borders):
        inside = P[order[start:stop]]
        np.testing.assert_array_equal(inside.min(axis=0), lows[b])
        np.testing.assert_array_equal(inside.max(axis=0), highs[b])
        assert lowest[b] == order[start:stop].min()
        if 2 * b + 2 < len(borders):
            left, right = borders[2 * b + 1], borders[2 * b + 2]
            assert (left[0], left[1], right[1]) == (start, right[0], stop)
            assert abs((left[1] - left[0]) - (right[1] - right[0])) <= 1


@pytest.mark.parametrize("depth", [0, 3])
@pytest.mark.parametrize("p", [1.0, 2.0, np.inf])
def test_the_nearest_of_another_label(P, rng, depth, p):
    tree = built(P, depth)
    order, borders = tree[1], tree[2]
    labels = rng.integers(0, 5, 150)
    mine, of_boxes = labels[order], np.empty(len(borders), dtype=np.int64)
    kd_tree.label_boxes(mine, borders, of_boxes)
    values, indices = np.empty((150, 4)), np.empty((150, 4), dtype=np.int64)
    kd_tree.nearest_in_tree(*tree, mine, of_boxes, P, labels, p, values, indices)
    E = np.abs(P[:, None] - P[None])
    D = E.max(axis=2) if p == np.inf else (E**p).sum(axis=2)
    D[labels[:, None] == labels[None, :]] = np.inf
    np.testing.assert_array_equal(indices, np.argsort(D, axis=1, kind="stable")[:, :4])
    np.testing.assert_array_equal(values, np.sort(D, axis=1)[:, :4])


def test_boxes_of_one_label_are_marked(P):
    tree = built(P, 2)
    labels, of_boxes = (P[tree[1], 0] > 100).astype(np.int64), np.empty(7, dtype=np.int64)
    kd_tree.label_boxes(labels, tree[2], of_boxes)
    assert of_boxes.tolist() == [0] * 7
    labels[-1] = 5
    kd_tree.label_boxes(labels, tree[2], of_boxes)
    assert of_boxes[[0, 2, 6]].tolist() == [kd_tree.MIXED] * 3


def test_the_shortest_edge_of_each_label(P, rng):
    tree = built(P, 3)
    order, borders = tree[1], tree[2]
    labels = rng.integers(0, 5, 150)
    mine, of_boxes = labels[order], np.empty(len(borders), dtype=np.int64)
    kd_tree.label_boxes(mine, borders, of_boxes)
    places = np.argsort(mine, kind="stable")
    values, indices = np.empty(150), np.empty(150, dtype=np.int64)
    kd_tree.shortest_to_other_labels(*tree, mine, of_boxes, places, 2.0, values, indices)
    D = squares(P)
    D[labels[:, None] == labels[None, :]] = np.inf
    for label in range(5):
        own = mine[places] == label
        assert values[own].min() == D[labels == label].min()
        best = np.flatnonzero(own)[values[own].argmin()]
        assert D[order[places[best]], indices[best]] == values[best]


def test_points_within_a_radius_are_counted_and_then_written(P):
    T, order, borders, lows, highs, _ = built(P, 3)
    counts = np.empty(150, dtype=np.int64)
    nothing, no_one = np.empty(0), np.empty(0, dtype=np.int32)
    everyone = np.arange(150)
    kd_tree.within_in_tree(T, order, borders, lows, highs, P, everyone, 2.0, 2.0, counts, nothing, no_one)
    D = squares(P)
    inside = (D <= 2) & ~np.eye(150, dtype=bool)
    np.testing.assert_array_equal(counts, inside.sum(axis=1))
    start = np.concatenate([[0], np.cumsum(counts)])
    values, to = np.empty(start[-1]), np.empty(start[-1], dtype=np.int32)
    kd_tree.within_in_tree(T, order, borders, lows, highs, P, everyone, 2.0, 2.0, start[:-1].copy(), values, to)
    for i in range(150):
        found = np.flatnonzero(inside[i])
        assert to[start[i] : start[i + 1]].tolist() == found[np.lexsort((found, D[i, found]))].tolist()
