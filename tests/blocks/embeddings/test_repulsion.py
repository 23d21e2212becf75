import numpy as np
import pytest

from lowland.blocks.embeddings.grid_repulsion import GridRepulsion
from lowland.blocks.embeddings.repulsion import ExactRepulsion, choose_repulsion
from lowland.blocks.embeddings.row_blocks import Together

from .tsne_formulas import repulsion


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("dof", [1.0, 0.3, 4.0])
def test_the_exact_repulsion_is_the_formula(k, dof):
    Z = np.random.default_rng(0).normal(0, 3, (600, k))
    forces, total = repulsion(Z, dof)
    G = np.empty_like(Z)
    assert ExactRepulsion(dof)(Z, G, Together(None, 1)) == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(G, forces, rtol=1e-9, atol=1e-12)


def test_the_choice_is_by_rows_and_dimensions_and_has_a_reason():
    assert isinstance(choose_repulsion(500, 2, 1.0)[0], ExactRepulsion)
    assert isinstance(choose_repulsion(50_000, 2, 1.0)[0], GridRepulsion)
    assert isinstance(choose_repulsion(50_000, 3, 1.0)[0], GridRepulsion)
    assert isinstance(choose_repulsion(10_000, 3, 1.0)[0], ExactRepulsion)
    assert isinstance(choose_repulsion(50_000, 4, 1.0)[0], ExactRepulsion)
    assert isinstance(choose_repulsion(50_000, 2, 1.0, exact=True)[0], ExactRepulsion)
    assert choose_repulsion(50_000, 2, 0.5)[1].name == "interpolation by FFT"
    assert "50,000 rows" in choose_repulsion(50_000, 2, 1.0)[1].reason
