"""Every value that a model file holds is loaded as it was saved."""

import datetime
import json
import os
import signal
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import lowland
from lowland.errors import FileProblem, ModelFileError
from lowland.methods.base.model_values import decoded, encoded

ORDERS = ("<", ">")
DTYPES = (
    npst.boolean_dtypes()
    | st.sampled_from(ORDERS).flatmap(lambda order: npst.integer_dtypes(endianness=order))
    | st.sampled_from(ORDERS).flatmap(lambda order: npst.unsigned_integer_dtypes(endianness=order))
    | st.sampled_from(ORDERS).flatmap(lambda order: npst.floating_dtypes(endianness=order, sizes=(16, 32, 64)))
    | st.sampled_from(ORDERS).flatmap(lambda order: npst.complex_number_dtypes(endianness=order, sizes=(64, 128)))
    | st.sampled_from(ORDERS).flatmap(lambda order: npst.datetime64_dtypes(endianness=order))
    | st.sampled_from(ORDERS).flatmap(lambda order: npst.timedelta64_dtypes(endianness=order))
    | st.sampled_from(ORDERS).flatmap(lambda order: npst.unicode_string_dtypes(endianness=order))
    | npst.byte_string_dtypes()
)
LABELS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.dates()
    | st.datetimes().map(lambda moment: moment.replace(fold=0))
    | st.decimals() | st.fractions() | st.complex_numbers() | st.sampled_from([np.datetime64("2020-01-01T00:00:01")])
)  # fmt: skip


def there_and_back(value):
    from safetensors.numpy import load, save

    arrays = {}
    text = json.dumps(encoded(value, "state.value_", arrays))
    return decoded(json.loads(text), load(save(arrays)))


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_arrays_of_every_dtype(data):
    dtype = data.draw(DTYPES)
    a = data.draw(npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
    again = there_and_back(a)
    assert again.dtype.kind == a.dtype.kind
    assert a.dtype.kind == "U" or again.dtype == a.dtype.newbyteorder("=")
    assert again.dtype.isnative
    np.testing.assert_array_equal(again, a)


@settings(deadline=None, max_examples=40)
@given(st.lists(LABELS, max_size=5))
def test_object_arrays_keep_their_types(values):
    a = np.empty(len(values), dtype=object)
    a[:] = values
    again = there_and_back(a)
    assert again.dtype == object
    assert [repr(value) for value in again] == [repr(value) for value in values]
    assert [type(value) for value in again] == [type(value) for value in values]


def test_what_a_file_cannot_hold_is_refused():
    holder = np.array([object()], dtype=object)
    for value in (holder, np.zeros(2, dtype=[("a", float)]), np.array([np.longdouble(1) / 3])):
        with pytest.raises(ModelFileError, match=r"value_.*before fit"):
            encoded(value, "state.value_", {})
    with pytest.raises(ModelFileError, match=r"value_.*float64"):
        encoded(np.longdouble(1) / 3, "state.value_", {})


def test_names_of_arrays_in_dictionaries_do_not_collide():
    value = {"a.b": np.arange(2), "a": {"b": np.arange(3)}, "\udc80": np.arange(4)}
    again = there_and_back(value)
    assert {name: np.size(part) for name, part in again.items() if name != "a"} == {"a.b": 2, "\udc80": 4}
    np.testing.assert_array_equal(again["a"]["b"], np.arange(3))


@pytest.mark.parametrize(
    "labels",
    [
        np.array([0, 1, 2], dtype=">i8"),
        np.array([0, 1, 2], dtype=">f4"),
        np.array([0, 1, 2], dtype=np.longdouble),
        np.array(["a", "b", "c"], dtype=">U3"),
        np.array([Decimal(1), Decimal(2), Decimal("3.0")], dtype=object),
        np.array([Fraction(1), Fraction(2), Fraction(3)], dtype=object),
        np.array([np.datetime64("2020-01-01"), np.datetime64("2020-01-02"), np.datetime64("2020-01-03")], dtype=object),
        np.array([datetime.date(2020, 1, day) for day in (1, 2, 3)], dtype=object),
        np.array([10**400, 10**401, 10**402], dtype=object),
    ],
    ids=lambda labels: f"{labels.dtype.str} {type(labels[0]).__name__}",
)
def test_labels(labels, iris, tmp_path):
    codes = np.unique(iris.y, return_inverse=True)[1]
    model = lowland.LinearDiscriminantAnalysis().fit(iris.X, labels[codes])
    lowland.save(model, tmp_path / "m.lowland")
    again = lowland.load(tmp_path / "m.lowland").predict(iris.X)
    np.testing.assert_array_equal(again, model.predict(iris.X))
    assert type(again[0]) is type(model.predict(iris.X)[0]) or again.dtype.kind in "f"


def test_big_endian_parameters(iris, tmp_path):
    X = iris.X[:40]
    V = np.var(X, axis=0, ddof=1).astype(">f8")
    models = [
        lowland.MDS(2, metric="seuclidean", metric_params={"V": V}, n_init=1, max_iter=5),
        lowland.FactorAnalysis(1, noise_variance_init=np.ones(4, dtype=">f4")),
    ]
    for model in models:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("warnings.warn", lambda *_, **__: None)  # few iterations
            model.fit(X)
        lowland.save(model, tmp_path / "m.lowland")
        loaded = lowland.load(tmp_path / "m.lowland")
        np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


FULL = """
import resource, signal, sys, numpy as np, lowland
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model = lowland.PCA(40).fit(np.random.default_rng(0).standard_normal((60, 40)))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    lowland.save(model, sys.argv[1])
except lowland.errors.FileProblem as error:
    print(error)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="no limit on the size of files")
def test_a_disk_that_is_too_small(tmp_path):
    (tmp_path / "m.lowland").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "m.lowland")], capture_output=True, text=True, check=True
    )
    assert "cannot be written" in done.stdout
    assert "free disk space" in done.stdout
    assert os.listdir(tmp_path) == ["m.lowland"]
    assert (tmp_path / "m.lowland").read_text() == "old"


def test_a_full_disk(iris, tmp_path, monkeypatch):
    from safetensors import SafetensorError

    def full(*_, **__):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(FileProblem, match=r"m\.lowland.*No space left.*free disk space"):
        lowland.save(lowland.PCA(2).fit(iris.X), tmp_path / "m.lowland")
    assert not os.listdir(tmp_path)
