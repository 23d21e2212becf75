"""Slices that cover all rows once."""

import pytest

from lowland.arrays.slices import slices


@pytest.mark.parametrize(("n", "step"), [(0, 3), (1, 3), (6, 3), (7, 3), (5, 100)])
def test_slices_cover_every_row_once_in_order(n, step):
    rows = list(range(n))
    found = slices(n, step)
    assert [i for part in found for i in rows[part]] == rows
    assert all(part.stop - part.start == step for part in found[:-1])
