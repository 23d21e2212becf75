"""Self-organizing maps."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

import lowland
from lowland import SelfOrganizingMap
from lowland.data import load_dataset
from lowland.errors import DataWarning, MemoryBudgetError, ParameterError
from lowland.math.prototypes.grids import Grid, nearness
from lowland.math.prototypes.som import tangents
from lowland.methods.self_organizing_map import grid_sides

TOPOLOGIES = ["hexagonal", "rectangular"]


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris").X


def banana(n=1500, seed=0, dtype=np.float64):
    """A curved strip in three dimensions."""
    rng = np.random.default_rng(seed)
    angle, away = rng.uniform(0, np.pi, n), rng.uniform(3, 4, n)
    return np.column_stack([away * np.cos(angle), away * np.sin(angle), 0.05 * rng.standard_normal(n)]).astype(dtype)


# --- definition


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_converged_map_is_the_smoothed_mean_of_its_rows(iris, topology):
    som = SelfOrganizingMap((4, 6), topology=topology, tol=0.0).fit(iris)
    places = som.positions_
    H = nearness(cdist(places, places) ** 2, 1.0, "gaussian")
    won = H[:, cdist(iris, som.prototypes_).argmin(axis=1)]  # (u, n)
    np.testing.assert_allclose(som.prototypes_, won @ iris / won.sum(axis=1)[:, None], atol=1e-9)
    assert som.converged_


@pytest.mark.parametrize("training", ["batch", "online"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_fitted_attributes_are_correct(iris, training, topology):
    som = SelfOrganizingMap((5, 7), training=training, topology=topology).fit(iris)
    D = cdist(iris, som.prototypes_)
    first, second = np.argsort(D, axis=1)[:, :2].T
    np.testing.assert_array_equal(som.predict(iris), first)
    np.testing.assert_array_equal(som.transform(iris), som.positions_[first])
    np.testing.assert_array_equal(som.inverse_transform(som.positions_), som.prototypes_)
    np.testing.assert_array_equal(som.inverse_transform(som.transform(iris)), som.prototypes_[first])
    np.testing.assert_array_equal(som.hits_.ravel(), np.bincount(first, minlength=35))
    assert som.quantization_error_ == pytest.approx(D.min(axis=1).mean(), rel=1e-12)
    apart = np.linalg.norm(som.positions_[first] - som.positions_[second], axis=1)
    assert som.topographic_error_ == pytest.approx(np.mean(apart > (1.1 if topology == "hexagonal" else 1.5)))
    assert som.errors(iris) == (pytest.approx(som.quantization_error_), som.topographic_error_)
    assert som.trace_[-1] == pytest.approx(som.quantization_error_)
    assert len(som.trace_) == som.n_iter_ + 1
    np.testing.assert_allclose(som.u_matrix_, Grid(5, 7, topology).u_matrix(som.prototypes_))
    assert som.n_samples_ == 150


@pytest.mark.parametrize("training", ["batch", "online"])
def test_a_curved_strip_is_mapped_in_order(training):
    X = banana()
    som = SelfOrganizingMap((4, 20), training=training).fit(X)
    Z = som.transform(X)
    angle = np.arctan2(X[:, 1], X[:, 0])
    assert abs(np.corrcoef(Z[:, 0], angle)[0, 1]) > 0.98
    assert som.topographic_error_ < 0.15
    assert som.quantization_error_ < 0.5 * som.trace_[0]


def test_a_map_of_one_unit_is_the_mean(iris):
    som = SelfOrganizingMap((1, 1)).fit(iris)
    np.testing.assert_allclose(som.prototypes_[0], iris.mean(axis=0))
    assert som.topographic_error_ == 0
    assert not som.predict(iris).any()


def test_a_radius_below_one_unit_gives_k_means(iris):
    """A radius below one unit leaves each unit its own rows: a fixed point of Lloyd's algorithm."""
    from sklearn.cluster import KMeans

    som = SelfOrganizingMap((1, 5), neighborhood="bubble", final_radius=0.5, tol=0.0).fit(iris)
    again = KMeans(5, init=som.prototypes_, n_init=1, max_iter=50).fit(iris)
    np.testing.assert_allclose(again.cluster_centers_, som.prototypes_, atol=1e-9)


def test_float32_far_from_the_origin_is_trained_as_float64():
    X = (banana(500) + 3000).astype(np.float32)
    single, double = SelfOrganizingMap((5, 9)).fit(X), SelfOrganizingMap((5, 9)).fit(X.astype(float))
    np.testing.assert_allclose(
        single.prototypes_, double.prototypes_, atol=4e-4
    )  # one rounding error: a little more than half of 2.4e-4
    assert single.n_iter_ == double.n_iter_
    np.testing.assert_allclose(single.trace_[:-1], double.trace_[:-1], rtol=1e-5)
    np.testing.assert_array_equal(single.hits_.ravel(), np.bincount(single.predict(X), minlength=45))
    assert single.trace_[-1] == single.quantization_error_ == single.errors(X)[0]


