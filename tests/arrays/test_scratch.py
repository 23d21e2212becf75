"""Rows shifted in work memory that a thread reuses."""

import threading

import numpy as np
import pytest

from lowland.arrays.scratch import less_rows_of, shifted_with_sums, use_scratch

X = np.arange(2400.0).reshape(600, 4)  # more than one block of rows


def test_shifted_rows_and_their_sums():
    shift = np.array([1.0, 2.0, 3.0, 4.0])
    for rows in (X, np.asfortranarray(X)):
        Y, sums = shifted_with_sums(rows, shift)
        np.testing.assert_array_equal(Y, X - shift)
        np.testing.assert_allclose(sums, (X - shift).sum(axis=0))
    torch = pytest.importorskip("torch")
    Y, sums = shifted_with_sums(torch.asarray(X), torch.asarray(shift))
    np.testing.assert_array_equal(Y.numpy(), X - shift)


def test_differences_of_paired_rows():
    M, places = np.array([[1.0, 1, 1, 1], [2.0, 2, 2, 2]]), np.arange(600) % 2
    for rows in (X, np.asfortranarray(X)):
        np.testing.assert_array_equal(less_rows_of(rows, M, places), X - M[places])


def test_a_thread_of_a_run_reuses_its_memory():
    found = []

    def work():
        use_scratch()
        first = shifted_with_sums(X, np.zeros(4))[0]
        second = shifted_with_sums(X[:100], np.ones(4))[0]
        found.append(np.shares_memory(first, second))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]
    kept = shifted_with_sums(X, np.zeros(4))[0]  # elsewhere the memory is the caller's
    shifted_with_sums(X, np.ones(4))
    np.testing.assert_array_equal(kept, X)
