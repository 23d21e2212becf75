"""Random numbers by a counter: a function of seed, iteration, row and slot, the same on any number of threads.

The generator is SplitMix64 (Steele, Lea and Flood 2014): the counter, times an odd constant, through a bijection of
64-bit integers that mixes all bits.
"""

import numpy as np

from lowland.kernels.compile import kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _32, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(11)
_FRACTION = 1.0 / 9007199254740992.0  # 2**-53


@kernel
def mixed(x):
    """Return 64 random bits of the counter x, uint64."""
    x = (x ^ (x >> _30)) * _FIRST
    x = (x ^ (x >> _27)) * _SECOND
    return x ^ (x >> _31)


@kernel
def key_of(seed, iteration, row):
    """Return the key of one row in one iteration, uint64; ``draw`` takes it with a slot."""
    x = mixed(np.uint64(seed) + _STEP * np.uint64(iteration + 1))
    return mixed(x + _STEP * np.uint64(row + 1))


@kernel
def draw(key, slot):
    """Return 64 random bits for a slot of a key, uint64."""
    return mixed(key + _STEP * np.uint64(slot + 1))


@kernel
def below(bits, n):
    """Return an integer from 0 to n - 1, n < 2**31, from 64 random bits."""
    return np.int64(((bits >> _32) * np.uint64(n)) >> _32)


@kernel
def fraction(bits):
    """Return a number in [0, 1) from 64 random bits."""
    return np.float64(bits >> _11) * _FRACTION
