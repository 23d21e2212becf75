"""Model files: small, versioned, safe."""

import json
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA as TheirPCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import lowland
from lowland import PCA, IncrementalPCA
from lowland.errors import LowlandError, MissingFile, ModelFileError, ParameterError
from lowland.methods.base.traits import traits_of
from lowland.methods.model_files import _checksum, _read
from lowland.rules import Downstream, Kaiser


@pytest.fixture
def model(iris):
    return PCA(Kaiser(), scale=True, random_state=0).fit(iris.X)


@pytest.fixture
def path(model, tmp_path):
    lowland.save(model, tmp_path / "m.lowland")
    return tmp_path / "m.lowland"


def header_of(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def rewrite(path, header, rest):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + rest)


def altered(path, change):
    """The file with its own header changed by ``change``, and a checksum that fits the change."""
    header, rest = header_of(path)
    own = json.loads(header["__metadata__"]["lowland"])
    change(own)
    if "checksum" in own:
        own["checksum"] = _checksum(own, _read(path)[1])
    header["__metadata__"]["lowland"] = json.dumps(own)
    rewrite(path, header, rest)
    return path


def test_round_trip_keeps_everything(model, path, iris):
    again = lowland.load(path)
    assert again.choice_.reason == model.choice_.reason
    assert again.solver_ == model.solver_
    assert again.n_components == Kaiser()
    np.testing.assert_array_equal(again.components_, model.components_)
    np.testing.assert_array_equal(again.fit(iris.X).components_, model.components_)
    assert path.stat().st_size < 5000
    assert b"pickle" not in path.read_bytes()


def test_partial_fit_goes_on_after_loading(iris, tmp_path):
    lowland.save(IncrementalPCA(2).partial_fit(iris.X[:70]), tmp_path / "m.lowland")
    on = lowland.load(tmp_path / "m.lowland").partial_fit(iris.X[70:])
    np.testing.assert_allclose(on.components_, PCA(2).fit(iris.X).components_, atol=1e-10)


