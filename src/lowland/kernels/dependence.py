"""Loops over one or two columns in order: products over pairs, nearest values, and how many values are near."""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def concordant_products(x, y):
    """Return the sum of (x_i - x_j)(y_i - y_j) over pairs j < i with y_j <= y_i, in n log n steps.

    The rows are merged by y, ever longer runs of them. Where one of the right run is placed, all of the left run that
    lie below it are placed already, and their sums stand ready. Both arrays are work space afterwards.
    """
    n = x.size
    u, v = np.empty(n), np.empty(n)
    total = 0.0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            a, b = start, middle
            count, sum_x, sum_y, sum_xy = 0.0, 0.0, 0.0, 0.0
            for place in range(start, stop):
                if b >= stop or (a < middle and y[a] <= y[b]):
                    u[place], v[place] = x[a], y[a]
                    count += 1.0
                    sum_x += x[a]
                    sum_y += y[a]
                    sum_xy += x[a] * y[a]
                    a += 1
                else:
                    u[place], v[place] = x[b], y[b]
                    total += count * x[b] * y[b] - x[b] * sum_y - y[b] * sum_x + sum_xy
                    b += 1
        x, u = u, x
        y, v = v, y
        width *= 2
    return total


@kernel
def nearest_radii(v, starts, k):
    """Return for every value its distance to the k-th nearest other of its stretch v[starts[c] : starts[c + 1]].

    Each stretch is in order; in a short one the farthest counts.
    """
    radii = np.empty(v.size)
    for c in range(starts.size - 1):
        first, stop = starts[c], starts[c + 1]
        for i in range(first, stop):
            a, b, radius = i - 1, i + 1, 0.0
            for _ in range(min(k, stop - first - 1)):
                if b >= stop or (a >= first and v[i] - v[a] <= v[b] - v[i]):
                    radius = v[i] - v[a]
                    a -= 1
                else:
                    radius = v[b] - v[i]
                    b += 1
            radii[i] = radius
    return radii


@kernel
def count_nearer(v, centres, radii):
    """Return how many of v, which is in order, are nearer to each centre than its radius."""
    counts = np.empty(centres.size, dtype=np.int64)
    for i in range(centres.size):
        centre, radius = centres[i], radii[i]
        low, high = 0, v.size
        while low < high:
            middle = (low + high) // 2
            if centre - v[middle] < radius:
                high = middle
            else:
                low = middle + 1
        first, high = low, v.size
        while low < high:
            middle = (low + high) // 2
            if v[middle] - centre < radius:
                low = middle + 1
            else:
                high = middle
        counts[i] = low - first
    return counts
