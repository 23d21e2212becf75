"""The rules of the advice: which trial is chosen for a purpose, and on what evidence. The wording is elsewhere.

Two scores are tied if their difference is not significant or, where all rows were compared, within a margin. Among
tied trials the rules prefer PCA, then linear methods, then the best, or the fastest where the best is slow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lowland.methods.base.linear_map import LinearMap
from lowland.methods.registry import load_method
from lowland.study.facts import BASELINE, TableFacts
from lowland.study.measures import AREA, above, ties
from lowland.study.plan import StudySize, traits_named
from lowland.study.prediction import OF_CLASSES, OF_NUMBERS
from lowland.study.result import GIVEN, Score, Trial

ERROR = "reconstruction error"
NEUTRAL = {"n_components", "random_state"}  # parameters with which PCA is still plain PCA
KEEP = 0.95  # fraction of the variance to keep
HALF = 0.5  # of PCA's error: a nonlinear method must stay below it, and keep the variance, to be advised
PATIENCE = 10.0  # seconds that the best of tied trials may take before a faster one is preferred


# --- visualization ---


@dataclass(frozen=True, eq=False)
class PictureChoice:
    """The embedding to plot."""

    compared: list[Trial]
    best: Trial  # by the area under R_NX; the chosen one where both areas are equal to the digits shown
    chosen: Trial
    is_clear: bool  # whether no other trial is tied with the best


def choose_to_see(done: list[Trial], size: StudySize) -> PictureChoice | None:
    """Choose among the embeddings by the area under R_NX; None if there are none."""
    drawn = [t for t in _all_rows_placed(done) if AREA in t.scores and not _selects_columns(t)]
    drawn = _no_wider_than(drawn, size.k)
    if not drawn:
        return None
    best = max(drawn, key=lambda t: t.scores[AREA].value)
    equal = [t for t in drawn if ties(t.scores[AREA], best.scores[AREA])]
    chosen = _simplest(equal, lambda t: t.scores[AREA])
    return PictureChoice(
        drawn, chosen if reads_alike(chosen.scores[AREA], best.scores[AREA]) else best, chosen, len(equal) == 1
    )


# --- compression ---


@dataclass(frozen=True, eq=False)
class NonlinearGain:
    """A nonlinear method with less than half of the reconstruction error of PCA with as many components."""

    trial: Trial
    error: float
    baseline_error: float
    kept: float  # fraction of the variance
    suffices: bool  # whether it keeps enough variance with fewer components than PCA needs


@dataclass(frozen=True, eq=False)
class CompressionChoice:
    """The method and the number of components to keep."""

    n_components: int  # the fewest of PCA that keep enough variance, or all that were computed
    kept: float  # fraction of the variance that these components keep
    nonlinear: NonlinearGain | None
    errors: list[tuple[float, str]]  # reconstruction errors of the trials with k dimensions, smallest first
    trial: str | None
    advised: int | None  # components
    method: str | None


def choose_to_compress(done: list[Trial], facts: TableFacts, size: StudySize) -> CompressionChoice:
    """Choose by the spectrum of PCA, unless a nonlinear method halves its reconstruction error."""
    m, kept = enough_components(facts.explained_variance_ratio, KEEP)
    gain = _nonlinear_gain(done, facts, m)
    trial, advised, method = None, None, None
    if gain is not None and gain.suffices:
        trial, advised, method = gain.trial.name, gain.trial.n_components, gain.trial.method
    elif m < size.d and kept >= KEEP:
        trial, advised, method = baseline_trial(done, m, size.k), m, BASELINE
    errors = sorted((t.scores[ERROR].value, t.name) for t in done if ERROR in t.scores and t.n_components == size.k)
    return CompressionChoice(m, kept, gain, errors, trial, advised, method)


def baseline_trial(done: list[Trial], m: int, k: int) -> str | None:
    """Return the trial of plain PCA with m components, else the one with k, if there is one."""
    found = {t.n_components: t.name for t in done if t.method == BASELINE and t.parameters.keys() <= NEUTRAL}
    return found.get(m, found.get(k))


def enough_components(fractions: Sequence[float], wanted: float) -> tuple[int, float]:
    """Return the fewest components that keep a fraction of the variance, and the fraction that they keep."""
    kept = 0.0
    for m, fraction in enumerate(fractions, start=1):
        kept += fraction
        if kept >= wanted - 1e-12:
            return m, kept
    return len(fractions), kept


def _nonlinear_gain(done: list[Trial], facts: TableFacts, m: int) -> NonlinearGain | None:
    """The nonlinear trial with the smallest error relative to PCA's, if it is less than half of it."""
    found = []
    for t in done:
        error = t.scores.get(ERROR)
        k = t.n_components or 0
        if error is None or is_linear(t) or k >= len(facts.distortions):
            continue
        baseline = facts.distortions[k]
        if error.value < HALF * baseline:
            found.append((error.value / baseline, t, error.value, baseline))
    if not found:
        return None
    _, trial, error_value, baseline = min(found, key=lambda each: each[0])
    kept = 1 - error_value / facts.distortions[0]
    return NonlinearGain(trial, error_value, baseline, kept, suffices=kept >= KEEP and (trial.n_components or 0) < m)


