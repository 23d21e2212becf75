"""Damaged and forged model files: an error, or the same transform; never another result, never code.

A forged file has a valid checksum, so it may load. Its model is then used, and must not crash the interpreter.
"""

from __future__ import annotations

import json
import struct
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lowland
from hunt.areas.methods import VARIANTS
from hunt.audit import watching
from hunt.cases import Area, Wrong
from hunt.mutations import mutate
from lowland.errors import LowlandError
from lowland.methods.base.traits import traits_of
from lowland.methods.model_files import _checksum
from lowland.methods.registry import entries, load_method

X = np.abs(np.random.default_rng(0).standard_normal((24, 4))) * [4, 3, 2, 1]  # positive: also for methods of counts
Y = np.arange(24) % 3
PIPELINE = "Pipeline"
FORGERIES = 8  # of one model in a case
FLOATS = (np.nan, np.inf, -np.inf, 1e300, -1e9, 2.0**62, 0.0, -5.0)
INTEGERS = (-1, 0, 2, len(X), len(X) + 1, X.shape[1], 2**31 - 1, 2**31, 2**62, -(2**63))
USES: tuple[tuple[str, Any], ...] = (
    *(("transform", rows) for rows in (X, X + 0.1, X[:1], scipy.sparse.csr_array(X))),
    *((use, X) for use in ("predict", "predict_proba", "score_samples", "impute")),
    ("inverse_transform", X[:, :2]),
)
FORGED: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**30, 1e308, "", "x", "__class__", "os.system", [], {}),
    {"array": "nothing"},
    {"record": "Outcome", "fields": {}},
    {"function": "eval"},
    {"list": [1], "tuple": True},
    {"float": "nan"},
    {"texts": ["a"], "kind": "O"},
    {"described": "eval('1')"},
    {"dtype": "O"},
    {"estimator": {"class": "FunctionTransformer", "parameters": {"func": "os.system"}, "state": {}}},
    {"type": "eval"},
    {"sparse": {}, "shape": {}},
)


def run(rng: np.random.Generator, seed: int, folder: Path) -> str:
    """Damage one model file and load it, or forge several and use them."""
    names = [*sorted(entries()), PIPELINE]
    name, other = names[seed % len(names)], str(rng.choice(names))
    content, expected = _model(name, int(rng.integers(1 + len(VARIANTS.get(name, ())))))
    path = folder / "m.lowland"
    if rng.random() < 0.5:
        return "; ".join(_use_forged(name, *_forge(content, rng), path) for _ in range(FORGERIES))[:600]
    what, data = mutate(content, _model(other, 0)[0], rng)
    path.write_bytes(data)
    case = f"{name}, {what}"
    try:
        with watching():
            Z = lowland.load(path).transform(X)
    except LowlandError as error:
        return f"refused: {case}: {error}"[:160]
    if np.array_equal(np.asarray(Z), expected) or data == content:
        return f"done: {case}"
    if other == name or np.array_equal(np.asarray(Z), _model(other, 0)[1]):
        return f"done: {case}: all of {other}"  # a splice can be the whole other file
    raise Wrong(f"{case}: loads and transforms differently")


def _use_forged(name: str, what: str, data: bytes, path: Path) -> str:
    """Load a forged file and use its model in every way: a result or an error, but no crash."""
    path.write_bytes(data)
    try:
        with watching():
            model = lowland.load(path)
            for use, rows in USES:
                with suppress(Exception):  # such as a model without this function; a crash of the interpreter is none
                    getattr(model, use)(rows)
    except LowlandError:
        return f"{name}, {what}: refused"
    return f"{name}, {what}: used"


@cache
def _model(name: str, variant: int) -> tuple[bytes, np.ndarray]:
    """A small fitted model as bytes, with its defaults or in one of its variants, and what it transforms X to."""
    est: Any = make_pipeline(StandardScaler(), lowland.TablePreparer(), lowland.PCA(2))
    if name != PIPELINE:
        cls: Any = load_method(name)
        est = cls(**traits_of(cls).quick | ([{}, *VARIANTS.get(name, ())][variant]))
        est = est.set_params(random_state=0) if "random_state" in est.get_params() else est
    try:
        est.fit(X, Y)
    except LowlandError:  # a variant that these rows do not allow
        return _model(name, 0)
    with tempfile.TemporaryDirectory() as folder:
        lowland.save(est, Path(folder) / "m")
        return (Path(folder) / "m").read_bytes(), np.asarray(est.transform(X))


def _forge(content: bytes, rng: np.random.Generator) -> tuple[str, bytes]:
    """Change an array or one value of the header, and compute the checksum again."""
    from safetensors.numpy import load, save

    arrays = load(content)
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["lowland"])
    if arrays and rng.random() < 0.5:
        key = sorted(arrays)[int(rng.integers(len(arrays)))]
        what, arrays[key] = _forged_array(arrays[key], rng)
        header["checksum"] = _checksum(header, arrays)
        return f"forged {key}: {what}", save(arrays, metadata={"lowland": json.dumps(header)})
    places: list[tuple[Any, Any]] = []
    _collect(header, places)
    holder, key = places[int(rng.integers(len(places)))]
    value = FORGED[int(rng.integers(len(FORGED)))]
    holder[key] = value
    if isinstance(key, str) and rng.random() < 0.2:
        holder[str(rng.choice(["__class__", "fit", "transform", "_traits", "n_features_in_"]))] = holder.pop(key)
    if arrays and rng.random() < 0.2:
        arrays.pop(sorted(arrays)[int(rng.integers(len(arrays)))])
    header["checksum"] = _checksum(header, arrays)
    return f"forged {key}={value!r}", save(arrays, metadata={"lowland": json.dumps(header)})


def _forged_array(a: np.ndarray, rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """An array with other values, another shape or another type."""
    values: tuple[Any, ...] = INTEGERS if a.dtype.kind in "iu" else FLOATS
    value = values[int(rng.integers(len(values)))]
    some = a.copy()
    with np.errstate(invalid="ignore"):
        some[rng.random(a.shape) < rng.choice([0.1, 1.0])] = np.asarray(value).astype(a.dtype)
    forms = {
        f"some {value}": some,
        "no rows": a[:0],
        "one row": a[:1],
        "fewer rows": a[: len(a) // 2],
        "more rows": np.concatenate([a, a]),
        "fewer columns": a[..., :1],
        "one axis": a.ravel(),
        "another axis": a[None],
        "transposed": a.T,
        "a number": a.ravel()[:1].reshape(()) if a.size else a,
        "integers": np.nan_to_num(a).astype(np.int8),
        "truth values": a.astype(bool),
    }
    what = str(rng.choice(list(forms), p=[0.5] + [0.5 / 11] * 11))
    return what, np.ascontiguousarray(forms[what])


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    """All places in a nested JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        places.append((value, key))
        _collect(inner, places)


AREA = Area("model-files", "damaged and forged model files", run, cases=14_000, limit=20)
