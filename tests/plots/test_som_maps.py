"""Maps of the units of a self-organizing map."""

import numpy as np
import pytest

import lowland
from lowland import plots
from lowland.data import load_dataset


@pytest.mark.parametrize(("topology", "corners"), [("hexagonal", 6), ("rectangular", 4)])
def test_u_matrix_has_a_cell_for_each_unit_where_the_model_has_it(topology, corners, drawn):
    som = lowland.SelfOrganizingMap((4, 6), topology=topology).fit(load_dataset("iris").X)
    ax = drawn(plots.u_matrix(som.u_matrix_, som.topology, title="iris"))
    cells = ax.collections[0]
    np.testing.assert_array_equal(cells.get_array(), som.u_matrix_.ravel())
    shapes = [path.vertices[:-1] for path in cells.get_paths()]  # the last closes the cell
    assert {len(shape) for shape in shapes} == {corners}
    np.testing.assert_allclose([shape.mean(axis=0) for shape in shapes], som.positions_, atol=1e-12)
    assert ax.get_title(loc="left") == "iris"
    assert ax.get_aspect() == 1


def test_component_planes_are_the_columns_of_the_units(drawn):
    som = lowland.SelfOrganizingMap((4, 6)).fit(load_dataset("iris").X)
    ax = drawn(plots.component_planes(som.prototypes_, som.grid_, names=list("abcd")))
    assert [text.get_text()[:2] for text in ax.texts] == ["a:", "b:", "c:", "d:"]
    assert ax.texts[0].get_text() == f"a: {som.prototypes_[:, 0].min():.3g} to {som.prototypes_[:, 0].max():.3g}"
    for j, panel in enumerate(ax.collections):
        np.testing.assert_array_equal(panel.get_array(), som.component_plane(j).ravel())


def test_hit_map_marks_by_area(drawn):
    ax = drawn(plots.hit_map([[4, 1], [0, 0]], "rectangular"))
    sides = [np.ptp(path.vertices[:, 0]) for path in ax.collections[1].get_paths()]
    np.testing.assert_allclose(np.array(sides) / sides[0], [1, 0.5, 0, 0])
    assert ax.get_title(loc="left") == "5 rows, 4 units, 2 dead"