def test_the_map_follows_shift_rotation_and_scale(iris):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    som = SelfOrganizingMap((4, 6)).fit(iris)
    moved = SelfOrganizingMap((4, 6)).fit(100 * iris @ Q + 1000)
    turned = (moved.prototypes_ - 1000) @ Q.T / 100
    gaps = cdist(turned, som.prototypes_)  # the signs of the axes may differ, which mirrors the grid
    assert moved.quantization_error_ == pytest.approx(100 * som.quantization_error_, rel=0.05)
    assert min(gaps.min(axis=1).max(), gaps.min(axis=0).max()) < 0.5


def test_rows_of_unknown_number_have_the_default_grid():
    X = banana(300)
    lazy = pytest.importorskip("dask.array").from_array(X, chunks=(100, 3))
    assert SelfOrganizingMap().fit(lazy[lazy[:, 0] < 9]).grid_ == SelfOrganizingMap().fit(X).grid_


@pytest.mark.parametrize("training", ["batch", "online"])
def test_the_smallest_and_the_largest_radius(iris, training):
    for radius in (1e-3, 1e6):
        som = SelfOrganizingMap(
            (3, 4), training=training, radius=radius, final_radius=radius, convergence_epochs=0
        ).fit(iris)
        assert np.isfinite(som.prototypes_).all()
    np.testing.assert_allclose(som.prototypes_, np.broadcast_to(som.prototypes_[0], som.prototypes_.shape), atol=1e-6)


@pytest.mark.parametrize("coordinates", ["unit", "smooth"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_smooth_coordinates_stay_within_the_cell_and_reconstruct_better(iris, topology, coordinates):
    som = SelfOrganizingMap((5, 7), topology=topology, coordinates=coordinates).fit(iris)
    Z = som.transform(iris)
    within = np.abs((Z - som.positions_[som.predict(iris)]) @ Grid(5, 7, topology).cell_normals.T)
    assert within.max() <= (0.499 + 1e-9 if coordinates == "smooth" else 0)
    assert len(np.unique(Z, axis=0)) > 100 or coordinates == "unit"
    error = np.linalg.norm(iris - som.inverse_transform(Z), axis=1).mean()
    if coordinates == "smooth":
        assert error < som.quantization_error_
    else:
        assert error == pytest.approx(som.quantization_error_)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_smooth_coordinates_are_inverted_by_the_best_matching_unit(topology, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5)).astype(dtype)
    X[:100] += 4
    X[100:200, 0] -= 6
    for far in (1, 100):  # also rows far outside the map, whose positions end at a border
        som = SelfOrganizingMap((6, 8), topology=topology, coordinates="smooth").fit(X)
        Z, own = som.transform(far * X), som.predict(far * X)
        np.testing.assert_array_equal(cdist(Z, som.positions_).argmin(axis=1), own)
        off = Z.astype(float) - Grid(6, 8, topology).positions[own]
        J = tangents(Grid(6, 8, topology), som.prototypes_.astype(float))[own]
        back = som.prototypes_[own] + np.einsum("ij,ijk->ik", off, J)
        np.testing.assert_allclose(som.inverse_transform(Z), back, atol=1e-9 if dtype == "float64" else 1e-4)
        # toward the row within the cell: never farther than the unit itself
        away = np.linalg.norm(far * X - back, axis=1)
        assert np.all(away <= np.linalg.norm(far * X - som.prototypes_[own], axis=1) * (1 + 1e-4))


@pytest.mark.parametrize("decay", ["exponential", "linear", "inverse"])
def test_radii_are_those_of_the_schedule(iris, decay):
    som = SelfOrganizingMap((4, 6), epochs=5, radius=3.0, decay=decay, convergence_epochs=0).fit(iris)
    assert (len(som.radii_), som.n_iter_) == (5, 5)
    assert (som.radii_[0], som.radii_[-1]) == (3.0, pytest.approx(1.0))
    assert som.stopped_because_ == "the schedule ended"


def test_component_planes_by_index_and_name(iris):
    import pandas as pd

    som = SelfOrganizingMap((4, 6)).fit(pd.DataFrame(iris, columns=list("abcd")))
    np.testing.assert_array_equal(som.component_plane("c"), som.prototypes_[:, 2].reshape(4, 6))
    np.testing.assert_array_equal(som.component_plane(-1), som.prototypes_[:, 3].reshape(4, 6))
    for column in ("e", 4, True, 1.5):
        with pytest.raises(ParameterError, match="index from 0 to 3 or a column name such as 'a'"):
            som.component_plane(column)


# --- where the rows come from


def test_tensors_and_dask_give_the_map_of_the_array_trained_online():
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    X = banana(400)
    som = SelfOrganizingMap((5, 9), training="online", random_state=0).fit(X)
    for other in (torch.asarray(X), da.from_array(X, chunks=(90, 2))):
        found = SelfOrganizingMap((5, 9), training="online", random_state=0).fit(other)
        np.testing.assert_allclose(np.asarray(found.prototypes_), som.prototypes_, atol=1e-9)
        np.testing.assert_array_equal(np.asarray(found.predict(other)), som.predict(X))
    assert type(SelfOrganizingMap((5, 9)).fit(torch.asarray(X)).predict(torch.asarray(X))) is torch.Tensor


@pytest.mark.parametrize("training", ["batch", "online"])
def test_the_seed_matters_only_online(iris, training):
    maps = [SelfOrganizingMap((3, 4), training=training, random_state=seed).fit(iris).prototypes_ for seed in (0, 1)]
    assert np.array_equal(*maps) == (training == "batch")


# --- invalid parameters


def test_a_grid_with_more_units_than_rows(iris):
    with pytest.raises(ParameterError, match=r"grid=20x20\).*400 units.*150 rows.*at most 150"):
        SelfOrganizingMap((20, 20)).fit(iris)
    assert SelfOrganizingMap().fit(iris[:5]).prototypes_.shape[0] <= 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"radius": 0.5}, r"radius=0.5, final_radius=1\).*must not increase.*at most 0.5"),
        ({"training": "online", "learning_rate": 0.001}, "final_learning_rate=0.01.*must not increase"),
    ],
)
def test_wrong_schedules(iris, options, words):
    with pytest.raises(ParameterError, match=words):
        SelfOrganizingMap((3, 4), **options).fit(iris)


