"""Self-organizing maps: sums over the rows that units have won, and training row by row."""

import numpy as np

from lowland.kernels.compile import vector_kernel


@vector_kernel
def add_rows(Y, W, first, second, places, reach, sums, counts):
    """Add each row of Y, (m, d), to the sums and counts of its first unit.

    Return the sum of the distances to it, and how many rows have a second that lies beyond reach on the grid.
    """
    error, astray = 0.0, 0
    for i in range(Y.shape[0]):
        y, a, b = Y[i], first[i], second[i]
        w, s = W[a], sums[a]
        square = 0.0
        for j in range(y.size):
            s[j] += y[j]
            square += (y[j] - w[j]) * (y[j] - w[j])
        counts[a] += 1.0
        error += np.sqrt(square)
        far = (places[a, 0] - places[b, 0]) ** 2 + (places[a, 1] - places[b, 1]) ** 2
        if far > reach * reach:
            astray += 1
    return error, astray


@vector_kernel
def learn_rows(X, order, shift, unit, W, places, radii, rates, bubble, y, distances):
    """Move the units W, (u, d), towards one row after the other; return the sum of the distances found on the way.

    Row ``order[t]`` is learnt with radius ``radii[t]`` and rate ``rates[t]``. ``y`` (d,) and ``distances`` (u,) are work
    space.
    """
    u, d = W.shape
    error = 0.0
    for t in range(order.size):
        x = X[order[t]]
        for j in range(d):
            y[j] = (np.float64(x[j]) - shift[j]) / unit
        for a in range(u):
            w, square = W[a], 0.0
            for j in range(d):
                square += (y[j] - w[j]) * (y[j] - w[j])
            distances[a] = square
        best = np.argmin(distances)
        error += np.sqrt(distances[best])
        radius, rate = radii[t], rates[t]
        for a in range(u):
            far = (places[a, 0] - places[best, 0]) ** 2 + (places[a, 1] - places[best, 1]) ** 2
            if bubble:
                h = rate if far <= radius * radius * (1.0 + 1e-9) else 0.0
            else:
                h = rate * np.exp(far / (-2.0 * radius * radius))
            if h > 1e-12:  # less is lost in the rounding of what is moved
                w = W[a]
                for j in range(d):
                    w[j] += h * (y[j] - w[j])
    return error
