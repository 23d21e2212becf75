"""Columns that look like ids are named, also where the table is prepared."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def orders(folder):
    rng = np.random.default_rng(0)
    numbers = rng.permutation(60) + 1000
    lines = ["key,a,b,city"]
    lines += [
        f"{key},{rng.normal():.4f},{rng.normal():.4f},{'Bonn' if i % 2 else 'Ulm'}" for i, key in enumerate(numbers)
    ]
    Path("orders.csv").write_text("\n".join(lines) + "\n")
    return Path("orders.csv")


@pytest.mark.parametrize("words", [("fit", "pca"), ("compare",)])
def test_a_prepared_column_of_ids_is_named(lowland, orders, words):
    more = () if words[0] == "fit" else ("--methods", "pca", "--no-cache")
    done = lowland(*words, orders, "--prepare", "auto", *more)
    assert done.exit_code == 0, done.stderr
    assert "key: an identifier" in done.stdout
    done = lowland(*words, orders, "--prepare", "auto", "--id", "key", *more)
    assert "key: an identifier" not in done.stdout


def test_a_column_of_ids_is_named_without_preparing(lowland, orders):
    done = lowland("fit", "pca", orders, "--drop", "city")
    assert "--id key or --drop key" in done.stderr
