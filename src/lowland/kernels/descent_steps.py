"""Steps of the optimizer of neighbor embeddings, for a range of rows: gradient descent with momentum, and Adam.

Each returns the sum of the squared gradient and the largest squared step of its rows.
"""

import numpy as np

from lowland.kernels.compile import inner_loop, kernel
from lowland.kernels.team import BLOCK, meet, take


@kernel
def momentum_rows(Z, G, V, gains, a, b, rate, momentum, least_gain, longest):
    """Update rows a to b of Z in place, with velocities V and gains (n, k).

    The gain of a coordinate grows by 0.2 where the gradient and the velocity disagree in sign, so that the motion
    goes on in the same direction, and shrinks by a fifth otherwise (Jacobs 1988). A step is at most ``longest``.
    """
    k = Z.shape[1]
    squares, farthest = 0.0, 0.0
    for i in range(a, b):
        length = 0.0
        for c in range(k):
            g, v = np.float64(G[i, c]), np.float64(V[i, c])
            squares += g * g
            gain = np.float64(gains[i, c])
            gain = gain + 0.2 if (g > 0.0) != (v > 0.0) else gain * 0.8
            gain = max(gain, least_gain)
            gains[i, c] = gain
            v = momentum * v - rate * gain * g
            V[i, c] = v
            length += v * v
        shorter = longest / np.sqrt(length) if length > longest * longest else 1.0
        farthest = max(farthest, length * shorter * shorter)
        for c in range(k):
            v = np.float64(V[i, c]) * shorter
            V[i, c] = v
            Z[i, c] += v
    return squares, farthest


@kernel
def adam_rows(Z, G, M, S, a, b, rate, beta1, beta2, first, second, eps):
    """Update rows a to b of Z in place by Adam, with moments M and S (n, k).

    ``first`` and ``second`` are 1 - beta**t of the two moments, which began at zero.
    """
    k = Z.shape[1]
    squares, farthest = 0.0, 0.0
    for i in range(a, b):
        length = 0.0
        for c in range(k):
            g = np.float64(G[i, c])
            squares += g * g
            m = beta1 * np.float64(M[i, c]) + (1.0 - beta1) * g
            s = beta2 * np.float64(S[i, c]) + (1.0 - beta2) * g * g
            M[i, c] = m
            S[i, c] = s
            step = rate * (m / first) / (np.sqrt(s / second) + eps)
            length += step * step
            Z[i, c] -= step
        farthest = max(farthest, length)
    return squares, farthest


@inner_loop
def adam_together(team, threads, me, Z, G, M, S, how, parts, sums):
    """Update all rows of Z by Adam; ``how``: rate, beta1, beta2, first, second, eps. Write both numbers to ``sums``."""
    n, blocks = Z.shape[0], parts.shape[0]
    block = take(team)
    while block < blocks:
        a, b = block * BLOCK, min(n, (block + 1) * BLOCK)
        parts[block, 0], parts[block, 1] = adam_rows(Z, G, M, S, a, b, how[0], how[1], how[2], how[3], how[4], how[5])
        block = take(team)
    meet(team, threads)
    if me == 0:
        add_parts(parts, sums)


@inner_loop
def add_parts(parts, sums):
    """Write the sum and the largest value of the parts of the blocks, in their order."""
    sums[0], sums[1] = 0.0, 0.0
    for block in range(parts.shape[0]):
        sums[0] += parts[block, 0]
        sums[1] = max(sums[1], parts[block, 1])
