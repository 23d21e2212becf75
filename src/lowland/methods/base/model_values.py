"""Values in model files: parameters and fitted attributes as JSON and arrays, and back."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from lowland.arrays.namespace import is_array, is_sparse, to_numpy
from lowland.arrays.records import RECORDS
from lowland.data.rows import checked_sparse
from lowland.errors import ModelFileError, warn
from lowland.methods.base.params import Described

_CSR = ("data", "indices", "indptr")  # the arrays of a sparse matrix
_FUNCTIONS = {"mean": np.mean, "median": np.median, "max": np.max, "min": np.min}  # saved by name
_TYPES = {kind.__name__: kind for kind in (np.float64, np.float32, np.int64, np.int32, float, int, bool, str, object)}
_AS_TEXT: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {
    decimal.Decimal: (str, decimal.Decimal),
    fractions.Fraction: (str, fractions.Fraction),
    complex: (str, complex),
    bytes: (bytes.hex, bytes.fromhex),
    datetime.date: (datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.datetime: (datetime.datetime.isoformat, datetime.datetime.fromisoformat),
}  # other values, such as labels: to text and back
_FROM_TEXT = {kind.__name__: back for kind, (_, back) in _AS_TEXT.items()}


def described(value: Any, key: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return a description in place of an object that has no form of its own."""
    _, is_parameter, name = key.rpartition("parameters.")
    if callable(value) and is_parameter and ".state." not in name:
        warn(
            f"The function passed as {name} is not saved, only a description of it: model files contain no code. After "
            f"lowland.load, set it again with set_params({name}=...)."
        )
    return {"described": value.text if isinstance(value, Described) else repr(value)}


Other = Callable[[Any, str, dict[str, np.ndarray]], Any]


def encoded(value: Any, key: str, arrays: dict[str, np.ndarray], other: Other = described) -> Any:
    """Return a value as JSON; arrays are stored separately.

    ``other`` returns the form of an object that has none of its own: by default a description.
    """
    if isinstance(value, bool | str) or value is None:
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    if isinstance(value, float | np.floating):
        _refuse_long(value, key)
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if isinstance(value, type) and value in _TYPES.values():
        return {"type": value.__name__}
    if isinstance(value, slice):
        return {"slice": encoded((value.start, value.stop, value.step), key, arrays, other)}
    if type(value) in _AS_TEXT:
        return {"scalar": type(value).__name__, "text": _AS_TEXT[type(value)][0](value)}
    if isinstance(value, np.generic):  # a date, for instance
        return {"element": encoded(np.asarray(value), key, arrays, other)}
    if isinstance(value, np.ndarray) or is_array(value):
        return _encoded_array(value if isinstance(value, np.ndarray) else to_numpy(value), key, arrays, other)
    if is_sparse(value):
        import scipy.sparse

        rows = value.tocsr()
        parts = {name: encoded(getattr(rows, name), f"{key}.{name}", arrays, other) for name in _CSR}
        shape = {"rows": rows.shape[0], "columns": rows.shape[1]}
        return {"sparse": parts, "shape": shape, "matrix": not isinstance(rows, scipy.sparse.sparray)}
    if isinstance(value, list | tuple):
        return {
            "list": [encoded(v, f"{key}.{i}", arrays, other) for i, v in enumerate(value)],
            "tuple": isinstance(value, tuple),
        }
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        places = {name: name if name.isidentifier() else f"#{i}" for i, name in enumerate(value)}
        return {"dict": {name: encoded(v, f"{key}.{places[name]}", arrays, other) for name, v in value.items()}}
    if isinstance(value, dict) and all(isinstance(name, int | np.integer) for name in value):
        return {"items": encoded(list(value.items()), key, arrays, other)}
    if is_dataclass(value) and RECORDS.get(type(value).__name__) is type(value):
        own = {f.name: encoded(getattr(value, f.name), f"{key}.{f.name}", arrays, other) for f in fields(value)}
        return {"record": type(value).__name__, "fields": own}
    for name, function in _FUNCTIONS.items():
        if value is function:
            return {"function": name}
    return other(value, key, arrays)


