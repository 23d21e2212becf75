"""What every method shares: parameters said once, ``fit`` that opens and checks, the manners of a scikit-learn estimator."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, Self, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from lowland.arrays.namespace import Array, to_numpy
from lowland.arrays.random import generator
from lowland.data.open import as_vector, float_vector, open_rows
from lowland.data.rows import Rows
from lowland.errors import DataError, ParameterError
from lowland.methods.checks import Described, admits, in_words
from lowland.run.run import Run, run_for
from lowland.run.settings import settings

_INNER = ("_solved", "_unread", "_moments", "_dtype")  # what a fit leaves beside the attributes users read

RandomState = int | np.random.RandomState | np.random.Generator | None


def param(
    default: Any,
    doc: str,
    *,
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    positional: bool = False,
) -> Any:
    """Declare a parameter: its default, its sentence and its limits. The annotation beside it gives its type."""
    limits = {"at_least": at_least, "above": above, "at_most": at_most}
    return dataclasses.field(default=default, kw_only=not positional, metadata={"doc": doc, "limits": limits})


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(param,))
class Reducer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A method that brings rows down to a few coordinates. A subclass declares ``param``s and writes ``solve``."""

    verb: ClassVar[str] = ""  # the name on the command line; a class without one is not a method of its own
    streams: ClassVar[bool] = False  # whether files are read in slabs and never held whole
    order_free: ClassVar[bool] = True  # whether permuting the rows only permutes the result
    takes_sparse: ClassVar[bool] = False
    least_rows: ClassVar[int] = 2

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        dataclasses.dataclass(eq=False, repr=False)(cls)  # a real __init__: editors and scikit-learn read its signature
        if cls.verb:
            cls.__doc__ = _with_parameters(cls)

    # --- fit: open, check, solve ---

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to the rows of X: an array, frame, sparse matrix, tensor, Dask array, the path of a file, or chunks."""
        return self._fit(X, y)

    def solve(self, rows: Rows, run: Run, y: np.ndarray | None, weights: np.ndarray | None) -> None:
        """Do the method's work: the recipe, one block a step."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any = None, weights: Any = None) -> Self:
        self._check_params()
        rows = open_rows(X)
        self._check_rows(rows, reset=True)
        labels = None if y is None else as_vector(y, rows.n, "y")
        counts = self._weights(weights, rows)
        self._forget()
        self.solve(rows, run_for(rows), labels, counts)
        self._solved = True
        return self

    def _weights(self, weights: Any, rows: Rows) -> np.ndarray | None:
        """Weights as floats, one a row; a single number weighs every row alike, as in scikit-learn."""
        if weights is None:
            return None
        if np.isscalar(weights) and rows.n is not None:
            weights = np.full(rows.n, float(weights))  # type: ignore[arg-type]
        return float_vector(weights, rows.n, "sample_weight")

    def _forget(self) -> None:
        """Drop what an earlier fit left, so that nothing of it survives in this one."""
        kept = ("n_features_in_", "feature_names_in_")
        for name in [name for name in vars(self) if name in _INNER or (name.endswith("_") and name not in kept)]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        return bool(vars(self).get("_solved"))

    # --- checks ---

    def _check_params(self) -> None:
        for name, check in _checks_of(type(self)):
            check(self, name, getattr(self, name))

    def _check_rows(self, rows: Rows, *, reset: bool, least: int | None = None) -> None:
        """Check shape and names of what came in against what the method needs, or against what it was fitted to."""
        if rows.is_sparse and not self.takes_sparse:
            raise DataError(
                f"{type(self).__name__} does not take sparse data. Pass X.toarray() if it fits in memory, or use PCA or TruncatedSVD, which keep it sparse."
            )
        if reset:
            least = self.least_rows if least is None else least
            if rows.n is not None and rows.n < least:
                raise DataError(
                    f"Found array with {rows.n} sample(s) (n_samples={rows.n}) while a minimum of {least} is required "
                    f"by {type(self).__name__}. One point has no spread to describe: pass more rows."
                )
            self.n_features_in_ = rows.d
            if rows.names is not None:
                self.feature_names_in_ = np.asarray(rows.names, dtype=object)
            else:
                vars(self).pop("feature_names_in_", None)
            return
        fitted = getattr(self, "feature_names_in_", None)
        if rows.names is None or fitted is None:
            self._warn_of_names(rows, fitted)
        elif tuple(fitted) != rows.names:
            raise DataError(_name_quarrel(tuple(fitted), rows.names))
        if rows.d != self.n_features_in_:
            raise DataError(
                f"X has {rows.d} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input. "
                "Pass the columns it was fitted to."
            )

    def _warn_of_names(self, rows: Rows, fitted: np.ndarray | None) -> None:
        name = type(self).__name__
        if fitted is None and rows.names is not None:
            warnings.warn(
                f"X has feature names, but {name} was fitted without feature names", UserWarning, stacklevel=4
            )
        elif fitted is not None and rows.names is None:
            warnings.warn(
                f"X does not have valid feature names, but {name} was fitted with feature names",
                UserWarning,
                stacklevel=4,
            )

    def _rows_to_map(self, X: Any) -> tuple[Rows, Run]:
        """Open what is to be transformed and check it against the fit."""
        check_is_fitted(self)
        rows = open_rows(X)
        self._check_rows(rows, reset=False)
        return rows, run_for(rows)

    def _generator(self) -> np.random.Generator:
        return generator(getattr(self, "random_state", None))

    # --- out ---

    def _present(self, Z: Array, X: Any) -> Any:
        """Give frames to those who asked for them with ``lowland.config(output="frame")``."""
        if settings().output != "frame":
            return Z
        from lowland.data.write import frame_like

        return frame_like(X, to_numpy(Z), list(self.get_feature_names_out()))

    def _encoding_width(self) -> int:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self._encoding_width()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.takes_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = True
        return tags


