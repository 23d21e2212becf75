import contextlib
import io
import json
import shutil
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor

import httpx
import numpy as np
import pytest

from lowland.explorer.requests import encoded_mask


def column_of(answer):
    """Header and values of a binary column."""
    (length,) = struct.unpack("<I", answer.content[:4])
    header = json.loads(answer.content[4 : 4 + length])
    body = answer.content[4 + length :]
    assert (4 + length) % 8 == 0
    return header, json.loads(body) if header["kind"] == "text" else np.frombuffer(body, dtype=f"<{header['kind']}")


def upload(explorer, name, content, **more):
    return explorer.client.post("/api/uploads", files={"file": (name, content)}, params={"first_map": ""}, **more)


def test_a_table_by_path(explorer, table):
    assert table["status"] == "ready"
    assert table["rows"] == 60
    roles = {column["name"]: column["role"] for column in table["columns"]}
    assert roles == {"x0": "feature", "x1": "feature", "x2": "feature", "x3": "feature", "label": "label"}
    assert set(table["prepared"]) == {"x0", "x1", "x2", "x3"}


def test_a_field_that_is_missing_is_named(explorer):
    answer = explorer.post("/api/tables", json={})
    assert (answer.status_code, answer.json()["error"]) == (422, "path: Field required.")


def test_rows_and_values(explorer, table, folder):
    lines = (folder / "small.csv").read_text().splitlines()
    got = explorer.get(f"/api/tables/{table['id']}/rows", params={"start": 10, "count": 3}).json()
    assert got["names"] == lines[0].split(",")
    assert got["rows"][0][4] == lines[11].split(",")[4]
    assert got["rows"][2][0] == pytest.approx(float(lines[13].split(",")[0]))
    assert explorer.get(f"/api/tables/{table['id']}/values", params={"rows": ""}).json()["rows"] == []
    some = explorer.get(f"/api/tables/{table['id']}/values", params={"rows": "12,10", "columns": "4,0"}).json()
    assert some["rows"] == [[got["rows"][2][4], got["rows"][2][0]], [got["rows"][0][4], got["rows"][0][0]]]
    for bad in ("60", "-1", "x", "1;2"):
        assert explorer.get(f"/api/tables/{table['id']}/values", params={"rows": bad}).status_code == 422


def test_columns_are_binary(explorer, table):
    header, numbers = column_of(explorer.get(f"/api/tables/{table['id']}/columns/0"))
    assert header["kind"] == "f4"
    assert len(numbers) == 60
    assert header["low"] == pytest.approx(numbers.min())
    header, codes = column_of(explorer.get(f"/api/tables/{table['id']}/columns/4"))
    assert header["levels"] == ["class 0", "class 1", "class 2"]
    assert codes.tolist() == [i % 3 for i in range(60)]
    assert explorer.get(f"/api/tables/{table['id']}/columns/5").status_code == 422


def test_missing_values_dates_and_hostile_texts(explorer):
    text = 'when,n,<script>alert(1)</script>,word\n2024-01-02,1.5,"<b>x</b>",a\n,,"",b\n1970-01-02,2.5," OR 1=1 --",a\n'
    text += "".join(f"2020-02-{d:02d},{d},t{d % 4},a\n" for d in range(1, 29))
    made = explorer.table(upload(explorer, "odd.csv", text.encode()).json()["id"])
    assert made["status"] == "ready", made["error"]
    names = [column["name"] for column in made["columns"]]
    assert names[2] == "<script>alert(1)</script>"
    header, days = column_of(explorer.get(f"/api/tables/{made['id']}/columns/0"))
    assert header["unit"]
    assert np.isnan(days[1])
    assert days[2] == 1
    header, codes = column_of(explorer.get(f"/api/tables/{made['id']}/columns/2"))
    assert codes[1] == 255
    assert "<b>x</b>" in header["levels"]


