"""Advice for each purpose, with its evidence: which trial is chosen, and rules that say why.

Two scores are tied if their difference is not significant or, where all rows were compared, within a margin. Among
tied trials PCA is preferred, then linear methods, then the best, or the fastest where the best is slow.

A rule is a condition on a case and a template for a sentence. The case holds the trials and numbers that both name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from lowland.data.suspect_columns import SuspectColumn
from lowland.math.spectra.component_rules import Knee, Spectrum
from lowland.study.facts import BASELINE, TableFacts
from lowland.study.plan import traits_named
from lowland.study.result import Advice, Trial
from lowland.study.significance import MARGIN, above, differ, differ_again, score_of_choice, ties, worse
from lowland.trial.parameters import Purpose, StudySize
from lowland.trial.prediction import (
    COMPANIONS,
    LOGISTIC,
    MEAN_OF_NEAREST,
    NEAREST,
    OF_CLASSES,
    OF_NUMBERS,
    OWN,
    RIDGE,
)  # fmt: skip
from lowland.trial.records import Score
from lowland.trial.scores import AREA, FIDELITY, REFITTED, RELIABLE, STABILITY, TRUST

ERROR = "reconstruction error"
NEUTRAL = {"n_components", "random_state"}  # parameters with which PCA is still plain PCA
MANY_COMPONENTS = 10  # from which on the elbow of the scree plot is offered too
KEEP = 0.95  # fraction of the variance to keep
HALF = 0.5  # of PCA's error: a nonlinear method must stay below it, and keep the variance, to be advised
WORTHWHILE = 0.035  # loss of accuracy or R² for which a tenth of the dimensions is worth saying: 0.03, rounded
PATIENCE = 10.0  # seconds that the best of tied trials may take before a faster one is preferred
MEAN_OF = "mean of the area under R_NX and the correlation of the distances"
UNSTABLE = 0.6  # stability below which the text warns
POOR_AREA = 0.3  # area under R_NX below which the text warns
LIKE_NOISE = 0.02  # p-value above which columns are taken for independent, and maps of them are not ranked
MANY_COPIES = 0.05  # fraction of duplicate rows above which the evidence warns


class Case(dict[str, Any]):
    """What the conditions and templates of rules name, as attributes and as fields."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


Rule = tuple[Callable[[Case], Any], str]


def first_of(rules: Sequence[Rule], case: Case) -> str:
    """Return the sentence of the first rule that applies; empty if none does."""
    return next((text.format_map(case) for applies, text in rules if applies(case)), "")


def all_of(rules: Sequence[Rule], case: Case) -> list[str]:
    """Return the sentences of all rules that apply."""
    return [text.format_map(case) for applies, text in rules if applies(case)]


def always(case: Case) -> bool:
    """Whether a rule applies that always does."""
    return True


def advise(
    trials: Sequence[Trial], facts: TableFacts | None, size: StudySize, *, scaled: bool, units_differ: bool = False,
    suspects: Sequence[SuspectColumn] = (), notes: Sequence[str] = (), n_unlabeled: int = 0, complete: bool = True,
) -> tuple[Advice, ...]:  # fmt: skip
    """Return the advice for every purpose that the data allow, starting with the purpose of the study.

    ``scaled``: whether the columns were standardized; ``units_differ``: whether they were not, though their units seem
    to differ; ``suspects``: columns that look like identifiers or dominate; ``notes``: what was done to the table;
    ``n_unlabeled``: rows without a label; ``complete``: False where the study was stopped early. The sentences of the
    evidence mark parameters by backticks, as errors do.
    """
    labeled = size.n_classes is not None or size.predicts_numbers
    others = [p for p in get_args(Purpose) if p != size.purpose and (p != "classify" or labeled)]
    purposes = (size.purpose, *others)
    if facts is None:
        text = "The study was stopped before anything was evaluated, so there is no advice."
        return tuple(Advice(p, None, None, text, ()) for p in purposes)
    dominant = [each for each in suspects if each.kind == "dominant"]
    late = [trial.title for trial in trials if trial.status == "timed out"]
    listed = ", ".join(late[:3]) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
    ratio = facts.standard_deviation_ratio
    case = Case(
        listed=listed, are="is" if len(late) == 1 else "are", scaled=scaled, units_differ=units_differ,
        dominant="".join(f" Caveat: {each.name!r} alone holds {each.detail} of the variance." for each in dominant),
        ratio=ratio, times=f"{ratio:,.0f}" if ratio < 1e6 else f"{ratio:.1e}", size=size, n_unlabeled=n_unlabeled,
        rows="1 row has" if n_unlabeled == 1 else f"{n_unlabeled:,} rows have",
    )  # fmt: skip
    remarks = [each.sentence("`X` without this column", "`scale='standard'`") for each in suspects]
    remarks += [*notes, *all_of(REMARKS, case)]
    done = [trial for trial in trials if trial.status == "done"]
    found = []
    for purpose in purposes:
        advice = ADVISERS[purpose](done, facts, size)
        units = "" if purpose == "classify" else case.dominant
        text = f"{'' if complete else STOPPED}{advice.text}{units}{OUT_OF_TIME.format_map(case) if late else ''}"
        found.append(replace(advice, text=text, evidence=(*remarks, *advice.evidence)))
    return tuple(found)


