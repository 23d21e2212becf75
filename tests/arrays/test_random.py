"""A seed gives the same numbers in every library."""

import numpy as np
import pytest

from lowland.arrays.random import generator, standard_normal


def test_every_type_of_seed_is_accepted():
    assert generator(3).integers(10**9) == generator(np.int64(3)).integers(10**9)
    mine = np.random.default_rng(0)
    assert generator(mine) is mine
    old = [generator(np.random.RandomState(5)).integers(10**9) for _ in range(2)]
    assert old[0] == old[1]
    assert isinstance(generator(None), np.random.Generator)
    assert isinstance(generator(np.random), np.random.Generator)
    with pytest.raises(TypeError, match="random_state='a'"):
        generator("a")


def test_normal_numbers_are_the_same_in_every_library():
    torch = pytest.importorskip("torch")
    host = standard_normal((3, 2), generator(0), np.zeros(1, dtype=np.float32))
    there = standard_normal((3, 2), generator(0), torch.zeros(1))
    assert host.dtype == np.float32
    np.testing.assert_array_equal(host, there.numpy())
