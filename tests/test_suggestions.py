"""Which names are suggested for an unknown word."""

import pytest

from lowland.suggestions import abbreviated, closest, suggested

METHODS = ["fast-ica", "factor-analysis", "incremental-pca", "isomap", "kernel-pca", "pca"]


@pytest.mark.parametrize(
    ("word", "names"),
    [("isomp", ["isomap"]), ("Fast_ICA", ["fast-ica"]), ("kernel pca", ["kernel-pca"]), ("zebra", [])],
)
def test_the_most_similar_name(word, names):
    assert closest(word, METHODS, n=1) == names


def test_the_nearest_comes_first_and_ties_keep_their_order():
    assert closest("abcd", ["abc", "abcd", "xyz", "bcd"]) == ["abcd", "abc", "bcd"]
    assert closest("abcd", ["abc", "abcd", "xyz", "bcd"], n=4, cutoff=0.0) == ["abcd", "abc", "bcd", "xyz"]
    assert closest("abcd", ["abc", "abcd"], cutoff=0.9) == ["abcd"]


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("fa", ["factor-analysis"]),  # initials
        ("ipca", ["incremental-pca"]),  # initials before the last part
        ("PCA", ["incremental-pca", "kernel-pca", "pca"]),  # a part
        ("increment", ["incremental-pca"]),  # a piece
        ("is", []),  # too short a piece
    ],
)
def test_abbreviations(word, names):
    assert abbreviated(word, METHODS) == names


def test_an_abbreviation_comes_before_a_similar_name():
    assert suggested("ica", METHODS) == ["fast-ica"]
    assert suggested("isomapp", METHODS) == ["isomap"]
    assert suggested("zebra", METHODS) == []
