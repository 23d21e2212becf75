"""The wording of advice to visualize and to compress: claim, number, 95% confidence interval, comparison and caveat."""

from __future__ import annotations

from lowland.study.advice.numbers_as_text import (
    components,
    dimensions,
    estimate,
    number,
    ranking,
    seconds,
    with_dimensions,
)
from lowland.study.advice.rules import ERROR, KEEP, CompressionChoice, NonlinearGain, PictureChoice, is_linear
from lowland.study.facts import BASELINE, TableFacts
from lowland.study.measures import AREA, MARGIN, TRUST, differ, worse
from lowland.study.plan import StudySize
from lowland.study.result import Advice, Score, Trial

POOR_AREA = 0.3  # area under R_NX below which the text warns


# --- visualization ---


def to_see(choice: PictureChoice | None, facts: TableFacts, size: StudySize) -> Advice:
    """Return the advice for visualization."""
    if choice is None:
        return Advice(
            "visualize", None, None, "No trial produced an embedding that could be evaluated, so none is advised.", ()
        )
    chosen, drawn = choice.chosen, choice.compared
    area = chosen.scores[AREA]
    text = f"For visualization, use {chosen.name} with {dimensions(chosen.n_components)}. {_why_to_see(choice)}"
    if area.value < POOR_AREA:
        text += (
            f" Caveat: an area of {area.value:.2f} is low. Most neighborhoods are not preserved, so interpret the plot "
            "with care."
        )
    evidence = [ranking(drawn, AREA)]
    if TRUST in chosen.scores:
        trust = estimate(chosen.scores[TRUST])
        evidence.append(
            f"Trustworthiness of {chosen.name}: {trust}, where 1 means no false neighbors in the embedding."
        )
    evidence += _of_dimension(facts, size)
    return Advice("visualize", chosen.name, chosen.n_components, text, tuple(evidence), chosen.method)


def _why_to_see(choice: PictureChoice) -> str:
    chosen, best, drawn = choice.chosen, choice.best, choice.compared
    area, top = chosen.scores[AREA], best.scores[AREA]
    best_area = f"{AREA} {estimate(top)}, where 0 is chance and 1 is perfect"
    if len(drawn) == 1:
        return f"It is the only embedding evaluated: {best_area}."
    if chosen is best:
        return f"It preserves neighborhoods best of {len(drawn)} trials: {best_area}; {_runner_up(choice)}."
    return (
        f"{best.name} preserves neighborhoods best of {len(drawn)} trials: {best_area}. {chosen.name} has "
        f"{number(area)}, {_why_equal(area, top)}, and is {_simpler(chosen, best)}."
    )


def _runner_up(choice: PictureChoice) -> str:
    """The second best trial, and whether it differs from the best."""
    second = max((t for t in choice.compared if t is not choice.best), key=lambda t: t.scores[AREA].value)
    area, top = second.scores[AREA], choice.best.scores[AREA]
    how = ", significantly lower" if worse(area, top) and differ(area, top) else ""
    if not choice.is_clear:
        how = f", {_why_equal(area, top)}"
    return f"runner-up {second.name} {number(area)}{how}"


def _why_equal(a: Score, b: Score) -> str:
    """Why two scores that differ in digits count as equal."""
    return f"within the equivalence margin of {MARGIN:g}" if differ(a, b) is None else "not significantly different"


def _simpler(chosen: Trial, other: Trial) -> str:
    if chosen.method == BASELINE and other.method != BASELINE:
        return "simpler: it is linear and deterministic, and a matrix product gives the coordinates of new rows"
    if is_linear(chosen) and not is_linear(other):
        return "simpler: it is linear"
    if chosen.seconds is not None and other.seconds is not None and chosen.seconds < other.seconds:
        return f"faster ({seconds(chosen)} vs. {seconds(other)})"
    return "no more complex"


# --- compression ---


def to_compress(choice: CompressionChoice, facts: TableFacts, size: StudySize) -> Advice:
    """Return the advice for compression."""
    m, gain = choice.n_components, choice.nonlinear
    text = _by_components(m, choice.kept, size)
    fewer = "" if m == 1 else f"; {components(m - 1)}: {sum(facts.explained_variance_ratio[: m - 1]):.2%}"
    evidence = [f"Variance explained by PCA with {components(m)}: {choice.kept:.2%}{fewer}."]
    evidence += _of_dimension(facts, size)
    if gain is not None and gain.suffices:
        text = (
            f"For compression, use {with_dimensions(gain.trial)}: {_gain(gain)}. PCA needs {components(m)} to "
            f"explain {KEEP:.0%}."
        )
    elif gain is not None:
        evidence.append(f"{with_dimensions(gain.trial)}: {_gain(gain)}.")
    if choice.errors:
        listed = ", ".join(f"{name} {error:.4g}" for error, name in choice.errors[:4])
        evidence.append(f"{ERROR.capitalize()} with {dimensions(size.k)}: {listed}.")
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
            f"PCA needs more than {components(m)} to explain {KEEP:.0%} of the variance: the {m} evaluated explain "
            f"{kept:.1%}. No compression is advised."
        )
    if m >= size.d:
        return f"PCA needs all {size.d} components to explain {KEEP:.0%} of the variance. No compression is advised."
    return (
        f"For compression, use PCA with {components(m)}: {'it explains' if m == 1 else 'they explain'} {kept:.1%} of "
        f"the variance of the {size.d} columns (target: at least {KEEP:.0%} with as few as possible)."
    )


def _of_dimension(facts: TableFacts, size: StudySize) -> list[str]:
    value, low, high = facts.intrinsic_dimension, facts.intrinsic_dimension_low, facts.intrinsic_dimension_high
    if value is None or low is None or high is None:
        return []
    begin = f"Estimated intrinsic dimension: {value:.1f} (95% confidence interval {low:.1f} to {high:.1f})."
    if low > size.k:
        return [
            f"{begin} {dimensions(size.k)} {'is' if size.k == 1 else 'are'} too few to preserve all of the structure."
        ]
    return [f"{begin} {dimensions(size.k)} can preserve the structure if the method unfolds it."]
