import numpy as np
import pytest

from lowland.math.embeddings import grid_convolution
from lowland.math.embeddings.grid_convolution import GridConvolution
from lowland.math.embeddings.row_blocks import Together, together
from lowland.run.local import LocalRun
from lowland.run.settings import Settings

SERIAL = Together(None, 1)
SPLINE = np.array([1, 4, 1]) / 6  # values of the cubic B-spline at its nodes


def spread_at_nodes(charges):
    """Unit charges at nodes, spread by splines; the same function reads a potential at the nodes."""
    for axis in range(charges.ndim):
        charges = np.apply_along_axis(np.convolve, axis, charges, SPLINE, mode="same")
    return charges


def similarity(shape, node, spacing, dof):
    squares = sum((spacing * (i - at)) ** 2 for i, at in zip(np.indices(shape), node, strict=True))
    return (1 + squares / dof) ** -dof


@pytest.mark.parametrize("dof", [1.0, 0.5, 3.0])
@pytest.mark.parametrize(
    ("shape", "within"), [((90,), 1e-12), ((40, 30), 1e-12), ((20, 14, 12), 1e-12), ((150, 131), 3e-4)]
)
def test_a_charge_at_a_node_has_the_similarity_as_its_potential(shape, within, dof):
    """The potential interpolates w at the nodes; in two levels, a smooth part of it does so at every fourth one."""
    node, inner = tuple(m // 3 for m in shape), tuple(slice(2, -2) for _ in shape)
    charges = np.zeros(shape)
    charges[node] = 1
    coefficients = GridConvolution(dof)(spread_at_nodes(charges), 0.4, SERIAL)
    error = spread_at_nodes(coefficients) - similarity(shape, node, 0.4, dof)
    assert np.abs(error[inner]).max() < within


@pytest.mark.parametrize("spacing", [0.1, 0.4, 2.0])
@pytest.mark.parametrize("dof", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("shape", [(128, 128), (131, 322)])
def test_two_levels_agree_with_one(monkeypatch, shape, dof, spacing):
    charges = np.random.default_rng(0).random(shape)
    two = GridConvolution(dof)(charges.copy(), spacing, SERIAL)
    monkeypatch.setattr(grid_convolution, "_WIDE", 10_000)
    one = GridConvolution(dof)(charges.copy(), spacing, SERIAL)
    assert np.abs(two - one).max() < 2e-4 * np.abs(one).max()
    assert np.abs(two - one).max() > 0


@pytest.mark.parametrize("shape", [(61, 77), (301, 205), (24, 18, 13)])
def test_bits_are_equal_on_any_number_of_threads(shape):
    charges, found = np.random.default_rng(0).random(shape).astype(np.float32), []
    for threads in (1, 2, 3, 16):
        with together(LocalRun(Settings(threads=threads, progress=False))) as blocks:
            found.append(GridConvolution()(charges.copy(), 0.4, blocks))
    assert all((found[0] == each).all() for each in found)


def test_the_transforms_of_the_similarity_are_kept_for_the_next_map():
    convolution, charges = GridConvolution(), np.ones((140, 140))
    convolution(charges.copy(), 0.4, SERIAL)
    kept = dict(convolution._spectra)
    convolution(charges.copy(), 0.4, SERIAL)
    assert all(convolution._spectra[key] is spectrum for key, spectrum in kept.items())
