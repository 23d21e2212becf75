"""``lowland methods``."""

import json

from lowland.methods.registry import entries


def test_methods_as_json(lowland):
    found = json.loads(lowland("methods", "--json").stdout)["methods"]
    assert {m["class"] for m in found} == set(entries())
    pca = next(m for m in found if m["class"] == "PCA")
    assert (pca["method"], pca["streams"], pca["sparse"], pca["needs_label"]) == ("pca", True, True, False)
    lda = next(m for m in found if m["class"] == "LinearDiscriminantAnalysis")
    assert lda["needs_label"]
    assert next(p for p in lda["parameters"] if p["name"] == "covariance_estimator")["flags"] == []
    assert pca["parameters"][0]["flags"] == ["-k", "--components", "--n-components"]
