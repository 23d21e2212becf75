"""Coordinate descent for the lasso: a quadratic with an L1 penalty."""

from lowland.kernels.compile import kernel


@kernel
def descend(G, q, g, beta, alpha, slack, power, wanted, sweeps):
    """Minimize β'Gβ/2 - q'β + α|β|₁ by coordinate descent; return the number of sweeps and the duality gap.

    G is (k, k), ``g`` the negative gradient q - Gβ; ``beta`` and ``g`` are updated in place. A coordinate leaves zero
    only if |g| exceeds α by more than ``slack``, so that of two equal columns the first gets the whole coefficient.
    ``power`` is y'y of the least-squares problem. The iteration stops when the gap is at most ``wanted``.
    """
    k = q.size
    gap = 0.0
    for sweep in range(sweeps + 1):
        largest, fitted, left, size = 0.0, 0.0, 0.0, 0.0
        for j in range(k):
            largest = max(largest, abs(g[j]))
            fitted += q[j] * beta[j]
            left += g[j] * beta[j]
            size += abs(beta[j])
        residual = power - fitted - left  # |y - Zβ|²
        scale = 1.0 if largest <= alpha + slack else alpha / largest  # makes the residual feasible for the dual
        gap = residual * (1.0 + scale * scale) / 2.0 + alpha * size - scale * (power - fitted)
        if gap <= wanted or sweep == sweeps:
            return sweep, gap
        for j in range(k):
            h, old = G[j, j], beta[j]
            if h <= 0.0 or (old == 0.0 and abs(g[j]) <= alpha + slack):
                continue
            goal = g[j] + h * old
            new = (goal - alpha) / h if goal > alpha else (goal + alpha) / h if goal < -alpha else 0.0
            if new != old:
                for i in range(k):
                    g[i] -= G[j, i] * (new - old)
                beta[j] = new
    return sweeps, gap