def test_roles_and_scale_prepare_the_rows_again(explorer, folder):
    made = explorer.open("small.csv")
    path = f"/api/tables/{made['id']}"
    answer = explorer.client.patch(path, json={"roles": {"x0": "drop", "label": "feature"}, "scale": "standard"})
    assert answer.status_code == 200
    found = explorer.until(path, lambda t: t["status"] == "ready")
    assert set(found["prepared"]) == {"x1", "x2", "x3", "label"}
    assert "category" in found["prepared"]["label"]
    assert found["scaled"]
    assert found["n_features"] == 6
    for bad in ({"roles": {"x0": "boss"}}, {"scale": "huge"}, {"roles": {"nothing": "drop"}}):
        assert explorer.client.patch(path, json=bad).status_code == 422
    drop = dict.fromkeys(("x0", "x1", "x2", "x3", "label"), "drop")
    explorer.client.patch(path, json={"roles": drop})
    found = explorer.until(path, lambda t: t["status"] == "ready")
    assert "feature" in found["unprepared"]
    assert explorer.post("/api/maps", json={"table": made["id"], "method": "pca"}).status_code == 409


def test_missing_numbers_are_imputed_and_the_map_says_so(explorer):
    text = "a,b,c\n" + "".join(f"{i},{'' if i % 5 == 0 else i * 2},{i % 7}\n" for i in range(40))
    made = explorer.table(upload(explorer, "gaps.csv", text.encode()).json()["id"])
    assert any("median" in note for note in made["prepared_notes"])
    done = explorer.map(explorer.compute(made["id"])["id"])
    assert done["status"] == "done"
    assert any("8 missing" in warning for warning in done["warnings"])


def test_ten_uploads_at_once(explorer):
    def send(number):
        content = "a,b\n" + "".join(f"{i + number},{i * number}\n" for i in range(30))
        return upload(explorer, f"table {number}.csv", content.encode()).json()["id"]

    with ThreadPoolExecutor(10) as pool:
        names = list(pool.map(send, range(10)))
    found = [explorer.table(name) for name in names]
    assert [each["status"] for each in found] == ["ready"] * 10
    assert [each["name"] for each in found] == [f"table {number}.csv" for number in range(10)]
    for number, name in enumerate(names):
        assert explorer.get(f"/api/tables/{name}/rows").json()["rows"][0][0] == number


def test_read_options_read_the_file_again(explorer):
    made = explorer.table(upload(explorer, "semi.csv", b"1;2\n3;4\n5;6\n7;8\n9;1\n").json()["id"])
    assert len(made["columns"]) == 2
    path = f"/api/tables/{made['id']}"
    assert explorer.client.patch(path, json={"read": {"separator": "|", "header": False}}).status_code == 200
    assert len(explorer.table(made["id"])["columns"]) == 1
    assert explorer.client.patch(path, json={"read": {"separator": "||"}}).status_code == 422


@pytest.mark.parametrize("name", ["model.pkl", "run.py", "page.html", "archive.zip"])
def test_files_that_are_no_tables_are_refused(explorer, name):
    answer = upload(explorer, name, b"x")
    assert answer.status_code == 415
    assert ".parquet" in answer.json()["error"]


def test_a_zip_bomb_is_refused(explorer, folder):
    """A file in the folder, which has no limit of size."""
    path = folder / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", bytes(2**27))
    found = explorer.open("bomb.npz")
    path.unlink()
    assert found["status"] == "failed"
    assert "unpacks to" in found["error"]


def test_an_upload_beyond_the_limit_is_refused_and_nothing_is_left(explorer):
    before = {path.name for path in (explorer.workspace / "uploads").iterdir()}
    answer = upload(explorer, "large.csv", bytes(4 * 2**20))
    assert answer.status_code == 413
    assert "2 MB" in answer.json()["error"]
    assert {path.name for path in (explorer.workspace / "uploads").iterdir()} == before


