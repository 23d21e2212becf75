"""Products of a large matrix with a few columns, summed in double precision."""

import numpy as np

from lowland.kernels.compile import vector_kernel

_STRETCH = 2048  # columns at a time: those of V stay in the cache


@vector_kernel
def add_product(A, V, squared, shift, P):
    """Add AV to P, (m, k), or A∘(A + shift) V if ``squared``; V is (k, n), transposed.

    Four rows and three columns at a time need each entry of A and V a few times only, and fill the registers.
    """
    m, n, k = A.shape[0], A.shape[1], V.shape[0]
    for first in range(0, n, _STRETCH):
        last = min(first + _STRETCH, n)
        for i in range(0, m, 4):
            a0, a1 = A[i, first:last], A[min(i + 1, m - 1), first:last]
            a2, a3 = A[min(i + 2, m - 1), first:last], A[min(i + 3, m - 1), first:last]
            for c in range(0, k, 3):
                v0, v1, v2 = V[c, first:last], V[min(c + 1, k - 1), first:last], V[min(c + 2, k - 1), first:last]
                s00 = s01 = s02 = s10 = s11 = s12 = s20 = s21 = s22 = s30 = s31 = s32 = 0.0
                for j in range(last - first):
                    x0, x1, x2, x3 = np.float64(a0[j]), np.float64(a1[j]), np.float64(a2[j]), np.float64(a3[j])
                    if squared:
                        x0, x1, x2, x3 = x0 * (x0 + shift), x1 * (x1 + shift), x2 * (x2 + shift), x3 * (x3 + shift)
                    s00, s01, s02 = s00 + x0 * v0[j], s01 + x0 * v1[j], s02 + x0 * v2[j]
                    s10, s11, s12 = s10 + x1 * v0[j], s11 + x1 * v1[j], s12 + x1 * v2[j]
                    s20, s21, s22 = s20 + x2 * v0[j], s21 + x2 * v1[j], s22 + x2 * v2[j]
                    s30, s31, s32 = s30 + x3 * v0[j], s31 + x3 * v1[j], s32 + x3 * v2[j]
                sums = (s00, s01, s02), (s10, s11, s12), (s20, s21, s22), (s30, s31, s32)
                for a in range(min(4, m - i)):
                    for b in range(min(3, k - c)):
                        P[i + a, c + b] += sums[a][b]
