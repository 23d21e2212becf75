"""Agreement with R's smacof and MASS: the numbers in the JSON files beside this one, each with its source."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from lowland import MDS, SammonMapping
from lowland.data import load_dataset

HERE = Path(__file__).parent
DATA = {"UScitiesD": "airports", "eurodist": "eurodist"}


def reference(name):
    return json.loads((HERE / f"{name}.json").read_text())["result"]


@pytest.fixture(params=DATA)
def cities(request):
    if request.param == "eurodist":
        request.getfixturevalue("data_folder")
    return request.param, load_dataset(DATA[request.param]).X


@pytest.mark.parametrize("options", [{}, {"accelerate": False}, {"solver": "gradient"}], ids=str)
def test_metric_stress_and_distances_agree_with_smacof(cities, options):
    name, D = cities
    expected = reference("smacof_mds")[name]["ratio"]
    mds = MDS(metric="precomputed", eps=1e-15, max_iter=5000, **options).fit(D)
    assert mds.stress_ == pytest.approx(expected["raw_stress_in_data_units"], rel=1e-7)
    assert mds.stress1_ == pytest.approx(expected["stress1"], rel=1e-7)
    theirs = pdist(np.array(expected["conf_in_data_units"]))
    np.testing.assert_allclose(pdist(mds.embedding_), theirs, atol=1e-4 * theirs.max())


def test_plain_majorization_takes_as_many_steps_as_smacof(cities):
    """Its first step is counted as ours, and both stop at the same decrease."""
    name, D = cities
    expected = reference("smacof_mds")[name]["ratio"]
    mds = MDS(metric="precomputed", accelerate=False, eps=1e-14, max_iter=5000).fit(D)
    assert abs(mds.n_iter_ - expected["niter"]) <= 2


@pytest.mark.parametrize("accelerate", [True, False])
def test_non_metric_stress_is_at_most_that_of_smacof_and_isomds(cities, accelerate):
    name, D = cities
    ordinal = reference("smacof_mds")[name]["ordinal"]["stress1"]
    iso = reference(f"sammon_isoMDS_{name}")["isoMDS_converged"]["stress_percent"] / 100
    mds = MDS(metric="precomputed", metric_mds=False, accelerate=accelerate, eps=1e-14, max_iter=5000).fit(D)
    assert mds.stress1_ <= ordinal + 1e-7
    assert mds.stress1_ <= iso + 1e-7
    if name == "eurodist":  # the other has a perfect order, for which programs give different results
        assert mds.stress1_ == pytest.approx(ordinal, rel=1e-6)


def test_sammon_reaches_the_minimum(cities):
    name, D = cities
    minimum, mass = reference("sammon_bfgs_minimum")[name], reference(f"sammon_isoMDS_{name}")
    sammon = SammonMapping(metric="precomputed").fit(D)
    assert sammon.trace_[0] == pytest.approx(mass["init_sammon_stress"], rel=1e-9)
    assert sammon.stress_ == pytest.approx(minimum["stress"], rel=1e-6)
    assert sammon.stress_ <= mass["sammon_default"]["stress"]
    theirs = pdist(np.array(minimum["points"]))
    np.testing.assert_allclose(pdist(sammon.embedding_), theirs, atol=1e-4 * theirs.max())
