"""Online training of self-organizing maps, row by row."""

import numpy as np

from lowland.kernels.compile import vector_kernel


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
