"""A fitted model uses the parameters it was fitted with: ``set_params`` takes effect at the next fit.

``fit`` stores its parameters in ``_fitted_with``. A method that reads a parameter after the fit is decorated with
``as_fitted``: it runs on a view of the model that has those parameters. Model files keep the ones that were changed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lowland.methods.base.parameters import Described, parameters_of


@functools.cache
def _names(cls: Any) -> tuple[str, ...]:
    """The parameters that a fit settles; the others are read when they are needed, as in scikit-learn."""
    return tuple(p.name for p in parameters_of(cls) if not p.read_late)


def record_parameters(model: Any) -> None:
    """Store the parameters of a fit in the model."""
    own = vars(model)
    cls: Any = type(model)
    own["_fitted_with"] = {name: own[name] for name in _names(cls)}


def changed_parameters(model: Any) -> dict[str, Any]:
    """Return the parameters that were changed after the fit, with the values of the fit.

    An object that a model file could only describe is replaced by the one that the user has set again.
    """
    own = vars(model)
    cls: Any = type(model)
    fitted = own.get("_fitted_with")
    if fitted is None:
        return {}
    changed = [name for name in _names(cls) if own[name] is not fitted[name]]
    return {name: fitted[name] for name in changed if not isinstance(fitted[name], Described)}


def view_as_fitted(model: Any) -> Any:
    """Return the model, or a shallow copy with the parameters of its fit if some were changed since."""
    changed = changed_parameters(model)
    if not changed:
        return model
    if vars(model).get("_unread"):  # partial_fit has not been solved for
        model._solve_pending()
    view = object.__new__(type(model))
    vars(view).update(vars(model), **changed)
    return view


def as_fitted(method: Callable[..., Any]) -> Callable[..., Any]:
    """Run a method of a fitted model with the parameters of the fit."""

    @functools.wraps(method)
    def with_parameters_of_fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        return method(view_as_fitted(self), *args, **kwargs)

    return with_parameters_of_fit
