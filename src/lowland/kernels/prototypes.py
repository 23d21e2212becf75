"""Nearest prototypes and sums over their rows; online training of self-organizing maps, row by row."""

import numpy as np

from lowland.kernels.compile import vector_kernel


@vector_kernel
def two_smallest(D, first, second, least, following):
    """Write the positions of the two smallest entries in each column of D, (k, m), and these entries.

    ``first`` and ``second`` are zeros, int32, ``least`` is D[0], and ``following`` infinite. Of equal entries the first
    counts. The inner loop runs over the columns and has no branches, so it is vectorized.
    """
    k, m = D.shape
    for a in range(1, k):
        values = D[a]
        for i in range(m):
            value, before, place = values[i], least[i], first[i]
            better = value < before
            other = before if better else value
            closer = other <= following[i] if better else other < following[i]
            second[i] = (place if better else a) if closer else second[i]
            following[i] = other if closer else following[i]
            first[i] = a if better else place
            least[i] = value if better else before


@vector_kernel
def move_bounds(labels, upper, lower, moved, moved_others, half):
    """Move the bounds of the rows' distances with their prototypes; return the rows that they no longer decide.

    ``upper`` bounds the distance to the prototype of a row, and ``lower`` those to all others; ``half`` (k,) is half
    the distance of each prototype to the nearest other one.
    """
    undecided, n = np.empty(labels.size, np.int64), 0
    for i in range(labels.size):
        a = labels[i]
        upper[i] += moved[a]
        lower[i] -= moved_others[a]
        undecided[n] = i
        n += not upper[i] < max(lower[i], half[a]) * (1 - 1e-8) - 1e-14  # a smaller difference counts as a tie
    return undecided[:n]


@vector_kernel
def assign_rows(D, which, lengths, largest, rounding, labels, upper, lower):
    """Store label and bounds of the rows ``which``, (m,); return the positions of those that are not sure.

    D (k, m) is |y - w|² - |y|² in float32, ``lengths`` (n,) is |y|², and ``largest`` the largest |w|².
    """
    m = which.size
    first, second, least, following = np.zeros(m, np.int32), np.zeros(m, np.int32), D[0].copy(), np.empty(m, D.dtype)
    following[:] = np.inf
    two_smallest(D, first, second, least, following)
    unsure, n = np.empty(which.size, np.int64), 0
    for i in range(which.size):
        row, near, far = which[i], np.float64(least[i]), np.float64(following[i])
        margin = (lengths[row] + largest) * rounding
        labels[row] = first[i]
        upper[row] = np.sqrt(max(near + lengths[row] + margin, 0.0))
        lower[row] = np.sqrt(max(far + lengths[row] - margin, 0.0))
        unsure[n] = i
        n += not far - near > margin
    return unsure[:n]


@vector_kernel
def add_by_label(Y, labels, weights, W, sums, counts):
    """Add each row, times its weight, to the sum of its label; return the weighted sums of |y - w|² and |y - w|."""
    squares, distances = 0.0, 0.0
    for i in range(Y.shape[0]):
        y, w, s, weight = Y[i], W[labels[i]], sums[labels[i]], weights[i]
        square = 0.0
        for j in range(y.size):
            square += (y[j] - w[j]) * (y[j] - w[j])
            s[j] += weight * y[j]
        counts[labels[i]] += weight
        squares += weight * square
        distances += weight * np.sqrt(square)
    return squares, distances


@vector_kernel
def learn_rows(X, order, shift, unit, W, column, row, height, radii, rates, bubble):
    """Update the prototypes for one row after the other; return the sum of the distances to the best-matching units.

    W (d, u) holds the prototypes, and computations are in its precision; the inner loops run over the units. ``column``
    (in halves) and ``row`` are the grid positions of the units, which are numbered row by row; ``height`` is the
    distance between two rows of the grid. Row ``order[t]`` is learned with radius ``radii[t]`` and rate ``rates[t]``.
    """
    d, u = W.shape
    y, distances, h = np.empty(d, W.dtype), np.empty(u, W.dtype), np.empty(u, W.dtype)
    across, down = np.empty(column.max() + 1), np.empty(row[-1] + 1)
    wide = u // (row[-1] + 1)
    error = 0.0
    for t in range(order.size):
        x = X[order[t]]
        distances[:] = 0
        for j in range(d):
            y[j] = (np.float64(x[j]) - shift[j]) / unit
            w, yj = W[j], y[j]
            for a in range(u):
                distances[a] += (yj - w[a]) * (yj - w[a])
        best, least = 0, distances[0]
        for a in range(1, u):
            if distances[a] < least:
                best, least = a, distances[a]
        error += np.sqrt(np.float64(least))
        radius, rate = radii[t], rates[t]
        reach = np.int64(
            np.floor((radius if bubble else 6.0 * radius) / height + 1e-9)
        )  # rows of the grid that are updated
        begin = max(0, row[best] - reach) * wide
        end = min(row[-1], row[best] + reach) * wide + wide
        for k in range(across.size):
            across[k] = k * k / 4.0 if bubble else rate * np.exp(k * k / (-8.0 * radius * radius))
        for k in range(down.size):
            far = k * k * height * height
            down[k] = far if bubble else np.exp(far / (-2.0 * radius * radius))
        near, columns, rows = h[begin:end], column[begin:end], row[begin:end]
        for a in range(near.size):
            p, q = across[abs(columns[a] - column[best])], down[abs(rows[a] - row[best])]
            if bubble:
                near[a] = rate if p + q <= radius * radius * (1.0 + 1e-9) else 0.0
            else:
                near[a] = p * q if p * q > 1e-9 else 0.0  # less has no effect, and denormal numbers are slow
        for j in range(d):
            w, yj = W[j, begin:end], y[j]
            for a in range(near.size):
                w[a] += near[a] * (yj - w[a])
    return error
