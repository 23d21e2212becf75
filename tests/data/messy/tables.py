"""Tables as people have them: how each is written, and what the command line must do with it.

Each is a table of 40 rows (the wide one of 12); ``words`` are options of ``lowland compare FILE``. Where ``refused`` is
given, one message must contain all of its terms. It ends with the command that works, or names the option ``remedy``.
"""

import gzip
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse

N = 40
X = np.random.default_rng(0).standard_normal((N, 4)).round(4) * [1000, 10, 1, 0.1]


@dataclass(frozen=True)
class Messy:
    """A messy table."""

    name: str  # of the file
    write: Callable[[Path], None]
    columns: int = 4  # features, after text is encoded
    words: tuple[str, ...] = ()
    noted: tuple[str, ...] = ()  # said in one line
    prepared: tuple[str, ...] = ()  # said of the columns that are encoded or dropped
    refused: tuple[str, ...] = ()
    remedy: tuple[str, ...] = ()  # the options that make it work, if the message does not end with the command


def lines(rows, separator=",", header="a,b,c,d", end="\n"):
    return end.join([header, *(separator.join(map(str, row)) for row in rows)]) + end


def text(content, encoding="utf-8"):
    return lambda path: path.write_bytes(content.encode(encoding))


def beside(values):
    return [[*row, value] for row, value in zip(X.tolist(), values, strict=True)]


def comma(x):
    return f"{x:.4f}".replace(".", ",")


def grouped(x):
    return f'"{x * 100:,.2f}"'


def write_excel(path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in [["name", "a", "b", "c", "d"], *([f"row {i}", *row] for i, row in enumerate(X.tolist()))]:
        book.active.append(row)
    book.save(path)


def write_h5ad(path):
    import h5py

    with h5py.File(path, "w") as file:
        file["X"] = X
        for name, count in (("obs", N), ("var", 4)):
            file.create_group(name).attrs["_index"] = "index"
            file[name]["index"] = [f"{name} {i}" for i in range(count)]


def write_npz_of_two(path):
    np.savez(path, train=X, test=X[:5])


def write_gzip(path):
    path.write_bytes(gzip.compress(lines(X.tolist()).encode()))


def write_ods(path):
    spaces = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("table", "office", "text")
    )
    head = "".join(
        f"<table:table-cell office:value-type='string'><text:p>{c}</text:p></table:table-cell>" for c in "abcd"
    )
    cells = ["".join(f"<table:table-cell office:value-type='float' office:value='{v}'/>" for v in row) for row in X]
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in [head, *cells])
    document = f"<office:d {spaces}><table:table table:name='Sheet1'>{body}</table:table></office:d>"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", document)


def write_images(path):
    from PIL import Image

    path.mkdir()
    for i, image in enumerate(np.random.default_rng(0).integers(0, 256, (N, 3, 2), dtype=np.uint8)):
        Image.fromarray(image).save(path / f"{i}.png")


def wide():
    W = np.random.default_rng(0).integers(0, 9, (12, 100_000))
    buffer = io.StringIO()
    buffer.write(",".join(f"v{j}" for j in range(W.shape[1])) + "\n")
    np.savetxt(buffer, W, fmt="%d", delimiter=",")
    return buffer.getvalue()


DATES = [f"2024-01-{1 + i % 28:02d}" for i in range(N)]
MIXED = ["?" if i == 5 else "n/k" if i == 9 else i for i in range(N)]
CITIES = ["Bonn", "Köln", "Gent"] * N