# --- remarks that hold for every purpose ---

STOPPED = "The study was stopped early, so this advice is based on the completed trials only. "
OUT_OF_TIME = " Caveat: {listed} did not end within the time limit and {are} not compared."
REMARKS: Sequence[Rule] = (
    (lambda c: c.scaled, "The columns were standardized to standard deviation 1."),
    (
        lambda c: c.units_differ and not c.dominant,
        "The standard deviations of the columns differ by a factor of up to {times}, so the columns with the largest "
        "ones dominate. If only the units differ, use `scale='standard'`.",
    ),
    (
        lambda c: c.n_unlabeled,
        "{rows} no label, drawn gray and excluded from the measures that use labels.",
    ),
    (
        lambda c: c.size.why_no_classes and not c.size.predicts_numbers,
        "There is no advice for classification because {size.why_no_classes}.",
    ),
)
DIMENSION: Sequence[Rule] = (
    (lambda c: c.value - 2 * c.error > c.k, "{begin} {wanted} {are} too few to preserve all of the structure."),
    (always, "{begin} {wanted} can preserve the structure if the method unfolds it."),
)


def _dimension(facts: TableFacts, size: StudySize) -> list[str]:
    """The intrinsic dimension of the table, if it is known."""
    value, error = facts.intrinsic_dimension, facts.intrinsic_dimension_error
    if value is None:
        return []
    begin = f"Estimated intrinsic dimension: {value:.1f} (standard error {error:.1f})."
    are = "is" if size.k == 1 else "are"
    case = Case(begin=begin, value=value, error=error, k=size.k, wanted=_dimensions(size.k), are=are)
    return [first_of(DIMENSION, case)]


# --- visualization ---

WHY_EQUAL: Sequence[Rule] = (
    (
        lambda c: not ties(c.score, c.top),
        "not significantly different when both maps are made again from parts of the rows ({again})",
    ),
    (lambda c: differ(c.score, c.top) is None, f"within the equivalence margin of {MARGIN:g}"),
    (always, "not significantly different"),
)
RUNNER_UP: Sequence[Rule] = (
    (lambda c: not c.is_clear, ", {why_equal}"),
    (lambda c: worse(c.score, c.top) and differ(c.score, c.top, c.n), ", significantly lower"),
    (lambda c: c.again, ", significantly lower when both maps are made again from parts of the rows ({again})"),
)
SIMPLER: Sequence[Rule] = (
    (
        lambda c: c.chosen.method == BASELINE != c.best.method,
        "simpler: it is linear and deterministic, and a matrix product gives the coordinates of new rows",
    ),
    (lambda c: is_linear(c.chosen) and not is_linear(c.best), "simpler: it is linear"),
    (
        lambda c: None not in (c.chosen.seconds, c.best.seconds) and c.chosen.seconds < c.best.seconds,
        "faster ({its_time} vs. {best_time})",
    ),
    (always, "no more complex"),
)
WHY_TO_SEE: Sequence[Rule] = (
    (lambda c: c.second is None, "It is the only embedding evaluated: {best_score}."),
    (
        lambda c: c.chosen is c.best and c.is_behind,
        "It preserves neighborhoods and distances as well as the best of {n} trials: {best_score}, and "
        "{second.title} has {its_score}.",
    ),
    (
        lambda c: c.chosen is c.best,
        "It preserves neighborhoods and distances best of {n} trials: {best_score}; runner-up {second.title} "
        "{its_score}{how}.",
    ),
    (
        always,
        "Of {n} trials, {best.title} preserves neighborhoods and distances best: {best_score}, while {chosen.title} "
        "has {its_score}, {why_equal}, and is {simpler}.",
    ),
)
TO_SEE: Sequence[Rule] = (
    (always, "For visualization, use {chosen.title} with {dimensions}. {why}"),
    (
        lambda c: worse(c.area, c.local.scores[AREA], c.n) and c.local_stability >= UNSTABLE,
        "If only neighborhoods matter, as in the search for clusters, use {local.title}: area under R_NX {local_area} "
        "against {its_area}, where 0 is chance and 1 is perfect.",
    ),
    (
        lambda c: c.area.value < POOR_AREA,
        "Caveat: an area under R_NX of {area.value:.2f} is low. Most neighborhoods are not preserved, so interpret the "
        "plot with care.",
    ),
    (
        lambda c: c.stability < UNSTABLE,
        "Caveat: this map is not stable. When it is made again from a part of the rows, only {stability:.0%} of the "
        "neighbors stay (beyond chance), so its groups and gaps may mean nothing. Test them with lowland.reliability.",
    ),
)
SEEN: Sequence[Rule] = (
    (always, "{ranking}"),
    (
        lambda c: c.trust,
        "Trustworthiness of {chosen.title}: {trust}, where 1 means no false neighbors in the embedding.",
    ),
    (
        lambda c: c.stable,
        "Stability, the fraction of neighbors that stay when a map is made again from a part of the rows with another "
        "seed: {stable}.",
    ),
    (lambda c: c.tested, "{tested}"),
)


