"""Inverse transforms that are learned only on request."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from sklearn.exceptions import NotFittedError

from lowland.methods.base.as_fitted import view_as_fitted


class LearnedInverse:
    """A method that exists only with ``fit_inverse_transform``; otherwise it raises scikit-learn's error."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method, self.__doc__ = method, method.__doc__

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        fitted = view_as_fitted(model)
        if not fitted.fit_inverse_transform:
            raise NotFittedError(
                "The fit_inverse_transform parameter was not set to True, so the inverse transform was not learned. "
                f"Fit {type(model).__name__}(fit_inverse_transform=True)."
            )
        return MethodType(self.method, fitted)