TABLES = [
    Messy("bom.csv", text("\ufeff" + lines(X.tolist()))),
    Messy("crlf.csv", text(lines(X.tolist(), end="\r\n"))),
    Messy("semicolons.csv", text(lines(X.tolist(), ";", "a;b;c;d")), noted=("semicolon",)),
    Messy("decimal_comma.csv", text(lines([[comma(x) for x in row] for row in X], ";", "a;b;c;d")),
          noted=("semicolon", "decimal comma")),
    Messy("thousands.csv", text(lines([[grouped(x) for x in row] for row in X])), noted=("commas between thousands",)),
    Messy("latin1.csv", text(lines(beside(CITIES[:N]), ";", "größe;b;c;d;city"), "cp1252"),
          columns=7, prepared=("city: category, 3 levels",)),
    Messy("utf16.csv", text(lines(X.tolist(), "\t", "a\tb\tc\té"), "utf-16"), noted=("utf-16", "tab")),
    Messy("pandas_index.csv", text(lines([[i, *row] for i, row in enumerate(X.tolist())], header=",a,b,c,d")),
          noted=("'column 1' as the ids",)),
    Messy("r_row_names.tsv", text(lines([[f"row{i}", *row] for i, row in enumerate(X.tolist())], "\t", "a\tb\tc\td")),
          noted=("'column 1' as the ids",)),
    Messy("duplicate_names.csv", text(lines(X.tolist(), header="a,b,a,a")), noted=("'a (2)', 'a (3)'",)),
    Messy("dates.csv", text(lines(beside(DATES), header="a,b,c,d,day")), columns=6,
          prepared=("day: date, as day of week, elapsed days",)),
    Messy("german_dates.csv", text(lines(beside(f"{1 + i % 28}.03.24 {i % 24}:30" for i in range(N)),
                                         header="a,b,c,d,at")), columns=7, prepared=("at: date (day first), as",)),
    Messy("american_dates.csv", text(lines(beside(f"{1 + i % 12}/{1 + i % 28}/2024" for i in range(N)),
                                           header="a,b,c,d,day")), columns=6, prepared=("date (month first)",)),
    Messy("ambiguous_dates.csv", text(lines(beside(f"{1 + i % 12}/{1 + i % 9}/2024" for i in range(N)),
                                            header="a,b,c,d,day")), columns=6,
          prepared=("date (month first assumed)",)),
    Messy("yes_or_no.csv", text(lines(beside("Yes" if i % 3 else "no" for i in range(N)), header="a,b,c,d,ok")),
          columns=5, prepared=("ok: boolean",)),
    Messy("text_and_gaps.csv", text(lines([[*row[:3], "" if i % 9 == 0 else row[3], city] for i, (row, city) in
                                           enumerate(zip(X.tolist(), CITIES, strict=False))], header="a,b,c,d,city")),
          columns=7,
          prepared=("d: number, 5 missing replaced by the median", "city: category")),
    Messy("gaps.csv", text(lines([["" if i == 2 else row[0], *row[1:3], "" if i % 9 == 0 else row[3]]
                                  for i, row in enumerate(X.tolist())])),
          prepared=("a: number, 1 missing replaced by the median", "d: number, 5 missing replaced")),
    Messy("percentages.csv", text(lines(beside(f"{i} %" for i in range(N)), header="a,b,c,d,share")), columns=4,
          noted=("percentages in 'share'",), prepared=("share: an identifier",)),
    Messy("currency.csv", text(lines(beside(f'"€ {i},234.50"' for i in range(1, N + 1)), header="a,b,c,d,price")),
          columns=5, noted=("currency with commas between thousands in 'price'",)),
    Messy("booleans.csv", text(lines(beside("true" if i % 3 else "false" for i in range(N)), header="a,b,c,d,ok")),
          columns=5),
    Messy("constants.csv", text(lines(beside([7] * N), header="a,b,c,d,seven")), columns=4,
          prepared=("seven: only one value, not used",)),
    Messy("all_missing.csv", text(lines(beside([""] * N), header="a,b,c,d,empty")),
          prepared=("empty: no values, not used",)),
    Messy("mixed_types.csv", text(lines([[*row, city] for row, city in zip(beside(MIXED), CITIES, strict=False)],
                                        header="a,b,c,d,count,city")),
          refused=("'count'", "'?' (row 6)", "'n/k' (row 10)", "--missing '?,n/k'"), columns=8,
          prepared=("count: number, 2 missing replaced by the median", "city: category")),
    Messy("wide.csv", text(wide()), columns=100_000),
    Messy("quotes.csv", text(lines(beside(['"say ""hi""\nthere, you"'] * N), header='"a\nb",b,c,d,note')),
          prepared=("note: only one value, not used",)),
    Messy("no_header.csv", text(lines(X.tolist()[1:], header=",".join(map(str, X[0])))), words=("--no-header",)),
    Messy("gzipped.csv.gz", write_gzip),
    Messy("sheet.xlsx", write_excel, prepared=("name: an identifier",)),
    Messy("sheet.ods", write_ods),
    Messy("cells.h5ad", write_h5ad, noted=("40 observations of 4 variables",)),
    Messy("sparse.npz", lambda path: scipy.sparse.save_npz(path, scipy.sparse.csr_matrix(X))),
    Messy("two_arrays.npz", write_npz_of_two, refused=("'train', 'test'", "--array train"),
          remedy=("--array", "train")),
    Messy("images", write_images, columns=6, noted=("40 images of 2 × 3 pixels",)),
]  # fmt: skip
