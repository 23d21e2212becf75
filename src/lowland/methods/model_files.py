"""Model files: one safetensors file with arrays and a JSON header. No pickle; classes come only from the registry."""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland import __version__
from lowland.arrays.namespace import is_array, is_sparse, to_numpy
from lowland.arrays.records import RECORDS
from lowland.data.write import atomic_write
from lowland.errors import MissingFile, ModelFileError, warn
from lowland.methods.base.as_fitted import changed_parameters
from lowland.methods.base.estimator import PRIVATE_STATE, Reducer
from lowland.methods.base.parameters import Described
from lowland.methods.registry import entries, load_method

FORMAT = 1
_CSR = ("data", "indices", "indptr")  # the arrays of a sparse matrix
_PRIVATE = (*PRIVATE_STATE, "_sklearn_output_config")
_FUNCTIONS = {
    "mean": np.mean,
    "median": np.median,
    "max": np.max,
    "min": np.min,
}  # numpy functions that are saved by name


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted method to ``path``. The file contains only numbers and names, and loads in any Python version."""
    if not isinstance(model, Reducer) or type(model).__name__ not in entries():
        raise ModelFileError(
            f"{type(model).__name__} is not a method of Lowland. lowland.save writes only those. For other objects, "
            "such as pipelines, use joblib.dump."
        )
    check_is_fitted(model)
    arrays: dict[str, np.ndarray] = {}
    state = {name: value for name, value in vars(model).items() if _is_state_name(name, type(model))}
    state["_fitted_with"] = changed_parameters(model)
    header = {
        "format": FORMAT,
        "lowland": __version__,
        "class": type(model).__name__,
        "parameters": {
            name: _encoded(value, f"parameters.{name}", arrays) for name, value in model.get_params(deep=False).items()
        },
        "state": {name: _encoded(value, f"state.{name}", arrays) for name, value in state.items()},
    }
    header["checksum"] = _checksum(header, arrays)
    from safetensors.numpy import save_file

    with atomic_write(path) as temporary:
        save_file(arrays, temporary, metadata={"lowland": json.dumps(header)})


def load(path: str | os.PathLike[str]) -> Any:
    """Load the method saved at ``path``. A damaged or malicious file raises an error; no code in it is run."""
    header, arrays = _read(Path(path))
    try:
        if header["format"] > FORMAT:
            raise ModelFileError(
                f"{str(path)!r} was written by a newer version of Lowland ({header['lowland']}). Update with: "
                "pip install -U lowland"
            )
        if header["class"] not in entries():
            raise ModelFileError(
                f"{str(path)!r} contains the method {header['class']!r}, which Lowland {__version__} does not have. "
                "Load it with the version that wrote it, or update Lowland."
            )
        if header["checksum"] != _checksum(header, arrays):
            raise ModelFileError(f"{str(path)!r} is damaged: the checksum does not match. Copy or save it again.")
        cls = load_method(header["class"])
        model = cls()
        given = {name: _decoded(value, arrays) for name, value in header["parameters"].items()}
        state = {name: _decoded(value, arrays) for name, value in header["state"].items()}
        fitted_with = {**given, **state.pop("_fitted_with", {})}
        unknown = set(fitted_with) - set(model.get_params(deep=False))
        if unknown or not all(_is_state_name(name, cls) for name in state):
            raise ModelFileError(
                f"{str(path)!r} contains names that {header['class']} does not have. It was not written by "
                "Lowland. Save the model with lowland.save."
            )
        if not isinstance(state.get("n_features_in_"), int):
            raise ModelFileError(f"{str(path)!r} contains no fitted model: n_features_in_ is missing. Save it again.")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{str(path)!r} is damaged: its header is invalid ({error}). Copy or save it again."
        ) from error
    vars(model).update(given)
    vars(model).update(state, _fitted_with=fitted_with)
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header of a model file without importing its method: class, parameters, shapes and data types."""
    header, arrays = _read(Path(path))
    header["arrays"] = {name: {"shape": list(a.shape), "dtype": str(a.dtype)} for name, a in arrays.items()}
    return header


