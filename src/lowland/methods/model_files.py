"""Model files: one safetensors file with arrays and a JSON header. No pickle; only known classes."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from lowland import __version__
from lowland.data.write import atomic_write
from lowland.errors import DataWarning, FileProblem, MissingFile, ModelFileError, file_error, warn
from lowland.methods.base.model_steps import STEPS, check_steps, decoded_estimator, encoded_estimator, is_known
from lowland.methods.registry import method_names

FORMAT = 1
# what a damaged header raises; AttributeError: a data type that numpy lacks; RecursionError: nested too deeply
_DAMAGE = (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted method, or a fitted pipeline of methods and preparing steps, to ``path``.

    The steps of a pipeline may be ``TablePreparer``, and scikit-learn's scalers, imputers, encoders and
    ``ColumnTransformer``. The file contains only numbers and names, and loads in any Python version.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import lowland
    >>> model = lowland.PCA(2).fit(lowland.data.load_dataset("iris").X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lowland.save(model, Path(folder) / "iris.lowland")
    ...     [path.name for path in Path(folder).iterdir()]
    ['iris.lowland']
    """
    if not is_known(model):
        raise ModelFileError(
            f"{type(model).__name__} is not a method of Lowland. lowland.save writes those, and pipelines of them with "
            "TablePreparer and scikit-learn's scalers, imputers and encoders. For other objects, use joblib.dump."
        )
    check_is_fitted(model)
    check_steps(model)
    arrays: dict[str, np.ndarray] = {}
    header = {"format": FORMAT, "lowland": __version__, **encoded_estimator(model, "", arrays)}
    if type(model).__name__ in STEPS:
        header["scikit-learn"] = sklearn.__version__
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
    """Load the model saved at ``path``. A damaged or malicious file raises an error, and no code in it is run.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import lowland
    >>> X = lowland.data.load_dataset("iris").X
    >>> model = lowland.PCA(2).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lowland.save(model, Path(folder) / "iris.lowland")
    ...     again = lowland.load(Path(folder) / "iris.lowland")
    >>> bool((again.transform(X) == model.transform(X)).all())
    True
    """
    header, arrays = _read(Path(path))
    try:
        if header["format"] > FORMAT:
            raise ModelFileError(
                f"{str(path)!r} was written by a newer version of Lowland ({header['lowland']}). Update Lowland."
            )
        if header["class"] not in method_names() and header["class"] not in STEPS:
            raise ModelFileError(
                f"{str(path)!r} contains the method {header['class']!r}, which Lowland {__version__} does not have. "
                "Load it with the version that wrote it, or update Lowland."
            )
        if header["checksum"] != _checksum(header, arrays):
            raise ModelFileError(f"{str(path)!r} is damaged: the checksum does not match. Copy or save it again.")
        try:
            model = decoded_estimator(header, arrays)
        except ModelFileError as error:
            raise ModelFileError(f"{str(path)!r} is not a valid model file: {error}") from error
        if header["class"] in method_names() and not isinstance(vars(model).get("n_features_in_"), int):
            raise ModelFileError(f"{str(path)!r} contains no fitted model: n_features_in_ is missing. Save it again.")
        written = header.get("scikit-learn")
        if written is not None and str(written).split(".")[:2] != sklearn.__version__.split(".")[:2]:
            warn(
                f"{str(path)!r} contains steps of scikit-learn {written}, and this is scikit-learn "
                f"{sklearn.__version__}. Compare the results, or fit and save the pipeline again.",
                DataWarning,
            )
    except _DAMAGE as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{str(path)!r} is damaged: its header is invalid ({error}). Copy or save it again."
        ) from error
    return model


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header of a model file without importing its method: class, parameters, shapes and data types."""
    header, arrays = _read(Path(path))
    header["arrays"] = {name: {"shape": list(a.shape), "dtype": str(a.dtype)} for name, a in arrays.items()}
    return header


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise MissingFile(f"There is no model file {str(path)!r}. Check the file name and the folder.")
    if _is_foreign(path):
        raise ModelFileError(f"{str(path)!r} is not a Lowland model. `lowland.save` writes one.")
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("lowland", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  not a dict
    except (SafetensorError, OSError, *_DAMAGE) as error:
        damaged = ModelFileError(f"{str(path)!r} is not a complete model file: {error}. Copy or save it again.")
        raise file_error(path, error, damaged) from error
    if not isinstance(header, dict):
        raise ModelFileError(
            f"{str(path)!r} was not written by Lowland: it has no Lowland header. Save the model with `lowland.save`."
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
