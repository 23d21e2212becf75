"""Isotonic (monotone) regression by the pool-adjacent-violators algorithm, in place."""

import numpy as np

from lowland.kernels.compile import kernel


@kernel
def pool_adjacent_violators(y, w, starts):
    """Replace y by the nondecreasing values that fit it best by least squares with weights w (empty: ones).

    Blocks are kept as a stack at the front of y and w, which are overwritten; ``starts``, as long as y, is workspace.
    """
    n = y.size
    top = -1
    for i in range(n):
        top += 1
        starts[top], y[top] = i, y[i]
        if w.size:
            w[top] = w[i]
        end = i + 1
        while top > 0 and y[top - 1] >= y[top]:
            if w.size:
                a, b = w[top - 1], w[top]
                w[top - 1] = a + b
            else:
                a, b = np.float64(starts[top] - starts[top - 1]), np.float64(end - starts[top])
            # computed from the difference, the mean stays between the two values
            y[top - 1] += (y[top] - y[top - 1]) * (b / (a + b) if a + b > 0.0 else 0.5)
            top -= 1
    end = n
    for block in range(top, -1, -1):
        value = y[block]
        for i in range(starts[block], end):
            y[i] = value
        end = starts[block]


@kernel
def order_ties(order, borders, values):
    """Sort every group order[borders[g] : borders[g + 1]] by the values it points to, ties by position."""
    for g in range(borders.size - 1):
        if borders[g + 1] - borders[g] > 1:
            part = np.sort(order[borders[g] : borders[g + 1]])
            order[borders[g] : borders[g + 1]] = part[np.argsort(values[part], kind="mergesort")]
