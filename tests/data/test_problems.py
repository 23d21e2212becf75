"""All problems of a table in one message."""

import pytest

from lowland.data.open import open_rows
from lowland.errors import DataError


def test_every_column_is_named_with_its_first_cells(tmp_path):
    rows = [f"{i},{'?' if i in (3, 8) else i},{'Bonn' if i % 2 else 'Gent'}" for i in range(20)]
    (tmp_path / "x.csv").write_text("\n".join(["a,count,city", *rows]) + "\n")
    with pytest.raises(DataError) as caught:
        open_rows(tmp_path / "x.csv")
    text = str(caught.value)
    for term in ("2 columns", "'count': 2 of 20 values", "line 5: '?', line 10: '?'", "line 2: 'Gent'", "and 17 more"):
        assert term in text
    assert "open_rows(file, missing=['?'], drop=['city'])" in text
    assert "open_rows(file, drop=['count', 'city'])" in text
    assert open_rows(tmp_path / "x.csv", missing=["?"], drop=["city"]).to_array().shape == (20, 2)


def test_many_columns_are_counted(tmp_path):
    (tmp_path / "x.csv").write_text(",".join(f"v{j}" for j in range(40)) + "\n" + ",".join("u" * 40) + "\n")
    with pytest.raises(DataError, match=r"(?s)40 columns.*and 28 more columns.*columns="):
        open_rows(tmp_path / "x.csv")


def test_missing_values_are_in_the_same_message(tmp_path):
    (tmp_path / "x.csv").write_text("a,b,c,d\n1,,u,\n2,3,v,\n4,5,,\n")
    with pytest.raises(DataError, match=r"'c'.*Missing values: 'b' \(1\), 'd' \(3\);"):
        open_rows(tmp_path / "x.csv")
