"""Random numbers, generated on the host so that a seed gives the same numbers on every device."""

import numbers
from typing import Any

import numpy as np

from lowland.arrays.namespace import Array, device_of, xp_of


def generator(random_state: Any) -> np.random.Generator:
    """Return a numpy Generator for None, an integer, a RandomState or a Generator.

    None draws a seed from numpy's global generator, so that ``np.random.seed`` governs it, as in scikit-learn.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if isinstance(random_state, numbers.Integral):
        return np.random.default_rng(int(random_state))
    if random_state is None or random_state is np.random:
        return np.random.default_rng(drawn_seed())
    raise TypeError(f"random_state={random_state!r}: pass an integer, a numpy Generator or RandomState, or None.")


def drawn_seed() -> int:
    """Draw a seed from numpy's global generator."""
    return int(np.random.randint(0, 2**31 - 1))


def spawned_seeds(rng: np.random.Generator, count: int) -> list[Any]:
    """Return seeds of independent generators: for tasks that may be executed a second time."""
    return [child.bit_generator.seed_seq for child in rng.spawn(count)]


def standard_normal(shape: tuple[int, ...], rng: np.random.Generator, like: Array) -> Array:
    """Return standard normal numbers in the library, on the device and in the dtype of ``like``."""
    xp = xp_of(like)
    return xp.asarray(rng.standard_normal(shape), dtype=like.dtype, device=device_of(like))
