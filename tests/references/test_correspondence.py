"""Agreement with prince: the numbers in the JSON file beside this one, of its exact solver (engine='scipy').

For its table ``rows`` (columns a, b, c of text, x and y of numbers): MCA of a, b, c with 4 components; its corrections
with 6; CA of the cross table of a and c together against b; FAMD of all columns.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lowland import CorrespondenceAnalysis, FactorAnalysisOfMixedData, MultipleCorrespondenceAnalysis

REFERENCE = json.loads((Path(__file__).parent / "prince_categories.json").read_text())
FRAME = pd.DataFrame(REFERENCE["rows"], columns=list("abcxy"))
CLOSE = {"rtol": 0, "atol": 1e-8}


def same_axes(ours, theirs):
    theirs = np.array(theirs)
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours * signs, theirs, **CLOSE)


def test_correspondence_analysis():
    theirs = REFERENCE["ca"]
    N = np.array(theirs["table"])
    ca = CorrespondenceAnalysis(3).fit(N)
    rows, columns = ca.row_points(N), ca.column_points_
    np.testing.assert_allclose(ca.eigenvalues_, theirs["eigenvalues"], **CLOSE)
    assert ca.total_inertia_ == pytest.approx(theirs["total_inertia"], abs=1e-12)
    same_axes(ca.transform(N), theirs["row_coordinates"])
    same_axes(columns.coordinates, theirs["column_coordinates"])
    for ours, what in ((rows, "row"), (columns, "column")):
        np.testing.assert_allclose(ours.contributions, theirs[f"{what}_contributions"], **CLOSE)
        np.testing.assert_allclose(ours.cos2, theirs[f"{what}_cos2"], **CLOSE)


def test_multiple_correspondence_analysis():
    theirs, X = REFERENCE["mca"], FRAME[list("abc")]
    mca = MultipleCorrespondenceAnalysis(4).fit(X)
    rows, levels = mca.row_points(X), mca.category_points_
    assert [name.replace("_", "__") for name in levels.names] == theirs["columns"]
    np.testing.assert_allclose(mca.eigenvalues_, theirs["eigenvalues"], **CLOSE)
    assert mca.total_inertia_ == pytest.approx(theirs["total_inertia"], abs=1e-12)
    same_axes(mca.transform(X), theirs["row_coordinates"])
    same_axes(levels.coordinates, theirs["column_coordinates"])
    np.testing.assert_allclose(rows.contributions, theirs["row_contributions"], **CLOSE)
    np.testing.assert_allclose(levels.contributions, theirs["column_contributions"], **CLOSE)
    np.testing.assert_allclose(rows.cos2, theirs["row_cos2"], **CLOSE)
    np.testing.assert_allclose(levels.cos2, theirs["column_cos2"], **CLOSE)


@pytest.mark.parametrize("correction", ["benzecri", "greenacre"])
def test_adjusted_inertias(correction):
    theirs = REFERENCE["mca"][correction]
    mca = MultipleCorrespondenceAnalysis(None, correction=correction).fit(FRAME[list("abc")])
    np.testing.assert_allclose(mca.adjusted_inertias_, theirs["eigenvalues"], **CLOSE)
    np.testing.assert_allclose(100 * mca.explained_variance_ratio_, theirs["percentage"], **CLOSE)


def test_factor_analysis_of_mixed_data():
    theirs = REFERENCE["famd"]
    famd = FactorAnalysisOfMixedData(4).fit(FRAME)
    np.testing.assert_allclose(famd.eigenvalues_, theirs["eigenvalues"], **CLOSE)
    same_axes(famd.transform(FRAME), theirs["row_coordinates"])
    order = [list(FRAME.columns).index(name) for name in theirs["variables"]]
    np.testing.assert_allclose(famd.squared_correlations_[order], theirs["variable_coordinates"], **CLOSE)
    same_axes(famd.correlations_, theirs["correlations"])


def test_prince_itself():
    prince = pytest.importorskip("prince")
    X = FRAME[list("abc")]
    theirs = prince.MCA(n_components=3, engine="scipy").fit(X)
    mca = MultipleCorrespondenceAnalysis(3).fit(X)
    np.testing.assert_allclose(mca.eigenvalues_, theirs.eigenvalues_, **CLOSE)
    same_axes(mca.transform(X), theirs.row_coordinates(X).to_numpy())