def test_an_upload_of_unknown_length_is_cut_off_at_the_limit(explorer):
    """A client that does not say how much it sends."""
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\n'
    sent = []

    def body():
        yield head
        for _ in range(200):
            sent.append(2**16)
            yield bytes(2**16)

    before = {path.name for path in (explorer.workspace / "uploads").iterdir()}
    with contextlib.suppress(httpx.HTTPError):  # the connection may be closed before the client has read the answer
        headers = {"Content-Type": "multipart/form-data; boundary=b"}
        assert explorer.post("/api/uploads", content=body(), headers=headers).status_code == 413
    assert {path.name for path in (explorer.workspace / "uploads").iterdir()} == before


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "application/json"),
        (b"not a form", "multipart/form-data; boundary=b"),
        (
            b'--b\r\nContent-Disposition: form-data; name="other"\r\n\r\nx\r\n--b--\r\n',
            "multipart/form-data; boundary=b",
        ),
        (
            b'--b\r\nContent-Disposition: form-data; name="file"; filename="cut.csv"\r\n\r\na,b\n1,2\n',
            "multipart/form-data; boundary=b",
        ),
        (b"not a form", f"multipart/form-data; boundary={'b' * 300}"),
    ],
)
def test_a_malformed_form_is_refused(explorer, body, kind):
    answer = explorer.post("/api/uploads", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 400
    assert answer.json()["error"].endswith(".")


@pytest.mark.parametrize(
    ("name", "content"),
    [("x.npy", b"\x93NUMPY garbage"), ("x.parquet", b"PAR1garbagePAR1"), ("x.xlsx", b"PK\x03\x04"), ("x.csv", b""),
     ("x.npz", b"nothing"), ("x.csv.gz", b"\x1f\x8bgarbage"), ("x.h5ad", b"\x89HDF")],
)  # fmt: skip
def test_malformed_files_fail_with_a_sentence(explorer, name, content):
    found = explorer.table(upload(explorer, name, content).json()["id"])
    assert found["status"] == "failed"
    assert len(found["error"]) > 20


def test_no_pickle_is_read(explorer):
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}, print], dtype=object), allow_pickle=True)
    found = explorer.table(upload(explorer, "x.npy", buffer.getvalue()).json()["id"])
    assert found["status"] == "failed"


def test_images(explorer):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 17, size=(30, 64))
    text = ",".join(f"pixel{j}" for j in range(64)) + "\n" + "\n".join(",".join(map(str, row)) for row in X)
    made = explorer.table(upload(explorer, "digits.csv", text.encode()).json()["id"])
    assert made["has_images"]
    answer = explorer.get(f"/api/tables/{made['id']}/image/3")
    assert answer.headers["content-type"] == "image/png"
    from PIL import Image

    pixels = np.asarray(Image.open(io.BytesIO(answer.content)))
    assert pixels.shape == (8, 8)
    assert np.corrcoef(pixels.ravel(), X[3])[0, 1] > 0.999
    assert explorer.get(f"/api/tables/{made['id']}/image/30").status_code == 422


def test_a_file_is_named_without_the_folder_in_which_it_is_kept(explorer):
    content = io.BytesIO()
    np.savez(content, X=np.arange(480, dtype=np.uint8).reshape(30, 4, 4), labels=np.arange(30) % 3)
    made = explorer.table(upload(explorer, "small.npz", content.getvalue()).json()["id"])
    assert "'small.npz' contains 30 images of 4 × 4 pixels." in made["notes"]
    assert {c["role"] for c in made["columns"] if c["name"] == "labels"} == {"label"}
    broken = explorer.table(upload(explorer, "broken.npz", b"PK no archive").json()["id"])
    assert "broken.npz" in broken["error"]
    assert "/" not in broken["error"].partition("broken.npz")[0]


def test_subfolders_of_images_are_labels(explorer, folder):
    from PIL import Image

    for i in range(12):
        place = folder / "pets" / ("cats" if i % 2 else "dogs")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 4), 20 * i, dtype=np.uint8)).save(place / f"{i}.png")
    made = explorer.open("pets")
    assert {c["role"]: c["name"] for c in made["columns"] if c["role"] not in ("feature", "drop")} == {
        "id": "file", "label": "folder",
    }  # fmt: skip
    rows = explorer.get(f"/api/tables/{made['id']}/values?rows=0,11&columns=0,1").json()["rows"]
    assert rows == [["1.png", "cats"], ["10.png", "dogs"]]
    shutil.rmtree(folder / "pets")


