"""The unfitted estimator of a trial or of an advice."""

from __future__ import annotations

from typing import Any, get_args

from lowland.errors import ParameterError
from lowland.methods.base.traits import traits_of
from lowland.methods.registry import load_method
from lowland.study.result import GIVEN, Purpose, StudyResult


def chosen_estimator(study: StudyResult, which: str | None = None) -> Any:
    """Return the unfitted estimator of a trial or of the advice for a purpose, in a pipeline if the study scaled."""
    if which is None or which in get_args(Purpose):
        name, parameters = _advised(study, which or study.purpose)
    else:
        try:
            trial = study[which]
        except KeyError as error:
            raise ParameterError(f"{error.args[0]} Or pass a purpose: {', '.join(get_args(Purpose))}.") from None
        name, parameters = trial.method, trial.parameters
    if name == GIVEN:
        raise ParameterError(
            "These coordinates were given, not fitted, so there is no estimator. Pass the name of another trial."
        )
    est = load_method(name)(**parameters)
    if not study.table.scaled:
        return est
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), est)


def _advised(study: StudyResult, purpose: str) -> tuple[str, dict[str, Any]]:
    advice = next((each for each in study.advice if each.purpose == purpose), None)
    if advice is None or advice.method is None:
        raise ParameterError(f"The study has no advice for {purpose!r}. Pass the name of a trial instead.")
    trial = None if advice.trial is None else study[advice.trial]
    if trial is not None and trial.n_components == advice.n_components:
        return trial.method, trial.parameters
    width = traits_of(load_method(advice.method)).width_parameter
    count: dict[str, Any] = (
        {} if width is None else {width: advice.n_components}
    )  # a number of components that no trial has
    return advice.method, count if trial is None else {**trial.parameters, **count}