def test_constant_columns_change_nothing_and_constant_tables_warn(iris):
    wide = np.column_stack([iris, np.full(150, 7.0)])
    som, wider = SelfOrganizingMap((4, 6)).fit(iris), SelfOrganizingMap((4, 6)).fit(wide)
    np.testing.assert_allclose(wider.prototypes_[:, :4], som.prototypes_, atol=1e-10)
    np.testing.assert_allclose(wider.component_plane(4), 7.0)
    with pytest.warns(DataWarning, match="Every column is constant"):
        flat = SelfOrganizingMap((2, 3)).fit(np.full((20, 3), 0.1))
    np.testing.assert_allclose(flat.prototypes_, 0.1)
    assert flat.quantization_error_ < 1e-15


def test_cyclic_training_stops_with_a_warning(iris):
    with pytest.warns(ConvergenceWarning, match="did not converge.*repeat a cycle"):
        som = SelfOrganizingMap((4, 15), neighborhood="bubble").fit(iris)
    assert not som.converged_
    assert som.n_iter_ < 60
    assert any(np.isclose(som.trace_[-1], som.trace_[20:-1], rtol=1e-12))


def test_online_training_needs_the_rows_in_memory(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = banana(20_000)
    pq.write_table(pa.table({name: X[:, j] for j, name in enumerate("abc")}), tmp_path / "x.parquet")
    monkeypatch.setattr("lowland.data.rows.SLAB_BYTES", 10_000)
    with lowland.config(memory="300kB"), pytest.raises(MemoryBudgetError, match="training='batch'"):
        SelfOrganizingMap((4, 4), training="online", random_state=0).fit(tmp_path / "x.parquet")
    with lowland.config(memory="300kB"):
        assert (
            SelfOrganizingMap((4, 4), epochs=2, convergence_epochs=0).fit(tmp_path / "x.parquet").n_samples_ == 20_000
        )


def test_grids_may_be_written_in_several_ways():
    for grid in ((20, 30), [20.0, 30.0], "20x30", " 20 X 30", "20,30", "20×30", np.array([20, 30])):
        assert grid_sides(grid) == (20, 30)
    for grid in ((20,), (0, 3), "20", "axb", (2.5, 3), (1, 2, 3), "", (np.inf, 1)):
        with pytest.raises(ParameterError, match=r"grid=.*20x30"):
            grid_sides(grid)


def test_the_command_line_writes_positions_and_units(tmp_path, iris, monkeypatch):
    from click.testing import CliRunner

    from lowland.cli.main import cli

    monkeypatch.chdir(tmp_path)
    np.save("x.npy", iris)
    for words in ("fit som x.npy --grid 4x6 --to z.npy --model m.lowland", "predict m.lowland x.npy --to u.npy"):
        done = CliRunner().invoke(cli, words.split())
        assert done.exit_code == 0, done.output
    som = SelfOrganizingMap((4, 6)).fit(iris)
    np.testing.assert_array_equal(np.load("z.npy"), som.transform(iris))
    np.testing.assert_array_equal(np.load("u.npy")[:, 0], som.predict(iris))


def test_a_callback_sees_every_epoch_of_online_training():
    X, shots = banana(), []
    model = SelfOrganizingMap((6, 8), training="online", random_state=0, coordinates="smooth")
    Z = model.fit_transform(X, callback=shots.append)
    np.testing.assert_allclose(shots[-1].embedding, Z)
    assert shots[-1].value < shots[0].value
    model.fit(X, callback=lambda shot: shot.iteration < 3)
    assert model.n_iter_ <= 4
    assert "callback" in model.stopped_because_
