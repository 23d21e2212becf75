"""Loops of feature selection: pairs of values of sorted columns."""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def concordant_products(x, y):
    """Return the sum of (x_i - x_j)(y_i - y_j) over pairs j < i with y_j <= y_i, in n log n operations.

    A merge sort by y: when a row of the right run is merged, all rows of the left run below it have been merged, and
    their running sums give its contribution. Both arrays are overwritten.
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
def count_nearer(v, centers, radii):
    """Return how many values of v, which is sorted, are nearer to each center than its radius."""
    counts = np.empty(centers.size, dtype=np.int64)
    for i in range(centers.size):
        center, radius = centers[i], radii[i]
        low, high = 0, v.size
        while low < high:
            middle = (low + high) // 2
            if center - v[middle] < radius:
                high = middle
            else:
                low = middle + 1
        first, high = low, v.size
        while low < high:
            middle = (low + high) // 2
            if v[middle] - center < radius:
                low = middle + 1
            else:
                high = middle
        counts[i] = low - first
    return counts
