"""Model files: one safetensors file with arrays and a JSON header. No pickle; classes come only from the registry."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lowland import __version__
from lowland.data.write import atomic_write
from lowland.errors import FileProblem, MissingFile, ModelFileError, file_error
from lowland.methods.base.as_fitted import changed_parameters
from lowland.methods.base.attributes import attributes_of
from lowland.methods.base.estimator import PRIVATE_STATE, Reducer
from lowland.methods.base.model_values import decoded, encoded
from lowland.methods.registry import entries, load_method

FORMAT = 1
_PRIVATE = (*PRIVATE_STATE, "_sklearn_output_config")


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted method to ``path``. The file contains only numbers and names, and loads in any Python version."""
    if not isinstance(model, Reducer) or type(model).__name__ not in entries():
        raise ModelFileError(
            f"{type(model).__name__} is not a method of Lowland. lowland.save writes only those. For other objects, "
            "such as pipelines, use joblib.dump."
        )
    check_is_fitted(model)
    arrays: dict[str, np.ndarray] = {}
    left_out = {a.name for a in attributes_of(type(model)) if not a.saved}
    state = {
        name: value for name, value in vars(model).items() if _is_state_name(name, type(model)) and name not in left_out
    }
    state["_fitted_with"] = changed_parameters(model)
    header = {
        "format": FORMAT,
        "lowland": __version__,
        "class": type(model).__name__,
        "parameters": {
            name: encoded(value, f"parameters.{name}", arrays) for name, value in model.get_params(deep=False).items()
        },
        "state": {name: encoded(value, f"state.{name}", arrays) for name, value in state.items()},
    }
    header["checksum"] = _checksum(header, arrays)
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    with atomic_write(path) as temporary:
        try:
            save_file(arrays, temporary, metadata={"lowland": json.dumps(header)})
        except SafetensorError as error:  # such as a full disk
            words = f"cannot be written: {error}. Check permissions and free disk space."
            raise file_error(path, error, FileProblem(f"{os.fspath(path)!r} {words}")) from error


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
        given = {name: decoded(value, arrays) for name, value in header["parameters"].items()}
        state = {name: decoded(value, arrays) for name, value in header["state"].items()}
        fitted_with = {**given, **state.pop("_fitted_with", {})}
        unknown = set(fitted_with) - set(model.get_params(deep=False))
        if unknown or not all(_is_state_name(name, cls) for name in state):
            raise ModelFileError(
                f"{str(path)!r} contains names that {header['class']} does not have. It was not written by "
                "Lowland. Save the model with lowland.save."
            )
        if not isinstance(state.get("n_features_in_"), int):
            raise ModelFileError(f"{str(path)!r} contains no fitted model: n_features_in_ is missing. Save it again.")
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
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
        raise ModelFileError(f"{str(path)!r} is not a Lowland model. lowland.save writes one.")
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
        damaged = ModelFileError(f"{str(path)!r} is not a complete model file: {error}. Copy or save it again.")
        raise file_error(path, error, damaged) from error
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
