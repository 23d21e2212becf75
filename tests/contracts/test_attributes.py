"""Fitted attributes are those that the class declares, each with a sentence."""

import pytest

from lowland.methods.base.params import attributes_of
from lowland.methods.registry import load_method

from .battery import METHODS, labels, make, table_for


def fitted(name):
    X = table_for(name)
    return make(name).fit(X, labels(len(X)))


@pytest.mark.parametrize("name", METHODS)
def test_declared_attributes_exist_and_fitted_ones_are_declared(name):
    model = fitted(name)
    declared = {each.name: each for each in attributes_of(load_method(name))}
    left = {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}
    assert not left - set(declared), "set by fit, not declared"
    always = {key for key, each in declared.items() if not each.when}
    assert not {key for key in always if not hasattr(model, key)}, "declared, not set by fit"


@pytest.mark.parametrize("name", METHODS)
def test_attributes_have_a_sentence_and_a_type(name):
    for each in attributes_of(load_method(name)):
        assert each.doc.endswith("."), each
        assert each.kind, each


@pytest.mark.parametrize("name", METHODS)
def test_an_unfitted_model_has_none_of_them(name):
    model = make(name)
    assert not [each.name for each in attributes_of(load_method(name)) if each.name in vars(model)]


@pytest.mark.parametrize("name", METHODS)
def test_the_docstring_has_its_sections_in_order(name):
    text = load_method(name).__doc__
    places = [
        text.index(f"\n{title}\n{'-' * len(title)}")
        for title in ("Parameters", "Attributes", "Notes", "References", "Examples")
    ]
    assert places == sorted(places)
