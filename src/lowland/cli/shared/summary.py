"""The summary of a fitted method as plain data, for JSON and for ``show``."""

from __future__ import annotations

from typing import Any

from lowland.plain import to_plain


def model_facts(est: Any) -> dict[str, Any]:
    """Return the summary of a fitted method: parameters, solver, results."""
    from lowland.cli.shared.outputs import coordinate_refusal
    from lowland.methods.registry import entries

    # These two first: after partial_fit, reading a result runs the solver.
    components, own = None if coordinate_refusal(est) else est._n_features_out, est._facts()
    known, found = entries()[type(est).__name__], vars(est)
    solver, choice = found.get("solver_"), found.get("choice_")
    how = {"name": getattr(solver, "name", str(solver)), "reason": getattr(solver, "reason", None)}
    facts = {
        "method": known.verb,
        "class": known.name,
        "parameters": {flag.name: found[flag.name] for flag in known.flags},
        "columns_in": est.n_features_in_,
        "components": components,
        "choice": None if choice is None else {"rule": choice.rule, "reason": choice.reason},
        "solver": None if solver is None else how,
        "iterations": found.get("n_iter_"),
        "converged": found.get("converged_", getattr(solver, "converged", None)),
        "stopped_because": found.get("stopped_because_"),
        "explained_variance_ratio_of": own.pop("explained variance ratio of", "the variance"),
        "facts": own,
        "explained_variance": found.get("explained_variance_"),
        "explained_variance_ratio": found.get("explained_variance_ratio_"),
    }
    return to_plain(facts)
