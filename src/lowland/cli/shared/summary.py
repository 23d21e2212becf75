"""What there is to tell of a fitted method, as plain data: JSON prints it, ``show`` draws it."""

from __future__ import annotations

import math
from typing import Any

SHOWN_SHARES = 10


def model_facts(est: Any) -> dict[str, Any]:
    """Return what a fitted method says of itself."""
    from lowland.cli.shared.outputs import refusal_of_coordinates
    from lowland.methods.registry import find_method

    known = find_method(type(est).__name__)
    solver, choice = getattr(est, "solver_", None), getattr(est, "choice_", None)
    how = {"name": getattr(solver, "name", str(solver)), "reason": getattr(solver, "reason", None)}
    told = est._facts()
    facts = {
        "method": known.verb,
        "class": known.name,
        "parameters": {flag.name: getattr(est, flag.name) for flag in known.flags},
        "columns_in": est.n_features_in_,
        "components": None if refusal_of_coordinates(est) else len(est.get_feature_names_out()),
        "choice": None if choice is None else {"rule": choice.rule, "reason": choice.reason},
        "solver": None if solver is None else how,
        "iterations": getattr(est, "n_iter_", None),
        "converged": getattr(est, "converged_", getattr(solver, "converged", None)),
        "stopped_because": getattr(est, "stopped_because_", None),
        "shares_of": told.pop("shares of", "the variance"),
        "facts": told,
        "explained_variance": getattr(est, "explained_variance_", None),
        "explained_variance_ratio": getattr(est, "explained_variance_ratio_", None),
    }
    return {name: plain(value) for name, value in facts.items()}


def plain(value: Any) -> Any:
    """Return a value in JSON's own types. What is not finite becomes None; an object becomes its description."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy's arrays and numbers
        return plain(value.tolist())
    return repr(value)


def changed_parameters(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters whose values are not the defaults."""
    from lowland.methods.registry import find_method

    defaults = {flag.name: flag.default for flag in find_method(facts["class"]).flags}
    return {name: value for name, value in facts["parameters"].items() if value != defaults.get(name)}