NOISE = (
    "This table looks like noise: a permutation test finds no dependence between its columns (p = {p:.2f}). A map of "
    "it shows no more than the columns one by one, so no method is ranked. Look at the columns themselves, or at more "
    "rows."
)
NOISE_TEST = (
    "The test compares the table with 99 tables whose columns are permuted by themselves: correlations, the largest "
    f"eigenvalue of the correlation matrix, and the distances of near rows. Above p = {LIKE_NOISE:g}, columns count as "
    "independent."
)


def advise_to_visualize(done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    """Choose among the embeddings by fidelity: neighborhoods and distances count the same. Noise is not ranked."""
    if (p := facts.independence_p_value) is not None and p > LIKE_NOISE:
        return Advice("visualize", None, None, NOISE.format(p=p), (NOISE_TEST,))
    drawn = [t for t in _all_rows_placed(done) if FIDELITY in t.scores and not traits_named(t.method).selects_columns]
    drawn = _no_wider_than(drawn, size.k)
    if not drawn:
        text = "No trial produced an embedding that could be evaluated, so none is advised."
        return Advice("visualize", None, None, text, ())
    best = max(drawn, key=lambda t: t.scores[FIDELITY].value)
    tied = [t for t in drawn if ties(t.scores[FIDELITY], best.scores[FIDELITY]) or not _is_confirmed(best, t)]
    chosen = _simplest(tied, lambda t: t.scores[FIDELITY])
    is_behind = chosen is not best
    if _reads_alike(chosen.scores[FIDELITY], best.scores[FIDELITY]):
        best = chosen
    second = max((t for t in drawn if t is not best), key=lambda t: t.scores[FIDELITY].value, default=None)
    other = chosen if chosen is not best else second or chosen  # the one that is compared with the best
    score, top = other.scores[FIDELITY], best.scores[FIDELITY]
    local, area = max(drawn, key=lambda t: t.scores[AREA].value), chosen.scores[AREA]
    case = Case(
        chosen=chosen, best=best, second=second, n=len(drawn), is_clear=len(tied) == 1, is_behind=is_behind,
        score=score, top=top,
        best_score=f"{FIDELITY} {_estimate(top)}, the {MEAN_OF}, where 1 is perfect", its_score=_number(score),
        its_time=_seconds(chosen), best_time=_seconds(best), dimensions=_dimensions(chosen.n_components),
        area=area, local=local, local_area=_number(local.scores[AREA]), its_area=_number(area),
        ranking=_ranking({t.title: t.scores[FIDELITY] for t in drawn}, FIDELITY),
        trust=_estimate(chosen.scores[TRUST]) if TRUST in chosen.scores else "",
        stability=_stability(chosen), local_stability=_stability(local),
        tested=chosen.scores[RELIABLE].about if RELIABLE in chosen.scores else "",
        stable=", ".join(f"{t.title} {_number(t.scores[STABILITY])}" for t in drawn if STABILITY in t.scores),
    )  # fmt: skip
    case["again"] = _again(best, other)
    case["why_equal"] = first_of(WHY_EQUAL, case)
    case["how"], case["simpler"] = first_of(RUNNER_UP, case), first_of(SIMPLER, case)
    case["why"] = first_of(WHY_TO_SEE, case)
    evidence = (*all_of(SEEN, case), *_dimension(facts, size))
    return Advice(
        "visualize", chosen.name, chosen.n_components, " ".join(all_of(TO_SEE, case)), evidence, chosen.method
    )


def _is_confirmed(best: Trial, other: Trial) -> bool:
    """Whether the best map is better than another one also when both are made again; True where this is unknown."""
    if best is other or not (REFITTED in best.scores and REFITTED in other.scores):
        return True
    return differ_again(best.scores[REFITTED], other.scores[REFITTED]) is not False


def _again(best: Trial, other: Trial) -> str:
    """The fidelities of two maps that were made again; empty if they were not."""
    found = [t.scores[REFITTED] for t in (best, other) if REFITTED in t.scores]
    return f"fidelity {found[0].value:.2f} and {found[1].value:.2f}" if len(found) == 2 and best is not other else ""


def _stability(trial: Trial) -> float:
    """The stability of a map; 1 if it was not measured."""
    return trial.scores[STABILITY].value if STABILITY in trial.scores else 1.0


# --- compression ---

GAIN = (
    "{gain}: its reconstruction error of {error:.4g} is less than half of PCA's with the same number of dimensions "
    "({baseline:.4g}), and it explains {gained:.1%} of the variance."
)
TO_COMPRESS: Sequence[Rule] = (
    (
        lambda c: c.suffices,
        f"For compression, use {GAIN} PCA needs {{components}} to explain {KEEP:.0%}.",
    ),
    (
        lambda c: c.kept < KEEP,
        f"PCA needs more than {{components}} to explain {KEEP:.0%} of the variance: the {{m}} evaluated explain "
        "{kept:.1%}. No compression is advised.",
    ),
    (
        lambda c: c.m >= c.size.d,
        f"PCA needs all {{size.d}} components to explain {KEEP:.0%} of the variance. No compression is advised.",
    ),
    (
        always,
        "For compression, use PCA with {components}: {they_explain} {kept:.1%} of the variance of the {size.columns}. "
        f"The target is at least {KEEP:.0%} with as few components as possible.{{elbow}}",
    ),
)
ELBOW: Sequence[Rule] = (
    (
        lambda c: c.m >= MANY_COMPONENTS and 2 * c.knee <= c.m,
        " If the main structure suffices, use fewer: the scree plot has its elbow after {of_knee}, {which_explain} "
        "{kept_by_knee:.1%}.",
    ),
)
COMPRESSED: Sequence[Rule] = (
    (lambda c: c.m == 1, "Variance explained by PCA with {components}: {kept:.2%}."),
    (lambda c: c.m != 1, "Variance explained by PCA with {components}: {kept:.2%}; {fewer}: {kept_by_fewer:.2%}."),
)
MORE_COMPRESSED: Sequence[Rule] = (
    (lambda c: c.gain and not c.suffices, GAIN),
    (lambda c: c.errors, f"{ERROR.capitalize()} with {{dimensions}}: {{errors}}."),
)


def advise_to_compress(done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    """Choose by the spectrum of PCA, unless a nonlinear method halves its reconstruction error."""
    m, kept = enough_components(facts.explained_variance_ratio, KEEP)
    gain = _nonlinear_gain(done, facts)
    errors = sorted((t.scores[ERROR].value, t.title) for t in done if ERROR in t.scores and t.n_components == size.k)
    case = Case(
        m=m, kept=kept, size=size, components=_components(m), fewer=_components(m - 1), gain="", suffices=False,
        kept_by_fewer=sum(facts.explained_variance_ratio[: m - 1]), dimensions=_dimensions(size.k),
        they_explain="it explains" if m == 1 else "they explain",
        errors=", ".join(f"{name} {error:.4g}" for error, name in errors[:4]),
    )  # fmt: skip
    knee = _knee(facts, size) or m
    case |= {"knee": knee, "of_knee": _components(knee), "kept_by_knee": sum(facts.explained_variance_ratio[:knee])}
    case["which_explain"] = "which explains" if knee == 1 else "which explain"
    case["elbow"] = first_of(ELBOW, case)
    trial, advised, method = None, None, None
    if gain is not None:
        better, case["error"], case["baseline"] = gain
        case["gain"], case["gained"] = _with_dimensions(better), 1 - case.error / facts.distortions[0]
        case["suffices"] = case.gained >= KEEP and (better.n_components or 0) < m
        if case.suffices:
            trial, advised, method = better.name, better.n_components, better.method
    if method is None and m < size.d and kept >= KEEP:
        trial, advised, method = _baseline_trial(done, m, size.k), m, BASELINE
    evidence = (*all_of(COMPRESSED, case), *_dimension(facts, size), *all_of(MORE_COMPRESSED, case))
    return Advice("compress", trial, advised, first_of(TO_COMPRESS, case), evidence, method)


def _baseline_trial(done: list[Trial], m: int, k: int) -> str | None:
    """The trial of plain PCA with m components, else the one with k, if there is one."""
    found = {t.n_components: t.name for t in done if t.method == BASELINE and t.parameters.keys() <= NEUTRAL}
    return found.get(m, found.get(k))


def _knee(facts: TableFacts, size: StudySize) -> int | None:
    """The number of components before the elbow of the scree plot; None if not all eigenvalues are known."""
    values = np.array(facts.explained_variance_ratio)
    found = Knee().decide(Spectrum(values, 1.0, min(size.n, size.d), size.n, size.d)) if len(values) else None
    return None if found is None else found.n_components


def enough_components(fractions: Sequence[float], wanted: float) -> tuple[int, float]:
    """Return the fewest components that keep a fraction of the variance, and the fraction that they keep."""
    kept = 0.0
    for m, fraction in enumerate(fractions, start=1):
        kept += fraction
        if kept >= wanted - 1e-12:
            return m, kept
    return len(fractions), kept


def _nonlinear_gain(done: list[Trial], facts: TableFacts) -> tuple[Trial, float, float] | None:
    """The nonlinear trial with the smallest error relative to PCA's, if it is less than half of it, and both errors."""
    found = []
    for t in done:
        k = t.n_components or 0
        if ERROR in t.scores and not is_linear(t) and k < len(facts.distortions):
            error, baseline = t.scores[ERROR].value, facts.distortions[k]
            if error < HALF * baseline:
                found.append((t, error, baseline))
    return min(found, key=lambda each: each[1] / each[2], default=None)


# --- classification and regression ---

BASELINE_TEXT: Sequence[Rule] = (
    (lambda c: c.size.predicts_numbers, "The mean of the labels has R² 0."),
    (always, "Majority-class baseline: {facts.majority_class_fraction:.2f}."),
)
COMPARED: Sequence[Rule] = (  # another candidate with the choice, on the same held-out rows
    (lambda c: _reads_alike(c.other.score, c.chosen.score), "{other.name} and {other.model} {score}"),
    (lambda c: differ(c.other.score, c.chosen.score, c.n_scores), "{other.name} and {other.model} {score}: {by}"),
    (always, "{other.name} and {other.model} {score}: {by}, which may be chance"),
)
NOTHING_TESTED: Sequence[Rule] = (
    (lambda c: c.size.predicts_numbers, "Nothing could be tested on the labels: there are too few rows."),
    (always, "Nothing could be tested on the class labels: the classes have too few rows."),
)
FEWER: Sequence[Rule] = (
    (
        lambda c: c.small is not None,
        "If few dimensions matter more, use {small.name} and {small.model}: {small.n_components} instead of "
        "{chosen.n_components} for a loss of {lost:.2f}. ",
    ),
)
TO_PREDICT: Sequence[Rule] = (
    (
        lambda c: c.nothing_predicts and c.size.predicts_numbers,
        "These columns do not predict the labels significantly better than their mean does. The best R² on held-out "
        "rows is {estimate} ({chosen.name}).",
    ),
    (
        lambda c: c.nothing_predicts,
        "These columns do not predict the classes significantly better than the majority-class baseline of "
        "{facts.majority_class_fraction:.2f}. The best accuracy on held-out rows is {estimate} ({chosen.name}).",
    ),
    (
        lambda c: c.chosen.method,
        "For {purpose}, use {chosen.name} and {chosen.model}: the {what} on held-out rows is {estimate}. "
        "{compared}{fewer}{baseline}",
    ),
    (
        always,
        "For {purpose}, keep all {size.columns} and use {chosen.model}: the {what} on held-out rows is {estimate}. "
        "{compared}{fewer}{baseline}",
    ),
)
PREDICTED: Sequence[Rule] = (
    (
        lambda c: c.n_scores > 1,
        "The advice is the outcome of a choice among {n_scores} scores, and the best of many is too high by chance. So "
        "each {part} is scored by what the other {parts} choose, and the text states the mean: {uncorrected} without "
        "this correction. The following values are not corrected.",
    ),
    (always, "{ranking}"),
    (lambda c: c.companions, "{companions}"),
    (lambda c: c.near, "All {size.columns}, {nearest}: {near}."),
    (lambda c: c.linear, "All {size.columns}, {linear_model}: {linear}."),
    (lambda c: c.by_components, "{What} by number of PCA components: {by_components}."),
    (
        lambda c: c.size.predicts_numbers,
        "R² is 1 minus the mean squared error of held-out rows over their variance, in cross-validation: of the mean "
        "of the 5 nearest neighbors, or of ridge regression. Methods are fitted without the held-out rows.",
    ),
    (
        lambda c: not c.size.predicts_numbers,
        "Accuracy is the fraction of held-out rows classified correctly in cross-validation: by their 5 nearest "
        "neighbors, or by logistic regression on standardized columns. Methods are fitted without the held-out rows.",
    ),
    (
        lambda c: c.n_seen,
        "{seen} fitted to all rows at once. Such coordinates have seen the held-out rows, so they are not considered.",
    ),
    (
        lambda c: c.facts.n_duplicate_rows > MANY_COPIES * c.size.n,
        "{facts.n_duplicate_rows:,} of the {size.n:,} rows are duplicates. A held-out row can then have a copy among "
        "the training rows, so the {what} may be too high. If the copies are one observation, remove them.",
    ),
)


@dataclass(frozen=True)
class Candidate:
    """A reduction, or all columns, with a model that predicts the labels."""

    name: str
    score: Score  # on held-out rows, of which neither the reduction nor the model has seen any
    model: str
    n_components: int
    method: str | None = None  # None: all columns
    trial: Trial | None = None
    linear: bool = True

    @property
    def complexity(self) -> tuple[bool, int, int]:
        """Linear methods come before others, few dimensions before many, then the columns themselves, then PCA."""
        return not self.linear, self.n_components, 0 if self.method is None else 1 + (self.method != BASELINE)


def advise_to_classify(done: list[Trial], facts: TableFacts, size: StudySize) -> Advice:
    """Choose by the accuracy, or R² if the labels are numbers, on held-out rows, among reductions and all columns.

    Within a margin of the best, a simpler candidate is preferred, if the difference is not significant.
    """
    candidates = _candidates(done, facts, size)
    if not candidates:
        return Advice("classify", None, None, first_of(NOTHING_TESTED, Case(size=size)), ())
    able = [c for c in candidates if _above_baseline(c.score, facts, len(candidates))]
    choose = _simplest_of_the_best if able else _best
    chosen = choose(candidates)
    case = _prediction_case(done, candidates, chosen, choose, facts, size)
    case["nothing_predicts"] = not able
    text, evidence = first_of(TO_PREDICT, case), tuple(all_of(PREDICTED, case))
    if not able:
        chosen = _best([c for c in candidates if c.method is None] or candidates)
    if chosen.method is None:
        return Advice("classify", None, None, text, evidence, None, chosen.model)
    m = chosen.n_components
    trial = _baseline_trial(done, m, size.k) if chosen.trial is None else chosen.trial.name
    return Advice("classify", trial, m, text, evidence, chosen.method, chosen.model)


def _candidates(done: list[Trial], facts: TableFacts, size: StudySize) -> list[Candidate]:
    """Everything that was tested on the same held-out rows: trials, numbers of components of PCA, all columns."""
    near, linear = (MEAN_OF_NEAREST, RIDGE) if size.predicts_numbers else (NEAREST, LOGISTIC)
    found, tried = [], set()
    for t in (t for t in done if traits_named(t.method).reads == "numbers"):  # no pipeline prepares a table for others
        for name in (*OF_CLASSES, *OF_NUMBERS):
            if name in t.scores and t.scores[name].held_out and t.n_components:
                s = t.scores[name]
                model = near if name in (OF_CLASSES[0], OF_NUMBERS[0]) else OWN if OWN in s.about else linear
                found.append(Candidate(_with_dimensions(t), s, model, t.n_components, t.method, t, is_linear(t)))
                if t.method == BASELINE and t.parameters.keys() <= NEUTRAL:
                    tried.add(t.n_components)
    for model, scores in ((near, facts.accuracy_by_components), (linear, facts.linear_by_components)):
        some = [(m, score) for m, score in scores if m not in tried]
        found += [Candidate(f"PCA with {_components(m)}", score, model, m, BASELINE) for m, score in some]
    for model, whole in ((near, facts.accuracy), (linear, facts.linear_accuracy)):
        if whole is not None:
            found.append(Candidate(f"all {size.columns}", whole, model, size.d))
    most = max((c.score.n_tested for c in found), default=0)
    return [c for c in found if c.score.n_tested == most]


def _best(candidates: list[Candidate]) -> Candidate:
    return max(candidates, key=lambda c: c.score.value)


def _simplest_of_the_best(candidates: list[Candidate]) -> Candidate:
    """The simplest within the margin of the best score, unless the difference is significant."""
    best = _best(candidates)
    near = [c for c in candidates if best.score.value - c.score.value <= MARGIN + 1e-9]
    good = [c for c in near if not differ(c.score, best.score)]
    return min(good, key=lambda c: (*c.complexity, -c.score.value))


def _without_optimism(candidates: list[Candidate], choose: Callable[[list[Candidate]], Candidate]) -> Score:
    """The score of the choice, with the choice made from other rows than those that are scored."""
    if len(candidates) == 1:
        return candidates[0].score
    return score_of_choice(
        lambda on_others: choose([replace(c, score=on_others(c.score)) for c in candidates]).score, candidates[0].score
    )


def _others(chosen: Candidate, candidates: list[Candidate]) -> list[Candidate]:
    """What to compare the choice with: a reduction with a higher score, or else the best PCA; and all columns."""
    reductions, columns = ([c for c in candidates if (c.method is None) == whole] for whole in (False, True))
    pcas = [c for c in reductions if c.method == BASELINE]
    if chosen.method is None:
        return [_best(reductions)] if reductions else []
    other = _best(reductions)
    if other.score.value <= chosen.score.value or _reads_alike(other.score, chosen.score):
        other = chosen if chosen.method == BASELINE or not pcas else _best(pcas)
    return [*([other] if other.name != chosen.name else []), *([_best(columns)] if columns else [])]


def _much_smaller(chosen: Candidate, candidates: list[Candidate]) -> Candidate | None:
    """The linear reduction with the fewest dimensions, at most a tenth of those chosen, that loses little; or None."""
    small = [
        c for c in candidates
        if c.linear and 10 * c.n_components <= chosen.n_components and chosen.score.value - c.score.value < WORTHWHILE
    ]  # fmt: skip
    return min(small, key=lambda c: (c.n_components, -c.score.value), default=None)


def _compared(chosen: Candidate, others: list[Candidate], n_scores: int) -> str:
    """The sentence that compares the choice with others; empty if there are none."""
    said = []
    for other in others:
        lost = chosen.score.value - other.score.value
        by = f"{max(abs(lost), 0.01):.2f} {'lower' if lost > 0 else 'higher'}"
        case = Case(chosen=chosen, other=other, score=_number(other.score), by=by, n_scores=n_scores)
        said.append(first_of(COMPARED, case))
    before = "Without the correction for choosing the best of many, it has" if n_scores > 1 else "It has"
    return f"{before} {_number(chosen.score)}; {'; '.join(said)}. " if said else ""


def _prediction_case(
    done: list[Trial], candidates: list[Candidate], chosen: Candidate,
    choose: Callable[[list[Candidate]], Candidate], facts: TableFacts, size: StudySize,
) -> Case:  # fmt: skip
    """What the sentences about predictions name: the score of the choice, and those it is compared with."""
    what, linear = ("R²", RIDGE) if size.predicts_numbers else ("accuracy", LOGISTIC)
    folds, n_scores = size.predicts_numbers, len(candidates)
    by_name = {c.name: _best([other for other in candidates if other.name == c.name]).score for c in candidates}
    n_seen = sum(any(n in t.scores and not t.scores[n].held_out for n in (*OF_CLASSES, *OF_NUMBERS)) for t in done)
    case = Case(
        facts=facts, size=size, chosen=chosen, what=what, What=_capital(what), n_scores=n_scores,
        estimate=_estimate(_without_optimism(candidates, choose)), uncorrected=_number(chosen.score),
        part="fold" if folds else "third of the held-out rows", parts="folds" if folds else "rows",
        purpose="regression" if size.predicts_numbers else "classification",
        compared=_compared(chosen, _others(chosen, candidates), n_scores),
        companions="" if chosen.trial is None else _companions(chosen.trial, chosen.model),
        near=_whole_scores(what, facts.accuracy, OF_CLASSES[0], facts), nearest=NEAREST, linear_model=linear,
        linear=_whole_scores(what, facts.linear_accuracy, OF_CLASSES[1], facts),
        by_components=", ".join(f"{m}: {each.value:.2f}" for m, each in facts.by_components),
        ranking=_ranking(by_name, f"{what} on held-out rows, of the better model"),
        n_seen=n_seen, seen="1 trial was" if n_seen == 1 else f"{n_seen} trials were",
    )  # fmt: skip
    small = _much_smaller(chosen, candidates)
    case |= {"small": small, "lost": 0.0 if small is None else max(chosen.score.value - small.score.value, 0.0)}
    case["baseline"], case["fewer"] = first_of(BASELINE_TEXT, case), first_of(FEWER, case)
    return case


def _above_baseline(score: Score, facts: TableFacts, tried: int) -> bool:
    """Whether a score is significantly above the majority class, or an R² above the mean of the labels."""
    if score.n_tested:
        return above(score, facts.majority_class_fraction, tried)
    return score.low is not None and score.low > 0


LABELS = ("balanced accuracy", "AUC")


def _companions(trial: Trial, model: str) -> str:
    """The sentence about balanced accuracy and AUC; empty if they are unknown."""
    names = zip(LABELS, COMPANIONS[OF_CLASSES[model != NEAREST]], strict=True)
    found = [f"{label} {trial.scores[name].value:.2f}" for label, name in names if name in trial.scores]
    return f"{trial.title} has {' and '.join(found)}." if found else ""


def _whole_scores(what: str, score: Score | None, name: str, facts: TableFacts) -> str:
    """The scores of all columns by one model; empty if there are none."""
    if score is None:
        return ""
    names = zip(LABELS, COMPANIONS[name], strict=True)
    more = [f"{label} {_number(facts.companions[other])}" for label, other in names if other in facts.companions]
    return ", ".join([f"{what} {_estimate(score)}", *more])


# --- which trial ---

ADVISERS: dict[Purpose, Callable[[list[Trial], TableFacts, StudySize], Advice]] = {
    "visualize": advise_to_visualize,
    "compress": advise_to_compress,
    "classify": advise_to_classify,
}


def _all_rows_placed(trials: list[Trial]) -> list[Trial]:
    """The trials with coordinates for every row; all trials if there are none."""
    return [t for t in trials if not t.n_excluded] or trials


def _no_wider_than(trials: list[Trial], k: int) -> list[Trial]:
    """The trials with at most k dimensions; all trials if there are none, as in a sweep."""
    return [t for t in trials if t.n_components is None or t.n_components <= k] or trials


def _reads_alike(a: Score, b: Score) -> bool:
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
    traits = traits_named(trial.method)
    return traits.selects_columns or traits.linear


# --- numbers as text ---


def _ranking(scores: dict[str, Score], name: str) -> str:
    """The best few values of a score."""
    best = sorted(scores.items(), key=lambda each: -each[1].value)[:5]
    listed = ", ".join(f"{what} {_number(score)}" for what, score in best)
    more = f", and {len(scores) - 5} more" if len(scores) > 5 else ""
    interval = " (95% confidence interval)" if any(score.low is not None for _, score in best) else ""
    return f"{_capital(name)}{interval}: {listed}{more}."


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _number(score: Score) -> str:
    """The value, and its interval in parentheses."""
    if score.low is None or score.high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f} ({score.low:.2f} to {score.high:.2f})"


def _estimate(score: Score) -> str:
    """The value, and the interval with its name, for the first mention in a text."""
    return _number(score).replace("(", "(95% confidence interval ")


def _with_dimensions(trial: Trial) -> str:
    return f"{trial.title.replace(f' n_components={trial.n_components}', '')} with {_dimensions(trial.n_components)}"


def _dimensions(k: int | None) -> str:
    return "1 dimension" if k == 1 else f"{k} dimensions"


def _components(m: int) -> str:
    return "1 component" if m == 1 else f"{m} components"


def _seconds(trial: Trial) -> str:
    if trial.seconds is None:
        return "time unknown"
    return f"{trial.seconds:,.0f} s" if trial.seconds >= 10 else f"{trial.seconds:.2g} s"
