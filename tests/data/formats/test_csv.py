"""CSV in all its forms, and headers that mislead."""

import gzip

import numpy as np
import pytest

import lowland
from lowland.data.formats.csv_dialect import detect
from lowland.data.open import open_rows, open_table, read_column
from lowland.data.read_options import ReadOptions
from lowland.errors import DataError, DataWarning, FileProblem, ParameterError


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((500, 3))


def whole(rows):
    return np.concatenate([np.asarray(chunk) for chunk in rows.chunks()])


def test_csv_in_all_its_forms(X, tmp_path):
    (tmp_path / "late.csv").write_text("a,b\n1,2\n" + "3,4\n" * 5 + "5.5,6\n")
    assert whole(open_rows(tmp_path / "late.csv"))[-1, 0] == 5.5
    with gzip.open(tmp_path / "x.csv.gz", "wt") as file:
        file.write("a,b\n1,2\n3,4\n")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv.gz")), [[1, 2], [3, 4]])
    (tmp_path / "x.tsv").write_text("a\tb\n1\t2\n")
    assert open_rows(tmp_path / "x.tsv").names == ("a", "b")
    (tmp_path / "x.tsv").write_text("a,b\n1,2\n")
    assert open_rows(tmp_path / "x.tsv").names == ("a", "b")
    (tmp_path / "gap.csv").write_text("a,b\n1,2\n,4\n")
    assert np.isnan(whole(open_rows(tmp_path / "gap.csv"))[1, 0])
    (tmp_path / "twice.csv").write_text("a,a,b\n1,2,3\n")
    assert open_rows(tmp_path / "twice.csv").names == ("a", "a (2)", "b")
    (tmp_path / "torn.csv.gz").write_bytes((tmp_path / "x.csv.gz").read_bytes()[:15])
    with pytest.raises(OSError, match="torn"):
        whole(open_rows(tmp_path / "torn.csv.gz"))


def test_a_compressed_file_that_ends_too_early_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.formats.csv_file._BLOCK", 2**10)
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in np.random.default_rng(0).standard_normal((500, 2)))
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode(), 1)[:-1000])
    with pytest.raises(FileProblem, match="damaged"):
        whole(open_rows(tmp_path / "x.csv.gz"))


def test_decimals_after_integers_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr("lowland.data.formats.csv_file._BLOCK", 64)
    (tmp_path / "x.csv").write_text("a,b\n" + "1,2\n" * 50 + "3.5,4\n")
    assert whole(open_rows(tmp_path / "x.csv"))[-1, 0] == 3.5
    (tmp_path / "y.csv").write_text("a,b\n" + "1,2\n" * 50 + "oops,4\n")
    with pytest.raises(DataError, match="oops"):
        whole(open_rows(tmp_path / "y.csv"))
    (tmp_path / "z.csv").write_text("a,b\n" + "12 %,2\n" * 50 + "oops,4\n")  # among numbers as people write them
    with pytest.raises(DataError, match=r"'a'.*line 52: 'oops'"):
        whole(open_rows(tmp_path / "z.csv"))


@pytest.mark.parametrize(
    ("text", "names", "first"),
    [
        (b"a;b\n1;2\n", "ab", [1, 2]),
        (b"a;b\n1,5;2,5\n", "ab", [1.5, 2.5]),
        (b"a;b, cm;c\n1;2,5;3,5\n1;2,5;3,5\n", ("a", "b, cm", "c"), [1, 2.5, 3.5]),  # a comma in a name
        (b"a;b, cm;c\n1;2;3,5\n1;2;3,5\n", ("a", "b, cm", "c"), [1, 2, 3.5]),
        (b"a\tb, cm\tc\n1\t2,5\t3,5\n", ("a", "b, cm", "c"), [1, 2.5, 3.5]),
        (b"a|b\r\n1.5|2\r\n", "ab", [1.5, 2]),
        ("é,b\n1,2\n".encode("latin-1"), "éb", [1, 2]),
        ("a,b\n1,2\n".encode("utf-16"), "ab", [1, 2]),
        ("é;b\n1;2\n".encode("utf-16-le"), "éb", [1, 2]),
        ("\ufeffé;b\n1;2\n".encode(), "éb", [1, 2]),
    ],
)
def test_dialects_are_detected(tmp_path, text, names, first):
    (tmp_path / "x.csv").write_bytes(text)
    rows = open_rows(tmp_path / "x.csv")
    assert rows.names == tuple(names)
    np.testing.assert_array_equal(whole(rows)[0], first)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (['"1,234.50"', '"-12"', '"7,000,000"'], [1234.5, -12, 7e6]),
        (["12 %", "3.5%", ""], [12, 3.5, np.nan]),
        (['"€ 1,234.50"', "€ 3", '"1,000 €"'], [1234.5, 3, 1000]),
        (["$5", "-$6.5", "NA"], [5, -6.5, np.nan]),
        (["1 234", "1\u00a0234\u202f567", "5"], [1234, 1234567, 5]),
        (["1'234.5", "2'000", "5"], [1234.5, 2000, 5]),
        (['"(1,234.50)"', '"$2,000.00"', "($3.25)"], [-1234.5, 2000, -3.25]),
        (["−1.5", "3", "4"], [-1.5, 3, 4]),  # a minus sign of typography
    ],
)
def test_numbers_as_people_write_them(tmp_path, cells, numbers):
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells), encoding="utf-8")
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv"))[:, 0], numbers)


