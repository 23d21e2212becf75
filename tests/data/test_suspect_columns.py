"""Columns to report before a fit: identifiers, codes, and one that dominates."""

import numpy as np

import lowland
from lowland.data.suspect_columns import suspect_columns


def kinds(X, names, **more):
    return {
        each.name: each.kind
        for each in suspect_columns(np.asarray(X, dtype=float), names, **({"scaled": False} | more))
    }


def test_identifiers_and_codes(rng):
    n = 200
    columns = {
        "row": np.arange(n),
        "shuffled": rng.permutation(n) + 1000,
        "PassengerId": rng.choice(10**6, n, replace=False),
        "zip": rng.choice([10001, 94103, 60614, *rng.integers(10000, 99999, 40)], n),
        "age": rng.integers(18, 90, n),
        "price": rng.integers(10_000, 900_000, n),
        "kind": rng.integers(0, 3, n),
        "code": rng.integers(0, 3, n),  # few distinct values
        "valid": rng.choice(10**6, n, replace=False),  # contains "id", not as a word
        "length": rng.standard_normal(n),
    }
    X = np.column_stack(list(columns.values()))
    found = kinds(X, list(columns), scaled=True)
    assert found == {"row": "row number", "shuffled": "identifier", "PassengerId": "identifier", "zip": "code"}
    assert set(kinds(X, list(columns), scaled=True, named=False)) == {"row", "shuffled"}


def test_one_column_that_holds_most_of_the_variance(rng):
    X = rng.standard_normal((100, 4)) * [1, 1, 1, 20]
    assert kinds(X, list("abcd")) == {"d": "dominant"}
    assert kinds(X, list("abcd"), scaled=True) == {}
    assert kinds(X * [1, 1, 1, 0.05], list("abcd")) == {}
    (found,) = suspect_columns(X, list("abcd"), scaled=False)
    sentence = found.sentence("--drop d", "--scale")
    assert "'d' holds 99." in sentence
    assert "--drop d" in sentence
    assert "--scale" in sentence


def test_a_study_names_them_with_the_remedy(rng):
    import pandas as pd

    frame = pd.DataFrame(rng.standard_normal((100, 3)), columns=list("abc"))
    frame = frame.assign(zip=rng.integers(10_000, 99_999, 100))
    advice = lowland.compare(frame, None, ["pca"], cache=False).advice[0]
    evidence = advice.evidence
    assert "Caveat: 'zip' alone holds more than 99.9% of the variance." in advice.text
    assert any("'zip' looks like a code" in s and "drop=['zip']" in s for s in evidence)
    assert any("'zip' holds more than 99.9% of the total variance" in s and "scale='standard'" in s for s in evidence)
    scaled = lowland.compare(frame, None, ["pca"], scale="standard", cache=False).advice[0].evidence
    assert not any("total variance" in s for s in scaled)
