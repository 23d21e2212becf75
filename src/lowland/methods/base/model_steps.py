"""Estimators in model files: methods of Lowland, and pipelines of them with scikit-learn's preparing steps.

An estimator is stored as its class name, its parameters and its fitted attributes by name. Only the classes listed here
and the methods in the registry are rebuilt. Nothing in a file names a module or a function to call.
"""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from lowland.errors import ModelFileError
from lowland.methods.base.method import Fitted, Method
from lowland.methods.base.model_values import decoded, described, encoded
from lowland.methods.base.params import Described, attributes_of, parameters_of, plain
from lowland.methods.registry import load_method, method_names

# The module of each class, and the private attributes that its fit sets.
STEPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Pipeline": ("sklearn.pipeline", ()),
    "ColumnTransformer": (
        "sklearn.compose", ("_columns", "_transformer_to_input_indices", "_remainder"),
    ),
    "FeatureUnion": ("sklearn.pipeline", ()),
    "StandardScaler": ("sklearn.preprocessing", ()),
    "MinMaxScaler": ("sklearn.preprocessing", ()),
    "MaxAbsScaler": ("sklearn.preprocessing", ()),
    "RobustScaler": ("sklearn.preprocessing", ()),
    "Normalizer": ("sklearn.preprocessing", ()),
    "FunctionTransformer": ("sklearn.preprocessing", ()),  # without a function: a column that is passed through
    "Binarizer": ("sklearn.preprocessing", ()),
    "QuantileTransformer": ("sklearn.preprocessing", ()),
    "PowerTransformer": ("sklearn.preprocessing", ("_scaler",)),
    "OneHotEncoder": (
        "sklearn.preprocessing",
        ("_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings", "_drop_idx_after_grouping",
         "_n_features_outs"),
    ),
    "OrdinalEncoder": (
        "sklearn.preprocessing",
        ("_infrequent_enabled", "_infrequent_indices", "_default_to_infrequent_mappings", "_missing_indices"),
    ),
    "SimpleImputer": ("sklearn.impute", ("_fit_dtype", "_fill_dtype")),
    "KNNImputer": ("sklearn.impute", ("_fit_X", "_mask_fit_X", "_valid_mask")),
    "MissingIndicator": ("sklearn.impute", ("_n_features", "_precomputed")),
    "VarianceThreshold": ("sklearn.feature_selection", ()),
    "TablePreparer": ("lowland.prepare.table_preparer", ()),
    "DateParts": ("lowland.prepare.steps", ()),
    "TextComponents": ("lowland.prepare.steps", ()),
    "CountWeights": ("lowland.prepare.steps", ()),
    "EMImputer": ("lowland.prepare.steps", ()),
}  # fmt: skip
_OUTPUT = "_sklearn_output_config"
DEEPEST = 20  # levels of estimators inside each other


def class_of(name: Any) -> type[Any]:
    """Return the class of an estimator in a model file."""
    if name in STEPS:
        found: type[Any] = getattr(importlib.import_module(STEPS[name][0]), name)
        return found
    return load_method(name)


def is_known(model: Any) -> bool:
    """Whether the class of an object is one that model files hold: the class itself, no subclass."""
    name = type(model).__name__
    return (name in STEPS or name in method_names()) and type(model) is class_of(name)


def check_steps(model: Any, where: str = "") -> None:
    """Raise an error that names the step of a pipeline that a model file cannot hold."""
    if isinstance(model, str) or model is None:  # "passthrough" or "drop"
        return
    if not is_known(model):
        raise ModelFileError(
            f"The step {where!r} of the pipeline is a {type(model).__name__}, which a model file cannot hold. It holds "
            "the methods of Lowland, TablePreparer, and scikit-learn's scalers, imputers, encoders and "
            "ColumnTransformer. Remove the step, or save the pipeline with joblib.dump."
        )
    if getattr(model, "memory", None) is not None and type(model).__name__ == "Pipeline":
        raise ModelFileError(
            "A model file cannot hold the cache of the pipeline (its parameter `memory`). Turn the cache off before "
            "you save: pipeline.set_params(memory=None)."
        )
    inner = steps_of(model)
    for name, step in inner:
        check_steps(step, f"{where}.{name}" if where else name)
    if where and not inner:
        try:
            encoded_estimator(model, "", {})
        except ModelFileError as error:
            raise ModelFileError(f"The step {where!r} of the pipeline cannot be saved. {error}") from error


