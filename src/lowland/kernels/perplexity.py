"""Gaussian affinities of given perplexity, one row at a time."""

import numpy as np

from lowland.kernels.compile import vector_kernel


@vector_kernel
def calibrate(start, length, log_perplexity, tolerance, first, last, P):
    """Add to P the Gaussian weights exp(-b d²), normalized in each row, whose entropy is ``log_perplexity``.

    ``start`` and ``length`` hold the distances of a neighbor graph; the rows are first ... last - 1. The entropy
    decreases in log b: Newton's method, with bisection where a step leaves the bracket. Where no b attains the entropy
    (too few neighbors, or too many at the same shortest distance), the weights are those of the nearest entropy.
    """
    most = 0
    for i in range(first, last):
        most = max(most, start[i + 1] - start[i])
    d, w = np.empty(most), np.empty(most)
    for i in range(first, last):
        a, k = start[i], start[i + 1] - start[i]
        if k == 0:
            continue
        shortest, mean = np.inf, 0.0
        for j in range(k):
            shortest = min(shortest, length[a + j])
        longest = 0.0
        for j in range(k):
            longest = max(longest, length[a + j] - shortest)
        unit = 1.0 / longest if longest > 0.0 else 0.0
        for j in range(k):  # d² minus the shortest one, in units that cannot overflow
            e = (length[a + j] - shortest) * unit
            d[j] = e * (e + 2.0 * shortest * unit)
            mean += d[j] / k
        for j in range(k):
            w[j] = 1.0 / k
        if mean > 0.0 and np.log(k) > log_perplexity:
            log_b, low, high = -np.log(mean), -np.inf, np.inf
            for _ in range(100):
                b = np.exp(log_b)
                total, first_moment, second_moment = 0.0, 0.0, 0.0
                for j in range(k):
                    w[j] = np.exp(-b * d[j])
                for j in range(k):
                    total += w[j]
                    first_moment += w[j] * d[j]
                    second_moment += w[j] * d[j] * d[j]
                first_moment /= total
                excess = np.log(total) + b * first_moment - log_perplexity
                if abs(excess) < tolerance:
                    break
                if excess > 0.0:
                    low = log_b
                else:
                    high = log_b
                slope = b * b * (second_moment / total - first_moment * first_moment)  # minus the derivative by log b
                step = excess / slope if slope > 0.0 else np.inf
                if low < log_b + step < high and abs(step) < 4.0:
                    log_b += step
                elif low == -np.inf:
                    log_b -= 2.0
                elif high == np.inf:
                    log_b += 2.0
                else:
                    log_b = 0.5 * (low + high)
                if log_b > 80.0:  # the shortest distance occurs too often
                    break
        total = 0.0
        for j in range(k):
            total += w[j]
        for j in range(k):
            P[a + j] += w[j] / total
