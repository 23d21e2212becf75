"""Parameter sweeps: accepted names and values, and errors for others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowland.errors import ParameterError
from lowland.methods.registry import entries
from lowland.study.plan import checked_sweep, combinations, methods_named, split_sweep, swept

NAMES = [(e, flag) for e in entries().values() for flag in e.flags]
words = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)


@given(st.sampled_from(NAMES), st.booleans(), st.booleans())
def test_every_parameter_is_found_by_verb_and_by_class_in_any_case(named, by_verb, upper):
    entry, flag = named
    name = f"{entry.verb if by_verb else entry.name}.{flag.name}"
    assert swept(name.upper() if upper else name) == (entry, flag)


@given(words, st.lists(words, min_size=1, max_size=5))
def test_a_sweep_string_is_parsed(name, values):
    assert split_sweep(f"{name}={','.join(values)}") == (name, values)
    assert split_sweep(f" {name} = {' , '.join(values)} ") == (name, values)


@given(st.dictionaries(words, st.lists(st.integers(), min_size=1, max_size=3, unique=True), max_size=3))
def test_combinations_are_all_and_each_once(values):
    found = combinations(values)
    product = 1
    for each in values.values():
        product *= len(each)
    assert len(found) == product
    assert len({tuple(each.items()) for each in found}) == product
    assert all(each[name] in values[name] for each in found for name in values)


@pytest.mark.parametrize(
    ("text", "message"),
    [("isomap.n_neighbors", "VALUE"), ("isomap.n_neighbors=", "VALUE"), ("isomap.n_neighbors=5,,7", "VALUE")],
)
def test_invalid_sweep_strings_are_refused(text, message):
    with pytest.raises(ParameterError, match=message):
        split_sweep(text)


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (
            {"isomap.neighbours": [5]},
            "has no parameter 'neighbours'. Did you mean 'n_neighbors'.*: 'n_components'",
        ),
        ({"isomop.n_neighbors": [5]}, "no method 'isomop'. Did you mean 'isomap'. Available methods: .*isomap"),
        ({"isomap": [5]}, "with a dot between them"),
        ({"isomap.n_neighbors": []}, "empty"),
        ({"isomap.n_neighbors": 5}, "must be a list"),
        ({"isomap.n_neighbors": "5,10"}, "must be a list"),
        (["isomap.n_neighbors"], "must be a dict"),
        ({5: [5]}, "sweep 5: .*a method and its parameter"),
    ],
)
def test_parameters_that_cannot_be_swept_are_reported(sweep, message):
    with pytest.raises(ParameterError, match=message):
        checked_sweep(sweep)


def test_duplicate_values_are_removed_and_true_is_not_one():
    found = checked_sweep({"isomap.n_neighbors": [5, 10, 5], "pca.whiten": [True, 1]})
    assert found == {"Isomap": {"n_neighbors": [5, 10]}, "PCA": {"whiten": [True, 1]}}
    assert found["PCA"]["whiten"][0] is True


def test_methods_are_found_without_their_dashes():
    (found,) = methods_named(["SpectralEmbedding", "spectral_embedding", "spectral-embedding"])
    assert found.name == "SpectralEmbedding"


def test_numpy_numbers_and_repeated_parameters_count_once():
    import numpy as np

    found = checked_sweep({"isomap.n_neighbors": np.array([5, 10]), "Isomap.N-NEIGHBORS": [5, 20]})
    assert found == {"Isomap": {"n_neighbors": [5, 10, 20]}}
    weights = [np.zeros(3), np.ones(3), np.ones(3)]
    assert len(checked_sweep({"isomap.metric_params": weights})["Isomap"]["metric_params"]) == 2


def test_methods_of_other_libraries_are_evaluated_not_compared():
    with pytest.raises(ParameterError, match=r"no method 'trimap'\. .*Available methods: .*quality\.evaluate"):
        methods_named(["trimap"])