def test_findings_say_that_copies_of_the_label_are_not_used(explorer, folder):
    text = "u,v,name,class\n" + "\n".join(
        f"{i * 7 % 11},{i * i % 13},{'abc'[i % 3]}{'xyz'[i % 3]},{i % 3}" for i in range(60)
    )
    (folder / "copies.csv").write_text(text)
    made = explorer.open("copies.csv")
    assert any("'name': a copy of the labels" in each for each in made["suggestions"])
    assert not any("encoded" in each for each in made["suggestions"])


def test_findings_follow_the_roles_and_the_scale(explorer, folder):
    lines = [f"{'abc'[i % 3]},{'xy'[i % 2]},{1000 * (i * 7 % 11)},{i % 5},{2007 + i // 20}" for i in range(60)]
    (folder / "roles.csv").write_text("\n".join(["place,kind,mass,size,year", *lines]) + "\n", encoding="utf-8")
    name = explorer.open("roles.csv")["id"]

    def found(**changes):
        explorer.client.patch(f"/api/tables/{name}", json=changes)
        return " ".join(explorer.table(name)["suggestions"])

    said = found(roles={"place": "label"})
    assert "'kind': encoded as numbers" in said
    assert "'year': years (2007 to 2009), not used as a feature" in said
    assert "numbers are standardized" in said
    said = found(roles={"kind": "label", "place": "keep", "year": "feature", "size": "keep"})
    assert "'place', 'size': only shown, not used as a feature" in said
    assert not any(words in said for words in ("encoded", "'year'"))
    assert "standardized" not in found(scale="none")


@pytest.mark.parametrize(("more", "label"), [("module", "module"), (None, "label")])
def test_a_count_of_the_word_label_is_no_label_if_another_column_has_the_classes(explorer, folder, more, label):
    words = np.random.default_rng(0).negative_binomial(0.3, 0.2, (80, 20))
    words[:, 0] += 1
    names = [*(f"word {j}" for j in range(19)), "label", *([more] if more else [])]
    rows = [",".join([*map(str, row), *([f"m{i % 3}"] if more else [])]) for i, row in enumerate(words)]
    (folder / "words.csv").write_text("\n".join([",".join(names), *rows]) + "\n", encoding="utf-8")
    made = explorer.open("words.csv")
    assert [c["name"] for c in made["columns"] if c["role"] == "label"] == [label]
    if more:
        assert made["scaled"] == "tf-idf"


def test_a_table_with_one_feature_is_read_without_a_first_map(explorer, folder):
    (folder / "one.csv").write_text("who,size\n" + "\n".join(f"person {i},{i * i % 17}" for i in range(40)))
    made = explorer.open("one.csv", first_map="PCA")
    assert (made["status"], [c["role"] for c in made["columns"]]) == ("ready", ["id", "feature"])
    assert explorer.get(f"/api/maps?table={made['id']}").json() == []


def test_the_state_of_the_page_is_kept(explorer):
    table = explorer.open("large.csv")  # other tests may keep a state of the small one first
    path = f"/api/tables/{table['id']}/state"
    assert explorer.get(path).json() == {}
    state = {"panels": [1, {"x": "<b>"}], "text": "ü"}
    assert explorer.client.put(path, json=state).status_code == 200
    assert explorer.get(path).json() == state
    for wrong in (b"{", b'{"a": NaN}', b'{"a": 1e999}', b'{"a": "\\ud800"}', b"[" * 100_000, b"\xff\xfe"):
        answer = explorer.client.put(path, content=wrong)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("The request is not valid JSON: ")
    assert explorer.get(path).json() == state
    assert explorer.client.put(path, content=bytes(2**26 + 1)).status_code == 413
    explorer.client.put(path, json={})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/tables/{t}", '{{"name": "\\ud800"}}'),
        ("/api/maps", '{{"table": "{t}", "method": "UMAP", "parameters": {{"metric": "\\ud800"}}}}'),
        ("/api/maps", '{{"table": "{t}", "method": "PCA", "parameters": {{"n_components": Infinity}}}}'),
        ("/api/tables/{t}/filter", '{{"conditions": [{{"column": 4, "op": "=", "value": "\\ud800"}}]}}'),
    ],
)
def test_what_no_answer_could_contain_is_refused(explorer, table, path, body):
    method = "PATCH" if path.endswith("{t}") else "POST"
    text, headers = body.format(t=table["id"]), {"Content-Type": "application/json"}
    assert explorer.client.request(method, path.format(t=table["id"]), content=text, headers=headers).status_code == 422
    assert explorer.get("/api/tables").status_code == explorer.get("/api/maps").status_code == 200


