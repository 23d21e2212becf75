"""Docstrings of measures and figures: every parameter is described, shared ones too, and the examples run."""

import doctest
import inspect
import re

import pytest

import lowland
from lowland import algorithms, data, docstrings, plots, quality, rules, study
from lowland.methods.registry import entries

VALUES = [getattr(module, name) for module in (quality, plots) for name in module.__all__]
# What functions return, and the base of rules: nobody makes one.
RECORDS = {
    "Progress", "NeighborGraph", "Dataset", "CoRanking", "IntrinsicDimension", "Measure", "Shepard", "Rule", "Advice",
    "Curve", "Score", "ShownTable", "StudyResult", "Trial",
}  # fmt: skip
PUBLIC = [
    getattr(module, name)
    for module in (lowland, algorithms, data, plots, quality, rules, study)
    for name in getattr(module, "__all__", ())
    if name not in {*RECORDS, *entries(), "Stopped", "__version__"}
]
PUBLIC = [value for value in dict.fromkeys(PUBLIC) if callable(value)]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: f"{value.__module__}.{value.__name__}")
def test_every_parameter_is_described(value):
    if inspect.isfunction(value):
        described, returns, _ = inspect.getdoc(value).partition("\nReturns\n-------\n")
        section = described.partition("\nParameters\n----------\n")[2]
        assert re.findall(r"^(\w+) : ", section, re.M) == list(inspect.signature(value).parameters)
        assert returns


@pytest.mark.parametrize(
    "value", [*PUBLIC, docstrings.with_parameters], ids=lambda value: f"{value.__module__}.{value.__name__}"
)
def test_every_public_name_has_an_example_that_runs(value):
    tests = doctest.DocTestFinder(recurse=False).find(value, value.__name__)
    results = [doctest.DocTestRunner().run(test) for test in tests]
    assert sum(result.attempted for result in results) > 0
    assert sum(result.failed for result in results) == 0