# --- classification and regression ---


@dataclass(frozen=True, eq=False)
class PredictionChoice:
    """What to predict the labels from: a trial, more components of PCA, all columns, or nothing above the baseline."""

    tested: list[Trial]
    best: Trial
    chosen: Trial | None = None
    components: tuple[int, Score] | None = None  # where k dimensions are too few
    baseline_trial: str | None = None  # the PCA trial with that many components
    nothing_predicts: bool = False  # whether no score is significantly above the baseline


def better_model(scores: dict[str, Score]) -> str | None:
    """Return the name of the better of the two scores on held-out rows: nearest neighbors, or the linear model."""
    known = [name for name in (*OF_CLASSES, *OF_NUMBERS) if name in scores]
    return max(known, key=lambda name: scores[name].value, default=None)


def prediction_score(trial: Trial) -> Score:
    """Return the better of the two scores of a trial on held-out rows."""
    name = better_model(trial.scores)
    assert name is not None
    return trial.scores[name]


def choose_to_classify(done: list[Trial], facts: TableFacts, size: StudySize) -> PredictionChoice | None:
    """Choose by the accuracy or R² on held-out rows; None where no trial has one.

    A supervised method that keeps all of its discriminants may have more than k dimensions.
    """
    tested = [t for t in _all_rows_placed(done) if better_model(t.scores) is not None]
    wide = {t.name for t in tested if traits_named(t.method).study.max_components is not None}
    narrow = {t.name for t in _no_wider_than(tested, size.k)}
    tested = [t for t in tested if t.name in wide | narrow]
    if not tested:
        return None
    best = max(tested, key=lambda t: prediction_score(t).value)
    scores = _prediction_scores(tested, facts)
    if not any(_above_baseline(score, facts, len(scores)) for score in scores):
        return PredictionChoice(tested, best, nothing_predicts=True)
    good = [t for t in tested if ties(prediction_score(t), prediction_score(best))]
    good = [t for t in good if _predicts_as_well(prediction_score(t), facts, len(scores))]
    if good:
        return PredictionChoice(tested, best, _simplest(good, prediction_score))
    more = [(m, score) for m, score in facts.by_components if m > size.k]
    enough = next(((m, score) for m, score in more if _predicts_as_well(score, facts, len(more))), None)
    name = None if enough is None else baseline_trial(done, enough[0], size.k)
    return PredictionChoice(tested, best, components=enough, baseline_trial=name)


def _prediction_scores(tested: list[Trial], facts: TableFacts) -> list[Score]:
    """Every score that was compared: of trials by both models, of components of PCA, of all columns."""
    found = [t.scores[name] for t in tested for name in (*OF_CLASSES, *OF_NUMBERS) if name in t.scores]
    found += [score for _, score in (*facts.accuracy_by_components, *facts.linear_by_components)]
    return found + [score for score in (facts.accuracy, facts.linear_accuracy) if score is not None]


def _above_baseline(score: Score, facts: TableFacts, tried: int) -> bool:
    """Whether a score is significantly above the majority class, or an R² above the mean of the labels."""
    if score.n_tested:
        return above(score, facts.majority_class_fraction, tried)
    return score.low is not None and score.low > 0


def _predicts_as_well(score: Score, facts: TableFacts, tried: int) -> bool:
    """Whether a score is significantly above the baseline and not below the better one of all columns."""
    whole = facts.whole
    as_much = whole is None or score.value >= whole.value or ties(score, whole)
    return as_much and _above_baseline(score, facts, tried)


# --- shared by the rules ---


def _all_rows_placed(trials: list[Trial]) -> list[Trial]:
    """The trials with coordinates for every row; all trials if there are none."""
    return [t for t in trials if not t.n_excluded] or trials


def _no_wider_than(trials: list[Trial], k: int) -> list[Trial]:
    """The trials with at most k dimensions; all trials if there are none, as in a sweep."""
    return [t for t in trials if t.n_components is None or t.n_components <= k] or trials


def reads_alike(a: Score, b: Score) -> bool:
    """Whether two scores are equal to the digits shown."""
    return f"{a.value:.2f}" == f"{b.value:.2f}"


def _simplest(trials: list[Trial], score: Callable[[Trial], Score]) -> Trial:
    """PCA, else the best linear trial, else the best, or the fastest where the best takes longer than PATIENCE."""
    linear = [t for t in trials if is_linear(t)]
    best = min(linear or trials, key=lambda t: (t.method != BASELINE, -score(t).value))
    if linear or (best.seconds or 0.0) <= PATIENCE:
        return best
    return min(trials, key=lambda t: (t.seconds or 0.0, t.name))


def is_linear(trial: Trial) -> bool:
    """Whether a trial's method is linear; feature selection counts as linear."""
    return _selects_columns(trial) or _is_linear_map(trial.method)


def _selects_columns(trial: Trial) -> bool:
    return traits_named(trial.method).selects_columns


@functools.cache
def _is_linear_map(method: str) -> bool:
    return method != GIVEN and issubclass(load_method(method), LinearMap)
