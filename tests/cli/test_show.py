"""Plain data on the screen."""

import numpy as np
import pytest

from lowland.cli.show import in_words
from lowland.data.write import write_chunks

ESCAPE = "\x1b"


def test_control_characters_in_names_are_escaped(lowland, X):
    write_chunks([X], "evil.parquet", ["\x1b[2J", "[red]b", ":smile:", "d"])
    result = lowland("fit", "pca", "evil.parquet", "--model", "m.lowland")
    text = lowland("inspect", "m.lowland").stdout
    assert result.exit_code == 0
    assert ESCAPE not in text
    assert r"\x1b[2J, [red]b, :smile:, d" in text


def test_only_the_first_ten_components_are_listed(lowland, rng):
    np.save("wide.npy", rng.standard_normal((40, 15)))
    lines = lowland("fit", "pca", "wide.npy").stdout.splitlines()
    assert lines[-2].split()[0] == "10"
    assert lines[-1] == "and 5 more; 100.00% in total"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "yes"),
        (0.123456789, "0.1235"),
        (12, "12"),
        ([], "none"),
        ([1.0, None], "1, –"),
        ({"a": 1, "b": 2.5}, "a 1, b 2.5"),
        (list(range(14)), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more"),
    ],
)
def test_values_in_words(value, text):
    assert in_words(value) == text
