import numpy as np
import pytest
import scipy.sparse

from lowland.math.embeddings.row_blocks import Together, together
from lowland.math.embeddings.sampled_repulsion import SampledRepulsion
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

from .tsne_formulas import repulsion

SERIAL = Together(None, 1)
RNG = np.random.default_rng(0)
Z = RNG.uniform(-6, 6, (6, 5))[RNG.integers(0, 6, 900)] + RNG.normal(0, 1, (900, 5))


def nearest(Z, k=20):
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.fill_diagonal(D, np.inf)
    to = np.argsort(D, axis=1)[:, :k]
    n = len(Z)
    return scipy.sparse.csr_array((np.ones(n * k), to.ravel(), np.arange(n + 1) * k), shape=(n, n))


EDGES, NO_EDGES = nearest(Z), scipy.sparse.csr_array(Z.shape[:1] * 2)


def estimates(P, size, dof=1.0, draws=200):
    """Forces (draws, n, k) and sums of independent samples."""
    found, totals = np.empty((draws, *Z.shape)), np.empty(draws)
    for seed in range(draws):
        totals[seed] = SampledRepulsion.of(P, size, dof, seed)(Z, found[seed], SERIAL)
    return found, totals


@pytest.mark.parametrize("dof", [1.0, 0.5])
@pytest.mark.parametrize("P", [EDGES, NO_EDGES], ids=["edges", "none"])
def test_estimates_are_unbiased(P, dof):
    forces, total = repulsion(Z, dof)
    found, totals = estimates(P, 100, dof)
    z = (found.mean(axis=0) - forces) / (found.std(axis=0) / np.sqrt(len(found)))
    assert 0.85 < np.sqrt((z**2).mean()) < 1.15  # the errors are those of the noise
    assert np.abs(z).max() < 6
    assert abs(totals.mean() - total) < 4 * totals.std() / np.sqrt(len(totals))


def test_exact_neighbors_and_larger_samples_reduce_the_noise():
    def noise(P, size):
        return estimates(P, size, draws=40)[0].std(axis=0).mean()

    assert noise(EDGES, 100) < 0.9 * noise(NO_EDGES, 100)
    assert noise(EDGES, 400) < 0.6 * noise(EDGES, 100)


@pytest.mark.parametrize("size", [900, 5000])
def test_a_sample_of_all_rows_is_the_exact_sum(size):
    forces, total = repulsion(Z)
    G = np.empty_like(Z)
    assert SampledRepulsion.of(EDGES, size, 1.0, 0)(Z, G, SERIAL) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(G, forces, rtol=1e-9, atol=1e-12)


def test_a_sample_depends_on_the_seed_and_changes_with_the_iterations():
    def forces(seed, iteration):
        G = np.empty_like(Z)
        SampledRepulsion.of(EDGES, 100, 1.0, seed)(Z, G, SERIAL, iteration)
        return G

    assert (forces(0, 3) == forces(0, 4)).all()
    assert not (forces(0, 3) == forces(0, 503)).all()
    assert not (forces(0, 3) == forces(1, 3)).all()
    assert not (forces(0, 0) == forces(0, -1)).all()  # the objective is not measured by the sample of the descent


def test_bits_are_equal_on_any_number_of_threads():
    many, found = np.tile(Z, (5, 1)).astype(np.float32), []
    P = scipy.sparse.csr_array(scipy.sparse.block_diag([EDGES] * 5))
    for threads in (1, 2, 16):
        G = np.empty_like(many)
        with together(LocalRun(Settings(threads=threads, progress=False))) as blocks:
            found.append((SampledRepulsion.of(P, 300, 1.0, 0)(many, G, blocks), G))
    totals, forces = zip(*found, strict=True)
    assert len(set(totals)) == 1
    assert all((forces[0] == G).all() for G in forces)
