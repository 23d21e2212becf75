import numpy as np
import pytest

from lowland.math.embeddings.row_blocks import ROWS, bounds, count_blocks, together
from lowland.run.local import LocalRun
from lowland.run.settings import Settings


@pytest.mark.parametrize("n", [1, ROWS - 1, ROWS, ROWS + 1, 10 * ROWS + 7])
def test_blocks_cover_all_rows_once(n):
    rows = [i for block in range(count_blocks(n)) for i in range(*bounds(block, n))]
    assert rows == list(range(n))


@pytest.mark.parametrize("threads", [1, 2, 16])
def test_sums_do_not_depend_on_the_number_of_threads(threads):
    x = np.random.default_rng(0).standard_normal(20 * ROWS + 3)
    expected = sum(x[slice(*bounds(block, len(x)))].sum() for block in range(count_blocks(len(x))))
    with together(LocalRun(Settings(threads=threads))) as blocks:
        assert blocks.sum(len(x), lambda a, b: x[a:b].sum()) == pytest.approx(expected, rel=1e-12)
        once = {blocks.sum(len(x), lambda a, b: x[a:b].sum()) for _ in range(20)}
    with together(LocalRun(Settings(threads=1))) as alone:
        assert once == {alone.sum(len(x), lambda a, b: x[a:b].sum())}


def test_every_block_is_worked_on_once():
    seen = np.zeros(7 * ROWS, dtype=int)

    def work(a, b):
        seen[a:b] += 1

    with together(LocalRun(Settings(threads=3))) as blocks:
        blocks.rows(len(seen), work)
    assert (seen == 1).all()


def test_an_error_in_a_block_reaches_the_caller():
    def fail(a, b):
        if a:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), together(LocalRun(Settings(threads=2))) as blocks:
        blocks.rows(9 * ROWS, fail)
