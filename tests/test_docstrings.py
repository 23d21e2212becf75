"""Docstrings of measures and figures: every parameter is described, shared ones too, and the examples run."""

import doctest
import inspect
import re

import pytest

from lowland import docstrings, plots, quality

VALUES = [getattr(module, name) for module in (quality, plots) for name in module.__all__]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.__module__}.{value.__name__}")
def test_every_parameter_is_described(value):
    if inspect.isfunction(value):
        described, returns, _ = inspect.getdoc(value).partition("\nReturns\n-------\n")
        section = described.partition("\nParameters\n----------\n")[2]
        assert re.findall(r"^(\w+) : ", section, re.M) == list(inspect.signature(value).parameters)
        assert returns


@pytest.mark.parametrize(
    "value", [*VALUES, docstrings.with_parameters], ids=lambda value: f"{value.__module__}.{value.__name__}"
)
def test_the_examples_run(value):
    for test in doctest.DocTestFinder(recurse=False).find(value, value.__name__):
        assert doctest.DocTestRunner().run(test).failed == 0
