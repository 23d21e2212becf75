import gzip
import io
import os
import struct
import zipfile
import zlib

import numpy as np
import pytest

from lowland.data.write import write_columns
from lowland.errors import DataError, FileProblem
from lowland.explorer import folder as folders
from lowland.explorer.folder import Folder, check_archive, safe_name
from lowland.explorer.tables import read_table
from lowland.explorer.workspace import RequestError


@pytest.mark.parametrize(
    "path", ["../secret.csv", "/etc/passwd", "inside/../../secret.csv", "leads_out.csv", "a\0b", "../data-2/x.csv"]
)
def test_paths_cannot_leave_the_folder(explorer, path):
    answer = explorer.post("/api/tables", json={"path": path})
    assert answer.status_code in (400, 403)
    assert "folder" in answer.json()["error"] or "null" in answer.json()["error"]


def test_only_the_folder_is_listed(explorer):
    for path in ("..", "/", "inside/../.."):
        assert explorer.get("/api/files", params={"path": path}).status_code == 403


def test_a_listing_shows_what_can_be_read_and_no_links_out(explorer):
    found = {entry["name"]: entry for entry in explorer.get("/api/files").json()["entries"]}
    assert found["small.csv"]["readable"]
    assert found["inside"]["kind"] == "folder"
    assert "leads_out.csv" not in found


def test_a_folder_with_a_link_out_of_it_is_not_read(tmp_path):
    (tmp_path / "secret.parquet").write_bytes(b"")
    (tmp_path / "data" / "parts" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "parts" / "a.parquet").write_bytes(b"")
    (tmp_path / "data" / "parts" / "deep" / "b.parquet").symlink_to(tmp_path / "data" / "parts" / "a.parquet")
    folder = Folder(tmp_path / "data")
    assert folder.readable("parts") == (tmp_path / "data" / "parts").resolve()
    (tmp_path / "data" / "parts" / "deep" / "c.parquet").symlink_to(tmp_path / "secret.parquet")
    with pytest.raises(RequestError, match=r"'parts/deep/c.parquet' is a link out of the folder") as caught:
        folder.readable("parts")
    assert caught.value.status == 403


@pytest.mark.skipif(os.name != "posix", reason="pipes, and names of bytes")
def test_pipes_and_names_that_are_not_unicode(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with open(os.fsencode(tmp_path) + b"/bad\xff.csv", "wb"):
        pass
    found = {entry["name"]: entry["readable"] for entry in Folder(tmp_path).entries("")["entries"]}
    assert found == {"bad\ufffd.csv": False, "pipe.csv": False}
    with pytest.raises(RequestError, match="neither a file nor a folder"):
        Folder(tmp_path).readable("pipe.csv")


def test_a_loop_of_links_is_an_error(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(RequestError):
        Folder(tmp_path).existing("loop/x.csv")


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("table.csv", "table.csv"),
        ("../../etc/cron.d/x.csv", "x.csv"),
        ("C:\\Windows\\x.CSV", "x.csv"),
        ("<script>alert(1)</script>.csv", "script_.csv"),
        (".csv", "table.csv"),
        ("a\nb\0c.tsv.gz", "a_b_c.tsv.gz"),
        ("x" * 500 + ".npy", "x" * 60 + ".npy"),
    ],
)
def test_names_of_uploads_are_made_safe(given, wanted):
    assert safe_name(given) == wanted


@pytest.mark.parametrize("name", ["x.exe", "x.pkl", "x.py", "", "x", "x.csv/..", "x.csv.sh"])
def test_other_types_are_refused(name):
    with pytest.raises(RequestError, match="cannot be read"):
        safe_name(name)


