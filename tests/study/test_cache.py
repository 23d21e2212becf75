"""The cache: keys depend on everything that affects a result, damaged entries are ignored, the size is bounded."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lowland.trial.cache import (
    ARRAYS_FILE,
    CHECKSUM_FILE,
    RECORD_FILE,
    TrialCache,
    fingerprint,
    key_of,
)

values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
facts = st.dictionaries(st.text(max_size=5), values | st.lists(values, max_size=3), max_size=5)


@given(facts)
def test_the_order_of_facts_does_not_matter(facts):
    assert key_of(facts) == key_of(dict(reversed(facts.items())))


@given(facts, st.text(max_size=5), values, values)
def test_another_value_is_another_key(facts, name, a, b):
    same = type(a) is type(b) and a == b and repr(a) == repr(b)
    assert (key_of({**facts, name: a}) == key_of({**facts, name: b})) is same


def test_rules_and_numbers_have_keys_and_functions_have_none():
    from lowland.rules import Cumulative

    assert key_of({"n": Cumulative(0.9)}) == key_of({"n": Cumulative(0.9)}) != key_of({"n": Cumulative(0.8)})
    assert key_of({"n": np.float64(2.0)}) == key_of({"n": 2.0})
    for thing in (len, lambda: None, scipy.sparse.eye_array(3), np.array([len])):
        with pytest.raises(TypeError, match="plain data"):
            key_of({"n": thing})


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 9), st.integers(1, 4))), st.integers(1, 9))
def test_a_fingerprint_does_not_depend_on_the_chunks(X, step):
    whole = fingerprint([X])
    assert fingerprint(X[i : i + step] for i in range(0, len(X), step)) == whole
    assert fingerprint([np.asfortranarray(X)]) == whole


def test_a_fingerprint_depends_on_values_dtype_and_shape():
    X = np.arange(12.0).reshape(4, 3)
    Y = X.copy()
    Y[2, 1] = np.nextafter(Y[2, 1], 9)
    found = {fingerprint([Z]) for Z in (X, Y, X.T, X.reshape(6, 2), X.view(np.int64), X.astype(np.float32), X[:3])}
    assert len(found) == 7


def test_stored_entries_are_restored(tmp_path):
    cache = TrialCache(tmp_path)
    cache.put("a", {"n": 1, "words": "ä"}, {"z": np.eye(2, dtype=np.float32), "row:trust": np.arange(3.0)})
    facts, held = cache.get("a")
    assert facts == {"n": 1, "words": "ä"}
    np.testing.assert_array_equal(held["z"], np.eye(2))
    assert held["z"].dtype == np.float32
    np.testing.assert_array_equal(held["row:trust"], [0, 1, 2])
    assert cache.get("b") is None
    cache.put("a", {"n": 2}, {})
    assert cache.get("a") == ({"n": 2}, {})
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda place: (place / RECORD_FILE).write_text("{"),
        lambda place: (place / RECORD_FILE).write_text("[1]"),
        lambda place: (place / RECORD_FILE).write_bytes(b"\xff\xfe"),
        lambda place: (place / RECORD_FILE).unlink(),
        lambda place: (place / ARRAYS_FILE).write_bytes(b""),
        lambda place: (place / ARRAYS_FILE).write_bytes((place / ARRAYS_FILE).read_bytes()[:-40]),
        lambda place: (place / ARRAYS_FILE).unlink(),
        lambda place: (place / RECORD_FILE).write_text('{"n": 2}'),  # edited
        lambda place: np.savez(place / ARRAYS_FILE, z=2 * np.eye(20)),
        lambda place: (place / CHECKSUM_FILE).unlink(),
    ],
)
def test_damaged_entries_are_ignored_and_can_be_rewritten(tmp_path, damage):
    cache = TrialCache(tmp_path)
    cache.put("a", {"n": 1}, {"z": np.eye(20)})
    damage(tmp_path / "a")
    assert cache.get("a") is None
    cache.put("a", {"n": 1}, {"z": np.eye(20)})
    assert cache.get("a") is not None


def test_an_entry_copied_to_another_key_is_not_served(tmp_path):
    cache = TrialCache(tmp_path)
    cache.put("a", {"n": 1}, {"z": np.eye(2)})
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert cache.get("a") is not None
    assert cache.get("b") is None


KILLED = """
import os, signal, sys
from pathlib import Path
from lowland.trial import cache
cache.os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
cache.TrialCache(Path(sys.argv[1])).put("a", {}, {})
"""


def test_what_a_killed_process_left_is_removed(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)])
    assert len(os.listdir(tmp_path)) == 1
    TrialCache(tmp_path).put("b", {}, {})
    assert os.listdir(tmp_path) == ["b"]


def test_labels_that_are_no_characters_are_stored(tmp_path):
    cache = TrialCache(tmp_path)
    cache.put("a", {"label": "\udc80"}, {})
    assert cache.get("a") == ({"label": "\udc80"}, {})


def test_least_recently_used_entries_are_deleted_first(tmp_path):
    cache = TrialCache(tmp_path, max_bytes=25_000)
    for place, name in enumerate("ab"):
        cache.put(name, {}, {"z": np.zeros(1000)})  # 8 kB
        os.utime(tmp_path / name, (place, place))
    assert cache.get("a") is not None
    cache.put("c", {}, {"z": np.zeros(1000)})
    cache.put("d", {}, {"z": np.zeros(1000)})
    assert sorted(os.listdir(tmp_path)) == ["a", "c", "d"]


def test_an_unwritable_folder_disables_the_cache(tmp_path):
    (tmp_path / "file").write_text("")
    cache = TrialCache(tmp_path / "file" / "folder")
    cache.put("a", {}, {})
    assert cache.get("a") is None


def test_the_cache_folder_belongs_to_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert TrialCache().folder == tmp_path / "lowland" / "studies"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert TrialCache().folder == tmp_path / ".cache" / "lowland" / "studies"


def test_modified_code_has_its_own_version(monkeypatch):
    from lowland.trial import cache

    cache.code_version.cache_clear()
    monkeypatch.setattr(cache, "__version__", "1.2.3")
    assert cache.code_version() == "1.2.3"
    cache.code_version.cache_clear()
    monkeypatch.setattr(cache, "__version__", "1.3.0.dev0")
    assert cache.code_version().startswith("1.3.0.dev0 ")  # and when a file last changed
    cache.code_version.cache_clear()
