"""Coordinate descent on a quadratic with an absolute-value penalty."""

from lowland.kernels.compile import kernel


@kernel
def descend(G, q, g, beta, alpha, slack, power, wanted, sweeps):
    """Minimise β'Gβ/2 - q'β + α|β|₁ by turns over the coordinates; return the sweeps made and the duality gap.

    G is (k, k), ``g`` the gradient q - Gβ; ``beta`` and ``g`` are kept up to date in place. A coordinate at zero leaves
    it only where |g| is above α by more than ``slack``: of two equal columns the first takes all. ``power`` is y'y of
    the least squares behind the quadratic. It stops where the gap is at most ``wanted``.
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
        scale = 1.0 if largest <= alpha else alpha / largest  # makes the residual feasible for the dual
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
