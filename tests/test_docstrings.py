"""Docstrings of measures and figures: every parameter is described, shared ones too, and the examples run."""

import doctest
import inspect
import re

import pytest

from lowland import docstrings, plots, quality

NAMES = [(module, name) for module in (quality, plots) for name in module.__all__]


@pytest.mark.parametrize(("module", "name"), [*NAMES, (docstrings, "with_parameters")], ids=str)
def test_every_parameter_is_described_and_the_examples_run(module, name):
    value = getattr(module, name)
    if inspect.isfunction(value) and module is not docstrings:
        section = inspect.getdoc(value).partition("\nParameters\n----------\n")[2].partition("\n\n")[0]
        assert re.findall(r"^(\w+) : ", section, re.M) == list(inspect.signature(value).parameters)
        assert "\nReturns\n-------\n" in value.__doc__
    for test in doctest.DocTestFinder(recurse=False).find(value, name):
        assert doctest.DocTestRunner().run(test).failed == 0
