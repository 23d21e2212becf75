"""``lowland inspect``: what a model file contains."""

import json

import numpy as np

import lowland as ll


def test_inspect_tells_of_the_model(lowland, table, model):
    text = lowland("inspect", model).stdout
    pca = ll.load(model)
    told = ("PCA", "n_components=2", "svd_solver=auto", "asked for", "components_ 2 × 4 float64", "a, b, c, d")
    assert all(words in text for words in (*told, pca.solver_.reason, ll.__version__))
    facts = json.loads(lowland("inspect", model, "--json").stdout)
    assert facts["arrays"]["mean_"] == {"shape": [4], "dtype": "float64"}
    assert facts["columns_fitted"] == list("abcd")
    assert facts["versions"]["format"] == 1
    np.testing.assert_allclose(facts["explained_variance_ratio"], pca.explained_variance_ratio_)
