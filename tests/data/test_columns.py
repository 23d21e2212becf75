"""Named columns: messages about missing ones."""

import pytest

from lowland.data.reader import selected
from lowland.errors import ParameterError

WINE = [
    "alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids",
    "nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280", "proline", "label",
]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("Label", "Did you mean 'label'? Available columns: 'label', "),
        ("flavonoid", "Did you mean 'flavanoids'? Available columns: 'flavanoids', "),
        ("class", "'label'"),  # not similar, and still not hidden behind twelve others
    ],
)
def test_of_many_columns_the_most_similar_names_come_first(wanted, message):
    with pytest.raises(ParameterError, match=f"has no column '{wanted}'") as caught:
        selected(WINE, [wanted], (), "'wine.csv'")
    assert message in str(caught.value)


def test_few_columns_are_listed_in_their_order():
    with pytest.raises(ParameterError, match=r"^'x' has no column 'zebra'\. Available columns: 'a', 'b', 'c'\.$"):
        selected(["a", "b", "c"], None, ["zebra"], "'x'")


def test_a_message_starts_with_a_capital_letter():
    with pytest.raises(ParameterError, match=r"^The frame has no column 'zebra'"):
        selected(["a"], ["zebra"], (), "the frame")


@pytest.mark.parametrize(
    ("columns", "drop"), [(["size", "cm"], []), (None, ["b", "size", "cm"]), (["size", "b"], ["cm"])]
)
def test_a_name_with_a_comma_needs_quotes(columns, drop):
    with pytest.raises(ParameterError, match=r"has no column 'size', 'cm'.*pass it as one name"):
        selected(["size, cm", "b"], columns, drop, "'x'")
