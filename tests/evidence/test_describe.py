"""What axes and regions mean: equal to vegan, calibrated, and right about planted drivers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.stats import kstest

import lowland
from lowland import PCA, plots
from lowland.data import load_dataset
from lowland.errors import DataError, ParameterError
from lowland.evidence.contrasts import effect_of_levels, effect_of_numbers

VEGAN = json.loads((Path(__file__).parents[1] / "references" / "vegan_envfit.json").read_text())


def planted_regions(seed: int, n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Three distant groups in twelve columns, each of which varies along its own column 3, 6 or 9."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n // 3)
    X = 0.3 * rng.standard_normal((n, 12))
    X[np.arange(n), y] += 12
    X[np.arange(n), 3 * (y + 1)] += 2 * rng.standard_normal(n)
    return X, y


@pytest.fixture(scope="module")
def lichens() -> lowland.evidence.describe.Description:
    given = VEGAN["vectors"]
    columns = pd.DataFrame(given["columns"], columns=given["names"])
    return lowland.describe(np.array(given["Z"]), np.array(given["columns"]), columns=columns)


def test_vectors_are_those_of_vegan(lichens) -> None:
    given = VEGAN["vectors"]
    found = {column.name: column for column in lichens.columns}
    for name, r2, arrow, p in zip(given["names"], given["r2"], given["arrows"], given["p"], strict=True):
        assert found[name].r2 == pytest.approx(r2, abs=1e-9)
        np.testing.assert_allclose(found[name].direction, arrow, atol=1e-9)
        assert found[name].p_value == pytest.approx(p, abs=0.05)
    assert [c.r2 for c in lichens.columns] == sorted((c.r2 for c in lichens.columns), reverse=True)


@pytest.mark.parametrize("name", ["Al", "N", "pH"])
def test_surfaces_are_those_of_vegan(lichens, name: str) -> None:
    expected, found = VEGAN["surfaces"][name], lichens.surface(name)
    scale = np.std(expected["fitted"])  # vegan's basis depends on the unit of the map, ours does not
    np.testing.assert_allclose(found.fitted / scale, np.array(expected["fitted"]) / scale, atol=0.25)
    assert found.degrees == pytest.approx(expected["edf"], abs=0.3)


def test_categories_are_those_of_vegan() -> None:
    given = VEGAN["factors"]
    Z = np.array(given["Z"])
    names = ("Management", "Moisture")
    found = lowland.describe(Z, Z, columns=pd.DataFrame({name: given[name] for name in names}))
    for column in found.columns:
        assert column.r2 == pytest.approx(given["r2"][column.name], abs=1e-9)
        assert column.p_value == pytest.approx(given["p"][column.name], abs=0.02)
        centers = dict(zip(given["names"], given["centroids"], strict=True))
        for level, center in column.centers.items():
            np.testing.assert_allclose(center, centers[f"{column.name}{level}"], atol=1e-9)


def test_missing_values_leave_their_rows_out(lichens) -> None:
    given = VEGAN["vectors"]
    Z, y = np.array(given["Z"]), np.array(given["columns"])[:, 6]
    gaps = np.where(np.arange(len(y)) < 4, np.nan, y)
    found = lowland.describe(Z, Z, columns=pd.DataFrame({"Al": gaps})).columns[0]
    A = np.column_stack([np.ones(len(y) - 4), Z[4:]])
    rest = y[4:] - A @ np.linalg.lstsq(A, y[4:], rcond=None)[0]
    assert found.r2 == pytest.approx(1 - rest.var() / y[4:].var(), abs=1e-9)
    assert found.n == len(y) - 4


def test_a_surface_recovers_a_bowl_where_an_arrow_fails() -> None:
    rng = np.random.default_rng(0)
    Z = rng.uniform(-1, 1, (300, 2))
    y = (Z**2).sum(axis=1) + 0.05 * rng.standard_normal(300)
    found = lowland.describe(Z, Z, columns=pd.DataFrame({"bowl": y}))
    bowl = found.surface("bowl")
    assert found.columns[0].r2 < 0.05 < 0.95 < bowl.r2
    assert bowl.p_value == 1 / 200
    at = rng.uniform(-0.8, 0.8, (50, 2))
    np.testing.assert_allclose(bowl(at), (at**2).sum(axis=1), atol=0.1)
    np.testing.assert_allclose(bowl(Z), bowl.fitted, atol=1e-9)


def test_a_plane_is_not_bent_and_units_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((100, 2))
    y = 3 * Z[:, 0] - Z[:, 1] + 5
    plane = lowland.describe(Z, Z, columns=pd.DataFrame({"y": y})).surface("y")
    np.testing.assert_allclose(plane.fitted, y, atol=1e-6)
    large = lowland.describe(1e6 * Z, Z, columns=pd.DataFrame({"y": 1e-6 * y})).surface("y")
    np.testing.assert_allclose(large.fitted, 1e-6 * y, atol=1e-12)


def test_p_values_of_unrelated_columns_are_uniform() -> None:
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((40, 2))
    noise = pd.DataFrame(rng.standard_normal((40, 200)), columns=[f"c{j}" for j in range(200)])
    noise.iloc[::7, ::2] = np.nan
    found = lowland.describe(Z, Z, columns=noise)
    assert kstest([c.p_value for c in found.columns], "uniform").pvalue > 0.01
    assert kstest([found.surface(f"c{j}").p_value for j in range(1, 120, 2)], "uniform").pvalue > 0.01
    assert "None of the 200" in found.summary


@pytest.mark.parametrize("name", ["PCA", "UMAP", "TSNE", "elsewhere"])
def test_drivers_of_regions(name: str) -> None:
    X, y = planted_regions(3)
    model = PCA(5).fit_transform(X) if name == "elsewhere" else getattr(lowland, name)(random_state=0).fit(X)
    regions = lowland.describe(model, X).regions(y)
    assert {region.label: region.drivers[0][0] for region in regions} == {0: "x3", 1: "x6", 2: "x9"}


def test_local_loadings_of_pca_are_its_components() -> None:
    X = load_dataset("wine").X
    model = PCA(2, scale=True).fit(X)
    region = lowland.describe(model, X).regions(np.zeros(len(X)))[0]
    expected = model.components_ * X.std(axis=0) / np.asarray(model.scale_)
    np.testing.assert_allclose(region.loadings, expected, atol=1e-9)


def test_contrasts_have_intervals_only_for_labels_from_elsewhere() -> None:
    iris = load_dataset("iris")
    found = lowland.describe(PCA(2).fit(iris.X), iris.X)
    given = found.contrasts(iris.y)
    assert given[0][0].name == "x2"
    low, high = given[0][0].interval
    assert low < given[0][0].effect < high < 0
    assert all(e.interval is None for effects in found.contrasts().values() for e in effects)


def test_intervals_of_effects_cover() -> None:
    rng = np.random.default_rng(4)
    chosen = np.arange(100) < 30
    covered = []
    for _ in range(500):
        low, high = effect_of_numbers("x", rng.standard_normal(100) + 0.8 * chosen, chosen).interval
        found = effect_of_levels("x", (rng.random(100) < 0.2 + 0.4 * chosen).astype(int), ["no", "yes"], chosen)
        h = (2 * np.arcsin(np.sqrt(0.6)) - 2 * np.arcsin(np.sqrt(0.2))) * (1 if found.level == "yes" else -1)
        covered.append((low <= 0.8 <= high, found.interval[0] <= h <= found.interval[1]))
    assert np.all(np.abs(np.mean(covered, axis=0) - 0.95) < 0.025)


@pytest.mark.parametrize("d", [-2.0, 2.0])
def test_intervals_of_effects_cover_skewed_columns(d: float) -> None:
    rng = np.random.default_rng(0)
    chosen = np.arange(100) < 30
    ends = [effect_of_numbers("x", rng.exponential(size=100) + d * chosen, chosen).interval for _ in range(1000)]
    assert 0.925 < np.mean([low <= d <= high for low, high in ends]) < 0.975


def test_sparse_rows_and_distances() -> None:
    X = load_dataset("iris").X
    sparse = scipy.sparse.csr_array(X)
    assert lowland.describe(lowland.TruncatedSVD(2).fit(sparse), sparse).columns[0].name == "x2"
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    model = lowland.ClassicalMDS(2, metric="precomputed").fit(D)
    with pytest.raises(DataError, match="columns"):
        lowland.describe(model, D)
    assert lowland.describe(model, D, columns=X).columns[0].name == "x2"


def test_wrong_calls_say_what_to_do() -> None:
    X = load_dataset("iris").X
    found = lowland.describe(PCA(2).fit(X), X)
    with pytest.raises(ParameterError, match="Choose one of"):
        found.surface("petal")
    with pytest.raises(DataError, match="two"):
        lowland.describe(PCA(1).fit(X), X).surface("x0")
    with pytest.raises(DataError, match="constant"):
        lowland.describe(PCA(2).fit(X), X, columns=np.ones((150, 2)))


def test_figures(lichens) -> None:
    Z = np.array(VEGAN["vectors"]["Z"])
    assert plots.biplot(Z, lichens.arrows, lichens.arrow_names) is not None
    figure = plots.surface(Z, lichens.surface("Al"))
    assert figure.axes[1].get_ylabel() == "Al"