def _is_state_name(name: str, cls: type[Any]) -> bool:
    """Whether a fit may set this name: none that would hide a method or change scikit-learn's metadata."""
    if name.startswith("_"):
        return name in _PRIVATE
    return name.isidentifier() and name.endswith("_") and not hasattr(cls, name)


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise MissingFile(f"There is no model file {str(path)!r}. Check the file name and the folder.")
    if _is_foreign(path):
        raise ModelFileError(
            f"{str(path)!r} is not a Lowland model. lowland.save or lowland fit --model writes one. On the command "
            "line, the model comes before the data file."
        )
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("lowland", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except (  # AttributeError: a data type that numpy lacks; RecursionError: a header nested too deeply
        SafetensorError,
        OSError,
        ValueError,
        KeyError,
        TypeError,
        OverflowError,
        AttributeError,
        RecursionError,
    ) as error:
        raise ModelFileError(f"{str(path)!r} is not a complete model file: {error}. Copy or save it again.") from error
    if not isinstance(header, dict):
        raise ModelFileError(
            f"{str(path)!r} was not written by Lowland: it has no Lowland header. Save the model with lowland.save."
        )
    return header, arrays


def _is_foreign(path: Path) -> bool:
    """Whether a file does not start like safetensors: the length of the header in eight bytes, then JSON."""
    try:
        with open(path, "rb") as file:
            begin = file.read(9)
    except OSError:  # the next reader reports it
        return False
    return begin[5:8] != bytes(3) or begin[8:] != b"{"


def _checksum(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """The SHA-256 of the header, without the checksum itself, and of the arrays."""
    content = {name: value for name, value in header.items() if name != "checksum"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name in sorted(arrays):
        a = arrays[name]
        digest.update(f"{name} {a.shape} {a.dtype.str.lstrip('<>=|')}".encode())
        digest.update(a.tobytes())
    return digest.hexdigest()


def _encoded(value: Any, key: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a value as JSON; arrays are stored separately, unknown objects become a description."""
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        return {"texts": [str(v) for v in value], "kind": value.dtype.kind}
    if isinstance(value, np.ndarray) or is_array(value):
        arrays[key] = np.ascontiguousarray(value if isinstance(value, np.ndarray) else to_numpy(value))
        return {"array": key}
    if is_sparse(value):
        import scipy.sparse

        rows = value.tocsr()
        parts = {name: _encoded(getattr(rows, name), f"{key}.{name}", arrays) for name in _CSR}
        shape = {"rows": rows.shape[0], "columns": rows.shape[1]}
        return {"sparse": parts, "shape": shape, "matrix": not isinstance(rows, scipy.sparse.sparray)}
    if isinstance(value, list | tuple):
        return {
            "list": [_encoded(v, f"{key}.{i}", arrays) for i, v in enumerate(value)],
            "tuple": isinstance(value, tuple),
        }
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: _encoded(v, f"{key}.{name}", arrays) for name, v in value.items()}}
    if is_dataclass(value) and RECORDS.get(type(value).__name__) is type(value):
        own = {f.name: _encoded(getattr(value, f.name), f"{key}.{f.name}", arrays) for f in fields(value)}
        return {"record": type(value).__name__, "fields": own}
    for name, function in _FUNCTIONS.items():
        if value is function:
            return {"function": name}
    where, _, name = key.partition(".")
    if callable(value) and where == "parameters":
        warn(
            f"The function given as {name} is not saved, only a description of it: model files contain no code. After "
            f"lowland.load, set it again with set_params({name}=...)."
        )
    return {"described": value.text if isinstance(value, Described) else repr(value)}


def _decoded(value: Any, arrays: dict[str, np.ndarray]) -> Any:
    """Return the value of a JSON form: plain data or one of Lowland's records, nothing else."""
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ModelFileError("The header contains a bare list, which Lowland never writes.")
        return value
    match value:
        case {"float": text}:
            return float(text)
        case {"dtype": text} if text.lstrip("<>=|") in ("f4", "f8"):
            return np.dtype(text)
        case {"texts": texts}:
            return np.asarray([str(t) for t in texts], dtype=str if value.get("kind") == "U" else object)
        case {"array": key}:
            return arrays[key]
        case {"sparse": parts, "shape": shape}:
            import scipy.sparse

            stored = tuple(_decoded(parts[name], arrays) for name in _CSR)
            kind = scipy.sparse.csr_matrix if value.get("matrix") else scipy.sparse.csr_array
            rows = kind(stored, shape=(shape["rows"], shape["columns"]))
            rows.check_format(full_check=True)  # an index out of range would read other memory
            return rows
        case {"list": items, "tuple": is_tuple}:
            decoded = [_decoded(v, arrays) for v in items]
            return tuple(decoded) if is_tuple else decoded
        case {"dict": items}:
            return {str(name): _decoded(v, arrays) for name, v in items.items()}
        case {"record": name, "fields": own}:
            return RECORDS[name](**{str(f): _decoded(v, arrays) for f, v in own.items()})
        case {"function": name}:
            return _FUNCTIONS[name]
        case {"described": text}:
            return Described(str(text))
    raise ModelFileError("The header contains a value of unknown form.")
