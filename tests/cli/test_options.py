"""Commands and options: sections of the help, flags of methods, values of flags."""

import json

import click
import pytest

import lowland as ll
from lowland.cli import options
from lowland.cli.options import DATA, Command, Option, section
from lowland.errors import ParameterError
from lowland.math.spectra import component_rules as rules
from lowland.methods.registry import Flag, entries


def test_the_settings_of_a_call_end_with_it(lowland, table):
    from lowland.run.settings import settings

    before = settings()
    lowland("fit", "pca", table, "--threads", 1, "--memory", "1GB", "--no-progress")
    assert settings() == before


def test_columns_may_be_named_one_at_a_time(tmp_path):

    from click.testing import CliRunner

    from lowland.cli.main import cli

    path = tmp_path / "x.csv"
    path.write_text("a,b,c,d\n1,2,x,y\n3,5,x,z\n4,4,u,v\n")
    result = CliRunner().invoke(cli, ["fit", "pca", str(path), "-k", "1", "--drop", "c", "--drop", "d", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["data"]["columns"] == 2


def test_sections_of_the_help_follow_the_order_of_their_first_options():
    params = [*section("First", Option("--a", "A.")), *section(DATA, Option("--b", "B.")), Option("--c", "C.")]
    command = Command("x", params=params)
    text = command.get_help(click.Context(command))
    places = [text.index(word) for word in ("First:", "--a", "Data:", "--b", "Other:", "--c")]
    assert places == sorted(places)


@pytest.mark.parametrize("entry", entries().values(), ids=lambda e: e.verb)
def test_every_default_can_be_written(entry):
    """What the help shows as a default, given as a flag, is the default."""
    for f in filter(options.is_settable, entry.flags):
        option = options.option_of(f)
        if option.is_flag:
            assert option.secondary_opts == [f"--no-{f.name.replace('_', '-')}"]
        else:
            value = option.type.convert(options.default_text(f.default), option, None)
            assert value == f.default
            assert type(value) is type(f.default)


def test_flags_reach_the_method(lowland, table, X):
    result = lowland("fit", "pca", table, "-k", "kaiser", "--scale", "--svd-solver", "full", "--no-copy", "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    expected = ll.PCA(ll.rules.Kaiser(), scale=True, svd_solver="full", copy=False).fit(X)
    changed = {n: v for n, v in facts["parameters"].items() if v != ll.PCA().get_params().get(n)}
    assert changed == {
        "n_components": "Kaiser()",
        "scale": True,
        "svd_solver": "full",
        "copy": False,
        "random_state": 0,
    }
    assert facts["components"] == expected.n_components_
    assert facts["choice"]["reason"] == expected.choice_.reason


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
    found = options.value_of(K, text)
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
        options.value_of(K, text)


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
    found = options.value_of(flag(kinds, choices), text)
    assert found == value
    assert type(found) is type(value)


def test_a_fraction_is_offered_only_where_it_is_allowed():
    """A method that takes rules but no fraction points to the rule for a fraction."""
    factors = flag(["int", "rule", "none"], ["bic"])
    with pytest.raises(ParameterError, match=r"write cumulative:0\.9\.$") as caught:
        options.value_of(factors, "0.9")
    assert "fraction between" not in str(caught.value)
    with pytest.raises(ParameterError, match=r"'0\.9' is not an integer or 'none'\.$"):
        options.value_of(flag(["int", "none"]), "0.9")


def test_lists_of_numbers():
    assert options.value_of(flag(["numbers", "none"]), "1, 0.5,2") == [1, 0.5, 2]


def test_a_wrong_value_names_what_is_allowed():
    with pytest.raises(ParameterError, match=r"'much' is not an integer or 'auto'\."):
        options.value_of(flag(["int"], ["auto"]), "much")


def test_rules_agree_with_python():
    assert {*options.RULES, *options.PYTHON_ONLY} == {options.dashed(name) for name in rules.RULES}
