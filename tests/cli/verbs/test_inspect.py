"""``lowland inspect``: what a model file contains."""

import json

import numpy as np

import lowland as ll


def test_inspect_describes_the_model(lowland, table, model):
    text = lowland("inspect", model).stdout
    pca = ll.load(model)
    reported = ("PCA", "n_components=2", "svd_solver=auto", "a, b, c, d")
    assert all(words in text for words in (*reported, pca.solver_.reason, ll.__version__))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "Attribute Value Description" in lines
    assert "components_ 2 × 4 float64 Principal axes, sorted by explained variance." in lines
    assert any(line.startswith("n_samples_ 60 Number of training rows") for line in lines)
    facts = json.loads(lowland("inspect", model, "--json").stdout)
    assert facts["arrays"]["mean_"] == {"shape": [4], "dtype": "float64"}
    described = {each["name"]: each for each in facts["attributes"]}
    assert described["mean_"]["about"] == "Mean of each column, in float64."
    assert described["mean_"]["type"] == "array of shape (n_features_in_,)"
    assert described["n_components_"]["value"] == 2
    assert described["scale_"]["is_set"] is False
    assert facts["columns_fitted"] == list("abcd")
    assert facts["versions"]["format"] == 1
    np.testing.assert_allclose(facts["explained_variance_ratio"], pca.explained_variance_ratio_)