# --- parameters, read from the class ----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter as declared."""

    name: str
    kind: Any  # the resolved annotation
    default: Any
    doc: str
    limits: dict[str, float | None]

    @property
    def words(self) -> str:
        """Its type in words."""
        return in_words(self.kind)


@functools.cache
def parameters_of(cls: type[Reducer]) -> tuple[Parameter, ...]:
    """Return the declared parameters of a method, in the order of its signature."""
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    order = list(inspect.signature(cls.__init__).parameters)[1:]
    return tuple(
        Parameter(
            name, hints[name], fields[name].default, fields[name].metadata["doc"], dict(fields[name].metadata["limits"])
        )
        for name in order
    )


def _limit_words(limits: dict[str, float | None]) -> str:
    words = [
        f"{word} {limits[key]:g}"
        for key, word in (("at_least", "at least"), ("above", "above"), ("at_most", "at most"))
        if limits[key] is not None
    ]
    return " and ".join(words)


@functools.cache
def _checks_of(cls: type[Reducer]) -> tuple[tuple[str, Any], ...]:
    """One check per parameter, made once per class: ``fit`` on iris must stay under a millisecond."""

    def checker(p: Parameter) -> Any:
        low, above, high = p.limits["at_least"], p.limits["above"], p.limits["at_most"]
        wanted = p.words + (f", {_limit_words(p.limits)}" if _limit_words(p.limits) else "")

        def check(self: Reducer, name: str, value: Any) -> None:
            if value is p.default:
                return
            missing = next((v for v in (value, *vars(value).values()) if isinstance(v, Described)), None) if hasattr(value, "__dict__") else None
            if missing is not None:
                raise ParameterError(
                    f"{cls.__name__} was loaded from a file, which keeps only a description of {name}: {missing.text}. "
                    f"Give the object again with set_params({name}=...) before fitting."
                )
            fits = admits(p.kind, value)
            if fits and isinstance(value, int | float | np.number) and not isinstance(value, bool):
                fits = not (
                    (low is not None
                    and value < low)
                    or (above is not None
                    and value <= above)
                    or (high is not None
                    and value > high)
                )
            if not fits:
                raise ParameterError(f"{cls.__name__}({name}={value!r}): the parameter {name!r} must be {wanted}.")

        return check

    return tuple((p.name, checker(p)) for p in parameters_of(cls))


def _with_parameters(cls: type[Reducer]) -> str:
    """The docstring with a table of the parameters, which are said once: beside their declaration."""
    fields: Iterable[dataclasses.Field[Any]] = dataclasses.fields(cls)  # type: ignore[arg-type]
    lines = [f"    {f.name} : {f.type}, default {f.default!r}\n        {f.metadata['doc']}" for f in fields]
    text, mark, rest = (inspect.getdoc(cls) or "").partition("\nExamples\n")
    table = inspect.cleandoc(
        "Parameters\n----------\n" + "\n".join(line.replace("\n        ", "\n    ").lstrip() for line in lines)
    )
    return f"{text}\n\n{table}\n{mark}{rest}"


def _name_quarrel(fitted: tuple[str, ...], given: tuple[str, ...]) -> str:
    """Say which columns are new, missing or out of order, in scikit-learn's words and with a remedy."""
    text = "The feature names should match those that were passed during fit.\n"
    for words, names in (
        ("Feature names unseen at fit time:", [n for n in given if n not in fitted]),
        ("Feature names seen at fit time, yet now missing:", [n for n in fitted if n not in given]),
    ):
        if names:
            text += (
                words
                + "\n"
                + "".join(f"- {name}\n" for name in sorted(names)[:5])
                + ("- ...\n" if len(names) > 5 else "")
            )
    if set(fitted) == set(given):
        text += "Feature names must be in the same order as they were in fit.\n"
    return text + "Select the fitted columns by name: X[model.feature_names_in_]."
