"""What a y holds: numbers or classes."""

import numpy as np
import pytest

from lowland.blocks.statistics.targets import Target, seems_classes, statistic_and_target, warn_of_many_classes
from lowland.errors import DataError, DataWarning, ParameterError


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array(["a", "b", "a"]), True),
        (np.array([True, False]), True),
        (np.array([0.5, 1.0, 7.0]), False),
        (np.array([3.0, 8.0, 3.0]), True),  # two numbers
        (np.arange(12), False),  # one row of each kind
        (np.arange(60) % 12, True),  # five of each
        (np.arange(1010) % 101, False),  # too many kinds
    ],
)
def test_numbers_or_classes(y, classes):
    assert seems_classes(y) == classes


def test_numbers_are_brought_to_the_order_of_one_and_back():
    y = np.array([1e30, -3e30, 2e30])
    target = Target.of(y, "numbers")
    assert np.abs(target.values).max() < 2
    np.testing.assert_array_equal(target.own, y)
    standard = target.standardized()
    assert abs(standard.values.mean()) < 1e-15
    assert standard.values.std() == pytest.approx(1)
    np.testing.assert_allclose(standard.own, y)


def test_classes_become_their_numbers():
    target = Target.of(np.array(["b", "a", "c", "a"]), "auto")
    assert target.n_classes == 3
    assert target.values.tolist() == [1, 0, 2, 0]
    assert target.own.tolist() == ["b", "a", "c", "a"]
    assert target.standardized() is target


def test_what_is_no_target():
    for y, words in ((np.ones(4), "constant"), (np.array([1.0, np.nan]), "NaN"), (np.array(list("abc")), "3 classes")):
        with pytest.raises(DataError, match=words):
            Target.of(y, "numbers")
    with pytest.raises(DataError, match="constant"):
        Target(np.array([1.0, 1.0 + 2**-52])).standardized()


def test_whole_numbers_of_many_kinds_are_warned_of():
    with pytest.warns(DataWarning, match="taken for 12 classes"):
        warn_of_many_classes(np.arange(60) % 12)
    warn_of_many_classes(np.arange(60) % 10)


def test_the_statistic_follows_from_what_y_holds():
    numbers, classes = np.random.default_rng(0).standard_normal(30), np.arange(30) % 3
    assert statistic_and_target("auto", numbers, "auto")[0] == "pearson"
    assert statistic_and_target("auto", classes, "auto")[0] == "anova"
    assert statistic_and_target("variance", classes, "auto") == ("variance", None)
    assert statistic_and_target(np.var, numbers, "auto") == ("var()", None)
    with pytest.raises(ParameterError, match="compares classes"):
        statistic_and_target("anova", numbers, "numbers")
    with pytest.raises(DataError, match="3 classes"):
        statistic_and_target("pearson", classes, "auto")