def steps_of(model: Any) -> list[tuple[str, Any]]:
    """Return the names and estimators of the steps of a pipeline, or of the parts of a ColumnTransformer."""
    kind = type(model).__name__
    if kind == "Pipeline":
        return list(model.steps)
    if kind == "ColumnTransformer":
        fitted = getattr(model, "transformers_", model.transformers)
        return [(name, step) for name, step, _ in [*model.transformers, *fitted]]
    return list(model.transformer_list) if kind == "FeatureUnion" else []


def encoded_estimator(model: Any, key: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return an estimator as JSON: class, parameters, and the state that its fit has set."""
    cls = type(model)
    parameters = model.get_params(deep=False)
    state = {name: value for name, value in vars(model).items() if name not in parameters and is_state_name(name, cls)}
    other = described
    if isinstance(model, Method):
        for attribute in attributes_of(cls):
            if not attribute.saved:
                state.pop(attribute.name, None)
        if "_fitted" in vars(model):
            kept = vars(model._fitted).items()  # a parameter is stored again only if it was changed since
            state["_fitted"] = {name: v for name, v in kept if name not in parameters or v is not parameters[name]}
    else:
        other = _nested

    forms: dict[str, Any] = {"class": cls.__name__, "parameters": {}, "state": {}}
    for part, values in (("parameters", parameters), ("state", state)):
        for name, value in values.items():
            try:
                forms[part][name] = encoded(value, f"{key}{part}.{name}", arrays, other)
            except _NoForm as error:
                raise ModelFileError(
                    f"{cls.__name__}: {name} contains a {error}, which a model file cannot hold. Use plain values: "
                    "numbers, strings, lists or names of columns."
                ) from None
    return forms


class _NoForm(Exception):
    """A value inside a step has no form in a model file."""


def _nested(value: Any, key: str, arrays: dict[str, np.ndarray]) -> Any:
    """The form of an estimator inside another one."""
    if isinstance(value, BaseEstimator) and is_known(value):
        return {"estimator": encoded_estimator(value, f"{key}.", arrays)}
    raise _NoForm(type(value).__name__)


def decoded_estimator(form: dict[str, Any], arrays: dict[str, np.ndarray], depth: int = 0) -> Any:
    """Return the estimator of a JSON form. Raises errors of any kind for a form that Lowland does not write."""
    name = form["class"]
    if depth > DEEPEST or not isinstance(name, str):
        raise ModelFileError("The header contains a value of unknown form.")
    cls = class_of(name)

    def value(each: Any) -> Any:
        if issubclass(cls, Method):
            return decoded(each, arrays)
        return decoded(each, arrays, lambda inner: decoded_estimator(inner, arrays, depth + 1))

    model = cls(**{"steps": []} if name == "Pipeline" else {"transformers": []} if name == "ColumnTransformer" else
                {"transformer_list": []} if name == "FeatureUnion" else {})  # fmt: skip
    given = {str(each): value(part) for each, part in form["parameters"].items()}
    state = {str(each): value(part) for each, part in form["state"].items()}
    for each, part in given.items():
        if isinstance(part, Described):
            part.name = each
    unknown = {*given} - {*model.get_params(deep=False)}
    if unknown or not all(is_state_name(each, cls) for each in state):
        raise ModelFileError(
            f"It contains names that {name} does not have. It was not written by Lowland, or by another version of "
            "scikit-learn. Save the model again with lowland.save."
        )
    if name == "Pipeline" and given.get("memory") is not None:
        raise ModelFileError("It contains a pipeline with a cache, which Lowland never writes.")
    vars(model).update(given)
    vars(model).update(state)
    if issubclass(cls, Method) and "_fitted" in state:
        vars(model)["_fitted"] = Fitted(**{**given, **state["_fitted"]})
        _check_fit(model)
    _check_structure(model)
    return model


_KINDS = {"int": int, "float": int | float, "bool": bool, "str": str}  # other attributes are arrays or records
_ARRAYS = ("Array", "np.ndarray")
_AXES = re.compile(r"\(([^()]*)\)")


def _check_fit(model: Any) -> None:
    """Raise an error unless parameters and fitted attributes are as declared: compiled code relies on their shapes."""
    state: dict[str, Any] = vars(model)
    cls: Any = type(model)
    for p in parameters_of(cls):
        value: Any = getattr(model._fitted, p.name, p.default)
        if value is not p.default and not isinstance(value, Described) and not p.fits(plain(value)):
            raise ModelFileError(f"Its parameter {p.name} must be {p.wanted}.")
    counts = {name: value for name, value in state.items() if isinstance(value, int)}
    sizes: dict[str, int] = {name: counts[name] for name in ("n_features_in_", "n_samples_") if name in counts}
    sizes["n_samples_ - n_excluded_"] = counts.get("n_samples_", 0) - counts.get("n_excluded_", 0)
    for each in attributes_of(cls):
        value = state.get(each.name)
        kind, optional, _ = each.kind.partition(" | None")
        if each.name not in state or (value is None and optional):
            continue
        is_array = hasattr(value, "shape")
        if (kind in _KINDS and not isinstance(value, _KINDS[kind])) or (kind in _ARRAYS and not is_array):
            raise ModelFileError(f"Its {each.name} is not {each.type}.")
        if is_array and not _has_shape(value.shape, each.shape, sizes):
            raise ModelFileError(f"Its {each.name} has the shape {value.shape}, but {each.shape} is needed.")
        if is_array and each.name.endswith("labels_") and not _are_labels(value):
            raise ModelFileError(f"Its {each.name} has more clusters than members.")
    if "embedding_" in state:
        Z, kept = state["embedding_"], state.get("embedded_mask_")
        Z = Z if kept is None else Z[kept.astype(bool)]
        if not len(Z) or not np.isfinite(Z).all() or (kept is not None and len(Z) != sizes["n_samples_ - n_excluded_"]):
            raise ModelFileError("Its embedding_ is empty or not finite, or embedded_mask_ does not belong to it.")


def _are_labels(value: Any) -> bool:
    """Whether clusters are numbered from 0, or -1 for none; an array is made for so many clusters."""
    return not len(value) or (value.min() >= -1 and value.max() < len(value))


def _has_shape(shape: tuple[int, ...], declared: str, sizes: dict[str, int]) -> bool:
    """Whether a shape has the declared number of axes, and as many rows and columns as the training data had."""
    forms = [[axis.strip() for axis in form.split(",") if axis.strip()] for form in _AXES.findall(declared)]
    if len(forms) != 1:  # a choice, or no declaration in this form
        return not forms or len(shape) in map(len, forms)
    return len(shape) == len(forms[0]) and all(
        size == sizes.get(axis, size) for axis, size in zip(forms[0], shape, strict=True)
    )


def _check_structure(model: Any) -> None:
    """Raise an error for steps that are not names and estimators."""
    steps = [*steps_of(model)]
    steps += [(name, vars(model)[name]) for name in ("transformer_", "_scaler", "pca_") if name in vars(model)]
    steps += [("model", each) for each in vars(model).get("models_", ())]
    for name, step in steps:
        if not isinstance(name, str) or not (step is None or isinstance(step, str | BaseEstimator)):
            raise ModelFileError("It contains a pipeline whose steps are not estimators.")


def is_state_name(name: str, cls: type[Any]) -> bool:
    """Whether a fit may set this name: none that would hide a method or change scikit-learn's metadata."""
    if name.startswith("_"):
        private = ("_fitted",) if issubclass(cls, Method) else STEPS[cls.__name__][1]
        return name in private or name == _OUTPUT
    return name.isidentifier() and name.endswith("_") and not hasattr(cls, name)
