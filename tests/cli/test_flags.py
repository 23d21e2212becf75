"""Flags: what the help shows of a parameter, and how flags reach a method."""

import json

import pytest

import lowland as ll
from lowland.cli import options as flags
from lowland.methods.registry import entries


@pytest.mark.parametrize("entry", entries().values(), ids=lambda e: e.verb)
def test_every_default_can_be_written(entry):
    """What the help shows as a default, given as a flag, is the default."""
    for f in filter(flags.is_settable, entry.flags):
        option = flags.option_of(f)
        if option.is_flag:
            assert option.secondary_opts == [f"--no-{f.name.replace('_', '-')}"]
        else:
            value = option.type.convert(flags.default_text(f.default), option, None)
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
