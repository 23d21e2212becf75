"""The wording of advice: claim, number, 95% confidence interval, comparison and caveat for each choice of the rules."""

from __future__ import annotations

from collections.abc import Sequence

from lowland.study.advice.rules import (
    ERROR,
    KEEP,
    ClassificationChoice,
    CompressionChoice,
    NonlinearGain,
    PictureChoice,
    is_linear,
    reads_alike,
)
from lowland.study.plan import StudySize
from lowland.study.result import Advice, Score, Trial
from lowland.study.scoring.knn_accuracy import NAME as ACCURACY
from lowland.study.scoring.measures import AREA, TRUST
from lowland.study.scoring.significance import MARGIN, correct_only_in, differ, worse
from lowland.study.scoring.table_facts import BASELINE, TableFacts
from lowland.study.table import MAX_RATIO

STOPPED = "The study was stopped early, so this advice is based on the completed trials only."
NOTHING_MEASURED = "The study was stopped before anything was evaluated, so there is no advice."
POOR_AREA = 0.3  # area under R_NX below which the text warns


# --- visualization ---


def to_see(choice: PictureChoice | None, facts: TableFacts, size: StudySize) -> Advice:
    """Return the advice for visualization."""
    if choice is None:
        return Advice(
            "see", None, None, "No trial produced an embedding that could be evaluated, so none is advised.", ()
        )
    chosen, drawn = choice.chosen, choice.compared
    area = chosen.scores[AREA]
    text = f"For visualization, use {chosen.name} with {_dimensions(chosen.n_components)}. {_why_to_see(choice)}"
    if area.value < POOR_AREA:
        text += (
            f" Caveat: an area of {area.value:.2f} is low. Most neighborhoods are not preserved, so interpret the plot "
            "with care."
        )
    evidence = [_ranking(drawn, AREA)]
    if TRUST in chosen.scores:
        trust = _estimate(chosen.scores[TRUST])
        evidence.append(
            f"Trustworthiness of {chosen.name}: {trust}, where 1 means no false neighbors in the embedding."
        )
    evidence += _of_dimension(facts, size)
    return Advice("see", chosen.name, chosen.n_components, text, tuple(evidence), chosen.method)


def _why_to_see(choice: PictureChoice) -> str:
    chosen, best, drawn = choice.chosen, choice.best, choice.compared
    area, top = chosen.scores[AREA], best.scores[AREA]
    best_area = f"{AREA} {_estimate(top)}, where 0 is chance and 1 is perfect"
    if len(drawn) == 1:
        return f"It is the only embedding evaluated: {best_area}."
    if chosen is best:
        return f"It preserves neighborhoods best of {len(drawn)} trials: {best_area}; {_runner_up(choice)}."
    return (
        f"{best.name} preserves neighborhoods best of {len(drawn)} trials: {best_area}. {chosen.name} has "
        f"{_number(area)}, {_why_equal(area, top)}, and is {_simpler(chosen, best)}."
    )


def _runner_up(choice: PictureChoice) -> str:
    """The second best trial, and whether it differs from the best."""
    second = max((t for t in choice.compared if t is not choice.best), key=lambda t: t.scores[AREA].value)
    area, top = second.scores[AREA], choice.best.scores[AREA]
    how = ", significantly lower" if worse(area, top) and differ(area, top) else ""
    if not choice.is_clear:
        how = f", {_why_equal(area, top)}"
    return f"runner-up {second.name} {_number(area)}{how}"


def _why_equal(a: Score, b: Score) -> str:
    """Why two scores that differ in digits count as equal."""
    return f"within the equivalence margin of {MARGIN:g}" if differ(a, b) is None else "not significantly different"


def _simpler(chosen: Trial, other: Trial) -> str:
    if chosen.method == BASELINE and other.method != BASELINE:
        return "simpler: it is linear and deterministic, and a matrix product gives the coordinates of new rows"
    if is_linear(chosen) and not is_linear(other):
        return "simpler: it is linear"
    if chosen.seconds is not None and other.seconds is not None and chosen.seconds < other.seconds:
        return f"faster ({_seconds(chosen)} vs. {_seconds(other)})"
    return "no more complex"


# --- compression ---


