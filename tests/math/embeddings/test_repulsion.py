import numpy as np
import pytest
import scipy.sparse

from lowland.math.embeddings.grid_repulsion import GridRepulsion
from lowland.math.embeddings.repulsion import ExactRepulsion, choose_repulsion
from lowland.math.embeddings.row_blocks import Together
from lowland.math.embeddings.sampled_repulsion import SampledRepulsion
from lowland.math.embeddings.tree_repulsion import TreeRepulsion

from .tsne_formulas import repulsion


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("dof", [1.0, 0.3, 4.0])
def test_the_exact_repulsion_is_the_formula(k, dof):
    Z = np.random.default_rng(0).normal(0, 3, (600, k))
    forces, total = repulsion(Z, dof)
    G = np.empty_like(Z)
    assert ExactRepulsion(dof)(Z, G, Together(None, 1)) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(G, forces, rtol=1e-9, atol=1e-12)


def chosen(n, k, dof=1.0, **given):
    return choose_repulsion(scipy.sparse.csr_array((n, n)), k, dof, **given)


def test_the_choice_is_by_rows_and_dimensions_and_has_a_reason():
    assert isinstance(chosen(500, 2)[0], ExactRepulsion)
    assert isinstance(chosen(50_000, 2)[0], GridRepulsion)
    assert isinstance(chosen(50_000, 3)[0], TreeRepulsion)
    assert isinstance(chosen(1000, 3)[0], ExactRepulsion)
    assert isinstance(chosen(50_000, 4)[0], SampledRepulsion)
    assert isinstance(chosen(5000, 4)[0], ExactRepulsion)
    assert chosen(50_000, 2, 0.5)[1].name == "interpolation by FFT"
    assert chosen(50_000, 3)[1].name == "Barnes-Hut"
    assert chosen(50_000, 4)[1].name == "sampled"
    assert all("50,000 rows" in chosen(50_000, k)[1].reason for k in (1, 2, 3, 4))


@pytest.mark.parametrize("k", [2, 3, 4])
def test_exact_stays_exact(k):
    repulsion, solver = chosen(50_000, k, exact=True)
    assert isinstance(repulsion, ExactRepulsion)
    assert (solver.name, solver.reason) == ("exact", "requested")


def test_the_tree_has_the_given_accuracy_and_none_is_exact():
    assert chosen(50_000, 3, theta=0.3)[0].theta == 0.3
    assert isinstance(chosen(50_000, 3, theta=0.0)[0], ExactRepulsion)
