"""Strings of flags become Python values."""

import pytest

from lowland.cli import options as values
from lowland.errors import ParameterError
from lowland.math.spectra import component_rules as rules
from lowland.methods.registry import Flag


def flag(kinds, choices=None, name="p"):
    return Flag(name=name, words="", default=None, doc="", choices=choices, kinds=kinds)


K = flag(["int", "float", "rule", "none"], ["mle"], "n_components")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.95", 0.95),
        ("mle", "mle"),
        ("none", None),
        ("kaiser", rules.Kaiser()),
        ("Kaiser()", rules.Kaiser()),
        ("knee", rules.Knee()),
        ("cumulative:0.9", rules.Cumulative(0.9)),
        ("each-at-least:0.05", rules.EachAtLeast(0.05)),
        ("eigenvalue-above:1", rules.EigenvalueAbove(1)),
        ("parallel-analysis", rules.ParallelAnalysis()),
        ("parallel_analysis:50,0.99", rules.ParallelAnalysis(50, 0.99)),
    ],
)
def test_numbers_of_components(text, value):
    found = values.value_of(K, text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("downstream", "only in Python"),
        ("cumulative", "cumulative:FRACTION"),
        ("cumulative:lots", "cumulative:FRACTION"),
        ("cumulative:1.5", "between 0 and 1"),
        ("knee:3", "Write knee"),
        ("1.5", "a fraction between 0 and 1"),
        ("nan", "'mle'"),
        ("kaizer", "kaiser"),
    ],
)
def test_invalid_numbers_of_components(text, message):
    with pytest.raises(ParameterError, match=message):
        values.value_of(K, text)


@pytest.mark.parametrize(
    ("kinds", "choices", "text", "value"),
    [
        (["int"], ["auto"], "auto", "auto"),
        (["int"], ["auto"], "-7", -7),
        (["float"], None, "1e-3", 1e-3),
        (["float"], None, "2", 2.0),
        (["float", "none"], None, "None", None),
        (["bool"], ["auto"], "yes", True),
        (["bool"], ["auto"], "false", False),
        (["str"], None, "Cosine", "Cosine"),
        ([], None, "3", 3),
        ([], None, "word", "word"),
        ([], ["auto", "none"], "none", "none"),
    ],
)
def test_other_values(kinds, choices, text, value):
    found = values.value_of(flag(kinds, choices), text)
    assert found == value
    assert type(found) is type(value)


def test_a_fraction_is_offered_only_where_it_is_allowed():
    """A method that takes rules but no fraction points to the rule for a fraction."""
    factors = flag(["int", "rule", "none"], ["bic"])
    with pytest.raises(ParameterError, match=r"write cumulative:0\.9\.$") as caught:
        values.value_of(factors, "0.9")
    assert "fraction between" not in str(caught.value)
    with pytest.raises(ParameterError, match=r"'0\.9' is not an integer or 'none'\.$"):
        values.value_of(flag(["int", "none"]), "0.9")


def test_lists_of_numbers():
    assert values.value_of(flag(["numbers", "none"]), "1, 0.5,2") == [1, 0.5, 2]


def test_a_wrong_value_names_what_is_allowed():
    with pytest.raises(ParameterError, match=r"'much' is not an integer or 'auto'\."):
        values.value_of(flag(["int"], ["auto"]), "much")


def test_rules_agree_with_python():
    assert {*values.RULES, *values.PYTHON_ONLY} == {values.dashed(name) for name in rules.RULES}