def test_names_and_tensors(iris, tmp_path):
    import pandas as pd

    frame = pd.DataFrame(iris.X, columns=list(iris.names))
    lowland.save(PCA(2).fit(frame), tmp_path / "m.lowland")
    assert list(lowland.load(tmp_path / "m.lowland").feature_names_in_) == list(iris.names)
    torch = pytest.importorskip("torch")
    lowland.save(PCA(2).fit(torch.asarray(iris.X)), tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    assert isinstance(again.components_, np.ndarray)
    assert isinstance(again.transform(torch.asarray(iris.X)), torch.Tensor)


def test_a_foreign_object_is_described(iris, tmp_path):
    rule = Downstream(LogisticRegression(max_iter=500), cv=3)
    model = PCA(rule).fit(iris.X, iris.y)
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland")
    np.testing.assert_array_equal(again.transform(iris.X), model.transform(iris.X))
    with pytest.raises(ParameterError, match=r"LogisticRegression\(max_iter=500\).*set_params"):
        again.fit(iris.X, iris.y)
    again.set_params(n_components=rule).fit(iris.X, iris.y)
    lowland.save(again, tmp_path / "again.lowland")


def test_what_cannot_be_saved(iris, tmp_path):
    with pytest.raises(ModelFileError, match="not a method"):
        lowland.save(TheirPCA(2).fit(iris.X), tmp_path / "m.lowland")
    with pytest.raises(MissingFile, match="folder"):
        lowland.save(PCA(2).fit(iris.X), tmp_path / "no" / "m.lowland")
    assert list(tmp_path.iterdir()) == []


def test_missing_truncated_corrupted_foreign(path, tmp_path):
    with pytest.raises(MissingFile):
        lowland.load(tmp_path / "none.lowland")
    data = path.read_bytes()
    for size in (0, 4, 8, 100, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:size])
        with pytest.raises(ModelFileError):
            lowland.load(path)
    path.write_bytes(data[:-5] + bytes([data[-5] ^ 1]) + data[-4:])
    with pytest.raises(ModelFileError, match="checksum"):
        lowland.load(path)
    from safetensors.numpy import save_file

    save_file({"x": np.ones(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="not written by Lowland"):
        lowland.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.update({"class": "os.system"}),
        lambda h: h.update({"class": "LogisticRegression"}),
        lambda h: h.update({"format": 99}),
        lambda h: h.update({"format": "1"}),
        lambda h: h["parameters"].update({"__class__": "x"}),
        lambda h: h["parameters"].update({"n_components": {"record": "Popen", "fields": {"args": "true"}}}),
        lambda h: h["state"].update({"transform": 3}),
        lambda h: h["state"].update({"__class__": 3}),
        lambda h: h["state"].update({"_fit": 3}),
        lambda h: h["state"].update({"_metadata_request": {"described": "x"}}),
        lambda h: h["state"].pop("n_features_in_"),
        lambda h: h["state"].update({"mean_": {"array": "nowhere"}}),
        lambda h: h["state"].update({"mean_": [1, 2]}),
        lambda h: h["state"].update({"mean_": {"unknown": 2}}),
        lambda h: h.pop("state"),
        lambda h: h.pop("checksum"),
    ],
)
def test_a_malicious_header_executes_nothing(path, change):
    with pytest.raises(ModelFileError):
        lowland.load(altered(path, change))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_damage_is_an_error_or_harmless(data):
    """Flip any byte: the file is refused, or the loaded model is the same."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.lowland"
        X = np.random.default_rng(0).standard_normal((20, 3))
        model = PCA(2).fit(X)
        lowland.save(model, path)
        raw = bytearray(path.read_bytes())
        raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(raw))
        try:
            again = lowland.load(path)
        except LowlandError:
            return
        np.testing.assert_array_equal(again.components_, model.components_)
        assert again.noise_variance_ == model.noise_variance_


def test_the_checksum_covers_the_header(path):
    header, rest = header_of(path)
    own = json.loads(header["__metadata__"]["lowland"])
    own["state"]["noise_variance_"] *= 2
    header["__metadata__"]["lowland"] = json.dumps(own)
    rewrite(path, header, rest)
    with pytest.raises(ModelFileError, match="checksum"):
        lowland.load(path)


def test_malformed_headers_are_refused(path, tmp_path):
    header, rest = header_of(path)
    header["__metadata__"]["lowland"] = "[" * 100_000 + "]" * 100_000
    rewrite(path, header, rest)
    with pytest.raises(ModelFileError, match="not a complete model file"):
        lowland.load(path)
    header["__metadata__"]["lowland"] = "{}"
    for about in header.values():
        if about.get("dtype") == "F64":
            about.update(dtype="F8_E4M3", shape=[8, *about["shape"]])
    rewrite(path, header, rest)
    with pytest.raises(ModelFileError, match="not a complete model file"):
        lowland.load(path)


def test_attributes_set_by_scikit_learn_are_saved(iris, tmp_path):
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = PCA(2).set_fit_request(sample_weight=True).set_output(transform="pandas").fit(iris.X)
        lowland.save(model, tmp_path / "m.lowland")
        again = sklearn.clone(lowland.load(tmp_path / "m.lowland"))
    assert list(again.fit_transform(iris.X).columns) == ["pca0", "pca1"]


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        lowland.save(PCA(2), tmp_path / "m.lowland")


@pytest.mark.parametrize("name", ["ClassicalMDS", "MDS", "SammonMapping"])
def test_a_metric_function_must_be_passed_again_after_loading(name, tmp_path):
    def apart(a, b):
        return float(np.abs(a - b).sum())

    X = np.random.default_rng(0).standard_normal((20, 3))
    model = getattr(lowland, name)(metric=apart).fit(X)
    with pytest.warns(UserWarning, match="passed as metric is not saved"):
        lowland.save(model, tmp_path / "m.lowland")
    loaded = lowland.load(tmp_path / "m.lowland")
    with pytest.raises(ParameterError, match=r"set_params\(metric=\.\.\.\)"):
        loaded.transform(X)
    np.testing.assert_allclose(loaded.set_params(metric=apart).transform(X), model.transform(X))


@pytest.mark.filterwarnings("ignore::lowland.errors.DataWarning")  # of factors of iris
def test_records_load_in_a_process_that_has_imported_nothing_else(iris, tmp_path):
    """A class that a file names is registered by the import of its method alone."""
    saved = {
        "pca": PCA(Kaiser()),
        "incremental": IncrementalPCA(2),
        "factors": lowland.FactorAnalysis(1, rotation="varimax"),
        "isomap": lowland.Isomap(n_neighbors=60),
        "lda": lowland.LinearDiscriminantAnalysis(),
        "tree": lowland.TreeSelector(random_state=0),
        "path": lowland.SequentialFeatureSelector(n_features_to_select=2),
    }
    for name, model in saved.items():
        lowland.save(model.fit(iris.X, iris.y), tmp_path / name)
    named = {name for path in saved for name in re.findall(r'"record": "(\w+)"', json.dumps(_read(tmp_path / path)[0]))}
    assert {"Kaiser", "ComponentChoice", "Moments", "Rotation", "Adequacy", "Step"} <= named
    program = (
        "import os, sys, numpy, sklearn.base\n"
        "for path in sys.argv[1:]:\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        import lowland\n"
        "        lowland.load(path)\n"
        "        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0, path\n"
    )
    paths = [str(tmp_path / name) for name in saved]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, *paths], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_keep_their_memory_order(tmp_path, order):
    """Another order would change the rounding errors of products, and so of transforms."""
    model = lowland.PCA(2).fit(np.random.default_rng(0).standard_normal((30, 5)))
    model.components_ = np.asarray(model.components_, order=order)
    lowland.save(model, tmp_path / "m")
    loaded = lowland.load(tmp_path / "m")
    assert loaded.components_.flags[f"{order}_CONTIGUOUS"]
    np.testing.assert_array_equal(loaded.components_, model.components_)


def forged(path, name, change):
    """The file with one array changed, and a checksum that fits the change."""
    from safetensors.numpy import save_file

    header, arrays = _read(path)
    arrays[name] = np.ascontiguousarray(change(arrays[name]))
    save_file(arrays, path, metadata={"lowland": json.dumps({**header, "checksum": _checksum(header, arrays)})})
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda Z: Z * np.nan,
        lambda Z: Z * np.inf,
        lambda Z: Z[:0],
        lambda Z: Z[:-1],
        lambda Z: Z[:, 0],
        lambda Z: Z[None],
    ],
)
@pytest.mark.parametrize("name", ["TSNE", "UMAP", "PaCMAP", "Isomap"])
def test_a_map_that_compiled_code_cannot_read_is_refused(change, name, iris, tmp_path):
    cls = getattr(lowland, name)
    lowland.save(cls(**traits_of(cls).quick).fit(iris.X[:40]), tmp_path / "m")
    with pytest.raises(ModelFileError, match="embedding_"):
        lowland.load(forged(tmp_path / "m", "state.embedding_", change))


def test_the_mask_of_the_embedded_rows_belongs_to_the_points(iris, tmp_path):
    lowland.save(lowland.LocallyLinearEmbedding(2, n_neighbors=60).fit(iris.X), tmp_path / "m")
    with pytest.raises(ModelFileError, match="embedded_mask_"):
        lowland.load(forged(tmp_path / "m", "state.embedded_mask_", lambda kept: kept & (np.arange(len(kept)) < 9)))


@pytest.mark.parametrize("label", [2**40, 4, -2])
def test_more_clusters_than_columns_are_refused(label, iris, tmp_path):
    """Once an array was made for so many clusters."""
    lowland.save(lowland.FeatureAgglomeration(2).fit(iris.X), tmp_path / "m")
    with pytest.raises(ModelFileError, match="labels_"):
        lowland.load(forged(tmp_path / "m", "state.labels_", lambda labels: np.full_like(labels, label)))


def test_the_indices_of_a_saved_graph_are_checked(iris, tmp_path):
    lowland.save(lowland.SpectralEmbedding(n_neighbors=60).fit(iris.X), tmp_path / "m")
    end = lambda pointers: np.append(pointers[:-1], -1)  # noqa: E731
    with pytest.raises(ModelFileError, match="negative"):
        lowland.load(forged(tmp_path / "m", "state.affinity_matrix_.indptr", end))


def test_parameters_and_numbers_of_a_model_are_checked(path):
    with pytest.raises(ModelFileError, match="scale"):
        lowland.load(altered(path, lambda own: own["parameters"].update(scale=3)))
    with pytest.raises(ModelFileError, match="n_samples_"):
        lowland.load(
            altered(path, lambda own: (own["parameters"].update(scale=True), own["state"].update(n_samples_="x")))
        )
