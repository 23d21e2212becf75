"""Maps of the units of a self-organizing map."""

import numpy as np
import pytest

import lowland
from lowland import plots
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError


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


def test_invalid_grids_are_refused():
    for draw in (plots.u_matrix, plots.hit_map, lambda *given: plots.component_planes(given[0], (3, 1), *given[1:])):
        for wrong in ("square", [["a", "b"]]):
            with pytest.raises(DataError, match="contains strings"):
                draw(wrong)
        with pytest.raises(ParameterError, match="topology='square': choose 'hexagonal' or 'rectangular'"):
            draw(np.eye(3), "square")
    with pytest.raises(DataError, match="NaN"):
        plots.hit_map([[1.0, np.nan]])
    with pytest.raises(ParameterError, match="grid=6"):
        plots.component_planes(np.ones((6, 2)), 6)
    with pytest.raises(ParameterError, match="panels_across=0"):
        plots.component_planes(np.ones((6, 2)), (2, 3), panels_across=0)
    for draw in (plots.u_matrix, plots.hit_map):
        with pytest.raises(DataError, match="one number per unit"):
            draw(np.ones(4))
    with pytest.raises(DataError, match=r"units has shape.*a grid of 2 x 3 has 6 units"):
        plots.component_planes(np.ones((5, 2)), (2, 3))
    with pytest.raises(DataError, match="1 names for 2"):
        plots.component_planes(np.ones((6, 2)), (2, 3), names=["a"])