def bomb(path, size=2**27):
    """An archive of zeros, packed a thousand times smaller."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as file,
    ):
        block = bytes(2**24)
        for _ in range(size // len(block)):
            file.write(block)


@pytest.mark.parametrize("suffix", [".npz", ".xlsx", ".ods"])
def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path, suffix):
    path = tmp_path / f"bomb{suffix}"
    bomb(path)
    with pytest.raises(FileProblem, match="unpacks to"):
        check_archive(path, 2**32)
    with pytest.raises(FileProblem, match="unpacks to"):
        check_archive(path, 2**20)


def test_an_archive_that_lies_about_its_size_is_refused(tmp_path):
    """The declared size is small; the packed data is a bomb."""
    path = tmp_path / "liar.npz"
    bomb(path)
    raw = bytearray(path.read_bytes())
    for signature, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = raw.find(signature)
        raw[place + at : place + at + 4] = struct.pack("<I", 1000)
    path.write_bytes(raw)
    with pytest.raises(FileProblem):
        check_archive(path, 2**32)


def test_overlapping_members_count_each_time(tmp_path):
    """Many entries of the directory that name the same data: each small, together huge."""
    path = tmp_path / "overlap.npz"
    data = zlib.compress(bytes(2**24), 9)[2:-4]
    out = io.BytesIO()
    crc = zlib.crc32(bytes(2**24))
    local = struct.pack("<4s5H3I2H", b"PK\x03\x04", 20, 0, 8, 0, 0, crc, len(data), 2**24, 1, 0) + b"x"
    out.write(local + data)
    start, count = out.tell(), 400
    for _ in range(count):
        entry = (b"PK\x01\x02", 20, 20, 0, 8, 0, 0, crc, len(data), 2**24, 1, 0, 0, 0, 0, 0, 0)
        out.write(struct.pack("<4s6H3I5H2I", *entry) + b"x")
    size = out.tell() - start
    out.write(struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, size, start, 0))
    path.write_bytes(out.getvalue())
    with pytest.raises(FileProblem, match="unpacks to"):
        check_archive(path, 2**32)


def test_a_real_archive_is_accepted(tmp_path):
    path = tmp_path / "real.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).normal(size=(500, 20)))
    check_archive(path, 2**30)
    (tmp_path / "table.csv").write_text("a\n1\n")
    check_archive(tmp_path / "table.csv", 1)  # not an archive


def test_a_damaged_archive_is_an_error_with_a_sentence(tmp_path):
    path = tmp_path / "broken.xlsx"
    path.write_bytes(b"PK\x03\x04 not a spreadsheet")
    with pytest.raises(FileProblem, match="not a valid"):
        check_archive(path, 2**30)


def test_an_h5ad_file_cannot_read_other_files(tmp_path):
    h5py = pytest.importorskip("h5py")

    def written(name, make):
        with h5py.File(tmp_path / name, "w") as file:
            make(file.create_group("layers"))
        return tmp_path / name

    def virtual(group):
        layout = h5py.VirtualLayout((4,), "u1")
        layout[:] = h5py.VirtualSource("/etc/other.h5", "x", (4,))
        group.create_virtual_dataset("x", layout)

    check_archive(written("plain.h5ad", lambda group: group.create_dataset("x", data=[1, 2])), 10**9)
    for make in (
        lambda group: group.create_dataset("x", (4,), "u1", external=[("/etc/passwd", 0, 4)]),
        lambda group: group.__setitem__("x", h5py.ExternalLink("/etc/other.h5", "/x")),
        virtual,
    ):
        with pytest.raises(FileProblem, match="takes values from another file, '/etc/"):
            check_archive(written("other.h5ad", make), 10**9)
    (tmp_path / "junk.h5ad").write_bytes(b"junk")
    with pytest.raises(FileProblem, match="not a valid"):
        check_archive(tmp_path / "junk.h5ad", 10**9)


def read(path, **limits):
    place = path.with_suffix("")
    message = {"path": str(path), "folder": str(place), "rows_folder": str(place / "rows"), "table_bytes": 10**9}
    limits = {"most_rows": 10**6, "most_columns": 10**4, **limits}
    return read_table({**message, "scale": "auto", "impute": "median", **limits}, lambda event: None)


def test_a_compressed_text_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "LARGE", 2**20)
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"0,0\n" * 2_000_000)
    with pytest.raises(FileProblem, match="unpacks to"):
        read(tmp_path / "bomb.csv.gz")
    with gzip.open(tmp_path / "good.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i % 7) for i in range(50)))
    assert read(tmp_path / "good.csv.gz")["rows"] == 50


def test_a_parquet_file_that_unpacks_to_far_more_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "LARGE", 2**20)
    write_columns({name: np.zeros(400_000) for name in "abcd"}, tmp_path / "bomb.parquet")
    with pytest.raises(DataError, match="after unpacking"):
        read(tmp_path / "bomb.parquet")


def test_rows_and_columns_are_limited(tmp_path):
    write_columns({name: np.arange(40.0) for name in "abcd"}, tmp_path / "table.parquet")
    with pytest.raises(DataError, match="more than 39 rows"):
        read(tmp_path / "table.parquet", most_rows=39)
    with pytest.raises(DataError, match="at most 3"):
        read(tmp_path / "table.parquet", most_columns=3)
    assert read(tmp_path / "table.parquet", most_rows=40, most_columns=4)["rows"] == 40
