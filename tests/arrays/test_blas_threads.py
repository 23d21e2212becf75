"""The number of BLAS threads: held to one for small problems and within runs, and restored."""

import threading

import numpy as np
import pytest
import threadpoolctl

from lowland.arrays import linalg
from lowland.arrays.blas_threads import blas_on_all_threads, blas_on_one_thread, blas_threads_for


def threads() -> list[int]:
    import scipy.linalg  # noqa: F401  its BLAS is listed too

    return [
        each["num_threads"]
        for each in threadpoolctl.threadpool_info()
        if each["user_api"] == "blas" and "faiss" not in each["filepath"]
    ]


@pytest.fixture
def several_threads():
    """BLAS with three threads, as on a machine with three cores."""
    import scipy.linalg  # noqa: F401

    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        yield
    blas = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if blas is not None:
        blas(force=True)


@pytest.fixture
def released(several_threads):
    """Any thread may set the number again."""
    blas = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if blas is not None:
        blas(force=True)


def test_one_thread_inside_and_the_former_number_after(released):
    assert set(threads()) == {3}
    with blas_on_one_thread():
        assert set(threads()) == {1}
        with blas_on_one_thread():
            assert set(threads()) == {1}
        assert set(threads()) == {1}
        with blas_on_all_threads():
            assert set(threads()) == {3}
        assert set(threads()) == {1}
    assert set(threads()) == {3}


def test_the_number_is_restored_after_an_error_and_from_another_thread(released):
    with pytest.raises(ZeroDivisionError), blas_on_one_thread():
        raise ZeroDivisionError
    assert set(threads()) == {3}

    def work():
        with blas_on_one_thread():
            seen.append(set(threads()))

    seen: list[set[int]] = []
    other = threading.Thread(target=work)
    other.start()
    other.join()
    assert seen == [{1}]
    assert set(threads()) == {3}


@pytest.mark.parametrize(("work", "expected"), [(1e3, 3), (1e4, 1), (1e6, 1), (1e10, 3)])
def test_only_small_problems_that_blas_would_split_are_held(released, work, expected):
    with blas_threads_for(work):
        assert set(threads()) == {expected}


@pytest.mark.parametrize("size", [100, 800])
@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "svd"])
def test_factorizations_of_moderate_size_use_one_thread(released, monkeypatch, name, size):
    """LAPACK makes a threaded call for every few columns, each of which may wait beside a busy process."""
    seen: list[set[int]] = []
    original = getattr(np.linalg, name)

    def spy(A, **options):
        seen.append(set(threads()))
        return original(A[:2, :2], **options)

    monkeypatch.setattr(np.linalg, name, spy)
    getattr(linalg, name)(np.eye(size))
    assert seen == [{1}]


@pytest.mark.parametrize(("shape", "expected"), [((200, 60), 1), ((20_000, 100), 3)])
def test_a_fit_of_a_small_table_uses_one_thread(released, monkeypatch, shape, expected):
    import lowland

    seen: list[set[int]] = []
    monkeypatch.setattr(lowland.PCA, "_solve", lambda *_: seen.append(set(threads())))
    lowland.PCA().fit(np.zeros(shape))
    assert seen == [{expected}]
