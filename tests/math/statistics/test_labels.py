"""Targets: class labels and numbers."""

import numpy as np
import pytest

from lowland.errors import DataError, DataWarning, ParameterError
from lowland.math.statistics.labels import (
    ClassLabels,
    ClassProbabilities,
    MostProbableClass,
    Target,
    check_class_counts,
    classes_of,
    merged_classes,
    missing_labels,
    normalized_priors,
    seems_classes,
)


def test_scores_give_class_and_probabilities():
    scores = np.array([[1.0, 3.0, 2.0], [0.0, 0.0, np.nan]])
    winner = MostProbableClass(lambda S: S)(scores)
    assert winner[0, 0] == 1
    assert np.isnan(winner[1, 0])
    assert MostProbableClass(lambda S: S)(np.array([[-1.0], [1.0]]))[:, 0].tolist() == [0.0, 1.0]
    p = ClassProbabilities(lambda S: S)(scores[:1])
    np.testing.assert_allclose(p, np.exp(scores[:1]) / np.exp(scores[:1]).sum())
    np.testing.assert_allclose(ClassProbabilities(lambda S: S, logs=True)(scores[:1]), np.log(p))
    two = ClassProbabilities(lambda S: S)(np.array([[1000.0], [0.0]]))  # of the second class
    np.testing.assert_allclose(two, [[0.0, 1.0], [0.5, 0.5]])
    assert ClassLabels(np.array(["a", "b"]))(np.array([1.0, 0.0])).tolist() == ["b", "a"]


def test_the_type_of_a_target_is_inferred():
    assert seems_classes(np.array(["a", "b", "b"]))
    assert seems_classes(np.array([True, False]))
    assert seems_classes(np.array([0, 1]))
    assert seems_classes(np.array([0.0, 1.0, 2.0] * 5))
    assert not seems_classes(np.array([0.5, 1.0, 2.0] * 5))
    assert not seems_classes(np.array([0, 1, 2]))  # one row each
    assert not seems_classes(np.arange(2000) % 101)  # too many distinct values
    assert Target.of_numbers(np.array(["yes", "no", "no"])).values.tolist() == [1, 0, 0]
    for y in (np.array([1.0, np.nan, 2.0]), np.array([1.0, np.inf, 2.0])):
        with pytest.raises(DataError, match="NaN or infinity"):
            seems_classes(y)


def test_many_integer_classes_give_a_warning():
    y = np.arange(200) % 20
    with pytest.warns(DataWarning, match="20 class labels.*kind 'numbers'"):
        assert Target.of(y, "auto").n_classes == 20


def test_standardization_is_inverted():
    y = np.array([3.0, 5.0, 10.0])
    target = Target.of(y, "numbers").standardized()
    np.testing.assert_allclose(target.values, (y - 6) / y.std())
    np.testing.assert_allclose(target.own, y)
    assert Target.of(np.array(["b", "a", "b"]), "classes").own.tolist() == ["b", "a", "b"]


def test_classes_are_sorted_and_rows_encoded():
    classes, codes = classes_of(np.array(["b", "a", "b"]))
    assert (classes.tolist(), codes.tolist()) == (["a", "b"], [1, 0, 1])
    assert missing_labels(np.array([1.0, np.nan])).tolist() == [False, True]
    assert missing_labels(np.array(["a", None], dtype=object)).tolist() == [False, True]
    classes, codes = merged_classes(np.array([1, 3]), np.array([2, 3]), None)
    assert (classes.tolist(), codes.tolist()) == ([1, 2, 3], [1, 2])
    with pytest.raises(DataError, match=r"numbers.*strings.*one type"):
        merged_classes(np.array(["a"]), np.array([1]), None)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.array([0.5, 1.5]), "continuous.*fractions.*integers or strings"),
        (np.array([1.0, np.nan]), "1 row without a label"),
        (np.array([1.0, np.inf]), "infinity"),
        (np.array([1, 1]), "greater than one"),
        (np.array(["a", 1], dtype=object), "mix types.*strings"),
        (np.array([1j, 2j]), "complex128.*integers or strings"),
    ],
)
def test_invalid_labels_are_refused(labels, words):
    with pytest.raises(DataError, match=words):
        classes_of(labels)


def test_classes_must_have_enough_rows():
    classes = np.array(["a", "b"])
    for counts, words in (([5.0, 0.0], "no row of class 'b'"), ([1.0, 1.0], "2 rows in 2 classes")):
        with pytest.raises(DataError, match=words):
            check_class_counts(classes, np.array(counts))
    with pytest.raises(DataError, match="All rows so far"):
        check_class_counts(classes[:1], np.array([5.0]))
    with pytest.warns(DataWarning, match="'a' has only one member"):
        check_class_counts(classes, np.array([1.0, 4.0]))


def test_priors_sum_to_one():
    np.testing.assert_allclose(normalized_priors([0.25, 0.75], 2), [0.25, 0.75])
    with pytest.warns(UserWarning, match="do not sum to 1"):
        np.testing.assert_allclose(normalized_priors([1, 3], 2), [0.25, 0.75])
    for wrong in ([0.5, -0.5, 1.0], [0.0, 0.0, 0.0], [1.0]):
        with pytest.raises(ParameterError, match="priors"):
            normalized_priors(wrong, 3)


def test_two_rows_per_class_are_enough():
    check_class_counts(np.array([0, 1, 2]), np.array([2, 2, 2]))
    with pytest.raises(DataError, match="3 rows in 3 classes"):
        check_class_counts(np.array([0, 1, 2]), np.array([1, 1, 1]))
