"""The traits of the methods are consistent."""

import pytest

from lowland.methods.base.params import parameters_of
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import entries, load_method


@pytest.mark.parametrize("name", entries())
def test_traits_agree_with_the_class_and_the_index(name):
    cls, entry = load_method(name), entries()[name]
    traits, parameters = traits_of(cls), {p.name: p for p in parameters_of(cls)}
    assert entry.verb == traits.verb
    assert not (traits.needs_y and not traits.reads_y)
    assert not (traits.streams and traits.streams_with_landmarks)
    assert traits.width_parameter is None or traits.width_parameter in parameters
    assert all(parameters[given].fits(value) for given, value in traits.quick.items())
    assert traits_of(cls(**traits.quick)) is traits


def test_verbs_are_unique():
    assert len({entry.verb for entry in entries().values()}) == len(entries())