def to_compress(choice: CompressionChoice, facts: TableFacts, size: StudySize) -> Advice:
    """Return the advice for compression."""
    m, gain = choice.n_components, choice.nonlinear
    text = _by_components(m, choice.kept, size)
    fewer = "" if m == 1 else f"; {_components(m - 1)}: {sum(facts.explained_variance_ratio[: m - 1]):.2%}"
    evidence = [f"Variance explained by PCA with {_components(m)}: {choice.kept:.2%}{fewer}."]
    evidence += _of_dimension(facts, size)
    if gain is not None and gain.suffices:
        text = (
            f"For compression, use {_with_dimensions(gain.trial)}: {_gain(gain)}. PCA needs {_components(m)} to "
            f"explain {KEEP:.0%}."
        )
    elif gain is not None:
        evidence.append(f"{_with_dimensions(gain.trial)}: {_gain(gain)}.")
    if choice.errors:
        listed = ", ".join(f"{name} {error:.4g}" for error, name in choice.errors[:4])
        evidence.append(f"{ERROR.capitalize()} with {_dimensions(size.k)}: {listed}.")
    return Advice("compress", choice.trial, choice.advised, text, tuple(evidence), choice.method)


def _gain(gain: NonlinearGain) -> str:
    return (
        f"its reconstruction error of {gain.error:.4g} is less than half of PCA's with the same number of dimensions "
        f"({gain.baseline_error:.4g}), and it explains {gain.kept:.1%} of the variance"
    )


def _by_components(m: int, kept: float, size: StudySize) -> str:
    """What the spectrum of PCA says."""
    if kept < KEEP:
        return (
            f"PCA needs more than {_components(m)} to explain {KEEP:.0%} of the variance: the {m} evaluated explain "
            f"{kept:.1%}. No compression is advised."
        )
    if m >= size.d:
        return f"PCA needs all {size.d} components to explain {KEEP:.0%} of the variance. No compression is advised."
    return (
        f"For compression, use PCA with {_components(m)}: {'it explains' if m == 1 else 'they explain'} {kept:.1%} of "
        f"the variance of the {size.d} columns (target: at least {KEEP:.0%} with as few as possible)."
    )


# --- classification ---


def to_classify(choice: ClassificationChoice | None, facts: TableFacts, size: StudySize) -> Advice:
    """Return the advice for classification."""
    if choice is None:
        text = "No trial could be evaluated on class labels: the classes have too few rows, or no method was fitted."
        return Advice("classify", None, None, text, ())
    evidence = tuple(_of_accuracy(choice.tested, facts, size))
    if choice.nothing_predicts:
        return Advice("classify", None, None, _nothing_predicts(choice, facts, size), evidence)
    if choice.chosen is None:
        return _with_more_components(choice, facts, size, evidence)
    chosen, best, whole = choice.chosen, choice.best, facts.accuracy
    score, top = chosen.scores[ACCURACY], best.scores[ACCURACY]
    text = f"For classification, use {_with_dimensions(chosen)}: its accuracy on held-out rows is {_estimate(score)}. "
    if not reads_alike(chosen, best, ACCURACY):
        here, there = correct_only_in(score, top)
        text += (
            f"{best.name} has {_number(top)}, not significantly different: {_rows(there)} classified correctly only by "
            f"{best.name}, {here} only by {chosen.name}. "
        )
    if whole is not None:
        text += f"All {size.d} columns: {_number(whole)}{', significantly lower' * worse(whole, score)}. "
    return Advice("classify", chosen.name, chosen.n_components, f"{text}{_majority(facts)}", evidence, chosen.method)


def _nothing_predicts(choice: ClassificationChoice, facts: TableFacts, size: StudySize) -> str:
    named = [(t.scores[ACCURACY], t.name) for t in choice.tested]
    named += [(score, f"PCA with {_components(m)}") for m, score in facts.accuracy_by_components]
    named += [] if facts.accuracy is None else [(facts.accuracy, f"all {size.d} columns")]
    most, who = max(named, key=lambda each: each[0].value)
    return (
        "These columns do not predict the classes significantly better than the majority-class baseline of "
        f"{facts.majority_class_fraction:.2f}. The best accuracy on held-out rows is {_estimate(most)} ({who})."
    )


def _with_more_components(
    choice: ClassificationChoice, facts: TableFacts, size: StudySize, evidence: tuple[str, ...]
) -> Advice:
    """Where k dimensions are too few: the components of PCA that predict as well as all columns, if any do."""
    assert facts.accuracy is not None  # otherwise the best would have been good enough
    best, whole = choice.best, facts.accuracy
    few = f"Best with {_dimensions(best.n_components)}: {_number(best.scores[ACCURACY])} ({best.name})."
    if choice.components is None:
        text = (
            f"Dimensionality reduction does not help classification here: the accuracy on held-out rows is "
            f"{_estimate(whole)} with all {size.d} columns. {few} {_majority(facts)} Keep all columns."
        )
        return Advice("classify", None, None, text, evidence)
    m, score = choice.components
    text = (
        f"For classification, use PCA with {_components(m)}: its accuracy on held-out rows is {_estimate(score)}. "
        f"All {size.d} columns: {_number(whole)}. {few} {_majority(facts)}"
    )
    return Advice("classify", choice.baseline_trial, m, text, evidence, BASELINE)