@pytest.mark.parametrize("separator", [";", "\t"])
@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["(0,461)", "(1,234)"], [-0.461, -1.234]),
        (["−0,461", "−0,234"], [-0.461, -0.234]),
        (["0,461%", "12,5%"], [0.461, 12.5]),
        (["0,461 kr", "2 kr"], [0.461, 2]),
        (["0,46 CHF", "0,461 CHF"], [0.46, 0.461]),
        (["€ 0,461", "€ 1.234,5"], [0.461, 1234.5]),
    ],
)
def test_a_decimal_comma_beside_signs_and_units(tmp_path, separator, cells, numbers):
    (tmp_path / "x.csv").write_text(f"a{separator}b\n" + "".join(f"{cell}{separator}1\n" for cell in cells))
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv"))[:, 0], numbers)


def test_a_group_of_thousands_does_not_begin_with_zero(tmp_path):
    for text in ("a;b\n0,461,234;1\n2;1\n", "a;b\n(0.461);1\n1,5;1\n"):  # once read as 461234 and as -461
        (tmp_path / "x.csv").write_text(text)
        with pytest.raises(DataError, match=r"'a'.*not numeric"):
            open_rows(tmp_path / "x.csv")


def test_options_of_reading(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("a;b\n1.234;?\n2.000;-\n".encode("utf-16"))
    rows = open_rows(path, separator=";", decimal=",", thousands=".", encoding="utf-16", missing=["?", "-"])
    np.testing.assert_array_equal(whole(rows), [[1234, np.nan], [2000, np.nan]])
    path.write_text("a 1\nb 2\n")
    rows = open_rows(path, separator=" ", header=False, columns=["x1"])
    np.testing.assert_array_equal(whole(rows), [[1], [2]])
    for wrong in ({"separator": "ab"}, {"decimal": "x"}, {"encoding": "klingon"}, {"sheet": "a"}, {"parts": 1},
                  {"decimal": ",", "separator": ","}):  # fmt: skip
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            open_rows(path, **wrong)
    with pytest.raises(ParameterError, match="header"):
        open_rows(np.eye(3), header=False)


def test_a_comma_before_three_digits_is_a_guess(tmp_path):
    (tmp_path / "x.csv").write_text("a;b\n1,234;2\n")
    with pytest.warns(DataWarning, match="decimal comma.*thousands=','"):
        assert whole(open_rows(tmp_path / "x.csv"))[0, 0] == 1.234
    assert whole(open_rows(tmp_path / "x.csv", thousands=","))[0, 0] == 1234


@pytest.mark.parametrize(
    "text", [",a,b\nr1,1,2\nr2,3,4\n", '"","a","b"\n"r1",1,2\n"r2",3,4\n', "a,b\nr1,1,2\nr2,3,4\n"]
)
def test_the_row_names_of_r_and_the_index_of_pandas(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    rows = open_rows(tmp_path / "x.csv")
    assert rows.names == ("a", "b")
    assert "'column 1' as the ids" in rows.notes[0]
    np.testing.assert_array_equal(whole(rows), [[1, 2], [3, 4]])
    assert list(read_column(tmp_path / "x.csv", "column 1")) == ["r1", "r2"]


@pytest.mark.parametrize("text", ["a\n1,5\n2,5\n", "a,b\n1,5,2\n2,5,3\n"])
def test_a_decimal_comma_is_not_a_row_name(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(DataError, match="different lengths"):
        open_rows(tmp_path / "x.csv")


@pytest.mark.parametrize(
    "content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\x7fELF,\n1,2,3\n\0\0,1", b"PK\x03\x04\x14\0\x08\0,\n"]
)
def test_a_binary_file_is_called_one(tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(DataError, match=r"x\.csv' looks like a binary file, not like text. .*export") as error:
        open_rows(tmp_path / "x.csv")
    assert str(error.value).isprintable()


def test_one_cell_is_singular(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1,5\n2,5\n")
    with pytest.raises(DataError, match=r"the first has 1 cell, line 2 has 2"):
        open_rows(tmp_path / "x.csv")


def test_quotes_and_line_breaks_in_cells(tmp_path):
    (tmp_path / "x.csv").write_text('a,"the\nname",c\n1,"x\ny",2\n3,"say ""hi"", please",oops\n')
    rows = open_rows(tmp_path / "x.csv", columns=["a"])
    np.testing.assert_array_equal(whole(rows)[:, 0], [1, 3])
    with pytest.raises(DataError, match=r"(?s)the..name.*'c'.*line 5: 'oops'.*missing=\['oops'\].*drop="):
        open_rows(tmp_path / "x.csv")


def test_a_separator_within_a_name_is_part_of_the_name(tmp_path):
    (tmp_path / "x.csv").write_text("a;b;c,d\n1,2\n3,4\n")
    assert open_rows(tmp_path / "x.csv").names == ("a;b;c", "d")
    (tmp_path / "x.csv").write_text('"a;b"\n1\n3\n')
    assert open_rows(tmp_path / "x.csv").names == ("a;b",)
    (tmp_path / "x.tsv").write_text("a,b\n1\n3\n")
    assert open_rows(tmp_path / "x.tsv").names == ("a,b",)


@pytest.mark.parametrize("blank", ["", "NA", "N/A", "nan", "NaN", "null"])
def test_missing_value_marks_are_missing_labels(tmp_path, blank):
    (tmp_path / "x.csv").write_text(f"a,b,y\n1,2,x\n2,{blank},{blank}\n3,4,None\n4,5,N\n")
    assert np.isnan(open_rows(tmp_path / "x.csv", columns=["b"]).to_array()[1, 0])
    assert list(read_column(tmp_path / "x.csv", "y")) == ["x", None, "None", "N"]


def test_labels_in_another_encoding(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_bytes("a,b\n1,é\n".encode("latin-1"))
    assert whole(open_rows(tmp_path / "x.csv", drop=["b"])) == 1
    assert list(read_column(tmp_path / "x.csv", "b")) == ["é"]
    monkeypatch.setattr("lowland.data.formats.csv_file._BLOCK", 64)
    (tmp_path / "x.csv").write_bytes(("a,b\n" + "1,u\n" * 50 + "1,é\n").encode("latin-1"))  # after the first block
    with pytest.raises(DataError, match=r"not valid UTF-8.*encoding='cp1252'"):
        read_column(tmp_path / "x.csv", "b")


@pytest.mark.parametrize(
    "text", ["3,1,2\n4,5,6\n", "0,1,3\n4,5,6\n", "2019,2020,2021\n4,5,6\n", "1,NA,2\n4,5,6\n", "1.5,2,-3e4\n4,5,6\n"]
)
def test_a_first_line_of_numbers_is_a_row(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    with pytest.warns(DataWarning, match=r"first line.*only numbers.*first row.*x0.*header=True"):
        rows = open_rows(tmp_path / "x.csv")
    assert rows.names == ("x0", "x1", "x2")
    expected = np.array([line.split(",") for line in text.replace("NA", "nan").split()], dtype=float)
    np.testing.assert_array_equal(whole(rows), expected)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv", header=False)), expected)
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv", header=True)), expected[1:])


def test_numbers_that_are_names(tmp_path):
    (tmp_path / "x.csv").write_text("0,1,2\n1,2,3\n4,5,6\n")
    with pytest.warns(DataWarning, match=r"taken for column names.*header=False"):
        rows = open_rows(tmp_path / "x.csv")  # as pandas writes a frame without names
    assert rows.names == ("0", "1", "2")
    assert len(whole(rows)) == 2
    assert len(whole(open_rows(tmp_path / "x.csv", header=False))) == 3
    (tmp_path / "x.csv").write_text('"2019","2020","2021"\n1,2,3\n4,5,6\n')  # quoted: text
    assert open_rows(tmp_path / "x.csv").names == ("2019", "2020", "2021")
    (tmp_path / "x.csv").write_text('"5.1","3.5"\n"4.9","3.0"\n')  # all cells are quoted: numbers
    with pytest.warns(DataWarning, match=r"read as the first row.*header=True"):
        np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv")), [[5.1, 3.5], [4.9, 3.0]])


def test_a_first_line_of_numbers_and_text(tmp_path):
    (tmp_path / "x.csv").write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n7.0,3.2,versicolor\n")
    with pytest.warns(DataWarning, match=r"column names.*'5\.1'.*header=False"):
        open_rows(tmp_path / "x.csv", columns=["3.5"])
    rows = open_rows(tmp_path / "x.csv", columns=["x0", "x1"], header=False)
    np.testing.assert_array_equal(whole(rows)[0], [5.1, 3.5])
    (tmp_path / "x.csv").write_text("id,2019,2020\n4.9,3.0,1\n7.0,3.2,2\n")  # a name above numbers: a header
    assert open_rows(tmp_path / "x.csv").names == ("id", "2019", "2020")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_blank_line_of_a_single_column_is_a_missing_value(tmp_path, end):
    (tmp_path / "x.csv").write_bytes(end.join(["a", "1", "", "3", ""]).encode())
    np.testing.assert_array_equal(whole(open_rows(tmp_path / "x.csv"))[:, 0], [1, np.nan, 3])
    (tmp_path / "y.csv").write_bytes(end.join(["y", "u", "", "v", ""]).encode())
    assert list(read_column(tmp_path / "y.csv", "y")) == ["u", None, "v"]
    with pytest.raises(DataError, match="NaN"):
        lowland.PCA(1).fit(tmp_path / "x.csv")
    (tmp_path / "z.csv").write_bytes(end.join(["a,b", "1,2", "", "3,4", ""]).encode())
    assert len(whole(open_rows(tmp_path / "z.csv"))) == 2


def test_lines_above_the_header_are_skipped(tmp_path):
    (tmp_path / "x.csv").write_text("Report of 2023\n\n# by hand, in May\na;b;c\n1,5;2;3\n2,5;3;4\n3,5;x;5\n")
    table = open_table(tmp_path / "x.csv")
    assert table.names == ["a", "b", "c"]
    assert "2 lines above the header skipped" in table.notes[0]
    with pytest.raises(DataError, match="line 7: 'x'"):
        table.rows_at([0, 1, 2])


@pytest.mark.parametrize(
    "text", ["#a,b,c\nx,y,z\nu,v,w\n", ",b,c\nr1,1,2\nr2,3,4\n", "a\nx\ny\n", "a b\n1,2,3\n4,5,6\n", "x\nr1,1\nr2,2\n"]
)
def test_a_header_is_not_a_title(tmp_path, text):
    (tmp_path / "x.csv").write_text(text)
    assert detect(text.encode(), ",", ReadOptions()).skipped == 0


def test_all_lines_of_another_length_are_named(tmp_path):
    (tmp_path / "x.csv").write_text('a,b,c\n1,2,3\n4,5\n"6\n6",7,8\n9,8,7,6\n' + "1,2,3\n" * 9)
    with pytest.raises(DataError, match=r"line 3 has 2 \(4,5\), line 6 has 4 \(9,8,7,6\)"):
        open_table(tmp_path / "x.csv")


def test_points_between_thousands_beside_decimal_commas():
    text = "a;b\n1.171;8,94\n8.403;4,8\n"
    assert detect(text.encode(), ",", ReadOptions()).decimal == ","
    found = detect(b"a;b\n1.171;8\n8.403;4\n", ",", ReadOptions())
    assert (found.decimal, "three digits" in found.doubt) == (".", True)
    assert detect(b"a;b\n1.171;8\n0.403;4\n", ",", ReadOptions()).doubt is None


def test_columns_between_spaces_are_not_one_column(tmp_path):
    (tmp_path / "x.txt").write_text("a  b   c\n 1.5  2 3\n 2.5 -1  4\n")
    with pytest.raises(DataError, match="separated by spaces"):
        open_table(tmp_path / "x.txt")
    (tmp_path / "y.csv").write_text("full name\nAnn Lee\nBo Ek\n")
    assert open_table(tmp_path / "y.csv").names == ["full name"]
