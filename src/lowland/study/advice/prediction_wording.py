"""The wording of advice to classify, or to predict numbers: what is reached, with which model, and what is lost."""

from __future__ import annotations

from lowland.study.advice.numbers_as_text import components, dimensions, estimate, number, ranking, with_dimensions
from lowland.study.advice.rules import PredictionChoice, better_model, prediction_score, reads_alike
from lowland.study.facts import BASELINE, TableFacts
from lowland.study.measures import correct_only_in, worse
from lowland.study.plan import StudySize
from lowland.study.prediction import (
    ACCURACY,
    COMPANIONS,
    LINEAR_ACCURACY,
    LINEAR_R2,
    LOGISTIC,
    NEAREST,
    OWN,
    R2,
    RIDGE,
)
from lowland.study.result import GIVEN, Advice, Score, Trial

MODELS = {ACCURACY: NEAREST, LINEAR_ACCURACY: LOGISTIC, R2: NEAREST, LINEAR_R2: RIDGE}
GIVEN_CAVEAT = (
    " Caveat: these coordinates were given. If they were computed from the labels, the value is too optimistic."
)


def to_classify(choice: PredictionChoice | None, facts: TableFacts, size: StudySize) -> Advice:
    """Return the advice for classification, or for regression if the labels are numbers."""
    if choice is None:
        text = "No trial could be evaluated on class labels: the classes have too few rows, or no method was fitted."
        if size.predicts_numbers:
            text = "No trial could be evaluated on the labels: there are too few rows, or no method was fitted."
        return Advice("classify", None, None, text, ())
    evidence = tuple(_evidence(choice.tested, facts, size))
    if choice.nothing_predicts:
        return Advice("classify", None, None, _nothing_predicts(choice, facts, size), evidence)
    if choice.chosen is None:
        return _with_more_components(choice, facts, size, evidence)
    chosen, best = choice.chosen, choice.best
    score, top = prediction_score(chosen), prediction_score(best)
    text = (
        f"For {_purpose(size)}, use {with_dimensions(chosen)} and {model_of(chosen)}: its {_what(size)} on held-out "
        f"rows is {estimate(score)}{_companions(chosen)}. "
    )
    if not reads_alike(score, top):
        text += f"{best.name} has {number(top)}, not significantly different"
        here, there = correct_only_in(score, top)
        text += (
            f": {_rows(there)} classified correctly only by {best.name}, {here} only by {chosen.name}. "
            if score.n_tested
            else ". "
        )
    text += f"{_all_columns(facts, size, score)}{_baseline(facts, size)}"
    text += GIVEN_CAVEAT if chosen.method == GIVEN else ""
    return Advice("classify", chosen.name, chosen.n_components, text, evidence, chosen.method)


def _nothing_predicts(choice: PredictionChoice, facts: TableFacts, size: StudySize) -> str:
    named = [(prediction_score(t), t.name) for t in choice.tested]
    named += [(score, f"PCA with {components(m)}") for m, score in facts.by_components]
    named += [] if facts.whole is None else [(facts.whole, f"all {size.d} columns")]
    most, who = max(named, key=lambda each: each[0].value)
    if size.predicts_numbers:
        return (
            "These columns do not predict the labels significantly better than their mean does. The best R² on "
            f"held-out rows is {estimate(most)} ({who})."
        )
    return (
        "These columns do not predict the classes significantly better than the majority-class baseline of "
        f"{facts.majority_class_fraction:.2f}. The best accuracy on held-out rows is {estimate(most)} ({who})."
    )


def _with_more_components(
    choice: PredictionChoice, facts: TableFacts, size: StudySize, evidence: tuple[str, ...]
) -> Advice:
    """Where k dimensions are too few: the components of PCA that predict as well as all columns, if any do."""
    whole = facts.whole
    assert whole is not None  # otherwise the best would have been good enough
    best, top = choice.best, prediction_score(choice.best)
    few = (
        f"Best with {dimensions(best.n_components)}: {number(top)} ({best.name}, {model_of(best)}), which loses "
        f"{_loss(whole, top)}."
    )
    with_model = _model_of_columns(facts, size)
    if choice.components is None:
        text = (
            f"Dimensionality reduction does not help {_purpose(size)} here: the {_what(size)} on held-out rows is "
            f"{estimate(whole)} with all {size.d} columns and {with_model}{_other_model(facts, size)}. {few} "
            f"{_baseline(facts, size)} Keep all columns."
        )
        return Advice("classify", None, None, text, evidence)
    m, score = choice.components
    text = (
        f"For {_purpose(size)}, use PCA with {components(m)} and {with_model}: its {_what(size)} on held-out rows is "
        f"{estimate(score)}. {_all_columns(facts, size, score)}{few} {_baseline(facts, size)}"
    )
    return Advice("classify", choice.baseline_trial, m, text, evidence, BASELINE)


