"""Fourier transforms of several lines, the convolution on a plane, and the descent that threads execute together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowland.kernels import grid
from lowland.kernels.compile import kernel
from lowland.kernels.team import BLOCK, count_team_blocks, execute, meet, take
from lowland.math.embeddings.descent import RowBlocks, row_blocks
from lowland.math.embeddings.repulsion import GridRepulsion, TreeRepulsion
from lowland.run.run import Run
from lowland.run.settings import Settings

LENGTHS = sorted({grid.fast_length(count) for count in range(2, 1200)})


def transformed(X):
    """The transforms of the columns of X (n, LANES), complex."""
    n = len(X)
    parts = [np.ascontiguousarray(part, dtype=np.float32).ravel() for part in (X.real, X.imag, 0 * X.real, 0 * X.real)]
    angles = -2 * np.pi * np.arange(n) / n
    moved = grid.transform(*parts, n, np.array([np.cos(angles), np.sin(angles)], np.float32))
    real, imaginary = parts[2:] if moved else parts[:2]
    return (real + 1j * imaginary).reshape(n, -1)


@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_are_those_of_numpy(n):
    X = np.random.default_rng(n).normal(size=(n, grid.LANES, 2)) @ [1, 1j]
    expected = np.fft.fft(X, axis=0)
    assert np.abs(transformed(X) - expected).max() < 1e-6 * np.abs(expected).max()


@given(st.integers(2, 2**42))
def test_fast_lengths_are_products_of_two_three_and_five(count):
    length = grid.fast_length(count)
    assert count <= length <= max(count + 2, 4 / 3 * count)
    for prime in (2, 3, 5):
        while length % prime == 0:
            length //= prime
    assert length == 1


def spread_out(n, seed=0):
    rng = np.random.default_rng(seed)
    centers = rng.uniform(-40, 40, (12, 2))
    return (centers[rng.integers(0, 12, n)] + rng.normal(0, 6, (n, 2))).astype(np.float32)


@pytest.mark.parametrize("shape", [(1.0, 1.0), (0.05, 1.0), (1.0, 0.05)])
@pytest.mark.parametrize("dof", [1.0, 0.5])
def test_forces_on_a_plane_are_those_of_the_transforms_of_scipy(shape, dof):
    """Rows in float64 take scipy's transforms."""
    Z = (spread_out(5000) * shape).astype(np.float32)
    G, H = np.empty_like(Z), np.empty(Z.shape)
    total = GridRepulsion(dof)(Z, G, RowBlocks(None, 1))
    assert total == pytest.approx(GridRepulsion(dof)(Z.astype(np.float64), H, RowBlocks(None, 1)), rel=1e-6)
    assert np.abs(G - H).max() < 2e-5 * np.abs(H).max()


@pytest.mark.parametrize("n", [700, 5000])
def test_bits_are_equal_on_any_number_of_threads(n):
    Z, found = spread_out(n), []
    for threads in (1, 2, 5):
        G = np.empty_like(Z)
        with row_blocks(Run(Settings(threads=threads, progress=False))) as blocks:
            found.append((GridRepulsion()(Z, G, blocks), G.tobytes()))
    assert found[0] == found[1] == found[2]


def test_points_far_apart_are_left_to_a_tree():
    Z = (1e4 * spread_out(300)).astype(np.float32)
    forces = [np.empty_like(Z), np.empty_like(Z)]
    totals = [
        each(Z, G, RowBlocks(None, 1)) for each, G in zip((GridRepulsion(), TreeRepulsion()), forces, strict=True)
    ]
    assert totals[0] == totals[1]
    np.testing.assert_array_equal(*forces)


# --- teams ------------------------------------------------------------------------------------------------------------


@kernel
def add_up(team, threads, x, steps):
    """Add to each number its left neighbor, in every step: the steps must not mix."""
    for step in range(steps):
        block = take(team)
        while block * 256 < x.shape[1]:
            for i in range(block * 256, min(x.shape[1], (block + 1) * 256)):
                x[(step + 1) % 2, i] = x[step % 2, i] + x[step % 2, i - 1]
            block = take(team)
        meet(team, threads)


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_no_thread_begins_a_step_before_all_have_ended_the_last_one(threads):
    x, expected = np.zeros((2, 5 * BLOCK + 3), np.int64), np.zeros(5 * BLOCK + 3, np.int64)
    x[0, 0] = expected[0] = 1
    for _ in range(50):
        expected = expected + np.roll(expected, 1)
    with row_blocks(Run(Settings(threads=threads, progress=False))) as blocks:
        blocks.together(x.shape[1], lambda team, threads, _: add_up(team, threads, x, 50))
    np.testing.assert_array_equal(x[0], expected)


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_the_others_leave_when_one_thread_fails(failing):
    x = np.zeros((2, 5 * BLOCK), np.int64)

    def work(team, threads, number):
        if number == failing:
            raise ZeroDivisionError
        add_up(team, threads, x, 50)

    with row_blocks(Run(Settings(threads=3, progress=False))) as blocks, pytest.raises(ZeroDivisionError):
        blocks.together(x.shape[1], work)


def test_one_thread_needs_no_others():
    x = np.ones((2, 10), np.int64)
    execute(None, 4, 10, lambda team, threads, _: add_up(team, threads, x, 2))
    assert x[0].tolist() == [4] * 10
    assert count_team_blocks(10) == 1
