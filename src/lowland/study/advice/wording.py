"""The words of an advice: what the rules chose, in sentences that name the numbers they rest on."""

from __future__ import annotations

from collections.abc import Sequence

from lowland.study.advice.rules import (
    ERROR,
    KEEP,
    ClassificationChoice,
    CompressionChoice,
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

STOPPED = "The study was stopped; this rests on what was done by then."
NOTHING_MEASURED = "The study was stopped before anything was measured, so that there is nothing to advise."


# --- to see ---


def to_see(choice: PictureChoice | None, facts: TableFacts, size: StudySize) -> Advice:
    """The advice to look at an embedding."""
    if choice is None:
        return Advice("see", None, None, "No trial gave an embedding that could be measured: nothing is advised.", ())
    chosen, best, drawn = choice.chosen, choice.best, choice.compared
    area, top = chosen.scores[AREA], best.scores[AREA]
    text = f"To see the data, use {chosen.name} with {_dimensions(chosen.n_components)}. "
    if chosen is best:
        text += (
            f"It keeps neighbourhoods of all sizes best of {_trials(drawn)}{', if not surely' * (not choice.is_clear)}"
            f": the area under R_NX is {_number(area)}, where 0 is chance and 1 is perfect."
        )
    else:
        text += (
            f"{best.name} keeps neighbourhoods of all sizes best of {_trials(drawn)}: the area under R_NX is "
            f"{_number(top)}, where 0 is chance and 1 is perfect. {chosen.name} has {_number(area)}, which cannot be "
            f"told from it {_why_equal(area, top)}, and it is {_simpler(chosen, best)}."
        )
    if area.value < 0.3:
        text += f" An area of {area.value:.2f} is little: read the picture with care, most neighbours are not kept."
    evidence = [_ranking(drawn, AREA)]
    if TRUST in chosen.scores:
        trust = chosen.scores[TRUST]
        evidence.append(f"Trustworthiness of {chosen.name}: {_number(trust)}. {trust.about}")
    evidence += _of_dimension(facts, size)
    return Advice("see", chosen.name, chosen.n_components, text, tuple(evidence), chosen.method)


def _why_equal(a: Score, b: Score) -> str:
    """Why two scores that differ in digits count as equal."""
    return f"as it lies within {MARGIN:g}" if differ(a, b) is None else "as their intervals meet"


def _simpler(chosen: Trial, other: Trial) -> str:
    if chosen.method == BASELINE and other.method != BASELINE:
        return "simpler: straight axes, the same each time, and new rows are placed by a product"
    if is_linear(chosen) and not is_linear(other):
        return "simpler: it only looks along straight axes"
    if chosen.seconds is not None and other.seconds is not None and chosen.seconds < other.seconds:
        return f"faster ({_seconds(chosen)} against {_seconds(other)})"
    return "no more trouble"


# --- to compress ---


def to_compress(choice: CompressionChoice, facts: TableFacts, size: StudySize) -> Advice:
    """The advice to store fewer numbers."""
    m, gain = choice.n_components, choice.nonlinear
    text = _by_components(m, choice.kept, size)
    fewer = "" if m == 1 else f", one fewer {sum(facts.explained_variance_ratio[: m - 1]):.2%}"
    keep = "1 component of PCA keeps" if m == 1 else f"{m} components of PCA keep"
    evidence = [f"{keep} {choice.kept:.2%} of the variance{fewer}.", *_of_dimension(facts, size)]
    if gain is not None:
        found = (
            f"a reconstruction error of {gain.error:.4g}, less than half of the {gain.baseline_error:.4g} of PCA with "
            f"as many, and keeps {gain.kept:.1%}"
        )
        who = f"{gain.trial.name} with {_dimensions(gain.trial.n_components)}"
        if gain.suffices:
            text = f"To compress, use {who}: it leaves {found}. PCA needs {_components(m)} for that."
        else:
            evidence.append(f"{who} leaves {found}.")
    if choice.errors:
        listed = ", ".join(f"{name} {error:.4g}" for error, name in choice.errors[:4])
        evidence.append(f"{ERROR.capitalize()}s with {_dimensions(size.k)}: {listed}.")
    return Advice("compress", choice.trial, choice.advised, text, tuple(evidence), choice.method)


def _by_components(m: int, kept: float, size: StudySize) -> str:
    """What the spectrum of PCA says."""
    if kept < KEEP:
        return (
            f"To compress, PCA needs more than {_components(m)}, all that were looked at: they keep {kept:.1%} of the "
            f"variance, less than {KEEP:.0%}."
        )
    if m >= size.d:
        return f"To keep {KEEP:.0%} of the variance PCA needs all {size.d} columns: there is nothing to compress."
    return (
        f"To compress, use PCA with {_components(m)}: the fewest that keep {KEEP:.0%} of the variance of {size.d} "
        f"columns ({kept:.1%})."
    )


# --- to classify ---


def to_classify(choice: ClassificationChoice | None, facts: TableFacts, size: StudySize) -> Advice:
    """The advice to predict classes."""
    if choice is None:
        text = "No trial could be judged by its labels: a class has too few rows, or nothing was fitted."
        return Advice("classify", None, None, text, ())
    evidence = tuple(_of_accuracy(choice.tested, facts, size))
    if choice.nothing_predicts:
        return Advice("classify", None, None, _nothing_predicts(choice, facts, size), evidence)
    if choice.chosen is None:
        return _with_more_components(choice, facts, size, evidence)
    chosen, best, whole = choice.chosen, choice.best, facts.accuracy
    score, top = chosen.scores[ACCURACY], best.scores[ACCURACY]
    text = (
        f"To classify, use {chosen.name} with {_dimensions(chosen.n_components)}: {_number(score)} of the held-out "
        "rows are classified correctly. "
    )
    if not reads_alike(chosen, best, ACCURACY):
        here, there = correct_only_in(score, top)
        text += (
            f"{best.name} has {_number(top)}, and chance may have made the difference: {there} rows are classified "
            f"correctly only there, {here} only here. "
        )
    if whole is not None:
        text += f"From all {size.d} columns it is {_number(whole)}{', surely fewer' * worse(whole, score)}; "
    return Advice("classify", chosen.name, chosen.n_components, f"{text}{_guessing(facts)}.", evidence, chosen.method)


def _nothing_predicts(choice: ClassificationChoice, facts: TableFacts, size: StudySize) -> str:
    named = [(t.scores[ACCURACY], t.name) for t in choice.tested]
    named += [(score, f"PCA with {_components(m)}") for m, score in facts.accuracy_by_components]
    named += [] if facts.accuracy is None else [(facts.accuracy, f"all {size.d} columns")]
    most, who = max(named, key=lambda each: each[0].value)
    return (
        f"It is not sure that these columns tell the classes: at best {_number(most)} of the held-out rows are "
        f"classified correctly ({who}), and {_guessing(facts)}."
    )


def _with_more_components(
    choice: ClassificationChoice, facts: TableFacts, size: StudySize, evidence: tuple[str, ...]
) -> Advice:
    """Where k dimensions are too few: the components of PCA that predict as well as all columns, if any do."""
    assert facts.accuracy is not None  # otherwise the best would have been good enough
    best, whole = choice.best, _number(facts.accuracy)
    few = f"With {_dimensions(best.n_components)} it is {_number(best.scores[ACCURACY])} at best ({best.name})"
    if choice.components is None:
        text = (
            f"Reducing does not help here: from all {size.d} columns {whole} of the held-out rows are "
            f"classified correctly. {few}; {_guessing(facts)}. Keep the columns."
        )
        return Advice("classify", None, None, text, evidence)
    m, score = choice.components
    text = (
        f"To classify, use PCA with {_components(m)}: {_number(score)} of the held-out rows are classified correctly, "
        f"from all {size.d} columns {whole}. {few}; {_guessing(facts)}."
    )
    return Advice("classify", choice.baseline_trial, m, text, evidence, BASELINE)


def _guessing(facts: TableFacts) -> str:
    return f"naming the commonest class would be right for {facts.majority_class_fraction:.2f}"


def _of_accuracy(tested: list[Trial], facts: TableFacts, size: StudySize) -> list[str]:
    found = [_ranking(tested, ACCURACY)]
    if facts.accuracy is not None:
        found.append(f"From all {size.d} columns: {_number(facts.accuracy)}.")
    if facts.accuracy_by_components:
        listed = ", ".join(f"{m}: {score.value:.2f}" for m, score in facts.accuracy_by_components)
        found.append(f"From so many components of PCA: {listed}.")
    found.append(
        "Accuracy is the share of held-out rows whose class their 5 nearest neighbours name; methods that learn from "
        "labels are fitted without those rows."
    )
    if facts.n_duplicate_rows > size.n / 20:
        found.append(
            f"{facts.n_duplicate_rows:,} of the {size.n:,} rows repeat another: some were learnt from before they were "
            "asked about. If such rows are one thing twice, leave the repeats out."
        )
    return found


# --- of the table ---


def remarks(facts: TableFacts, size: StudySize, scaled: bool, row_counters: Sequence[str]) -> tuple[str, ...]:
    """What is said with every advice: of columns that count the rows, of units, of labels that are no classes."""
    found = [
        f"The column {name!r} only counts the rows, and counts here as a measurement. Leave it out: drop=[{name!r}]."
        for name in row_counters
    ]
    ratio = facts.standard_deviation_ratio
    if scaled:
        found.append("The columns were standardised first: each has the deviation 1.")
    elif ratio > MAX_RATIO:
        times = f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio:.1e}"
        found.append(
            f"The deviations of the columns differ by up to {times} times, and the large ones count most. If that is "
            "only their units, say scale='standard'."
        )
    if size.why_no_classes:
        found.append(f"Nothing is advised to classify, since {size.why_no_classes}.")
    return tuple(found)