# --- parts of sentences ---


def model_of(trial: Trial) -> str:
    """Return the model with the better score of a trial."""
    name = better_model(trial.scores)
    assert name is not None
    return OWN if OWN in trial.scores[name].about else MODELS[name]


def _purpose(size: StudySize) -> str:
    return "regression" if size.predicts_numbers else "classification"


def _what(size: StudySize) -> str:
    return "R²" if size.predicts_numbers else "accuracy"


def _model_of_columns(facts: TableFacts, size: StudySize, other: bool = False) -> str:
    linear = RIDGE if size.predicts_numbers else LOGISTIC
    return linear if facts.is_linear_better is not other else NEAREST


def _other_model(facts: TableFacts, size: StudySize) -> str:
    """The score of all columns by the model that is worse."""
    if facts.accuracy is None or facts.linear_accuracy is None:
        return ""
    other = facts.accuracy if facts.is_linear_better else facts.linear_accuracy
    return f" ({_model_of_columns(facts, size, other=True)}: {number(other)})"


def _all_columns(facts: TableFacts, size: StudySize, score: Score) -> str:
    """The scores of all columns by both models, and how they compare."""
    whole = facts.whole
    if whole is None:
        return ""
    how = ", significantly lower" if worse(whole, score) else ""
    if whole.value > score.value and not reads_alike(whole, score):
        how = f": {_loss(whole, score)} is lost, not significantly"
    if facts.linear_accuracy is None:
        return f"All {size.d} columns: {number(whole)}{how}. "
    return (
        f"All {size.d} columns: {number(whole)} with {_model_of_columns(facts, size)}{_other_model(facts, size)}{how}. "
    )


def _loss(whole: Score, score: Score) -> str:
    lost = whole.value - score.value
    return f"{lost:.2f}" if lost >= 0.005 else "less than 0.01"


def _companions(trial: Trial) -> str:
    """Balanced accuracy and AUC beside the accuracy."""
    names = COMPANIONS.get(better_model(trial.scores) or "", ())
    found = [
        f"{label} {trial.scores[n].value:.2f}" for label, n in zip(LABELS, names, strict=False) if n in trial.scores
    ]
    return f"; {', '.join(found)}" if found else ""


LABELS = ("balanced accuracy", "AUC")


def _baseline(facts: TableFacts, size: StudySize) -> str:
    if size.predicts_numbers:
        return "Baseline, the mean of the labels: 0.00."
    return f"Majority-class baseline: {facts.majority_class_fraction:.2f}."


def _evidence(tested: list[Trial], facts: TableFacts, size: StudySize) -> list[str]:
    what = _what(size)
    found = [ranking(tested, f"{what} on held-out rows, of the better model", prediction_score)]
    for score, name, model in (
        (facts.accuracy, ACCURACY, NEAREST),
        (facts.linear_accuracy, LINEAR_ACCURACY, RIDGE if size.predicts_numbers else LOGISTIC),
    ):
        if score is not None:
            more = [f"{label} {number(facts.companions[n])}" for label, n in zip(LABELS, COMPANIONS[name], strict=True)
                    if n in facts.companions]  # fmt: skip
            found.append(f"All {size.d} columns, {model}: {', '.join([f'{what} {estimate(score)}', *more])}.")
    if facts.by_components:
        listed = ", ".join(f"{m}: {score.value:.2f}" for m, score in facts.by_components)
        found.append(f"{what[:1].upper()}{what[1:]} by number of PCA components: {listed}.")
    if size.predicts_numbers:
        found.append(
            "R² is 1 minus the mean squared error of held-out rows over their variance, in cross-validation: of the "
            "mean of the 5 nearest neighbors, or of ridge regression."
        )
    else:
        found.append(
            "Accuracy is the fraction of held-out rows classified correctly in cross-validation: by their 5 nearest "
            "neighbors, or by logistic regression on standardized columns. Supervised methods are fitted without the "
            "held-out rows."
        )
    if facts.n_duplicate_rows > size.n / 20:
        found.append(
            f"{facts.n_duplicate_rows:,} of the {size.n:,} rows are duplicates. A held-out row can then have a copy "
            f"among the training rows, so the {what} may be too high. If the copies are one observation, remove them."
        )
    return found


def _rows(n: int) -> str:
    return "1 row is" if n == 1 else f"{n} rows are"
