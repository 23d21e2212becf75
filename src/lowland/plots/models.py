"""How figures are called: with arrays, or with a fitted model, whose attributes are then drawn."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from lowland.docstrings import with_parameters
from lowland.errors import DataError, DataTypeError
from lowland.methods.registry import entries

Given = ParamSpec("Given")
Drawn = TypeVar("Drawn")
Read = Callable[..., dict[str, Any]]  # from a model, or a model and rows, to arguments of the figure
# What the parameters of the figures mean. A figure describes only those that differ.
SHARED = """
names : sequence of str or None, default None
    Names of the d columns. None means those of the data frame or of the model, or their numbers.
label_names : sequence of str or None, default None
    Names of the classes 0, 1, 2, …, such as ``Dataset.label_names``.
axis_names : tuple of two str
    Labels of the axes.
image_shape : tuple (height, width)
    Shape of the images in pixels, such as ``Dataset.image_shape``.
columns : int or None, default None
    Number of images per line. None means about twice as many as lines.
choice : int, Choice or None, default None
    Number of components kept, or the ``choice_`` of a model. They are highlighted.
topology : "hexagonal" or "rectangular", default "hexagonal"
    Layout of the cells, as the model's ``topology``.
colors : str, default "gray_r"
    Matplotlib colormap. "gray_r" draws dark on light, "gray" suits photographs.
size : float or None, default None
    Area of a marker in square points. None means smaller with more points.
title : str or None, default None
    Title of the figure.
ax : matplotlib Axes or None, default None
    Axes to draw in. None means a new figure.
"""
RETURNS = """
matplotlib Figure, or ``ax`` if you pass one
    A notebook shows the figure. Save it with ``figure.savefig(path)``.
"""


class _Missing(Exception):
    """An attribute that a model does not have; without a name, it is not fitted."""


def called_as(
    call: str, *, read: Read | None = None, rows: bool = False, model: bool = False
) -> Callable[[Callable[Given, Drawn]], Callable[Given, Drawn]]:
    """Let a figure be called with a fitted model in place of its first argument; return ``ax`` if one was given.

    call : the correct call, for error messages. read : returns the arguments that the model supplies. rows : whether
    the rows X follow the model. model : whether the figure takes a model as is.
    """

    def decorated(draw: Callable[Given, Drawn]) -> Callable[Given, Drawn]:
        signature = inspect.signature(with_parameters(SHARED, returns=RETURNS)(draw))
        first = next(iter(signature.parameters))

        @functools.wraps(draw)
        def figure(*args: Any, **kwargs: Any) -> Any:
            if read is not None and is_model(args[0] if args else kwargs.get(first)):
                subject, others = (args[0], args[1:]) if args else (kwargs.pop(first), ())
                args, kwargs = (), _arguments(signature, draw.__name__, call, read, rows, subject, others, kwargs)
            if not model:
                for value in (*args, *kwargs.values()):
                    refuse_model(value, call)
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise DataTypeError(f"plots.{draw.__name__}: {error}. Write plots.{call}.") from None
            drawn = draw(*args, **kwargs)
            # A figure of pyplot is shown at the end of a notebook cell; returned as well, it would appear twice.
            return drawn if kwargs.get("ax") is None else kwargs["ax"]

        return figure

    return decorated


def _arguments(
    signature: inspect.Signature, name: str, call: str, read: Read, rows: bool, model: Any, args: Any, more: Any
) -> dict[str, Any]:
    """The arguments of a figure: those that the model supplies, then those given."""
    left, X = list(args), more.pop("X", None) if rows else None
    if rows and X is None and left and np.ndim(left[0]) != 1:  # one dimension: labels, not rows
        X = left.pop(0)
    try:
        supplied = read(model, X) if rows else read(model)
    except _Missing as missing:
        raise DataError(_lacking(model, str(missing), call)) from None
    positional = [one for one, kind in signature.parameters.items() if kind.kind is kind.POSITIONAL_OR_KEYWORD]
    places = [one for one in positional if one not in supplied or one == "names"]  # names of the model are a default
    if len(left) > len(places):
        raise DataTypeError(f"plots.{name}: too many positional arguments. Write plots.{call}.")
    return {**supplied, **dict(zip(places, left, strict=False)), **more}


def _lacking(model: Any, attribute: str, call: str) -> str:
    """The message for a model without an attribute: it is not fitted, or of another method."""
    kind = model if isinstance(model, type) else type(estimator_of(model))
    owners = [entry.name for entry in entries().values() if attribute in entry.attributes]
    named = {one.__name__ for one in kind.__mro__} & set(owners)
    if not attribute or (named and not _is_fitted(model)):
        return f"{kind.__name__} is a model that is not fitted. Fit it and write plots.{call}."
    of = ""
    if owners and not named:
        *others, last = owners
        of = f", an attribute of {', '.join(others)}{' and ' if others else ''}{last}"
    return f"{kind.__name__} is a model without {attribute}{of}. Fit one that has it and write plots.{call}."


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def is_model(value: Any) -> bool:
    """Whether a value is an estimator, or its class."""
    return hasattr(value, "get_params")


def refuse_model(value: Any, call: str) -> None:
    """Raise an error for a model where an array is needed."""
    if is_model(value):
        kind = value if isinstance(value, type) else type(value)
        raise DataError(f"{kind.__name__} is a model, not an array. Write plots.{call}.")


def estimator_of(model: Any) -> Any:
    """Return the last step of a pipeline, the best estimator of a search, or the model itself."""
    while not isinstance(model, type):
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(getattr(model, "steps", None), list):
            model = model.steps[-1][1]
        else:
            break
    return model


def attribute(model: Any, *words: str, default: Any = _Missing) -> Any:
    """Return the first of some attributes that a fitted model has."""
    found = estimator_of(model)
    if not isinstance(found, type):
        for word in words:
            value = getattr(found, word, None)
            if value is not None:
                return value
    if default is _Missing:
        raise _Missing(words[0])
    return default


def coordinates(model: Any, X: Any) -> Any:
    """Return the coordinates of the rows X, or of the training rows if X is None."""
    if not _is_fitted(model):
        raise _Missing
    return attribute(model, "embedding_") if X is None or not hasattr(model, "transform") else model.transform(X)


def column_names(model: Any, count: int, X: Any = None) -> dict[str, Any]:
    """Return the argument ``names``: the columns of a data frame or of those of the fit; empty if unknown."""
    for names in (getattr(X, "columns", None), attribute(model, "feature_names_in_", default=None),
                  getattr(model, "feature_names_in_", None)):  # fmt: skip
        if names is not None and not callable(names) and len(names) == count:
            return {"names": [str(name) for name in names]}
    return {}