def _majority(facts: TableFacts) -> str:
    return f"Majority-class baseline: {facts.majority_class_fraction:.2f}."


def _of_accuracy(tested: list[Trial], facts: TableFacts, size: StudySize) -> list[str]:
    found = [_ranking(tested, ACCURACY)]
    if facts.accuracy is not None:
        found.append(f"Accuracy with all {size.d} columns: {_estimate(facts.accuracy)}.")
    if facts.accuracy_by_components:
        listed = ", ".join(f"{m}: {score.value:.2f}" for m, score in facts.accuracy_by_components)
        found.append(f"Accuracy by number of PCA components: {listed}.")
    found.append(
        "Accuracy is the fraction of held-out rows classified correctly by their 5 nearest neighbors in "
        "cross-validation. Supervised methods are fitted without the held-out rows."
    )
    if facts.n_duplicate_rows > size.n / 20:
        found.append(
            f"{facts.n_duplicate_rows:,} of the {size.n:,} rows are duplicates. A held-out row can then have a copy "
            "among the training rows, so the accuracy may be too high. If the copies are one observation, remove them."
        )
    return found


# --- the table ---


def remarks(facts: TableFacts, size: StudySize, scaled: bool, row_counters: Sequence[str]) -> tuple[str, ...]:
    """Return what holds for every purpose: row counters among the columns, different units, labels without classes."""
    found = [
        f"The column {name!r} only counts the rows, yet it is treated as a feature. Exclude it: drop=[{name!r}]."
        for name in row_counters
    ]
    ratio = facts.standard_deviation_ratio
    if scaled:
        found.append("The columns were standardized to standard deviation 1.")
    elif ratio > MAX_RATIO:
        times = f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio:.1e}"
        found.append(
            f"The standard deviations of the columns differ by a factor of up to {times}, so the columns with the "
            "largest ones dominate. If only the units differ, use scale='standard'."
        )
    if size.why_no_classes:
        found.append(f"There is no advice for classification because {size.why_no_classes}.")
    return tuple(found)


def _of_dimension(facts: TableFacts, size: StudySize) -> list[str]:
    value, low, high = facts.intrinsic_dimension, facts.intrinsic_dimension_low, facts.intrinsic_dimension_high
    if value is None or low is None or high is None:
        return []
    begin = f"Estimated intrinsic dimension: {value:.1f} (95% confidence interval {low:.1f} to {high:.1f})."
    if low > size.k:
        return [
            f"{begin} {_dimensions(size.k)} {'is' if size.k == 1 else 'are'} too few to preserve all of the structure."
        ]
    return [f"{begin} {_dimensions(size.k)} can preserve the structure if the method unfolds it."]


# --- numbers as text ---


def _ranking(trials: list[Trial], name: str) -> str:
    """The best few values of a measure."""
    best = sorted(trials, key=lambda t: -t.scores[name].value)[:5]
    listed = ", ".join(f"{t.name} {_number(t.scores[name])}" for t in best)
    more = f", and {len(trials) - 5} others" if len(trials) > 5 else ""
    interval = " (95% confidence interval)" if any(t.scores[name].low is not None for t in best) else ""
    return f"{name[:1].upper()}{name[1:]}{interval}: {listed}{more}."


def _number(score: Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f} ({score.low:.2f} to {score.high:.2f})"


def _estimate(score: Score) -> str:
    """The value, and the interval with its name, for the first mention in a text."""
    return _number(score).replace("(", "(95% confidence interval ")


def _with_dimensions(trial: Trial) -> str:
    return f"{trial.name} with {_dimensions(trial.n_components)}"


def _dimensions(k: int | None) -> str:
    return "1 dimension" if k == 1 else f"{k} dimensions"


def _components(m: int) -> str:
    return "1 component" if m == 1 else f"{m} components"


def _rows(n: int) -> str:
    return "1 row is" if n == 1 else f"{n} rows are"


def _seconds(trial: Trial) -> str:
    if trial.seconds is None:
        return "time unknown"
    return f"{trial.seconds:,.0f} s" if trial.seconds >= 10 else f"{trial.seconds:.2g} s"