def test_an_unknown_first_map_is_refused_and_nothing_is_left(explorer):
    before = sorted((explorer.workspace / "uploads").iterdir())
    answer = explorer.post("/api/uploads", params={"first_map": "PCC"}, files={"file": ("a.csv", b"a,b\n1,2\n3,4\n")})
    assert answer.status_code == 422
    assert "no method 'PCC'" in answer.json()["error"]
    assert sorted((explorer.workspace / "uploads").iterdir()) == before


def test_a_deleted_table_is_gone(explorer):
    made = explorer.open("small.csv")
    one = explorer.map(explorer.compute(made["id"])["id"])
    assert explorer.client.delete(f"/api/tables/{made['id']}").status_code == 200
    assert explorer.get(f"/api/tables/{made['id']}").status_code == 404
    assert explorer.get(f"/api/maps/{one['id']}").status_code == 404
    assert not (explorer.workspace / "tables" / made["id"]).exists()
    assert not (explorer.workspace / "maps" / one["id"]).exists()


def test_maps_are_computed_again_when_the_table_is_read_again(explorer):
    lines = [f"{i},{i * i % 7},{i * i % 5}" for i in range(12)]
    (explorer.folder / "bare.csv").write_text("\n".join(lines), encoding="utf-8")
    made = explorer.open("bare.csv")
    place = f"/api/tables/{made['id']}"
    first = explorer.map(explorer.compute(made["id"], "PCA", n_components=2)["id"])
    explorer.post(f"{place}/selections", json={"name": "some", "mask": "AwA="})
    assert first["n"] == 12
    assert explorer.client.patch(place, json={"read": {"header": True}}).status_code == 200
    assert explorer.table(made["id"])["rows"] == 11
    (again,) = explorer.until(f"/api/maps?table={made['id']}", lambda maps: [m["status"] for m in maps] == ["done"])
    assert (again["n"], again["parameters"]) == (11, {"n_components": 2})
    assert explorer.get(f"{place}/selections").json() == []


def test_each_tab_keeps_its_own_state_and_a_new_one_begins_with_the_last(explorer):
    path = f"/api/tables/{explorer.open('small.csv')['id']}/state"
    for tab in ("first", "second"):
        explorer.client.put(f"{path}?tab={tab}", json={"point": tab})
    assert explorer.get(f"{path}?tab=first").json() == {"point": "first"}
    assert explorer.get(f"{path}?tab=third").json() == {"point": "second"}
    assert explorer.client.put(path, json=[5]).status_code == 422


def test_the_mean_of_selected_images(explorer, folder):
    PIL = pytest.importorskip("PIL.Image")
    X = np.zeros((20, 16))
    X[:, 0] = 100
    X[3, 5], X[4, 5] = 100, 50
    np.save(folder / "squares.npy", X)
    table = explorer.open("squares.npy")["id"]
    wanted = {"mask": encoded_mask(np.isin(np.arange(20), [3, 4]))}
    assert (
        explorer.post(f"/api/tables/{table}/image", json=wanted).status_code == 404
    )  # nobody said that they are images
    explorer.client.patch(f"/api/tables/{table}", json={"image_shape": [4, 4]})
    explorer.table(table)
    answer = explorer.post(f"/api/tables/{table}/image", json=wanted)
    pixels = np.asarray(PIL.open(io.BytesIO(answer.content)).convert("L"))
    assert (pixels[0, 0], pixels[1, 1], pixels[2, 2]) == (255, 191, 0)
    wanted = {"mask": encoded_mask(np.zeros(20, bool))}
    assert explorer.post(f"/api/tables/{table}/image", json=wanted).status_code == 422