def _encoded_array(a: np.ndarray, key: str, arrays: dict[str, np.ndarray], other: Other) -> Any:
    """Return an array as JSON. Numbers are stored in native byte order, under ``key``."""
    shape = {} if a.ndim == 1 else {"shape": {str(axis): size for axis, size in enumerate(a.shape)}}
    values = a.ravel().tolist() if a.dtype.kind in "OU" else []
    if a.dtype.kind == "U" or (a.dtype.kind == "O" and values and all(isinstance(v, str) for v in values)):
        return {"texts": [str(v) for v in values], "kind": a.dtype.kind, **shape}
    if a.dtype.kind == "O":
        forms = [encoded(v, f"{key}.{i}", arrays, other) for i, v in enumerate(values)]
        unknown = [v for v, form in zip(values, forms, strict=True) if isinstance(form, dict) and "described" in form]
        if unknown:
            raise ModelFileError(
                f"{key.partition('.')[2]} contains a {type(unknown[0]).__name__}, which a model file cannot hold. "
                "Convert these values, such as the labels y, to strings or numbers before fit."
            )
        return {"objects": {str(i): form for i, form in enumerate(forms)}, **shape}
    if a.dtype.kind not in "biufcSMm":
        raise ModelFileError(
            f"{key.partition('.')[2]} has dtype {a.dtype}, which a model file cannot hold. Convert it to numbers or "
            "strings before fit."
        )
    native = np.array(a, dtype=a.dtype.newbyteorder("="), order="C", copy=None)
    if native.dtype == np.longdouble and native.dtype.itemsize > 8:
        _refuse_long(native, key)
        native = native.astype(np.float64)
    if native.dtype.kind in "SMm" or native.dtype == np.complex128:  # as bytes
        arrays[key] = np.frombuffer(native.tobytes(), dtype=np.uint8)
        shape = {"shape": {str(axis): size for axis, size in enumerate(a.shape)}}
        return {"bytes": key, "dtype": native.dtype.str, **shape}
    if native.dtype.kind == "c" and native.dtype != np.complex64:
        raise ModelFileError(
            f"{key.partition('.')[2]} has dtype {a.dtype}, which is too wide. Convert it to complex128."
        )
    arrays[key] = native
    by_columns = a.ndim == 2 and a.flags.f_contiguous and not a.flags.c_contiguous
    return {"array": key, "order": "F"} if by_columns else {"array": key}  # another order would change rounding errors


def _refuse_long(values: Any, key: str) -> None:
    """Raise an error for extended precision that float64 would round."""
    if getattr(values, "dtype", np.dtype(float)).itemsize > 8:
        rounded = np.asarray(values).astype(np.float64)
        if not np.array_equal(rounded, values, equal_nan=True):
            raise ModelFileError(
                f"{key.partition('.')[2]} has dtype {values.dtype}, and its values do not fit into float64. Convert it "
                "before fit: astype(float)."
            )


def _shaped(values: np.ndarray, form: dict[str, Any]) -> np.ndarray:
    """The values in the shape that the header states; one axis without a statement."""
    sizes = form.get("shape")
    return values if sizes is None else values.reshape([sizes[str(axis)] for axis in range(len(sizes))])


def decoded(value: Any, arrays: dict[str, np.ndarray], estimator: Callable[[Any], Any] | None = None) -> Any:
    """Return the value of a JSON form: plain data or one of Lowland's records, nothing else.

    ``estimator`` returns the estimator of a form, where there may be one.
    """
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ModelFileError("The header contains a bare list, which Lowland never writes.")
        return value
    match value:
        case {"float": text}:
            return float(text)
        case {"dtype": text} if text.lstrip("<>=|") in ("f4", "f8", "i4", "i8", "O"):
            return np.dtype(text)
        case {"texts": texts}:
            found = np.asarray([str(t) for t in texts], dtype=str if value.get("kind") == "U" else object)
            return _shaped(found, value)
        case {"objects": forms}:
            found = np.empty(len(forms), dtype=object)
            found[:] = [decoded(forms[str(i)], arrays, estimator) for i in range(len(forms))]
            return _shaped(found, value)
        case {"scalar": name, "text": text}:
            return _FROM_TEXT[name](text)
        case {"element": form}:
            return decoded(form, arrays, estimator)[()]
        case {"bytes": key, "dtype": kind} if np.dtype(kind).kind in "SMmc":
            return _shaped(np.frombuffer(arrays[key].tobytes(), dtype=kind).copy(), value)
        case {"array": key}:
            return np.asfortranarray(arrays[key]) if value.get("order") == "F" else arrays[key]
        case {"sparse": parts, "shape": shape}:
            import scipy.sparse

            stored = tuple(decoded(parts[name], arrays, estimator) for name in _CSR)
            kind = scipy.sparse.csr_matrix if value.get("matrix") else scipy.sparse.csr_array
            return checked_sparse(kind(stored, shape=(shape["rows"], shape["columns"])))
        case {"list": items, "tuple": is_tuple}:
            parts = [decoded(v, arrays, estimator) for v in items]
            return tuple(parts) if is_tuple else parts
        case {"dict": items}:
            return {str(name): decoded(v, arrays, estimator) for name, v in items.items()}
        case {"record": name, "fields": own}:
            return RECORDS[name](**{str(f): decoded(v, arrays, estimator) for f, v in own.items()})
        case {"function": name}:
            return _FUNCTIONS[name]
        case {"type": name}:
            return _TYPES[name]
        case {"slice": ends}:
            return slice(*decoded(ends, arrays, estimator))
        case {"items": pairs}:
            return dict(decoded(pairs, arrays, estimator))
        case {"estimator": form} if estimator is not None:
            return estimator(form)
        case {"described": text} if estimator is None:
            return Described(str(text))
    raise ModelFileError("The header contains a value of unknown form.")