def _of_dimension(facts: TableFacts, size: StudySize) -> list[str]:
    value, low, high = facts.intrinsic_dimension, facts.intrinsic_dimension_low, facts.intrinsic_dimension_high
    if value is None or low is None or high is None:
        return []
    begin = f"The intrinsic dimension of the rows is about {value:.1f} (95 % interval {low:.1f} to {high:.1f})"
    if low > size.k:
        return [f"{begin}: {_dimensions(size.k)} cannot hold all there is."]
    return [f"{begin}: {_dimensions(size.k)} can hold all there is, if the method unfolds it."]


# --- numbers in words ---


def _ranking(trials: list[Trial], name: str) -> str:
    """The best few of a measure."""
    best = sorted(trials, key=lambda t: -t.scores[name].value)[:5]
    listed = ", ".join(f"{t.name} {_number(t.scores[name])}" for t in best)
    more = f", and {len(trials) - 5} more below" if len(trials) > 5 else ""
    return f"{name[:1].upper()}{name[1:]}: {listed}{more}."


def _number(score: Score) -> str:
    if score.low is None or score.high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f} ({score.low:.2f} to {score.high:.2f})"


def _dimensions(k: int | None) -> str:
    return "1 dimension" if k == 1 else f"{k} dimensions"


def _components(m: int) -> str:
    return "1 component" if m == 1 else f"{m} components"


def _trials(trials: list[Trial]) -> str:
    return "1 trial" if len(trials) == 1 else f"{len(trials)} trials"


def _seconds(trial: Trial) -> str:
    if trial.seconds is None:
        return "no time told"
    return f"{trial.seconds:,.0f} s" if trial.seconds >= 10 else f"{trial.seconds:.2g} s"
