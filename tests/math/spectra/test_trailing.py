"""The smallest eigenpairs of sparse matrices, by every solver."""

import itertools
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial import cKDTree

import lowland
from lowland.errors import DataError, MemoryBudgetError, ParameterError, Stopped
from lowland.math.spectra import trailing
from lowland.math.spectra.trailing import Costs, TrailingProblem, root_inverse, trailing_eigenpairs
from lowland.run.run import Run
from lowland.run.settings import settings as current_settings

RUN = Run()


def run_with(**changes):
    return Run(replace(current_settings(), **changes))


def smallest(A, k, run=RUN, seed=0, **options):
    return trailing_eigenpairs(A, k, run, rng=np.random.default_rng(seed), **options)


def swiss_roll(n, seed=0):
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1 + 2 * rng.random(n))
    return np.column_stack([t * np.cos(t), 21 * rng.random(n), t * np.sin(t)])


def neighbors(X, k):
    return cKDTree(X).query(X, k + 1)[1][:, 1:]


def lle_root(X, k=10, reg=1e-3):
    """I - W of locally linear embedding, (n, n)."""
    n, near = len(X), neighbors(X, k)
    C = X[near] - X[:, None]
    G = C @ C.transpose(0, 2, 1)
    G[:, range(k), range(k)] += reg * np.trace(G, axis1=1, axis2=2)[:, None]
    w = np.linalg.solve(G, np.ones((n, k, 1)))[..., 0]
    w /= w.sum(axis=1, keepdims=True)
    W = sparse.csr_array((w.ravel(), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return (sparse.eye_array(n) - W).tocsr()


def lle_matrix(X):
    E = lle_root(X)
    return (E.T @ E).tocsr()


def laplacian(X, k=10):
    """The normalized Laplacian of the nearest neighbors."""
    n, near = len(X), neighbors(X, k)
    W = sparse.csr_array((np.ones(n * k), near.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    return normalized(W + W.T)


def normalized(W):
    d = sparse.diags_array(1 / np.sqrt(W.sum(axis=1)))
    return (sparse.eye_array(W.shape[0]) - d @ W @ d).tocsr()


def path(n):
    """The Laplacian of a path, whose eigenvalues are 2 - 2cos(πj/n)."""
    A = sparse.diags_array([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], offsets=[-1, 0, 1]).tolil()
    A[0, 0] = A[n - 1, n - 1] = 1
    return A.tocsr()


def path_eigenvalues(n, k):
    return 2 - 2 * np.cos(np.pi * np.arange(k) / n)


def angle(U, V):
    return scipy.linalg.subspace_angles(U, V).max()


MATRICES = {"lle": lle_matrix, "laplacian": laplacian}


@pytest.fixture(scope="module")
def answers():
    """LAPACK's smallest four eigenpairs of each matrix."""
    X = swiss_roll(700)
    found = {}
    for name, of in MATRICES.items():
        A = of(X)
        found[name] = (A, *scipy.linalg.eigh(A.toarray(), subset_by_index=(0, 3)))
    return found


@pytest.mark.parametrize(
    ("name", "solver"),
    [*itertools.product(MATRICES, ["arpack", "filter"]), ("lle", "auto"), ("laplacian", "dense")],
)
def test_every_solver_finds_what_lapack_finds(name, solver, answers):
    A, values, V = answers[name]
    pairs = smallest(A, 3, skip=1, solver=solver, largest=2.0 if name == "laplacian" else None)
    # LAPACK errs by a rounding of the norm, and an angle by that over the gap
    rounding = 1e-14 * abs(A).sum(axis=1).max()
    np.testing.assert_allclose(pairs.values, values[1:], rtol=1e-7, atol=rounding)
    assert angle(pairs.vectors, V[:, 1:]) < 1e-6
    assert pairs.converged
    assert pairs.solver == {"auto": "arpack"}.get(solver, solver)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(3), atol=1e-10)
    reported = np.linalg.norm(A @ pairs.vectors - pairs.vectors * pairs.values, axis=0)
    np.testing.assert_allclose(pairs.residuals, reported, atol=2 * rounding)
    assert pairs.residuals.max() <= 1e-7 * pairs.values.max() + rounding


@pytest.mark.parametrize("solver", ["arpack", "filter", "dense"])
def test_a_disconnected_graph_has_one_null_vector_per_component(solver):
    parts = 4
    lengths = 150 + 17 * np.arange(parts)
    A = sparse.block_diag([path(n) for n in lengths], format="csr")
    pairs = smallest(A, parts + 1, solver=solver)
    expected = np.sort(np.concatenate([path_eigenvalues(n, 3) for n in lengths]))[: parts + 1]
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-6, atol=1e-13)
    indicators = np.repeat(np.eye(parts), lengths, axis=0)
    assert angle(pairs.vectors[:, :parts], indicators) < 1e-7
    fewer = smallest(A, 2, solver=solver)
    np.testing.assert_allclose(fewer.values, 0, atol=1e-13)
    assert np.abs(A @ fewer.vectors).max() < 1e-12


@pytest.mark.parametrize("solver", ["arpack", "filter", "dense"])
def test_skipping_one_of_several_null_vectors_omits_the_constant(solver):
    A = sparse.block_diag([path(300), path(400)], format="csr")
    pairs = smallest(A, 1, skip=1, solver=solver)
    assert abs(pairs.vectors.sum()) < 1e-9
    assert np.ptp(pairs.vectors[:300]) < 1e-9
    assert np.ptp(pairs.vectors[300:]) < 1e-9


@pytest.mark.parametrize("solver", ["arpack", "filter"])
def test_equal_eigenvalues_are_all_found(solver):
    """On a ring every eigenvalue but the first is double."""
    n = 600
    W = sparse.diags_array([np.ones(n - 1), np.ones(n - 1), [1.0], [1.0]], offsets=[1, -1, n - 1, 1 - n])
    pairs = smallest(normalized(W.tocsr()), 4, skip=1, solver=solver, largest=2.0)
    np.testing.assert_allclose(pairs.values, 1 - np.cos(2 * np.pi * np.array([1, 1, 2, 2]) / n), rtol=1e-6)


@pytest.mark.parametrize("solver", ["arpack", "filter"])
def test_the_seed_changes_only_rounding_errors(solver):
    A = laplacian(swiss_roll(800))
    first, again, other = (smallest(A, 3, skip=1, seed=s, solver=solver, largest=2.0) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.vectors, again.vectors)
    np.testing.assert_allclose(first.vectors, other.vectors, atol=1e-7)
    size = np.abs(first.vectors)
    assert (first.vectors[size.argmax(axis=0), range(3)] > 0).all()


def test_weakly_connected_clusters_widen_the_filtered_block(rng, monkeypatch):
    """Forty clusters joined by single edges: forty eigenvalues near zero, of which a narrow block holds only a few."""
    W = sparse.block_diag([sparse.csr_array(np.ones((30, 30)) - np.eye(30)) for _ in range(40)], format="lil")
    for i in range(39):
        W[30 * i, 30 * i + 31] = W[30 * i + 31, 30 * i] = 1.0
    L = normalized(sparse.csr_array(W))
    degrees, filtered = [], trailing._filtered
    monkeypatch.setattr(
        trailing, "_filtered", lambda A, X, degree, *rest: degrees.append(degree) or filtered(A, X, degree, *rest)
    )
    found = smallest(L, 2, skip=1, largest=2.0, solver="filter")
    assert found.converged
    np.testing.assert_allclose(found.values, scipy.linalg.eigvalsh(L.toarray())[1:3], rtol=1e-6)
    assert max(degrees) <= 100


def test_the_number_of_threads_does_not_change_the_result(rng):
    A = laplacian(rng.standard_normal((4000, 6)))
    one, three = (smallest(A, 2, run_with(threads=t), skip=1, solver="filter", largest=2.0) for t in (1, 3))
    np.testing.assert_array_equal(one.vectors, three.vectors)


@settings(max_examples=8, deadline=None)
@given(n=st.integers(60, 200), scale=st.floats(1e-6, 1e6), solver=st.sampled_from(["arpack", "filter"]))
def test_scaling_the_matrix_scales_the_values_alone(n, scale, solver):
    A = laplacian(np.random.default_rng(n).standard_normal((n, 2)), 6)
    plain = smallest(A, 2, skip=1, solver=solver)
    scaled = smallest(scale * A, 2, skip=1, solver=solver)
    expected = scipy.linalg.eigvalsh(A.toarray())[1:3]
    np.testing.assert_allclose(plain.values, expected, rtol=1e-6, atol=1e-13)
    np.testing.assert_allclose(scaled.values, scale * expected, rtol=1e-6, atol=1e-13 * scale)


@pytest.mark.parametrize("solver", ["arpack", "filter"])
def test_the_matrix_is_not_modified(solver):
    """Its entries may be in any order, and its indices may have 64 bits, as those of neighbor graphs do."""
    A = path(600)
    A = sparse.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    for i in range(600):
        row = slice(A.indptr[i], A.indptr[i + 1])
        A.indices[row], A.data[row] = A.indices[row][::-1].copy(), A.data[row][::-1].copy()
    A.has_sorted_indices = A.has_canonical_format = False
    data, indices = A.data.copy(), A.indices.copy()
    pairs = smallest(A, 2, solver=solver)
    np.testing.assert_array_equal(A.data, data)
    np.testing.assert_array_equal(A.indices, indices)
    np.testing.assert_allclose(pairs.values, path_eigenvalues(600, 2), rtol=1e-6, atol=1e-14)


def test_small_and_dense_matrices_use_lapack(rng):
    B = rng.standard_normal((30, 40))
    pairs = smallest(B @ B.T, 3)
    assert pairs.solver == "dense"
    np.testing.assert_allclose(pairs.values, scipy.linalg.eigvalsh(B @ B.T)[:3], rtol=1e-9)
    assert smallest(path(40), 2).solver == "dense"
    assert smallest(path(40), 40).values.shape == (40,)


def test_the_solver_is_chosen_by_the_shape_of_the_graph(rng):
    surface, cloud = laplacian(swiss_roll(2000)), laplacian(rng.standard_normal((2000, 10)))
    assert smallest(surface, 2, skip=1, largest=2.0).solver == "arpack"
    assert smallest(cloud, 2, skip=1, largest=2.0).solver == "filter"


def test_if_the_factorization_fails_the_filter_is_used(monkeypatch):
    A = laplacian(swiss_roll(800))
    expected = smallest(A, 2, skip=1)
    monkeypatch.setattr(trailing, "_factor", lambda *_: (0.0, None))
    found = smallest(A, 2, skip=1)
    assert (expected.solver, found.solver) == ("arpack", "filter")
    np.testing.assert_allclose(found.vectors, expected.vectors, atol=1e-6)


def test_if_the_filter_stalls_the_factorization_is_used(monkeypatch):
    A = lle_matrix(swiss_roll(800))
    monkeypatch.setattr(TrailingProblem, "costs", Costs(1e-3, 1e6, 1e-4, False))  # the filter seems cheaper
    monkeypatch.setattr(trailing, "_WIDEST", 0)
    found = smallest(A, 2, skip=1)
    assert found.solver == "arpack"
    assert found.converged


def test_weights_in_a_cloud_without_separators(rng):
    A = lle_matrix(rng.standard_normal((1200, 10)))
    found = smallest(A, 2, skip=1)
    expected = scipy.linalg.eigvalsh(A.toarray(), subset_by_index=(1, 2))
    np.testing.assert_allclose(found.values, expected, rtol=1e-6)


def test_a_failed_factorization_is_retried_with_a_larger_shift(monkeypatch):
    made, real = [], scipy.sparse.linalg.splu

    def fails_once(*args, **options):
        made.append(1)
        if len(made) == 1:
            raise RuntimeError("Factor is exactly singular")
        return real(*args, **options)

    monkeypatch.setattr(scipy.sparse.linalg, "splu", fails_once)
    pairs = smallest(path(600), 2, skip=1, solver="arpack")
    assert len(made) == 2
    np.testing.assert_allclose(pairs.values, path_eigenvalues(600, 3)[1:], rtol=1e-6)


def test_a_large_residual_is_an_error_with_a_remedy():
    A = lle_matrix(swiss_roll(1000))
    with pytest.raises(DataError, match=r"did not converge.*2 iterations.*residual.*more neighbors.*\.$"):
        smallest(A, 2, skip=1, solver="filter", max_iter=2)


def test_a_factor_beyond_the_memory_budget_is_refused_or_avoided():
    A = laplacian(swiss_roll(3000))
    small = run_with(memory=10**6)
    with pytest.raises(MemoryBudgetError, match="factorization"):
        smallest(A, 2, small, solver="arpack")
    assert smallest(A, 2, small, skip=1, largest=2.0).solver == "filter"


def test_a_filter_can_be_stopped():
    with pytest.raises(Stopped):
        smallest(laplacian(swiss_roll(800)), 3, run_with(progress=lambda event: False), solver="filter")


# --- factor of a root: A = E'E ----------------------------------------------------------------------------------------


def test_the_factor_of_the_root_finds_the_same(monkeypatch, rng):
    E = lle_root(rng.standard_normal((700, 6)))
    A = (E.T @ E).tocsr()
    values, vectors = np.linalg.eigh(A.toarray())
    monkeypatch.setattr(TrailingProblem, "costs", Costs(1e-3, 1e6, 1.0, True))
    monkeypatch.setattr(trailing, "_factor", None)  # the matrix is not factorized
    found = smallest(A, 3, skip=1, root=E)
    np.testing.assert_allclose(found.values, values[1:4], rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(found.vectors * vectors[:, 1:4], axis=0)), 1, atol=1e-8)


def test_the_root_is_factorized_where_the_matrix_fills_in(rng):
    E = lle_root(rng.standard_normal((6000, 6)))
    assert TrailingProblem(E.T @ E, 3, 1.0, None, 1e-8, None, E).costs.root


def test_a_root_with_two_null_vectors_is_left_to_the_factor_of_the_matrix(rng):
    E = sparse.block_diag([lle_root(rng.standard_normal((400, 3))), lle_root(rng.standard_normal((300, 3)))]).tocsr()
    A = (E.T @ E).tocsr()
    found, expected = (smallest(A, 3, skip=1, solver="arpack", **root) for root in ({"root": E}, {}))
    assert found.values[0] < 1e-12
    np.testing.assert_array_equal(found.vectors, expected.vectors)


def errors_of_random_weights(n, m=6, seed=0):
    """I - W for a random directed graph, of weights of both signs that sum to one, (n, n)."""
    rng = np.random.default_rng(seed)
    W = np.zeros((n, n))
    for i in range(n):
        W[i, rng.choice(np.delete(np.arange(n), i), m, replace=False)] = rng.random(m) - 0.2
    return sparse.csr_array(np.eye(n) - W / W.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("columns", [(), (3,)])
def test_it_is_the_pseudo_inverse_up_to_constants(rng, columns):
    E = errors_of_random_weights(120)
    b = rng.standard_normal((120, *columns))
    b -= b.mean(axis=0)
    solve = root_inverse(E, Run())
    x = solve(b)
    expected = np.linalg.pinv((E.T @ E).toarray(), hermitian=True) @ b
    np.testing.assert_allclose(x - x.mean(axis=0), expected, atol=1e-7 * np.abs(expected).max())


def test_a_further_null_vector_is_noticed():
    """Points on a line at equal distances, each the mean of its neighbors; the ends extrapolate: straight lines fit."""
    n = 50
    W = sparse.diags_array([np.full(n - 1, 0.5), np.full(n - 1, 0.5)], offsets=[-1, 1]).tolil()
    W[0, [1, 2]], W[n - 1, [n - 2, n - 3]] = (2, -1), (2, -1)
    solve = root_inverse((sparse.eye_array(n) - W).tocsr(), Run())
    assert solve is None or not np.abs(solve(np.arange(n) - (n - 1) / 2)).max() < 1e10


@pytest.mark.parametrize("method", ["root", "shifted"])
def test_a_stop_during_the_factorization_is_no_failure_of_it(monkeypatch, method):
    """Stopped is also a RuntimeError, as the error of a singular matrix is."""
    release = threading.Event()
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda *_, **__: release.wait(60))
    E = errors_of_random_weights(30)
    try:
        with lowland.config(progress=lambda event: False), pytest.raises(Stopped):
            root_inverse(E, Run()) if method == "root" else smallest(path(600), 2, solver="arpack")
    finally:
        release.set()


def test_invalid_input_is_reported():
    with pytest.raises(ParameterError, match=r"11 eigenpairs.*1 to 10"):
        smallest(path(10), 10, skip=1)
    broken = path(600)
    broken.data[5] = np.nan
    with pytest.raises(DataError, match="NaN"):
        smallest(broken, 1)
    with pytest.raises(DataError, match="only zeros"):
        smallest(sparse.csr_array((600, 600)), 1)


def test_a_dense_factor_on_a_device_gives_the_same_pairs_and_this_machine_stands_in_for_it(monkeypatch):
    torch = pytest.importorskip("torch")
    n = 700
    A = sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()
    here = smallest(A, 3)
    monkeypatch.setattr(trailing, "on_accelerator", lambda X: X is not None)
    home, used = torch.zeros((1, 1), dtype=torch.float64), []
    dense = trailing._dense_lu
    monkeypatch.setattr(trailing, "_dense_lu", lambda *given: used.append(1) or dense(*given))
    there = smallest(A, 3, home=home)
    assert used
    np.testing.assert_allclose(there.values, here.values, rtol=1e-9)
    np.testing.assert_allclose(there.vectors, here.vectors, atol=1e-6)
    monkeypatch.setattr(trailing, "_dense_lu", lambda *_: None)  # too little memory
    for solver in ("auto", "arpack"):
        np.testing.assert_allclose(smallest(A, 3, home=home, solver=solver).values, here.values, rtol=1e-9)


@pytest.mark.parametrize("block", [64, 300, 1000])
def test_a_dense_factor_solves_by_blocks(monkeypatch, block):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(trailing, "_BLOCK", block)
    rng = np.random.default_rng(0)
    D, B = rng.standard_normal((700, 700)), rng.standard_normal((700, 3))
    X = trailing.DenseFactors.of(torch.as_tensor(D)).solve(torch.as_tensor(B)).numpy()
    np.testing.assert_allclose(X, np.linalg.solve(D, B), rtol=1e-8)
