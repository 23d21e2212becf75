import numpy as np
import pytest
from sklearn.manifold import _t_sne

from lowland.math.embeddings.anchor import Anchor
from lowland.math.embeddings.descent import DescentStep, descend
from lowland.math.embeddings.kl_divergence import KLDivergence, schedule
from lowland.math.embeddings.perplexity import gaussian_affinities
from lowland.math.embeddings.repulsion import ExactRepulsion
from lowland.math.embeddings.row_blocks import Together
from lowland.math.neighbors.search import nearest_neighbors
from lowland.math.optimize.outcome import Outcome
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

from . import tsne_formulas

RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 6))
P = gaussian_affinities(nearest_neighbors(X, 60), 20.0)
SERIAL = Together(None, 1)


def objective(dof=1.0, anchor=None, phases=()):
    return KLDivergence(P, ExactRepulsion(dof), phases, dof, anchor)


def gradient_of(objective, Z, exaggeration=1.0):
    G = np.empty_like(Z)
    objective.gradient(Z, DescentStep(0, 1, 0, {"exaggeration": exaggeration}), G, SERIAL)
    return G


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("dof", [1.0, 0.5, 3.0])
def test_value_and_gradient_are_the_formulas(k, dof):
    Z = RNG.normal(0, 3, (300, k))
    assert objective(dof).divergence(Z, SERIAL) == pytest.approx(
        tsne_formulas.divergence(P.toarray(), Z, dof), rel=1e-6
    )
    for exaggeration in (1.0, 12.0):
        found = gradient_of(objective(dof), Z, exaggeration)
        np.testing.assert_allclose(
            found, tsne_formulas.gradient(P.toarray(), Z, dof, exaggeration), rtol=1e-5, atol=1e-9
        )


@pytest.mark.parametrize("anchor", [None, Anchor(RNG.normal(0, 1, (300, 2)), 0.2)])
def test_the_gradient_is_the_derivative_of_the_value(anchor):
    f, Z, step = objective(0.8, anchor), RNG.normal(0, 3, (300, 2)), DescentStep(0, 1, 0, {"exaggeration": 1.0})
    G = gradient_of(f, Z)
    for direction in RNG.standard_normal((3, 300, 2)):
        h = 1e-5
        slope = (f.value(Z + h * direction, step, SERIAL) - f.value(Z - h * direction, step, SERIAL)) / (2 * h)
        assert slope == pytest.approx(float((G * direction).sum()), rel=1e-4)


def test_divergence_and_gradient_are_those_of_scikit_learn():
    from scipy.spatial.distance import squareform

    Z = RNG.normal(0, 3, (300, 2))
    theirs, gradient = _t_sne._kl_divergence(Z.ravel(), squareform(P.toarray(), checks=False), 1, 300, 2)
    assert objective().divergence(Z, SERIAL) == pytest.approx(theirs, rel=1e-6)
    np.testing.assert_allclose(gradient_of(objective(), Z), gradient.reshape(300, 2), rtol=1e-4, atol=1e-9)


def test_a_descent_lowers_the_divergence_and_bits_are_equal_on_any_threads():
    phases = schedule((50, 150), (12.0, 1.0), (25.0, 300.0), 300, 1.0)
    start = (1e-4 * X[:, :2]).astype(np.float32)
    found = [
        descend(
            objective(phases=phases),
            start.copy(),
            LocalRun(Settings(threads=threads, progress=False)),
            solver=Outcome("exact"),
        )
        for threads in (1, 2, 16)
    ]
    assert all((found[0].Z == each.Z).all() for each in found)
    assert found[0].value < 0.7 * objective().divergence(start, SERIAL)


def test_the_name_says_that_an_anchor_is_part_of_the_value():
    anchored = objective(anchor=Anchor(RNG.normal(size=(300, 2)), 0.5))
    assert "anchor" not in objective().name
    assert "anchor" in anchored.name
